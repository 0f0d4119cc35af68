// How does a reader go through an episode?
//
// Play, pause, step, drag, jump from one intervention to the next, and try another budget. One clock
// drives one stage or two. Start at `Player.load`; the markup is player.html, the keys are in `KEYS`.

import { Clock } from "./clock.js";
import { rejudge } from "./shield.js";
import { Stage } from "./stage.js";
import { interventionWords, timeWords } from "./words.js";

/** @import { Episode } from "./episode.js" */

/** An episode longer than this is plotted in pages \[s\]. */
const LONG = 100;
/** How long a page is \[s\]. */
const PAGE = 20;

export class Player {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.clock = new Clock();
    /** @type {Stage[]} */
    this.stages = [];
    /** Whom interventions and budget are about: the shielded episode, if it is shown. @type {Episode | null} */
    this.leader = null;
    /** Called when the reader has come to rest at a moment. @type {(time: number) => void} */
    this.rested = () => {};
    this.clock.listen(() => this.show());

    this.on("play", () => this.clock.toggle());
    this.on("back", () => this.step(-1));
    this.on("forward", () => this.step(1));
    this.on("previous", () => this.jump(-1));
    this.on("next", () => this.jump(1));
    this.part("scrubber").addEventListener("input", () => this.goTo(Number(this.value("scrubber"))));
    this.part("speed").addEventListener("change", () => {
      this.clock.speed = Number(this.value("speed"));
    });
    this.part("view").addEventListener("change", () => this.look());
    this.part("axis").addEventListener("change", () => this.look());
    this.part("budget").addEventListener("input", () => this.judgeAgain());
    this.on("recorded", () => {
      /** @type {HTMLInputElement} */ (this.part("budget")).value = "0";
      this.judgeAgain();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.part("stages"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  /** Shows some episodes of one seed from the start. @param {Episode[]} episodes */
  load(episodes) {
    const duration = Math.max(...episodes.map((episode) => episode.duration));
    this.leader = episodes.find((episode) => !episode.shield.shadow) ?? episodes[0];
    this.clock.restart(duration);
    this.stages = episodes.map((episode) => new Stage(episode, duration, (time) => this.goTo(time)));
    const host = this.part("stages");
    host.replaceChildren(...this.stages.map((stage) => stage.root));
    host.classList.toggle("two", episodes.length > 1);
    const scrubber = /** @type {HTMLInputElement} */ (this.part("scrubber"));
    scrubber.max = String(duration);
    scrubber.step = String(this.leader.decision_time / 20);
    /** @type {HTMLInputElement} */ (this.part("budget")).value = "0";
    const isLong = duration > LONG;
    this.part("axis-label").hidden = !isLong;
    /** @type {HTMLSelectElement} */ (this.part("axis")).value = isLong ? "pages" : "whole";
    this.list();
    this.look();
    this.judgeAgain();
  }

  /** Goes to a time and rests there. @param {number} time */
  goTo(time) {
    this.clock.pause();
    this.clock.seek(time);
    this.rested(this.clock.time);
  }

  /** @param {number} by */
  step(by) {
    const dt = this.leader?.decision_time ?? 1;
    const place = this.clock.time / dt;
    this.goTo((by > 0 ? Math.floor(place + 1e-6) + 1 : Math.ceil(place - 1e-6) - 1) * dt);
  }

  /** Goes to the next or the previous intervention, if there is one. @param {number} by */
  jump(by) {
    if (!this.leader) return;
    const { interventions, decision_time: dt } = this.leader;
    const times = interventions.map((step) => step * dt);
    const now = this.clock.time;
    const found = by > 0
      ? times.find((time) => time > now + 1e-6)
      : times.reverse().find((time) => time < now - 1e-6);
    if (found !== undefined) this.goTo(found);
  }

  show() {
    const { time, duration, playing } = this.clock;
    for (const stage of this.stages) {
      stage.show(time);
      // While it runs, a line per step would drown out everything else that is read aloud.
      stage.says.setAttribute("aria-live", playing ? "off" : "polite");
    }
    const play = this.part("play");
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.dataset.playing = String(playing);
    const scrubber = /** @type {HTMLInputElement} */ (this.part("scrubber"));
    scrubber.value = String(time);
    scrubber.setAttribute("aria-valuetext", `${timeWords(time)} of ${timeWords(duration)}`);
    this.part("time").textContent = `${timeWords(time)} of ${timeWords(duration)}`;
    this.root.dataset.time = String(time);
  }

  look() {
    for (const stage of this.stages) {
      stage.view = /** @type {any} */ (this.value("view"));
      stage.span = this.value("axis") === "pages" ? PAGE : stage.duration;
      stage.resize();
    }
    this.show();
  }

  resize() {
    for (const stage of this.stages) stage.resize();
  }

  recolour() {
    for (const stage of this.stages) stage.recolour();
  }

  /** Judges what is shown by the budget that the slider says. */
  judgeAgain() {
    if (!this.leader) return;
    const power = Number(this.value("budget"));
    const factor = 2 ** power;
    const budget = this.leader.shield.budget * factor;
    const shown = Number(budget.toPrecision(3));
    const times = factor >= 1 ? Number(factor.toPrecision(3)) : `1/${Number((1 / factor).toPrecision(3))}`;
    this.part("budget-value").textContent =
      power === 0 ? `${shown}, as recorded` : `${shown}, ${times} of the recorded`;
    for (const stage of this.stages) {
      const { episode } = stage;
      stage.rejudge(power === 0 ? null : rejudge(episode, episode.shield.budget * factor));
    }
    const before = this.leader.interventions.length;
    const after = rejudge(this.leader, budget).interventions.length;
    const would = this.leader.shield.shadow ? "would have refused" : "refused";
    this.part("verdicts").textContent = power === 0
      ? `The shield ${would} ${before} of these ${this.leader.steps} proposals.`
      : `With this budget the shield would have refused ${after} of these ${this.leader.steps} ` +
        `proposals; with the recorded one it ${would} ${before}.`;
    this.part("verdicts").dataset.count = String(after);
  }

  /** The interventions as a list of places to go to. */
  list() {
    const list = this.part("interventions");
    const leader = this.leader;
    if (!leader) return;
    this.part("count").textContent = String(leader.interventions.length);
    list.replaceChildren(...leader.interventions.map((step) => {
      const item = document.createElement("li");
      const go = document.createElement("button");
      go.type = "button";
      go.dataset.step = String(step);
      go.textContent = interventionWords(leader, step);
      go.addEventListener("click", () => this.goTo(step * leader.decision_time));
      item.append(go);
      return item;
    }));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const isInside = this.root.contains(target);
    if (event.ctrlKey || event.metaKey || event.altKey || !(isInside || this.isInView(target))) return;
    // Controls keep the keys that they have anyway.
    const own = target.closest("select, input, button, a, summary");
    if (own && [" ", "Enter"].includes(event.key)) return;
    if (target.closest("select, input") && event.key !== "n" && event.key !== "p") return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(this);
  }

  /** Whether keys pressed nowhere in particular are meant for the player. @param {HTMLElement} target */
  isInView(target) {
    const { top, bottom } = this.part("stages").getBoundingClientRect();
    const middle = window.innerHeight / 2;
    return target === document.body && top < middle && bottom > middle;
  }

  /** An element of the player, by its role there. @param {string} name @returns {HTMLElement} */
  part(name) {
    const found = this.root.querySelector(`[data-part="${name}"]`);
    if (!found) throw new Error(`the page has no part "${name}"`);
    return /** @type {HTMLElement} */ (found);
  }

  /** @param {string} name */
  value(name) {
    return /** @type {HTMLInputElement} */ (this.part(name)).value;
  }

  /** @param {string} name @param {() => void} act */
  on(name, act) {
    this.part(name).addEventListener("click", act);
  }
}

/** @type {Record<string, (player: Player) => void>} */
const KEYS = {
  " ": (player) => player.clock.toggle(),
  ArrowLeft: (player) => player.step(-1),
  ArrowRight: (player) => player.step(1),
  n: (player) => player.jump(1),
  p: (player) => player.jump(-1),
  Home: (player) => player.goTo(0),
  End: (player) => player.goTo(player.clock.duration),
};
