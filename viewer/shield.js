// What would the shield have said with another budget?
//
// The arithmetic of crates/shield (ledger.rs, threshold.rs, price.rs, fallback.rs), operation by operation, on
// the same doubles. Costs and gain are the trace's own, and what is charged is the cost of what ran (or what was observed, where
// that is charged): none of them depends on the budget as long as the episode is the recorded one. So at the recorded budget every threshold and verdict
// comes out as recorded, to the last bit (tests/shield.test.js), and at another one this is what the
// shield would have said along the recorded way, not what would then have happened.
//
// Start at `rejudge`.

/** @import { Episode } from "./episode.js" */

/** The least that the remaining budget is divided by: a margin for rounding, as in ledger.rs. */
const LEAST_DIVISOR = 1 + 1e-12;

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
  const { horizon, epsilon, tau_cap: cap, pace, price, charge: rule, fallback, last_resort } = episode.shield;
  /** @type {Judgement} */
  const judged = {
    budget, tau: [], tau_budget: [], verdict: [], allowed: [], spent: [], excess: [], envelope: [],
    interventions: [],
  };
  let spent = 0;
  let excess = 0;
  // The share of the budget that is left on the envelope's line, where the pace is above 1.
  let lineLeft = 1;
  for (let step = 0; step < episode.steps; step += 1) {
    const remaining = budget - spent;
    const left = horizon - step;
    const paced = (left + epsilon) / pace;
    const divisor = paced < LEAST_DIVISOR ? LEAST_DIVISOR : paced;
    const projected = left > 0 && remaining > 0 ? remaining / divisor : 0;
    const gain = episode.gain[step];
    const limit = smaller(cap, projected);
    const tau = smaller(limit, limit * gain);
    const threshold = { tau, cap, projected, gain, closed: left <= 0, spent: remaining <= 0 };

    const costs = episode.costs[step];
    const proposal = episode.proposal[step];
    const likes = episode.likes[step] ?? [];
    const reason = refusal(threshold, costs[proposal]);
    const worth = worthMost(price, tau, proposal, costs, likes);
    if (reason === null && (worth ?? proposal) === proposal) {
      judged.verdict.push("admit");
      judged.allowed.push(proposal);
    } else {
      const choice = worth === null ? choose(fallback, tau, costs, likes) : { action: worth, admissible: true };
      judged.verdict.push(`${choice.admissible ? "replace" : "infeasible"} ${reason ?? "priced"}`);
      judged.allowed.push(choice.action ?? last_resort);
      judged.interventions.push(step);
    }

    const cost = rule === "observed" ? episode.charge[step] : costs[episode.ran[step]];
    const charge = usable(cost) ? cost : 1;
    if (pace > 1 && left > 0) lineLeft *= 1 - 1 / divisor;
    const line = pace > 1 ? 1 - lineLeft : Math.min(step + 1, horizon) / (horizon + epsilon);
    excess += charge > tau ? charge - tau : 0;
    spent += charge;
    judged.tau.push(tau);
    judged.tau_budget.push(projected);
    judged.spent.push(spent);
    judged.excess.push(excess);
    judged.envelope.push(budget * line + excess);
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
 * The admissible action that is worth its cost most, at a price; null where the threshold rule stands: without a price, without a
 * scale of preferences, or without an admissible action.
 * @param {number} price
 * @param {number} tau
 * @param {number} proposal
 * @param {number[]} costs
 * @param {number[]} likes
 * @returns {number | null}
 */
function worthMost(price, tau, proposal, costs, likes) {
  if (!(price > 0) || likes.length === 0) return null;
  // The policy's values are single precision, of which a trace has the shortest decimals.
  const values = likes.map(Math.fround);
  const least = Math.min(...values);
  const spread = Math.max(...values) - least;
  if (!(spread > 0 && spread < Infinity)) return null;
  const admits = (/** @type {number} */ cost) => usable(cost) && cost <= tau;
  const worth = (/** @type {number} */ action) => {
    const cost = costs[action];
    return (values[action] - least) / spread - (cost > 0 ? price * (cost / tau) : 0);
  };
  const isProposalFit = admits(costs[proposal]);
  /** @type {number | null} */
  let best = isProposalFit ? proposal : null;
  for (const [action, cost] of costs.entries()) {
    const standsIn = admits(cost) && (!isProposalFit || cost < costs[proposal]);
    if (standsIn && (best === null || worth(action) > worth(best))) best = action;
  }
  return best;
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
