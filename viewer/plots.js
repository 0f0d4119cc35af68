// How did costs, budget and context go over time?
//
// Four panels on one time axis: costs against the threshold, what was spent against the budget,
// density and gain, and the interventions by reason. Start at `Plots`; `setTime` moves the cursor of
// all of them and writes the numbers of that moment beside their names.
//
// A decision holds from its step to the next, so lines are steps. The ledger after a decision is what
// the next one starts with.

import { stepAt } from "./episode.js";
import { outcome } from "./outcome.js";
import { diamond, drag, element, glyph, nice } from "./svg.js";
import { costWords } from "./words.js";

/** @import { Episode } from "./episode.js" */
/** @import { Judgement } from "./shield.js" */

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {string} look A class of player.css: colour and dash.
 * @property {number[]} values
 * @property {(value: number) => string} [words]
 * @property {boolean} [right] Whether it goes by the axis on the right.
 *
 * @typedef {object} Frame
 * @property {number} width
 * @property {number} from The first moment shown \[s\].
 * @property {number} until The last one.
 * @property {Judgement | null} judged
 * @property {(time: number) => void} seek
 *
 * @typedef {{height: number, range: [number, number], ticks: number[], root?: boolean,
 *   right?: {range: [number, number], ticks: number[]}}} Axes
 */

const MARGIN = { left: 76, right: 34, top: 7, bottom: 7 };

/** Short names of reasons, for the rows of the last panel. @type {Record<string, string>} */
const ROWS = {
  "unusable-cost": "bad cost",
  "over-cap": "over cap",
  "horizon-closed": "horizon",
  "budget-spent": "spent",
  "over-budget": "over budget",
  "unusable-context": "bad density",
  "over-context": "over context",
  priced: "priced",
};

export class Plots {
  /**
   * @param {HTMLElement} host
   * @param {Episode} episode
   * @param {Frame} how
   */
  constructor(host, episode, how) {
    this.episode = episode;
    this.how = how;
    /** @type {SVGLineElement[]} */
    this.cursors = [];
    /** @type {{series: Series, output: HTMLElement}[]} */
    this.readouts = [];
    host.replaceChildren(this.costs(), this.budget(), this.context(), this.reasons());
  }

  /** Moves every cursor, and writes the numbers of the moment. @param {number} time */
  setTime(time) {
    const x = this.x(time).toFixed(2);
    for (const cursor of this.cursors) {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.dataset.time = String(time);
    }
    const step = stepAt(this.episode, time);
    for (const { series, output } of this.readouts) {
      const value = series.values[Math.min(step, series.values.length - 1)];
      output.textContent = value === undefined ? "" : (series.words ?? costWords)(value);
      output.dataset.value = String(value);
    }
  }

  costs() {
    const { episode, how } = this;
    const cost = (/** @type {number[]} */ actions) =>
      actions.map((action, step) => episode.costs[step][action]);
    /** @type {Series[]} */
    const series = [
      { name: "threshold τ", look: "tau", values: episode.tau },
      { name: "proposal's cost", look: "proposal", values: cost(episode.proposal) },
      { name: "cost of what ran", look: "ran", values: cost(episode.ran) },
    ];
    if (how.judged) series.push({ name: "τ re-judged", look: "judged", values: how.judged.tau });
    const { svg, y } = this.panel("Cost", series, {
      height: 128, range: [0, 1], ticks: [0, 0.01, 0.05, 0.2, 0.5, 1], root: true,
    }, "Costs of the proposal and of what ran, and the threshold, on a root scale");
    for (const step of episode.interventions.filter((one) => this.isSeen(one))) {
      const value = episode.costs[step][episode.proposal[step]];
      if (Number.isFinite(value)) {
        svg.append(element("path", { class: "mark", d: diamond(this.middle(step), y(value)) }));
      }
    }
    return svg.parentElement ?? svg;
  }

