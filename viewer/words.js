// What does the shield say at a moment, in words?
//
// One line per step, for people who read and for those who listen: the proposal, the verdict, its
// reason and the numbers behind it. Start at `stepWords`.

import { failed } from "./episode.js";
import { outcome } from "./outcome.js";

/** @import { Episode } from "./episode.js" */
/** @import { Outcome } from "./outcome.js" */

/** Reasons as the shield gives them, in words. @type {Record<string, string>} */
export const REASONS = {
  "unusable-cost": "its cost is not a usable number",
  "over-cap": "its cost is over the cap",
  "horizon-closed": "the horizon is over",
  "budget-spent": "the budget is spent",
  "over-budget": "its cost is over the projected budget",
  "unusable-context": "the density is not a usable number",
  "over-context": "the context tightened the threshold below its cost",
  priced: "a cheaper action is worth more at the price of risk",
};

/** @type {Record<Outcome, string>} */
export const OUTCOMES = {
  avoided: "crash avoided",
  unavoided: "crash not avoided",
  closer: "a closer call without it",
  nothing: "false alarm",
};

/** @type {Record<string, string>} */
const ARMS = {
  dqn: "without the shield",
  cpss: "with the shield",
  priced: "with the shield and a price of risk",
  fixed: "with the constant threshold of its budget",
  threshold: "with a constant threshold",
  "budget-only": "with the budget alone",
  "context-only": "with the context alone",
  oracle: "with costs from the true future",
  barrier: "with a control barrier function",
};

/** What an arm is called. @param {string} arm */
export function armWords(arm) {
  const [name, given] = arm.split(":");
  const words = ARMS[name];
  if (!words) return arm;
  return given === undefined ? words : `${words}${name === "threshold" ? "" : ", budget"} ${given}`;
}

/** An action's name as words. @param {Episode} episode @param {number} action */
export function actionWords(episode, action) {
  const name = episode.actions[action] ?? `action ${action}`;
  const steer = Number(name);
  if (Number.isNaN(steer)) return name.toLowerCase().replace("_", " ");
  const side = steer < 0 ? "left" : "right";
  if (steer === 0) return "straight on";
  const much = { 1: "full ", 0.5: "half " }[Math.abs(steer)];
  return much ? `${much}${side}` : `${side} ${Math.abs(steer)}`;
}

/** A cost, short. @param {number} value */
export function costWords(value) {
  if (value === 0 || value === 1) return String(value);
  if (Number.isNaN(value)) return "not a number";
  return value >= 0.1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

/** Time in seconds. @param {number} time */
export function timeWords(time) {
  return `${time.toFixed(1)} s`;
}

/** What a proposal's risk is due to. @param {[string, number, number]} conflict */
export function conflictWords([hazard, risk, without]) {
  if (hazard === "road") return `the road itself: risk ${costWords(risk)}`;
  return `${hazard}: risk ${costWords(risk)}, ${costWords(without)} without it`;
}

/** What each action risks, and how much of it cannot be avoided. @param {Episode} episode @param {number} step */
export function riskWords(episode, step) {
  if (step >= episode.steps) return "";
  const risks = episode.risks[step].map((risk, action) => `${actionWords(episode, action)} ${costWords(risk)}`);
  return `Risk: ${risks.join(", ")}. Unavoidable: ${costWords(episode.unavoidable[step])}.`;
}

/** How an episode ended. @param {Episode} episode */
export function endWords(episode) {
  const { record } = episode;
  if (!record) return "the trace was cut before its end";
  if (record.crashed) return "the ego crashed";
  if (record.off_road) return "the ego left the road";
  return record.success ? "no crash" : "no crash; time ran out before it arrived";
}

/**
 * All about one step.
 * @param {Episode} episode
 * @param {number} step
 */
export function stepWords(episode, step) {
  if (step >= episode.steps) {
    const spent = costWords(episode.spent[episode.steps - 1] ?? 0);
    const kept = episode.certificate ? `, which was ${episode.certificate.budget_kept ? "kept" : "not kept"}` : "";
    return `End, after ${episode.steps} decisions: ${endWords(episode)}. ` +
      `Spent ${spent} of a budget of ${episode.shield.budget}${kept}; ` +
      `${episode.interventions.length} proposals ${episode.shield.shadow ? "would have been " : ""}refused.`;
  }
  const action = (/** @type {number} */ place) => actionWords(episode, place);
  const cost = (/** @type {number} */ place) => costWords(episode.costs[step][place]);
  const { proposal, ran, allowed, verdict, tau, tau_budget, gain } = episode;
  const [kind, reason] = verdict[step].split(" ");
  const threshold = `threshold ${costWords(tau[step])} (cap ${episode.shield.tau_cap}, ` +
    `budget ${costWords(tau_budget[step])}, gain ${gain[step].toFixed(2)})`;
  const head = `Step ${step + 1} of ${episode.steps}, ${timeWords(step * episode.decision_time)}: ` +
    `the policy proposes ${action(proposal[step])}, cost ${cost(proposal[step])}`;
  if (kind === "admit") return `${head}. Admitted: within the ${threshold}.`;

  const why = `${REASONS[reason] ?? reason}; ${threshold}`;
  const conflict = episode.conflict[step];
  const blame = conflict ? ` ${capital(conflictWords(conflict))}.` : "";
  const other = (/** @type {number} */ place) => kind === "infeasible"
    ? `No action is admissible; the least risky, ${action(place)} (cost ${cost(place)}),`
    : `${capital(action(place))} (cost ${cost(place)})`;
  if (episode.shield.shadow) {
    const would = reason === "priced" ? "passed it over" : "refused it";
    return `${head}. A shield would have ${would}: ${why}. ` +
      `${other(allowed[step])} would have run; the proposal ran.${blame}`;
  }
  const found = outcome(episode, step);
  const branched = found ? ` Without this intervention: ${OUTCOME_SENTENCES[found]}.` : "";
  const refused = reason === "priced" ? "Admissible, and passed over" : "Refused";
  return `${head}. ${refused}: ${why}. ` +
    `${other(ran[step])} ran${kind === "infeasible" ? "" : " instead"}.${blame}${branched}`;
}

/** @param {string} words */
function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @type {Record<Outcome, string>} */
const OUTCOME_SENTENCES = {
  avoided: "a crash within the look-ahead, which was avoided",
  unavoided: "a crash, which was not avoided either",
  closer: "no crash, but a closer call",
  nothing: "no crash and no closer call, so it was a false alarm",
};

/** An intervention in a few words, for lists. @param {Episode} episode @param {number} step */
export function interventionWords(episode, step) {
  const [kind, reason] = episode.verdict[step].split(" ");
  const found = outcome(episode, step);
  const instead = actionWords(episode, episode.allowed[step]);
  return `${timeWords(step * episode.decision_time)}: ${actionWords(episode, episode.proposal[step])} → ` +
    `${instead}, ${kind === "infeasible" ? "infeasible, " : ""}${reason.replace("-", " ")}` +
    (found ? `, ${OUTCOMES[found]}` : "");
}

/** Whether and how it ended, for a title. @param {Episode} episode */
export function endBadge(episode) {
  if (!episode.record) return "cut";
  if (failed(episode)) return episode.record.crashed ? "crashed" : "left the road";
  return "no crash";
}
