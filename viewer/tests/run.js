// Which run does a test look at?
//
// `./check page` makes a small reproduction and says where it is: CPSS_RUN is its folder, CPSS_BIN the
// program, CPSS_BROWSER the browser. Traces, tables and records are read here by themselves, without
// the page's own code, so that the page can be compared with them.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** @param {string} name */
function asked(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run ./check page`);
  return value;
}

export const RUN = asked("CPSS_RUN");
export const PROGRAM = asked("CPSS_BIN");
export const BROWSER = asked("CPSS_BROWSER");
export const REPORT = join(RUN, "report.html");

/**
 * A trace as it stands in its file.
 * @param {string} file
 */
export function readTrace(file) {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  return { header: lines[0], steps: lines.slice(1, -1), end: lines[lines.length - 1] };
}

/** The names of all traces of the run. */
export function traceFiles() {
  const files = readdirSync(join(RUN, "traces")).filter((name) => name.endsWith(".jsonl"));
  if (files.length === 0) throw new Error("the run has no traces");
  return files.sort();
}

/** A trace of the run. @param {string} file */
export function traceOf(file) {
  return readTrace(join(RUN, "traces", file));
}

/** What stands in the report, or in another page, for the player. @param {string} file */
export function embedded(file = REPORT) {
  const page = readFileSync(file, "utf8");
  const found = /<script type="application\/json" id="cpss-data">(.*?)<\/script>/s.exec(page);
  if (!found) throw new Error("the report holds no data");
  return JSON.parse(found[1]);
}

/** A table of the run, row by row. @param {string} name */
export function csv(name) {
  const [head, ...rows] = readFileSync(join(RUN, "tables", `${name}.csv`), "utf8").trimEnd().split("\n");
  return rows.map((row) => {
    const cells = row.split(",");
    return Object.fromEntries(head.split(",").map((key, place) => [key, cells[place]]));
  });
}

/** All records of the run. */
export function records() {
  const files = readdirSync(join(RUN, "records")).filter((name) => name.endsWith(".json"));
  return files.map((name) => JSON.parse(readFileSync(join(RUN, "records", name), "utf8")));
}
