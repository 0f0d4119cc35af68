// What would the shield have said with another budget?
//
// The arithmetic of crates/shield (ledger.rs, threshold.rs, fallback.rs), operation by operation, on
// the same doubles. Costs and gain are the trace's own, and what is charged is the cost of what ran: none
// of them depends on the budget as long as the episode is the recorded one. So at the recorded budget every threshold and verdict
// comes out as recorded, to the last bit (tests/shield.test.js), and at another one this is what the
// shield would have said along the recorded way, not what would then have happened.
//
// Start at `rejudge`.

/** @import { Episode } from "./episode.js" */

/**
 * @typedef {object} Judgement
 * @property {number} budget
 * @property {number[]} tau
 * @property {number[]} tau_budget
 * @property {string[]} verdict
 * @property {number[]} allowed
 * @property {number[]} spent
 * @property {number[]} excess
 * @property {number[]} envelope
 * @property {number[]} interventions
 */

/**
 * Judges every recorded proposal again, with another budget.
 * @param {Episode} episode
 * @param {number} budget
 * @returns {Judgement}
 */
export function rejudge(episode, budget) {
  const { horizon, epsilon, tau_cap: cap, fallback, last_resort } = episode.shield;
  /** @type {Judgement} */
  const judged = {
    budget, tau: [], tau_budget: [], verdict: [], allowed: [], spent: [], excess: [], envelope: [],
    interventions: [],
  };
  let spent = 0;
  let excess = 0;
  for (let step = 0; step < episode.steps; step += 1) {
    const remaining = budget - spent;
    const left = horizon - step;
    const projected = left > 0 && remaining > 0 ? remaining / (left + epsilon) : 0;
    const gain = episode.gain[step];
    const limit = smaller(cap, projected);
    const tau = smaller(limit, limit * gain);
    const threshold = { tau, cap, projected, gain, closed: left <= 0, spent: remaining <= 0 };

    const costs = episode.costs[step];
    const proposal = episode.proposal[step];
    const reason = refusal(threshold, costs[proposal]);
    const choice = choose(fallback, tau, costs, episode.likes[step] ?? []);
    if (reason === null) {
      judged.verdict.push("admit");
      judged.allowed.push(proposal);
    } else {
      judged.verdict.push(`${choice.admissible ? "replace" : "infeasible"} ${reason}`);
      judged.allowed.push(choice.action ?? last_resort);
      judged.interventions.push(step);
    }

    const cost = costs[episode.ran[step]];
    const charge = usable(cost) ? cost : 1;
    excess += charge > tau ? charge - tau : 0;
    spent += charge;
    judged.tau.push(tau);
    judged.tau_budget.push(projected);
    judged.spent.push(spent);
    judged.excess.push(excess);
    judged.envelope.push(budget * (Math.min(step + 1, horizon) / (horizon + epsilon)) + excess);
  }
  return judged;
}

/**
 * The first step and field in which a judgement at the recorded budget differs from the record.
 * @param {Episode} episode
 * @param {Judgement} judged
 * @returns {string | null}
 */
export function firstDifference(episode, judged) {
  for (const field of /** @type {const} */ ([
    "tau_budget", "tau", "verdict", "allowed", "spent", "excess", "envelope",
  ])) {
    for (let step = 0; step < episode.steps; step += 1) {
      const [recorded, derived] = [episode[field][step], judged[field][step]];
      if (!Object.is(recorded, derived)) return `${field} at ${step}: ${recorded}, ${derived}`;
    }
  }
  return null;
}

/** The smaller of two numbers, or the second if they have no order. @param {number} a @param {number} b */
function smaller(a, b) {
  return a <= b ? a : b;
}

/** @param {number} cost */
function usable(cost) {
  return cost >= 0 && cost < Infinity;
}

/**
 * Why a cost is refused, outermost limit first; null if it is admitted.
 * @param {{tau: number, cap: number, projected: number, gain: number, closed: boolean, spent: boolean}} threshold
 * @param {number} cost
 */
function refusal(threshold, cost) {
  if (usable(cost) && cost <= threshold.tau) return null;
  if (!usable(cost)) return "unusable-cost";
  if (cost > threshold.cap) return "over-cap";
  if (threshold.closed) return "horizon-closed";
  if (threshold.spent) return "budget-spent";
  if (cost > threshold.projected) return "over-budget";
  return threshold.gain === 0 ? "unusable-context" : "over-context";
}

/**
 * The action in place of a refused one, and whether it is admissible.
 * @param {string} fallback
 * @param {number} tau
 * @param {number[]} costs
 * @param {number[]} likes
 * @returns {{action: number | null, admissible: boolean}}
 */
function choose(fallback, tau, costs, likes) {
  const liking = (/** @type {number} */ action) => {
    const value = likes[action];
    return value === undefined || Number.isNaN(value) ? -Infinity : value;
  };
  /** @type {number | null} */
  let safest = null;
  /** @type {number | null} */
  let favourite = null;
  for (const [action, cost] of costs.entries()) {
    if (!usable(cost)) continue;
    const like = liking(action);
    if (
      safest === null || cost < costs[safest] || (cost === costs[safest] && like > liking(safest))
    ) {
      safest = action;
    }
    if (
      cost <= tau &&
      (favourite === null || like > liking(favourite) ||
        (like === liking(favourite) && cost < costs[favourite]))
    ) {
      favourite = action;
    }
  }
  if (favourite === null) return { action: safest, admissible: false };
  return { action: fallback === "best-admissible" ? favourite : safest, admissible: true };
}
