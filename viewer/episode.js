// What happened in an episode, and where was everybody at a moment?
//
// Reads what crates/lab/src/report/page/replay.rs writes. Start at `openEpisode`; `sceneAt` is what the
// animation asks. Numbers of the account are the trace's own, to the last bit.
//
// Between two decisions nothing was recorded, so cars are moved along the cubic that starts and ends
// with their recorded places and velocities: a drawing, not a measurement.
//
// Absent on purpose: judging. That is shield.js.

/**
 * @typedef {[x: number, y: number, heading: number, speed: number, wreck: number]} Pose
 *
 * @typedef {object} Road
 * @property {[number, number]} car
 * @property {{width: number, line: [number, number][]}[]} lanes
 * @property {[number, number, number, number, number][]} obstacles
 *
 * @typedef {{budget: number, horizon: number, epsilon: number, tau_cap: number, pace: number, price: number,
 *   charge: "observed" | "predicted", fallback: string, shadow: boolean, last_resort: number}} Rules
 *
 * @typedef {object} Certificate
 * @property {number} spent
 * @property {boolean} budget_kept
 * @property {number} excess
 * @property {number} priced
 * @property {number} infeasible
 * @property {boolean} envelope_held
 * @property {[start: number, chosen: number, surprise: number, arriving: number]} account
 * @property {number} evidence
 * @property {number} recalibration
 *
 * @typedef {object} Memory What a shield has found in the episodes so far.
 * @property {number} episodes
 * @property {{sums: number[][], seen: number, alarm?: number}} evidence One sum for each stake, its value first.
 * @property {{learned: number, shift: number, lift?: number}} recalibration
 * @property {{sums: number[][], seen: number, alarm?: number, alarms: number}} [novelty]
 *
 * @typedef {{rate: number, alarm: number, novelty?: {level: number}}} MemorySettings
 *
 * @typedef {{crashed: boolean, costs: number[], ghost: [number, number, number][]}} WhatIf
 *
 * @typedef {object} EpisodeRecord
 * @property {number} seed
 * @property {number} steps
 * @property {boolean} crashed
 * @property {boolean} off_road
 * @property {boolean} success
 * @property {number} episode_return
 * @property {number} mean_speed
 * @property {number} interventions
 * @property {number} infeasible
 * @property {number} mispredicted
 * @property {number} budget_used
 * @property {number} by_ledger
 * @property {number} [avoided]
 * @property {number} [unavoided]
 * @property {number} [closer]
 * @property {number} [false_alarms]
 * @property {number | string} [score] How badly its scenes were foretold.
 *
 * @typedef {object} Episode
 * @property {string} file
 * @property {string | null} chain_end
 * @property {string | null} unsound
 * @property {number | null} promise What the audit found to be promised; null where nothing is.
 * @property {string} task
 * @property {string} regime
 * @property {string} arm
 * @property {boolean} privileged
 * @property {string} policy
 * @property {number} seed
 * @property {string[]} actions
 * @property {number} decision_time
 * @property {number | null} look_ahead Over how many decisions a branch is played.
 * @property {Rules} shield
 * @property {Road} road
 * @property {number} steps
 * @property {number} duration
 * @property {number[]} proposal
 * @property {number[]} allowed
 * @property {number[]} ran
 * @property {string[]} verdict
 * @property {{settings: MemorySettings, found: Memory} | null} memory What was remembered at the start, if anything is.
 * @property {Memory | null} memory_after And at the end.
 * @property {string[]} alarms Why there are alarms, in words.
 * @property {number[][]} risks Of each action, as raised by the memory.
 * @property {number[]} unavoidable The least of them.
 * @property {number[][]} costs
 * @property {number[][]} likes
 * @property {number[]} density
 * @property {number[]} tau
 * @property {number[]} tau_budget
 * @property {number[]} gain
 * @property {number[]} charge
 * @property {number[]} closeness How close each step came to anything.
 * @property {number[]} mispredicted
 * @property {number[]} spent
 * @property {number[]} excess
 * @property {number[]} envelope
 * @property {([string, number, number] | null)[]} conflict What a refused proposal's risk is due to, the
 *   risk, and the risk without that.
 * @property {(WhatIf | null)[]} what_if
 * @property {Pose[][]} scenes
 * @property {EpisodeRecord | null} record
 * @property {Certificate | null} certificate
 * @property {number[]} interventions
 * @property {number[][]} links
 */

/**
 * An episode from its film.
 * @param {any} film
 * @param {Road[]} roads
 * @returns {Episode}
 */
export function openEpisode(film, roads) {
  const column = (/** @type {string} */ name) => numbers(expand(film[name] ?? []));
  const verdict = expand(film.verdict);
  const steps = verdict.length;
  const scenes = film.scenes ? addUp(film.scenes) : [];
  const episode = {
    ...film,
    road: roads[film.road],
    promise: film.promise ?? null,
    memory: film.memory ?? null,
    memory_after: film.memory_after ?? null,
    alarms: film.alarms ?? [],
    steps,
    duration: steps * film.decision_time,
    verdict,
    conflict: expand(film.conflict ?? []),
    what_if: expand(film.what_if ?? []),
    scenes,
    certificate: film.certificate ? certificateOf(film.certificate) : null,
    interventions: verdict.flatMap((/** @type {string} */ words, /** @type {number} */ step) =>
      words === "admit" ? [] : [step],
    ),
    links: scenes.slice(1).map((now, place) => matched(scenes[place], now, film.decision_time)),
  };
  for (const name of [
    "proposal", "allowed", "ran", "risks", "unavoidable", "costs", "likes", "density", "tau", "tau_budget", "gain",
    "charge", "closeness", "mispredicted", "spent", "excess", "envelope",
  ]) {
    episode[name] = column(name);
  }
  return episode;
}