  budget() {
    const { episode, how } = this;
    const { budget, charge } = episode.shield;
    const what = charge === "predicted" ? "risk spent" : "cost spent";
    const words = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));
    /** @type {Series[]} */
    const series = [
      { name: what, look: "tau", values: [0, ...episode.spent], words },
      { name: "at most by now", look: "floor", values: [0, ...episode.envelope], words },
      { name: "budget", look: "limit", values: [budget, ...episode.spent.map(() => budget)], words },
    ];
    if (how.judged) {
      series.push({ name: "at most, re-judged", look: "judged", values: [0, ...how.judged.envelope], words });
    }
    const most = Math.max(...series.flatMap((one) => one.values));
    return this.panel("Budget", series, {
      height: 104, range: [0, most], ticks: nice(0, most, 4),
    }, `The ${what} so far, the most that the envelope allows by then, and the whole budget`).card;
  }

  context() {
    const { episode } = this;
    const most = Math.max(1e-6, ...episode.density.filter(Number.isFinite));
    return this.panel("Context", [
      { name: "density (left)", look: "density", values: episode.density, words: (d) => d.toFixed(2) },
      { name: "gain (right)", look: "tau", values: episode.gain, words: (g) => g.toFixed(3), right: true },
    ], {
      height: 86, range: [0, most], ticks: nice(0, most, 3),
      right: { range: [0, 1], ticks: [0, 0.5, 1] },
    }, "Traffic density, and the gain by which it tightens the threshold").card;
  }

  reasons() {
    const { episode, how } = this;
    const reasons = Object.keys(ROWS).filter((reason) =>
      episode.verdict.some((verdict) => verdict.endsWith(` ${reason}`)));
    const hasBranches = episode.what_if.some(Boolean);
    const rows = [
      ...reasons.map((reason) => ROWS[reason]),
      ...(hasBranches ? ["without it"] : []),
      ...(how.judged ? ["re-judged"] : []),
    ];
    const height = 24 + 17 * Math.max(1, rows.length) + 20;
    const passed = episode.verdict.filter((verdict) => verdict.endsWith(" priced")).length;
    const words = episode.interventions.length
      ? `${episode.interventions.length - passed} of ${episode.steps} proposals ` +
        `${episode.shield.shadow ? "would have been refused" : "refused"}` +
        (passed ? `, ${passed} passed over for their price` : "")
      : "no proposal refused";
    const { svg, card } = this.panel("Interventions", [], {
      height, range: [0, 1], ticks: [],
    }, `Interventions by reason: ${words}`, true);
    const note = document.createElement("span");
    note.className = "note";
    note.textContent = words;
    card.querySelector(".legend")?.append(note);
    const wide = Math.max(2.5, this.x(episode.decision_time) - this.x(0) - 1.5);
    const isSeen = (/** @type {number} */ step) => this.isSeen(step);
    for (const [row, name] of rows.entries()) {
      const y = MARGIN.top + 11 + 17 * row;
      svg.append(
        element("line", { class: "rule", x1: MARGIN.left, x2: how.width - MARGIN.right, y1: y, y2: y }),
        element("text", { class: "tick", x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, name),
      );
      const steps = name === "re-judged" ? how.judged?.interventions ?? [] : episode.interventions;
      for (const step of steps.filter(isSeen)) {
        const x = this.x(step * episode.decision_time);
        if (name === "re-judged") {
          svg.append(element("rect", { class: "rejudged", x, y: y - 4, width: wide, height: 8 }));
        } else if (name === "without it") {
          const found = outcome(episode, step);
          if (found) svg.append(glyph(found, this.middle(step), y));
        } else if (ROWS[episode.verdict[step].split(" ")[1]] === name) {
          const kind = episode.verdict[step].split(" ")[0];
          const mark = element("rect", { class: kind, x, y: y - 5, width: wide, height: 10, rx: 1.5 });
          mark.append(element("title", {}, `${episode.verdict[step]} at step ${step + 1}`));
          svg.append(mark);
        }
      }
    }
    return card;
  }

  /**
   * A panel with its legend, axes, lines and cursor.
   * @param {string} title
   * @param {Series[]} series
   * @param {Axes} axes
   * @param {string} words
   * @param {boolean} [isLast] Whether it carries the time axis.
   */
  panel(title, series, axes, words, isLast = false) {
    const { width, seek } = this.how;
    const { height, range, root } = axes;
    const bottom = height - MARGIN.bottom - (isLast ? 18 : 0);
    const scale = (/** @type {[number, number]} */ [least, most], /** @type {number} */ value) => {
      const share = Math.max(0, Math.min(1.02, (value - least) / (most - least || 1)));
      return bottom - (root ? Math.sqrt(share) : share) * (bottom - MARGIN.top);
    };
    const y = (/** @type {number} */ value) => scale(range, value);
    const svg = /** @type {SVGSVGElement} */ (element("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, class: "plot",
    }));
    let free = Infinity;
    for (const tick of axes.ticks) {
      // A number that would touch the one below it is left out.
      if (y(tick) > free - 13) continue;
      free = y(tick);
      svg.append(
        element("line", { class: "rule", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
        element("text", { class: "tick", x: MARGIN.left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
      );
    }
    for (const tick of axes.right?.ticks ?? []) {
      const place = scale(axes.right?.range ?? [0, 1], tick);
      svg.append(element("text", { class: "tick", x: width - MARGIN.right + 5, y: place + 4 }, String(tick)));
    }
    if (isLast) this.timeAxis(svg, bottom);
    for (const one of series) {
      const place = one.right && axes.right
        ? (/** @type {number} */ value) => scale(axes.right?.range ?? [0, 1], value) : y;
      svg.append(element("path", { class: `line ${one.look}`, d: this.steps(one.values, place) }));
    }
    const cursor = /** @type {SVGLineElement} */ (element("line", {
      class: "cursor", x1: MARGIN.left, x2: MARGIN.left, y1: MARGIN.top - 4, y2: bottom + 3,
    }));
    svg.append(cursor);
    this.cursors.push(cursor);
    drag(svg, (x) => seek(this.timeOf(x)));

    const card = document.createElement("div");
    card.className = "panel";
    card.dataset.panel = title.toLowerCase();
    card.append(this.legend(title, series), svg);
    return { svg, card, y };
  }

  /** @param {string} title @param {Series[]} series */
  legend(title, series) {
    const legend = document.createElement("div");
    legend.className = "legend";
    const name = document.createElement("strong");
    name.textContent = title;
    legend.append(name);
    for (const one of series) {
      const entry = document.createElement("span");
      const sample = element("svg", { width: 24, height: 8, "aria-hidden": "true" });
      sample.append(element("path", { class: `line ${one.look}`, d: "M1 4H23" }));
      const output = document.createElement("output");
      entry.append(sample, `${one.name} `, output);
      legend.append(entry);
      this.readouts.push({ series: one, output });
    }
    return legend;
  }

  /** @param {SVGElement} svg @param {number} bottom */
  timeAxis(svg, bottom) {
    const { width, from, until } = this.how;
    svg.append(element("line", {
      class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom,
    }));
    const ticks = nice(from, until, Math.max(3, Math.min(9, Math.floor(width / 80))));
    for (const tick of ticks) {
      const label = tick === ticks[ticks.length - 1] ? `${tick} s` : String(tick);
      svg.append(
        element("line", { class: "axis", x1: this.x(tick), x2: this.x(tick), y1: bottom, y2: bottom + 4 }),
        element("text", { class: "tick moment", x: this.x(tick), y: bottom + 16, "text-anchor": "middle" }, label),
      );
    }
  }

  /** @param {number} time */
  x(time) {
    const { width, from, until } = this.how;
    return MARGIN.left + ((time - from) / (until - from || 1)) * (width - MARGIN.left - MARGIN.right);
  }

  /** @param {number} x */
  timeOf(x) {
    const { width, from, until } = this.how;
    return from + ((x - MARGIN.left) / (width - MARGIN.left - MARGIN.right)) * (until - from);
  }

  /** Whether a step is on the page of the axis. @param {number} step */
  isSeen(step) {
    const { from, until } = this.how;
    const dt = this.episode.decision_time;
    return (step + 1) * dt > from + 1e-9 && step * dt < until - 1e-9;
  }

  /** The middle of a step. @param {number} step */
  middle(step) {
    return this.x((step + 0.5) * this.episode.decision_time);
  }

  /** @param {number[]} values @param {(value: number) => number} y */
  steps(values, y) {
    const dt = this.episode.decision_time;
    let path = "";
    for (const [step, value] of values.entries()) {
      // The ledger has one value more than there are steps: it stands where the episode ends.
      const isEnd = step === this.episode.steps;
      if (!Number.isFinite(value) || !this.isSeen(isEnd ? step - 1 : step)) continue;
      const place = y(value).toFixed(1);
      path += path ? `V${place}` : `M${this.x(step * dt).toFixed(1)} ${place}`;
      if (!isEnd) path += `H${this.x((step + 1) * dt).toFixed(1)}`;
    }
    return path;
  }
}
