// Contract: the numbers on the page are those of the run's tables, and those are of its records.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launched, opened } from "./browser.js";
import { csv, records, REPORT, traceFiles, traceOf } from "./run.js";

/** @import { Browser } from "playwright-core" */

/** @type {Browser} */
let browser;
before(async () => {
  browser = await launched();
});
after(() => browser?.close());

/** Tables that stand on the page as they stand in their files. */
const TABLES = ["collision_summary", "price", "collision_by_regime", "proximity_by_regime", "beyond_the_paper"];

test("every table shows what its file has", () => opened(browser, REPORT, {}, async (page) => {
  for (const name of TABLES) {
    const shown = await page.locator(`#table-${name} tbody tr`).evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("td.number")].map((cell) => ({
        value: Number(/** @type {HTMLElement} */ (cell).dataset.value),
        words: cell.querySelector(".value")?.textContent ?? "",
      }))));
    const rows = csv(name);
    assert.equal(shown.length, rows.length, name);
    assert.ok(rows.length > 0);
    for (const [place, row] of rows.entries()) {
      const values = Object.entries(row)
        .filter(([key, text]) => !/_(low|high|std)$/.test(key) && text !== "" && !Number.isNaN(Number(text)))
        .map(([, text]) => Number(text));
      assert.deepEqual(shown[place].map(({ value }) => value), values, `${name}, row ${place}`);
      for (const { value, words } of shown[place]) {
        const percent = words.endsWith(" %");
        const read = Number(words.replace(" %", "")) / (percent ? 100 : 1);
        const decimals = (words.split(".")[1] ?? "").replace(" %", "").length + (percent ? 2 : 0);
        assert.ok(Math.abs(read - value) <= 0.5000001 * 10 ** -decimals, `${name}: ${words}, ${value}`);
      }
    }
  }
}));

test("the headline is the mean of the records over the tasks of which something is promised", () => opened(browser, REPORT, {}, async (page) => {
  const all = records();
  // Of the others nothing is promised, and the title says so.
  const headers = traceFiles().map((file) => traceOf(file).header);
  const promising = new Set(headers.filter(({ risk }) => risk.conservative).map(({ task }) => task));
  const tasks = [...new Set(all.map(({ unit }) => unit.task))].filter((task) => promising.has(task));
  assert.ok(tasks.length > 0);
  const meanOver = (/** @type {string} */ arm, /** @type {(episode: any) => number} */ of) => {
    const means = tasks.map((task) => {
      const episodes = all.filter(({ unit }) => unit.task === task && unit.arm === arm)
        .flatMap((record) => record.episodes);
      return episodes.map(of).reduce((a, b) => a + b, 0) / episodes.length;
    });
    return means.reduce((a, b) => a + b, 0) / means.length;
  };
  const { budget } = traceOf(traceFiles()[0]).header.shield;
  const happened = (/** @type {any} */ { crashed, off_road }) => Number(crashed || off_road);
  const [before, after] = [meanOver("dqn", happened), meanOver("cpss", happened)];
  const promised = meanOver("cpss", ({ start, arriving }) => start + arriving + budget);
  const title = await page.textContent("h1");
  assert.ok(title?.includes(`at most ${promised.toFixed(4)} of all episodes`), `${title} ${promised}`);
  assert.ok(title?.includes(`Measured: ${after.toFixed(4)}, and ${before.toFixed(4)} without`), title ?? "");
  const others = all.map(({ unit }) => unit.task).filter((task) => !promising.has(task));
  assert.ok(others.every((task) => title?.includes(`On ${task} nothing is promised`)), title ?? "");
}));

test("a task's table has the rates of its records", () => opened(browser, REPORT, {}, async (page) => {
  const all = records();
  const rows = await page.locator("#table-task-highway-v0 tbody tr").evaluateAll((found) =>
    found.map((row) => ({
      regime: row.querySelector("th")?.textContent ?? "",
      rates: [...row.querySelectorAll("td")].slice(0, 2).map((cell) => Number(cell.dataset.value)),
    })));
  assert.deepEqual(rows.map(({ regime }) => regime), ["stationary", "high", "all"]);
  for (const { regime, rates } of rows.slice(0, 2)) {
    for (const [place, arm] of ["dqn", "cpss"].entries()) {
      const episodes = all
        .filter(({ unit }) => unit.task === "highway-v0" && unit.arm === arm && unit.regime === regime)
        .flatMap((record) => record.episodes);
      const failed = episodes.filter(({ crashed }) => crashed).length;
      assert.equal(rates[place], failed / episodes.length, `${regime} ${arm}`);
    }
  }
}));
