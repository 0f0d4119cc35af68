// What time is it in the replay?
//
// One clock for everything that moves: scenes and plots listen to it and draw what it says. Time is
// the episode's own, in seconds; how fast it passes is a factor of the reader's.

export class Clock {
  constructor() {
    this.time = 0;
    this.duration = 0;
    this.speed = 1;
    this.playing = false;
    /** @type {((clock: Clock) => void)[]} */
    this.listeners = [];
    this.last = 0;
  }

  /** Calls somebody whenever the time or the state changes. @param {(clock: Clock) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }

  tell() {
    for (const listener of this.listeners) listener(this);
  }

  /** Goes to a time, within the episode. @param {number} time */
  seek(time) {
    this.time = Math.max(0, Math.min(time, this.duration));
    this.tell();
  }

  /** Begins a new episode, at its start. @param {number} duration */
  restart(duration) {
    this.playing = false;
    this.duration = duration;
    this.time = 0;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing || this.duration === 0) return;
    if (this.time >= this.duration) this.time = 0;
    this.playing = true;
    this.last = performance.now();
    this.tell();
    requestAnimationFrame((now) => this.frame(now));
  }

  pause() {
    this.playing = false;
    this.tell();
  }

  /** @param {number} now */
  frame(now) {
    if (!this.playing) return;
    // A tab that slept does not leap: a frame is a quarter of a second at most.
    const passed = Math.min(0.25, Math.max(0, (now - this.last) / 1000)) * this.speed;
    this.last = now;
    this.time = Math.min(this.duration, this.time + passed);
    if (this.time >= this.duration) this.playing = false;
    this.tell();
    requestAnimationFrame((next) => this.frame(next));
  }
}
