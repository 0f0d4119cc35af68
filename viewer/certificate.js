// What was promised of an episode, and was it kept?
//
// The certificate that a trace ends with, on the page: the budget and what was spent of it, the promise, and
// the account of risk, whose four parts add up to what happened: 1 after an incident, and otherwise 0. Start at
// `certificate`. The numbers are the trace's own; only their sums are made here.

import { failed } from "./episode.js";
import { make } from "./svg.js";
import { costWords } from "./words.js";

/** @import { Episode } from "./episode.js" */

/** What the parts of the account are called, and what they mean. */
const PARTS = [
  ["start", "the risk at the start that could not be avoided"],
  ["chosen", "the avoidable risk that ran, which was charged to the budget"],
  ["surprise", "what the critic did not foresee"],
  ["arriving", "the risk that came into view, where the look-ahead is limited"],
];

/**
 * The certificate of an episode, as a part of its stage.
 * @param {Episode} episode
 * @returns {HTMLElement}
 */
export function certificate(episode) {
  const root = make("section", "certificate");
  const title = make("h5", "", "Certificate");
  const found = episode.certificate;
  if (!found) {
    root.append(title, make("p", "", "The trace was cut before its end, so there is none."));
    return root;
  }
  const badge = make("span", `badge ${found.budget_kept ? "good" : "bad"}`,
    found.budget_kept ? "budget kept" : "budget not kept");
  badge.dataset.kept = String(found.budget_kept);
  root.append(title, badge, make("p", "promise", promiseWords(episode)));
  if (found.account.every(Number.isFinite)) root.append(account(episode, found.account));
  root.append(make("p", "note", restWords(episode)));
  if (episode.memory) root.append(memory(episode));
  return root;
}

/** What the shield remembered of the episodes before, and what this one added. @param {Episode} episode */
function memory(episode) {
  const root = make("div", "memory");
  root.append(make("p", "note", memoryWords(episode)));
  for (const reason of episode.alarms) {
    const alarm = make("p", "alarm", `Alarm: ${reason}.`);
    alarm.setAttribute("role", "note");
    root.append(alarm);
  }
  return root;
}

/** The shift in force, and the evidence. @param {Episode} episode */
export function memoryWords(episode) {
  const { memory: start, memory_after: end, record } = episode;
  if (!start) return "";
  const { settings, found } = start;
  const { shift, lift = 0 } = found.recalibration;
  const odds = shift > 0 ? `, their odds times ${number(Math.exp(shift))}` : "";
  const more = lift > 0 ? `, those of what cannot be avoided by ${number(lift)} more` : "";
  const said = [`Memory of ${found.episodes} episodes: log-odds of all risks raised by ${number(shift)}${odds}${more}`];
  if (end) said.push(`${number(end.recalibration.shift + (end.recalibration.lift ?? 0))} in all from the next episode on`);
  const evidence = average((end ?? found).evidence.sums);
  said.push(`evidence of incidents ${number(evidence)}, alarm at ${settings.alarm}`);
  const seen = (end ?? found).novelty;
  if (settings.novelty && seen) {
    const score = record?.score === undefined ? "" : `, this episode's score ${number(Number(record.score))}`;
    said.push(`evidence of novelty ${number(average(seen.sums))}, alarm at ${settings.novelty.level}${score}`);
  }
  return `${said.join("; ")}.`;
}

/** The average of what the stakes have won. @param {number[][]} sums */
function average(sums) {
  return sums.reduce((total, [value]) => total + value, 0) / sums.length;
}

/** What was spent, and what was promised. @param {Episode} episode */
export function promiseWords(episode) {
  const { certificate: found, shield } = episode;
  if (!found) return "";
  const what = shield.charge === "predicted" ? "Avoidable risk" : "Cost";
  const spent = `${what}: ${number(found.spent)} spent of a budget of ${number(shield.budget)}`;
  if (shield.shadow) return `${spent}. Nothing was promised: the shield only watched.`;
  if (episode.promise === null) return `${spent}. Nothing was promised.`;
  const [start, , , arriving] = found.account;
  const beyond = arriving > 0 ? ` + ${number(arriving)} arriving` : "";
  return `${spent}. Promised: the probability of an incident is at most ${number(episode.promise)} ` +
    `(${number(start)} at the start${beyond} + the budget), if the critic does not underestimate risk.`;
}

/** The four parts and their sum. @param {Episode} episode @param {number[]} parts */
function account(episode, parts) {
  const list = make("dl", "account");
  list.setAttribute("aria-label", "The account of risk");
  for (const [place, [name, meaning]] of PARTS.entries()) {
    list.append(term(name, meaning, `${place > 0 && parts[place] >= 0 ? "+ " : ""}${number(parts[place])}`, parts[place]));
  }
  const total = parts.reduce((a, b) => a + b, 0);
  const end = failed(episode) ? "incident" : "no incident";
  const sum = term(end, "what happened: the sum of the four", `= ${number(Math.round(total * 1e9) / 1e9)}`, total);
  sum.classList.add("sum");
  list.append(sum);
  return list;
}

/** @param {string} name @param {string} meaning @param {string} shown @param {number} value */
function term(name, meaning, shown, value) {
  const pair = make("div", "");
  pair.title = meaning;
  const amount = make("dd", "", shown);
  amount.dataset.part = name;
  amount.dataset.value = String(value);
  pair.append(make("dt", "", name), amount);
  return pair;
}

/** What else the certificate says. @param {Episode} episode */
function restWords(episode) {
  const { certificate: found, record } = episode;
  if (!found) return "";
  const said = [];
  if (record && record.interventions > 0) {
    said.push(`${record.by_ledger} of ${record.interventions} refusals only because of what was spent before`);
  }
  if (found.priced > 0) said.push(`${found.priced} admissible proposals passed over for their price`);
  if (found.excess > 0) said.push(`${number(found.excess)} above the thresholds`);
  // A memory says so itself, with its alarm.
  if (Number.isFinite(found.evidence) && !episode.memory) {
    // Without any surprise it grows by 1 with each decision.
    said.push(`evidence against the critic ${number(found.evidence)} (without surprises it would be ${episode.steps})`);
  }
  if (found.recalibration > 0 && !episode.memory) said.push(`its log-odds raised by ${number(found.recalibration)}`);
  if (!found.envelope_held) said.push("the envelope did NOT hold");
  const words = said.join("; ");
  return words ? `${words.charAt(0).toUpperCase()}${words.slice(1)}.` : "";
}

/** A number that may be negative, short. @param {number} value */
function number(value) {
  return value < 0 ? `\u2212 ${costWords(-value)}` : costWords(value);
}