/**
 * The step whose decision is in force at a time; the number of steps once the episode is over.
 * @param {Episode} episode
 * @param {number} time
 */
export function stepAt(episode, time) {
  // A hair is added because 0.6 / 0.2 is below 3.
  const step = Math.floor(time / episode.decision_time + 1e-6);
  return Math.max(0, Math.min(step, episode.steps));
}

/**
 * Whether the ego crashed, or on the racetrack left the road.
 * @param {Episode} episode
 */
export function failed(episode) {
  return episode.record !== null && (episode.record.crashed || episode.record.off_road);
}

/**
 * Where everybody is at a time, in the order of the last recorded scene, the ego first.
 * @param {Episode} episode
 * @param {number} time
 * @returns {Pose[]}
 */
export function sceneAt(episode, time) {
  const { scenes, links, decision_time: dt } = episode;
  const step = Math.min(stepAt(episode, time), scenes.length - 1);
  const share = Math.max(0, Math.min(1, time / dt - step));
  const next = scenes[step + 1];
  if (!next || share === 0) return scenes[step] ?? [];
  return scenes[step].map((pose, place) => {
    const twin = next[links[step][place]];
    return twin ? between(pose, twin, share, dt) : ahead(pose, share * dt);
  });
}

/**
 * A pose between two, on a cubic with their velocities.
 * @param {Pose} from
 * @param {Pose} to
 * @param {number} u
 * @param {number} dt
 * @returns {Pose}
 */
export function between(from, to, u, dt) {
  const start = (1 + 2 * u) * (1 - u) ** 2;
  const leave = u * (1 - u) ** 2 * dt;
  const end = u * u * (3 - 2 * u);
  const arrive = u * u * (u - 1) * dt;
  const turn = Math.atan2(Math.sin(to[2] - from[2]), Math.cos(to[2] - from[2]));
  const [vx, vy] = velocity(from);
  const [wx, wy] = velocity(to);
  return [
    start * from[0] + leave * vx + end * to[0] + arrive * wx,
    start * from[1] + leave * vy + end * to[1] + arrive * wy,
    from[2] + u * turn,
    from[3] + u * (to[3] - from[3]),
    from[4],
  ];
}

/** @param {Pose} pose */
function velocity([, , heading, speed]) {
  return [speed * Math.cos(heading), speed * Math.sin(heading)];
}

/** @param {Pose} pose @param {number} time @returns {Pose} */
function ahead(pose, time) {
  const [vx, vy] = velocity(pose);
  return [pose[0] + vx * time, pose[1] + vy * time, pose[2], pose[3], pose[4]];
}

/**
 * For every car its place in the next scene, or -1. Cars come and go at the intersection, and a scene
 * has no names: the closest to where it should be by now is taken for the same.
 * @param {Pose[]} before
 * @param {Pose[]} now
 * @param {number} dt
 */
function matched(before, now, dt) {
  const free = new Set(now.keys());
  return before.map((pose, place) => {
    const [x, y] = ahead(pose, dt);
    const gap = (/** @type {number} */ other) => Math.hypot(now[other][0] - x, now[other][1] - y);
    let best = place === 0 ? 0 : -1;
    if (place > 0) {
      // The same place first: where nobody came or went, it is right.
      for (const other of [place, ...free]) {
        const isNear = free.has(other) && gap(other) < 12;
        if (isNear && (best < 0 || gap(other) < gap(best) - 1e-9)) best = other;
      }
    }
    free.delete(best);
    return best;
  });
}

/**
 * A column, which is an array or a list of changes.
 * @param {any} column
 * @returns {any[]}
 */
function expand(column) {
  if (Array.isArray(column)) return column;
  const whole = new Array(column.length);
  let change = -1;
  for (let place = 0; place < column.length; place += 1) {
    if (column.at[change + 1] === place) change += 1;
    whole[place] = column.is[change];
  }
  return whole;
}

/**
 * Numbers that JSON has no signs for are words in a trace.
 * @param {any[]} values
 * @returns {any[]}
 */
function numbers(values) {
  const word = { nan: NaN, inf: Infinity, "-inf": -Infinity };
  return values.map((value) =>
    Array.isArray(value) ? numbers(value) : value in word ? word[/** @type {"nan"} */ (value)] : value,
  );
}

/** A certificate, with its numbers as numbers. @param {any} written @returns {Certificate} */
function certificateOf(written) {
  const [spent, excess, evidence, recalibration, ...account] = numbers([
    written.spent, written.excess, written.evidence, written.recalibration, ...written.account,
  ]);
  return { ...written, spent, excess, evidence, recalibration, account };
}

/**
 * Scenes from their differences.
 * @param {number[][]} coded
 * @returns {Pose[][]}
 */
function addUp(coded) {
  /** @type {number[]} */
  let whole = [];
  return coded.map(([isDifference, ...values]) => {
    whole = isDifference ? values.map((value, place) => whole[place] + value) : values;
    /** @type {Pose[]} */
    const poses = [];
    for (let car = 0; car < whole.length; car += 5) {
      const [x, y, heading, speed, wreck] = whole.slice(car, car + 5);
      poses.push([x / 100, y / 100, heading / 1000, speed / 100, wreck]);
    }
    return poses;
  });
}
