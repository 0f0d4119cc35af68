// Which episode is shown, and how does a link open one at a moment?
//
// The address says it: `#episode=merge-v0/high/0/2150000&t=4&show=both`. The page follows its address,
// and the address follows the reader, so that any moment can be sent to somebody. Start at `Picker`.

import { openEpisode } from "./episode.js";

/** @import { Player } from "./player.js" */

/**
 * @typedef {object} Choice An episode that can be watched.
 * @property {string} id
 * @property {string} task
 * @property {string} regime
 * @property {string} name
 * @property {string[]} why
 * @property {[arm: string, film: number][]} films In the order of the screen.
 *
 * @typedef {{roads: any[], films: any[], choices: Choice[]}} Data
 */

export class Picker {
  /** @param {Player} player @param {Data} data */
  constructor(player, data) {
    this.player = player;
    this.data = data;
    this.choice = data.choices[0];
    this.showing = "both";
    /** The address that the page already shows. @type {string | null} */
    this.written = null;
    for (const name of ["task", "regime", "episode", "show"]) {
      this.player.part(name).addEventListener("change", () => this.chosen(name));
    }
    player.rested = (time) => this.write(time);
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /** Does what the address says, as far as it makes sense. */
  follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const choice = this.data.choices.find(({ id }) => id === asked.get("episode"));
    const show = asked.get("show") ?? "both";
    const time = Number(asked.get("t"));
    if (location.hash === this.written) return;
    const isOpen = this.written !== null;
    this.written = location.hash;
    // A place on the page, such as `#result`, is about no episode: what is being watched stays as it is.
    if (isOpen && !asked.has("episode")) return;
    this.open(choice ?? this.choice, show);
    if (Number.isFinite(time)) this.player.clock.seek(time);
    this.link(this.player.clock.time);
    // An address with an episode is about the replay: it is brought into view.
    if (choice) this.player.root.scrollIntoView();
  }

  /** @param {Choice} choice @param {string} show */
  open(choice, show) {
    const { roads, films } = this.data;
    this.choice = choice;
    this.showing = choice.films.some(([arm]) => arm === show) ? show : "both";
    const shown = choice.films.filter(([arm]) => ["both", arm].includes(this.showing));
    this.player.load(shown.map(([, film]) => openEpisode(films[film], roads)));
    this.fill();
    this.player.root.dataset.episode = choice.id;
    const unsound = choice.films.map(([, film]) => films[film]).filter((film) => film.unsound);
    const banner = this.player.part("banner");
    banner.hidden = unsound.length === 0;
    banner.textContent = unsound
      .map((film) => `This trace does not audit: ${film.file}, ${film.unsound}. What is shown below may be false.`)
      .join(" ");
  }

  /** Somebody chose something. @param {string} what */
  chosen(what) {
    const value = (/** @type {string} */ name) => this.player.value(name);
    const { choices } = this.data;
    const same = (/** @type {Choice} */ one) => one.task === value("task");
    const choice =
      (what === "task" ? choices.find(same) : undefined) ??
      (what === "regime" ? choices.find((one) => same(one) && one.regime === value("regime")) : undefined) ??
      (what === "episode" ? choices.find((one) => one.id === value("episode")) : undefined) ??
      this.choice;
    this.open(choice, what === "show" ? value("show") : this.showing);
    this.write(0);
  }

  /** Fills the lists with what there is to choose. */
  fill() {
    const { choices } = this.data;
    const { task, regime, id } = this.choice;
    const ofTask = choices.filter((one) => one.task === task);
    const ofRegime = ofTask.filter((one) => one.regime === regime);
    const names = (/** @type {string[]} */ all) => [...new Set(all)].map((name) => /** @type {const} */ ([name, name]));
    const arms = this.choice.films.map(([arm]) => arm);
    this.options("task", names(choices.map((one) => one.task)), task);
    this.options("regime", names(ofTask.map((one) => one.regime)), regime);
    this.options("episode", ofRegime.map((one) => [one.id, one.name]), id);
    const shows = arms.map((arm) => /** @type {const} */ ([arm, `${arm.toUpperCase()} alone`]));
    this.options("show", arms.length > 1 ? [["both", "side by side"], ...shows] : shows, this.showing);
    this.player.part("chooser").hidden = choices.length < 2 && arms.length < 2;
  }

  /** @param {string} name @param {(readonly [string, string])[]} options @param {string} selected */
  options(name, options, selected) {
    const list = /** @type {HTMLSelectElement} */ (this.player.part(name));
    list.replaceChildren(...options.map(([value, words]) => new Option(words, value, false, value === selected)));
  }

  /** Puts a moment into the address. @param {number} time */
  write(time) {
    this.link(time);
    const { hash } = new URL(/** @type {HTMLAnchorElement} */ (this.player.part("link")).href);
    this.written = hash;
    history.replaceState(null, "", hash);
  }

  /** @param {number} time */
  link(time) {
    const show = this.showing === "both" ? "" : `&show=${this.showing}`;
    const link = /** @type {HTMLAnchorElement} */ (this.player.part("link"));
    link.href = `#episode=${this.choice.id}&t=${Number(time.toFixed(2))}${show}`;
  }
}
