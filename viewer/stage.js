// How is one episode shown at a moment?
//
// A stage has a scene, what was proposed and what ran, the plots, the moment in words, and the certificate of the whole. It knows no
// clock: it is told the time. Two stages told the same time are side by side.

import { certificate } from "./certificate.js";
import { failed, stepAt } from "./episode.js";
import { outcome } from "./outcome.js";
import { Plots } from "./plots.js";
import { drawScene, inksOf, sceneHeight } from "./scene.js";
import { make } from "./svg.js";
import { actionWords, armWords, endBadge, OUTCOMES, riskWords, stepWords } from "./words.js";

/** @import { Episode } from "./episode.js" */
/** @import { Inks } from "./marks.js" */
/** @import { Judgement } from "./shield.js" */

/** @typedef {"close" | "wide" | "whole"} View */

export class Stage {
  /**
   * @param {Episode} episode
   * @param {number} duration Of the longest episode shown: all stages have one time axis.
   * @param {(time: number) => void} seek
   */
  constructor(episode, duration, seek) {
    this.episode = episode;
    this.duration = duration;
    this.seek = seek;
    this.time = 0;
    /** @type {View} */
    this.view = "close";
    /** How much of the time axis is shown at once \[s\]. */
    this.span = duration;
    /** @type {Judgement | null} */
    this.judged = null;
    /** @type {Plots | null} */
    this.plots = null;
    /** The step whose words are written. @type {number | null} */
    this.shown = null;
    /** @type {Inks | null} */
    this.inks = null;

    this.root = make("section", "stage");
    this.root.dataset.arm = episode.arm;
    this.canvas = /** @type {HTMLCanvasElement} */ (make("canvas", "scene"));
    this.canvas.setAttribute("role", "img");
    this.doing = make("p", "doing");
    this.panels = make("div", "plots");
    this.panels.dataset.arm = episode.arm.toUpperCase();
    this.says = make("p", "says");
    this.risks = make("p", "risks");
    this.root.append(this.header(), this.canvas, this.doing, this.says, this.risks, this.panels, certificate(episode));
  }

  header() {
    const { episode } = this;
    const header = make("header", "");
    const title = make("h4", "");
    title.textContent = `${episode.arm.toUpperCase()}, ${armWords(episode.arm)}`;
    const badge = make("span", failed(episode) ? "badge bad" : "badge good");
    badge.textContent = endBadge(episode);
    const audit = make("span", episode.unsound ? "audit bad" : "audit");
    audit.textContent = episode.unsound ? "does not audit" : "trace audited";
    audit.title = episode.unsound ?? `${episode.file}, which ends in ${episode.chain_end}`;
    header.append(title, badge, audit);
    return header;
  }

  /** How much room there is \[px\]; the words always fill it. */
  width() {
    return Math.floor(this.says.clientWidth);
  }

  /** Fits everything to the width that there is now. */
  resize() {
    const width = this.width();
    if (!width) return;
    const height = sceneHeight(this.episode, width);
    const dots = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * dots);
    this.canvas.height = Math.round(height * dots);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.plot();
    this.recolour();
  }

  /** Draws the plots of the page of the time axis that the moment is on. */
  plot() {
    const { judged, seek, span, time, duration } = this;
    // The end belongs to the last page: none holds nothing but that.
    const last = Math.max(0, Math.ceil(duration / span - 1e-9) - 1);
    const from = Math.min(last, Math.floor(time / span + 1e-9)) * span;
    const width = this.width();
    this.plots = new Plots(this.panels, this.episode, { width, from, until: from + span, judged, seek });
  }

  /** Takes the colours of the page's theme. */
  recolour() {
    this.inks = inksOf(this.canvas);
    this.show(this.time);
  }

  /** Shows other judgements beside the recorded ones. @param {Judgement | null} judged */
  rejudge(judged) {
    this.judged = judged;
    this.resize();
  }

  /** Shows a moment. @param {number} time */
  show(time) {
    this.time = time;
    const { episode } = this;
    const step = stepAt(episode, time);
    this.root.dataset.step = String(step);
    this.root.dataset.time = String(time);
    if (this.inks) drawScene(this.canvas, episode, time, this.view, this.inks);
    if (this.plots && (time < this.plots.how.from - 1e-9 || time > this.plots.how.until + 1e-9)) this.plot();
    this.plots?.setTime(time);
    if (this.shown === step) return;
    this.shown = step;
    this.says.textContent = stepWords(episode, step);
    this.risks.textContent = riskWords(episode, step);
    this.canvas.setAttribute("aria-label", `The scene from above. ${this.says.textContent}`);
    this.doing.replaceChildren(...this.actions(step));
  }

  /** What is proposed and what runs, as labels. @param {number} step */
  actions(step) {
    const { episode } = this;
    if (step >= episode.steps) return [label(`end: ${endBadge(episode)}`, failed(episode) ? "bad" : "good")];
    const name = (/** @type {number} */ action) => actionWords(episode, action);
    const [kind, reason] = episode.verdict[step].split(" ");
    const [proposal, ran] = [episode.proposal[step], episode.ran[step]];
    if (kind === "admit") return ["runs as proposed ", label(name(ran), "ran")];
    const shadow = episode.shield.shadow;
    const parts = ["proposed ", label(name(proposal), ran === proposal ? "ran" : "proposal")];
    if (shadow && episode.allowed[step] === proposal) parts.push(" ran");
    else if (shadow) parts.push(" ran; the shield would have run ", label(name(episode.allowed[step]), "would"));
    else if (ran === proposal) parts.push(" refused, and ran: nothing was less risky");
    else parts.push(reason === "priced" ? " passed over, ran " : " refused, ran ", label(name(ran), "ran"));
    if (kind === "infeasible") parts.push(" ", label("no action admissible", "bad"));
    const found = outcome(episode, step);
    if (found) parts.push(" ", label(OUTCOMES[found], found));
    return parts;
  }
}

/** @param {string} words @param {string} look */
function label(words, look) {
  const made = make("span", `label ${look}`);
  made.textContent = words;
  return made;
}
