// What would have happened without an intervention?
//
// Where another action than the proposal ran, the lab branched the world and let the policy go on
// unshielded for the look-ahead; the trace holds what came of that branch. Start at `outcome`, which
// compares it with what really happened over the whole look-ahead, however short the branch: a failure
// that is only put off within it is not avoided.

import { failed } from "./episode.js";

/** @import { Episode } from "./episode.js" */

/** @typedef {"avoided" | "unavoided" | "closer" | "nothing"} Outcome */

/**
 * What an intervention changed; null where nothing was branched, or nobody knows how far.
 *
 * `avoided`: the branch fails and the episode does not within the look-ahead. `unavoided`: both do. `closer`: neither does,
 * and the branch comes closer. `nothing`: a false alarm, the branch is no worse.
 * @param {Episode} episode
 * @param {number} step
 * @returns {Outcome | null}
 */
export function outcome(episode, step) {
  const branch = episode.what_if[step];
  if (!branch || episode.look_ahead === null) return null;
  const until = step + episode.look_ahead;
  const hasFailed = failed(episode) && episode.steps <= until;
  if (branch.crashed) return hasFailed ? "unavoided" : "avoided";
  if (hasFailed) return "nothing";
  const most = (/** @type {number[]} */ costs) => costs.reduce((a, b) => Math.max(a, b), 0);
  return most(branch.costs) > most(episode.closeness.slice(step, until)) ? "closer" : "nothing";
}

/**
 * How often each outcome came about.
 * @param {Episode} episode
 */
export function outcomeCounts(episode) {
  const counts = { avoided: 0, unavoided: 0, closer: 0, nothing: 0 };
  for (let step = 0; step < episode.steps; step += 1) {
    const found = outcome(episode, step);
    if (found) counts[found] += 1;
  }
  return counts;
}
