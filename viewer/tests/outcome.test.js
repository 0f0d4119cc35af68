// Contract: what an intervention changed follows from its branch and from what happened, over the whole
// look-ahead; counted over an episode, it is what the record says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openEpisode } from "../episode.js";
import { outcome, outcomeCounts } from "../outcome.js";
import { embedded } from "./run.js";

/**
 * An episode of six decisions, of which the third was replaced.
 * @param {{branch: any, closeness?: number[], crashed?: boolean, off_road?: boolean,
 *   look_ahead?: number | null}} how
 */
function replaced({ branch, closeness = [0, 0, 0, 0, 0, 0], crashed = false, off_road = false, look_ahead = 3 }) {
  const what_if = [null, null, branch, null, null, null];
  return /** @type {any} */ ({ steps: 6, look_ahead, what_if, closeness, record: { crashed, off_road } });
}

const calm = { crashed: false, costs: [0, 0.2, 0], ghost: [] };
const crash = { crashed: true, costs: [0, 1], ghost: [] };

test("a crash in the branch was avoided unless the episode failed within the look-ahead", () => {
  assert.equal(outcome(replaced({ branch: crash }), 2), "avoided");
  // The episode fails with its sixth decision, the fourth from there: after a look-ahead of three.
  assert.equal(outcome(replaced({ branch: crash, crashed: true }), 2), "avoided");
  // Within a look-ahead of four, the crash was only put off.
  assert.equal(outcome(replaced({ branch: crash, crashed: true, look_ahead: 4 }), 2), "unavoided");
  assert.equal(outcome(replaced({ branch: crash, off_road: true, look_ahead: 4 }), 2), "unavoided");
  assert.equal(outcome(replaced({ branch: calm, crashed: true, look_ahead: 4 }), 2), "nothing");
  assert.equal(outcome(replaced({ branch: crash, look_ahead: null }), 2), null);
});

test("without a crash the closer one counts, over the same decisions", () => {
  assert.equal(outcome(replaced({ branch: calm }), 2), "closer");
  assert.equal(outcome(replaced({ branch: calm, closeness: [0, 0, 0, 0.2, 0, 0] }), 2), "nothing");
  assert.equal(outcome(replaced({ branch: calm, closeness: [0, 0, 0, 0, 0, 0.5] }), 2), "closer");
  assert.equal(outcome(replaced({ branch: calm, closeness: [0, 0.5, 0, 0, 0, 0] }), 2), "closer");
  assert.equal(outcome(replaced({ branch: null }), 2), null);
});

test("an episode's counts are its record's", () => {
  const { films, roads } = embedded();
  let branched = 0;
  for (const film of films) {
    const episode = openEpisode(film, roads);
    const { avoided, unavoided, closer, nothing } = outcomeCounts(episode);
    const { record } = episode;
    assert.ok(record, film.file);
    assert.deepEqual(
      [avoided, unavoided, closer, nothing],
      [record.avoided, record.unavoided, record.closer, record.false_alarms],
      film.file,
    );
    branched += avoided + unavoided + closer + nothing;
  }
  assert.ok(branched > 0, "no intervention was branched");
});
