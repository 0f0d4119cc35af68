// Contract: at the recorded budget, judging again gives every recorded threshold, verdict and account
// to the last bit; a film holds the numbers of its trace to the last bit.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openEpisode } from "../episode.js";
import { firstDifference, rejudge } from "../shield.js";
import { embedded, traceFiles, traceOf } from "./run.js";

const { films, roads } = embedded();
const episodes = films.map((/** @type {any} */ film) => openEpisode(film, roads));

test("a film holds the numbers of its trace", () => {
  assert.equal(new Set(films.map((/** @type {any} */ film) => film.file)).size, traceFiles().length);
  for (const episode of episodes) {
    const { header, steps, end } = traceOf(episode.file);
    assert.equal(episode.steps, steps.length);
    assert.deepEqual(episode.record, end.record);
    assert.equal(episode.chain_end, end.h);
    assert.equal(episode.shield.budget, header.shield.budget);
    for (const [place, step] of steps.entries()) {
      const [tau, , budget, gain] = step.tau;
      const [, spent, remaining, excess, envelope] = step.ledger;
      const [found, expected] = [
        [episode.tau, episode.tau_budget, episode.gain, episode.spent, episode.excess, episode.envelope,
          episode.verdict, episode.proposal, episode.ran, episode.allowed, episode.charge,
          episode.unavoidable, episode.closeness],
        [tau, budget, gain, spent, excess, envelope,
          step.verdict, step.proposal, step.ran, step.allowed, step.charge,
          step.unavoidable, step.closeness],
      ];
      assert.deepEqual(found.map((column) => column[place]), expected, `${episode.file}, step ${place}`);
      assert.deepEqual(episode.risks[place], step.risks);
      assert.deepEqual(episode.costs[place], step.costs);
      assert.equal(episode.costs[place][step.ran], step.charge, "what was judged is charged");
      assert.deepEqual(episode.likes[place], step.likes);
      assert.deepEqual(episode.scenes[place], step.scene);
      assert.equal(episode.shield.budget - episode.spent[place], remaining);
    }
    assert.deepEqual(episode.scenes[steps.length], end.scene);
  }
});

test("at the recorded budget every threshold and verdict comes out as recorded", () => {
  const seen = new Set();
  for (const episode of episodes) {
    assert.equal(firstDifference(episode, rejudge(episode, episode.shield.budget)), null, episode.file);
    for (const verdict of episode.verdict) seen.add(verdict.split(" ")[0]);
  }
  // Both kinds were there to be got wrong; the least risky action costs nothing, so one may always run.
  assert.deepEqual([...seen].sort(), ["admit", "replace"]);
});

test("a budget that differs in its last bit differs", () => {
  for (const episode of episodes) {
    const { budget } = episode.shield;
    const next = budget * (1 + Number.EPSILON);
    assert.match(firstDifference(episode, rejudge(episode, next)) ?? "", /at/);
  }
});

test("a smaller budget never refuses less", () => {
  let tightened = 0;
  for (const episode of episodes) {
    let before = episode.interventions;
    for (const share of [1 / 4, 1 / 16, 1 / 64]) {
      const { interventions } = rejudge(episode, episode.shield.budget * share);
      assert.ok(before.every((/** @type {number} */ step) => interventions.includes(step)), episode.file);
      tightened += interventions.length - before.length;
      before = interventions;
    }
  }
  assert.ok(tightened > 0, "no budget made a difference");
});

test("numbers that make no sense fail closed", () => {
  const judged = rejudge(/** @type {any} */ ({
    steps: 3,
    shield: { budget: 2, horizon: 4, epsilon: 1e-6, tau_cap: 0.5, fallback: "min-risk", last_resort: 1 },
    proposal: [0, 0, 0],
    costs: [[NaN, 0], [-1, Infinity], [0.4, 0.3]],
    ran: [1, 1, 1],
    likes: [[], [], []],
    gain: [1, 1, 0],
  }), 2);
  assert.deepEqual(judged.verdict, [
    "replace unusable-cost", "infeasible unusable-cost", "infeasible unusable-context",
  ]);
  assert.deepEqual(judged.allowed, [1, 1, 1]);
  assert.deepEqual(judged.spent, [0, 1, 1.3], "a cost that is no number is charged as 1");
});

test("a spent budget and a closed horizon admit cost 0 and nothing else", () => {
  const judged = rejudge(/** @type {any} */ ({
    steps: 5,
    shield: { budget: 0.1, horizon: 3, epsilon: 1, tau_cap: 0.5, fallback: "min-risk", last_resort: 1 },
    proposal: [0, 0, 0, 0, 0],
    costs: [[0.025, 0, 0.2], [0, 0.1], [1e-9, 0], [0, 1], [1e-9, 1]],
    ran: [2, 0, 1, 0, 0],
    likes: [[], [], [], [], []],
    gain: [1, 1, 1, 1, 1],
  }), 0.1);
  // The first threshold is a fourth of the budget, and a cost that equals it fits.
  assert.deepEqual(judged.tau, [0.025, 0, 0, 0, 0]);
  assert.deepEqual(judged.verdict, [
    "admit", "admit", "replace budget-spent", "admit", "infeasible horizon-closed",
  ]);
  // What ran is charged, whatever would have been allowed.
  assert.deepEqual(judged.spent, [0.2, 0.2, 0.2, 0.2, 0.2 + 1e-9]);
});
