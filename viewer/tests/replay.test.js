// Contract: `cpss replay` writes a page for one trace, which says that the trace audits, or says in red
// that it does not and what is wrong, and shows it all the same.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launched, opened, shown } from "./browser.js";
import { PROGRAM, RUN, traceFiles, traceOf } from "./run.js";

/** @import { Browser } from "playwright-core" */

/** @type {Browser} */
let browser;
/** @type {string} */
let folder;
before(async () => {
  browser = await launched();
  folder = mkdtempSync(join(tmpdir(), "cpss-replay-"));
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

const file = traceFiles().find((name) => name.startsWith("merge-v0_high_cpss")) ?? "";

/** @param {string} trace @param {string} page @param {boolean} sound */
function replay(trace, page, sound = true) {
  const out = join(folder, page);
  const { status } = spawnSync(PROGRAM, ["replay", trace, "--out", out, "--no-open"]);
  assert.equal(status === 0, sound, "the exit status says whether the trace audits");
  return out;
}

test("a sound trace is replayed and said to be audited", async () => {
  const page = replay(join(RUN, "traces", file), "sound.html");
  await opened(browser, page, {}, async (tab) => {
    assert.match(await tab.textContent("main") ?? "", /Audited when this page was made/);
    assert.equal(await tab.locator(".banner:visible").count(), 0);
    const { stages } = await shown(tab);
    assert.deepEqual(stages.map(({ arm }) => arm), ["cpss"]);
    await tab.keyboard.press("End");
    const { steps } = traceOf(file).end.record;
    assert.equal((await shown(tab)).stages[0].step, steps);
  });
});

test("where the critic was not calibrated the page says that nothing was promised", async () => {
  const said = async (/** @type {string} */ regime) => {
    const traces = join(folder, regime);
    const options = ["--env", "merge-v0", "--regime", regime, "--episodes", "1", "--trace", traces];
    assert.equal(spawnSync(PROGRAM, ["evaluate", ...options]).status, 0);
    const page = replay(join(traces, readdirSync(traces)[0]), `${regime}.html`);
    let words = "";
    await opened(browser, page, {}, async (tab) => {
      words = await tab.textContent(".certificate .promise") ?? "";
    });
    return words;
  };
  assert.match(await said("high"), /Promised: the probability of an incident is at most [\d.e-]+/);
  assert.match(await said("high-0.1"), /Nothing was promised\./);
});

test("a trace with one changed digit is shown under a red banner", async () => {
  const text = readFileSync(join(RUN, "traces", file), "utf8");
  const lines = text.split("\n");
  lines[3] = lines[3].replace(/"density":(\d)/, (_, digit) => `"density":${(Number(digit) + 1) % 10}`);
  assert.notEqual(lines.join("\n"), text);
  const forged = join(folder, "forged.jsonl");
  writeFileSync(forged, lines.join("\n"));
  const page = replay(forged, "forged.html", false);
  await opened(browser, page, {}, async (tab) => {
    const banner = tab.locator(".banner:visible").first();
    assert.match(await banner.textContent() ?? "", /does not audit: line 4/);
    const colour = await banner.evaluate((element) => getComputedStyle(element).color);
    const [red, green, blue] = (colour.match(/\d+/g) ?? []).map(Number);
    assert.ok(red > 2 * green && red > 2 * blue, colour);
    assert.equal((await shown(tab)).stages.length, 1);
  });
});

test("a trace that was cut is shown as far as it goes", async () => {
  const lines = readFileSync(join(RUN, "traces", file), "utf8").split("\n").slice(0, 5);
  const cut = join(folder, "cut.jsonl");
  writeFileSync(cut, `${lines.join("\n")}\n`);
  await opened(browser, replay(cut, "cut.html", false), {}, async (tab) => {
    assert.ok(await tab.locator(".banner:visible").count() > 0);
    await tab.keyboard.press("End");
    const { stages } = await shown(tab);
    assert.equal(stages[0].step, 4);
    assert.match(stages[0].words, /cut before its end/);
  });
});
