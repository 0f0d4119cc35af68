// Contract: at the recorded budget, judging again gives every recorded threshold, verdict and account
// to the last bit, at any pace and any price; at another budget it gives what the shield itself says; a film holds
// the numbers of its trace to the last bit.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { memoryWords } from "../certificate.js";
import { openEpisode } from "../episode.js";
import { firstDifference, rejudge } from "../shield.js";
import { embedded, PROGRAM, readTrace, traceFiles, traceOf } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "cpss-shield-"));
after(() => rmSync(folder, { recursive: true }));

/**
 * Episodes of a method, as their replays have them.
 * @param {string} name
 * @param {string[]} options
 */
function played(name, options) {
  const traces = join(folder, name);
  const seeds = ["--seed", "1000000", "--episodes", "4", "--trace", traces];
  assert.equal(spawnSync(PROGRAM, ["evaluate", ...options, ...seeds]).status, 0, name);
  return readdirSync(traces).sort().map((file) => {
    const page = join(folder, `${name}-${file}.html`);
    assert.equal(spawnSync(PROGRAM, ["replay", join(traces, file), "--out", page, "--no-open"]).status, 0, file);
    const data = embedded(page);
    return openEpisode(data.films[0], data.roads);
  });
}

test("a memory is the trace's, risks are as it raised them, and the page says so", () => {
  // A critic that knows calm traffic only, and a policy that nobody stops: incidents surprise it.
  const options = ["--env", "merge-v0", "--regime", "high", "--method", "dqn", "--risk", "stationary", "--memory"];
  const row = played("memory", options);
  for (const episode of row) {
    const { header, steps, end } = readTrace(join(folder, "memory", episode.file));
    assert.deepEqual(episode.memory, header.memory);
    assert.deepEqual(episode.memory_after, end.memory);
    const { shift } = header.memory.found.recalibration;
    for (const [place, step] of steps.entries()) {
      const raised = step.risks.map((/** @type {number} */ risk) => risk / (risk + (1 - risk) * Math.exp(-shift)));
      for (const [action, risk] of raised.entries()) {
        assert.ok(Math.abs(episode.risks[place][action] - risk) < 1e-9, `${episode.file} ${place}`);
      }
    }
    assert.match(memoryWords(episode), /^Memory of \d+ episodes: log-odds of all risks raised by .* alarm at 10000; evidence of novelty .*, alarm at 1000, this episode's score [\d.e+]+\.$/);
  }
  assert.ok(row.some((episode) => (episode.memory?.found.recalibration.shift ?? 0) > 0.1), "none was raised");
});

const { films, roads } = embedded();
const episodes = films.map((/** @type {any} */ film) => openEpisode(film, roads));

test("a film holds the numbers of its trace", () => {
  assert.equal(new Set(films.map((/** @type {any} */ film) => film.file)).size, traceFiles().length);
  for (const episode of episodes) {
    const { header, steps, end } = traceOf(episode.file);
    assert.equal(episode.steps, steps.length);
    assert.deepEqual(episode.record, end.record);
    assert.equal(episode.chain_end, end.h);
    assert.deepEqual(episode.shield, header.shield);
    assert.deepEqual(episode.certificate, end.certificate);
    const happened = end.record.crashed || end.record.off_road ? 1 : 0;
    const parts = episode.certificate.account.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b);
    assert.ok(Math.abs(parts - happened) < 1e-9, "the account balances");
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

test("so it does at any pace and at any price", () => {
  const high = ["--env", "highway-v0", "--regime", "high"];
  let priced = 0;
  for (const [name, options, pace] of /** @type {[string, string[], number | null][]} */ ([
    ["priced", [...high, "--method", "priced"], null],
    ["paced", [...high, "--budget", "0.005", "--pace", "7.5"], 7.5],
    ["even", [...high, "--budget", "0.02", "--pace", "1"], 1],
    ["hasty", [...high, "--budget", "0.02", "--pace", "1000"], 1000],
    ["fixed", [...high, "--method", "fixed", "--budget", "0.02"], null],
    ["merge", ["--env", "merge-v0", "--regime", "high", "--method", "priced"], null],
  ])) {
    for (const episode of played(name, options)) {
      assert.equal(episode.unsound, null);
      if (pace !== null) assert.equal(episode.shield.pace, pace);
      assert.equal(firstDifference(episode, rejudge(episode, episode.shield.budget)), null, `${name} ${episode.file}`);
      const passed = episode.verdict.filter((/** @type {string} */ verdict) => verdict === "replace priced").length;
      assert.equal(passed, episode.certificate?.priced, name);
      priced += passed;
    }
  }
  assert.ok(priced > 0, "no admissible proposal was passed over");
});

test("another budget is judged as the shield judges it", () => {
  // As long as nothing was refused, two budgets see the same episode; so do they on the step that first differs.
  const [task, regime] = ["intersection-v0", "high"];
  const of = (/** @type {string} */ budget) =>
    played(`at-${budget}`, ["--env", task, "--regime", regime, "--budget", budget]);
  let same = 0;
  for (const [place, wide] of of("0.2").entries()) {
    const narrow = of("0.01")[place];
    const judged = rejudge(wide, 0.01);
    for (let step = 0; step < Math.min(wide.steps, narrow.steps); step += 1) {
      assert.equal(judged.tau[step], narrow.tau[step], `step ${step}`);
      assert.equal(judged.verdict[step], narrow.verdict[step], `step ${step}`);
      if (wide.ran[step] !== narrow.ran[step]) break;
      assert.equal(judged.spent[step], narrow.spent[step]);
      same += 1;
    }
  }
  assert.ok(same > 10, `${same} decisions`);
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

const PLAIN = { tau_cap: 0.5, pace: 1, price: 0, charge: "predicted", fallback: "min-risk", last_resort: 1 };

test("a pace spends shares ahead, and never more than is left", () => {
  const judge = (/** @type {number} */ pace, /** @type {number[]} */ charged) => rejudge(/** @type {any} */ ({
    steps: charged.length,
    shield: { ...PLAIN, budget: 1, horizon: 4, epsilon: 0.5, pace, charge: "observed", tau_cap: 0.99 },
    proposal: charged.map(() => 0),
    costs: charged.map(() => [0]),
    ran: charged.map(() => 0),
    likes: charged.map(() => []),
    gain: charged.map(() => 1),
    charge: charged,
  }), 1);
  assert.deepEqual(judge(2, [0.25, 0.25]).tau, [1 / (4.5 / 2), 0.75 / (3.5 / 2)]);
  assert.deepEqual(judge(1e9, [0.5, 0]).tau_budget, [1 / (1 + 1e-12), 0.5 / (1 + 1e-12)]);
  // What was observed is charged where the rules say so, whatever was judged; a NaN is the worst.
  assert.deepEqual(judge(1, [0.25, NaN]).spent, [0.25, 1.25]);
});

test("a price takes the cheaper of two that are liked alike, and asks for a scale", () => {
  const judge = (/** @type {number[]} */ likes, /** @type {number} */ price, cost = 0.25) => rejudge(/** @type {any} */ ({
    steps: 1,
    shield: { ...PLAIN, budget: 1, horizon: 2, epsilon: 1, price },
    proposal: [0],
    costs: [[cost, 0, 0.75]],
    ran: [0],
    likes: [likes],
    gain: [1],
  }), 1);
  assert.deepEqual(judge([1, 0.75, 0], 1).verdict, ["replace priced"]);
  assert.deepEqual(judge([1, 0.75, 0], 1).allowed, [1]);
  assert.deepEqual(judge([1, 0, 5], 0.1).verdict, ["admit"], "liked enough to be worth it");
  for (const likes of [[], [1, 1, 1], [1, NaN, 0], [1, Infinity, 0]]) {
    assert.deepEqual(judge(likes, 9).verdict, ["admit"], `${likes}`);
  }
  assert.deepEqual(judge([1, 0.75, 0], 0).verdict, ["admit"], "without a price");
  // A third as decimals have it, a little less in the policy's single precision: the proposal is worth more.
  assert.deepEqual(judge([0.3, 0.1, 0], 1, 0.66666667 / 3).verdict, ["admit"]);
});

test("numbers that make no sense fail closed", () => {
  const judged = rejudge(/** @type {any} */ ({
    steps: 3,
    shield: { ...PLAIN, budget: 2, horizon: 4, epsilon: 1e-6 },
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
    shield: { ...PLAIN, budget: 0.1, horizon: 3, epsilon: 1 },
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
