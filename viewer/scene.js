// What does an observer see, and what does the shield see in it?
//
// Draws one moment of an episode: the road, cars with their headings, the ego with its proposal and
// what ran, the body that makes the proposal risky, and the ghost of the ego without the
// intervention. Start at `drawScene`. Brightness alone tells ego, others and wrecks apart; colour adds
// to it. The y axis points down, as the world's does on screens.

import { between, sceneAt, stepAt } from "./episode.js";
import { drawArrow, drawCar, drawLabel, drawScaleBar } from "./marks.js";
import { drawRoad, surveyed } from "./road.js";
import { conflictWords } from "./words.js";

/** @import { Episode, Pose } from "./episode.js" */
/** @import { Inks } from "./marks.js" */

/** Names of the colours that a scene is drawn with, as custom properties of the page. */
const INK_NAMES = [
  "land", "edge", "asphalt", "divider", "obstacle", "ego", "ego-line", "car", "car-line", "wreck",
  "proposal", "ran", "conflict", "ghost", "ink", "paper",
];

/** Colours of the page's theme. @param {Element} element @returns {Inks} */
export function inksOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(INK_NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** How high a scene is for its width \[px\]. @param {Episode} episode @param {number} width */
export function sceneHeight(episode, width) {
  if (surveyed(episode.road).straight) return Math.round(Math.max(150, Math.min(230, width * 0.3)));
  return Math.round(Math.max(240, Math.min(400, width * 0.68)));
}

/**
 * Draws a moment.
 * @param {HTMLCanvasElement} canvas
 * @param {Episode} episode
 * @param {number} time
 * @param {"close" | "wide" | "whole"} view
 * @param {Inks} inks
 */
export function drawScene(canvas, episode, time, view, inks) {
  const context = canvas.getContext("2d");
  const scene = sceneAt(episode, time);
  if (!context || !scene.length) return;
  const dots = window.devicePixelRatio || 1;
  const [width, height] = [canvas.width / dots, canvas.height / dots];
  const { x, y, scale } = camera(episode, scene[0], view, width, height);
  const pixel = 1 / scale;
  context.setTransform(dots, 0, 0, dots, 0, 0);
  context.fillStyle = inks.land;
  context.fillRect(0, 0, width, height);
  context.setTransform(
    dots * scale, 0, 0, dots * scale, dots * (width / 2 - x * scale), dots * (height / 2 - y * scale),
  );
  const { edge, asphalt, divider, obstacle } = inks;
  drawRoad(context, episode.road, { edge, asphalt, divider, obstacle }, pixel);

  const step = stepAt(episode, time);
  const conflict = episode.conflict[step] ?? null;
  const refused = step < episode.steps && episode.verdict[step] !== "admit";
  const hazard = refused && conflict ? carOf(conflict[0]) : null;
  const size = episode.road.car;
  drawGhost(context, episode, time, size, inks, pixel);
  for (const [place, pose] of scene.entries()) {
    if (place > 0) drawCar(context, pose, size, place === hazard ? "hazard" : "car", inks, pixel);
  }
  drawCar(context, scene[0], size, "ego", inks, pixel);
  if (step < episode.steps) drawActions(context, episode, step, scene[0], inks, pixel);
  if (refused && conflict) {
    const other = hazard === null ? obstacleOf(episode, conflict[0]) : scene[hazard];
    drawConflict(context, scene[0], other ?? null, conflictWords(conflict), inks, pixel);
  }
  context.setTransform(dots, 0, 0, dots, 0, 0);
  drawScaleBar(context, scale, width, height, inks);
}

/**
 * Where to look, and how large a metre is.
 * @param {Episode} episode
 * @param {Pose} ego
 * @param {"close" | "wide" | "whole"} view
 * @param {number} width
 * @param {number} height
 */
function camera(episode, ego, view, width, height) {
  const { box: [left, right, top, bottom], straight } = surveyed(episode.road);
  if (straight) {
    const metres = Math.max(70, width / 6) * { close: 1, wide: 2, whole: 4 }[view];
    const seen = Math.min(metres, right - left);
    // More road ahead than behind.
    return { x: ego[0] + 0.12 * seen, y: (top + bottom) / 2, scale: width / seen };
  }
  const whole = Math.min(width / (right - left + 12), height / (bottom - top + 12));
  const scale = { close: Math.min(width, height) / 80, wide: Math.min(width, height) / 150, whole }[view];
  if (view === "whole" || scale <= whole) {
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale: whole };
  }
  return { x: ego[0] + 16 * Math.cos(ego[2]), y: ego[1] + 16 * Math.sin(ego[2]), scale };
}

/**
 * The proposal and what ran: where the two differ, the proposal is dashed and crossed out.
 * @param {CanvasRenderingContext2D} context
 * @param {Episode} episode
 * @param {number} step
 * @param {Pose} ego
 * @param {Inks} inks
 * @param {number} pixel
 */
function drawActions(context, episode, step, ego, inks, pixel) {
  const { proposal, ran, actions } = episode;
  if (ran[step] !== proposal[step]) {
    drawArrow(context, ego, actions[proposal[step]], inks.proposal, true, pixel);
  }
  drawArrow(context, ego, actions[ran[step]], inks.ran, false, pixel);
}

/**
 * A line to what makes the proposal risky, or a ring around the ego if it is the road, with the risk.
 * @param {CanvasRenderingContext2D} context
 * @param {Pose} ego
 * @param {number[] | null} other
 * @param {string} words
 * @param {Inks} inks
 * @param {number} pixel
 */
function drawConflict(context, ego, other, words, inks, pixel) {
  context.strokeStyle = inks.conflict;
  context.lineWidth = 1.6 * pixel;
  context.setLineDash([2 * pixel, 3 * pixel]);
  context.beginPath();
  if (other) {
    context.moveTo(ego[0], ego[1]);
    context.lineTo(other[0], other[1]);
  } else {
    context.arc(ego[0], ego[1], 4.5, 0, 2 * Math.PI);
  }
  context.stroke();
  context.setLineDash([]);
  drawLabel(context, words, ego, inks.conflict, inks.paper);
}

/**
 * The ego as it would have gone on without the latest intervention, while its branch lasts.
 * @param {CanvasRenderingContext2D} context
 * @param {Episode} episode
 * @param {number} time
 * @param {[number, number]} size
 * @param {Inks} inks
 * @param {number} pixel
 */
function drawGhost(context, episode, time, size, inks, pixel) {
  const found = ghostAt(episode, time);
  if (!found) return;
  const { branch, pose, over } = found;
  context.strokeStyle = inks.ghost;
  context.lineWidth = Math.max(0.2, 1.6 * pixel);
  context.setLineDash([1.5 * pixel, 3 * pixel]);
  context.beginPath();
  for (const [x, y] of branch.ghost) context.lineTo(x, y);
  context.stroke();
  context.setLineDash([]);
  // Where it is now, and where it ends: crossed out if that is a crash.
  if (!over) drawCar(context, [pose[0], pose[1], pose[2], 0, 0], size, "ghost", inks, pixel);
  const end = branch.ghost[branch.ghost.length - 1];
  drawCar(context, [end[0], end[1], end[2], 0, branch.crashed ? 1 : 0], size, "ghost", inks, pixel);
}

/**
 * The latest branch that lasts until a time, and where its ego is then.
 * @param {Episode} episode
 * @param {number} time
 */
export function ghostAt(episode, time) {
  const { decision_time: dt } = episode;
  for (let step = Math.min(stepAt(episode, time), episode.steps - 1); step >= 0; step -= 1) {
    const branch = episode.what_if[step];
    if (!branch) continue;
    const since = time / dt - step;
    const last = branch.ghost.length - 1;
    if (last < 1 || since > last + 1) return null;
    const place = Math.min(Math.floor(since), last - 1);
    const share = Math.min(1, since - place);
    const [from, to] = [branch.ghost[place], branch.ghost[place + 1]];
    const speed = Math.hypot(to[0] - from[0], to[1] - from[1]) / dt;
    const pose = between([...from, speed, 0], [...to, speed, 0], share, dt);
    return { branch, step, pose, over: since >= last };
  }
  return null;
}

/** @param {string} hazard @returns {number | null} */
function carOf(hazard) {
  const found = /^car (\d+)$/.exec(hazard);
  return found ? Number(found[1]) : null;
}

/** @param {Episode} episode @param {string} hazard @returns {number[] | null} */
function obstacleOf(episode, hazard) {
  const found = /^obstacle (\d+)$/.exec(hazard);
  return found ? episode.road.obstacles[Number(found[1])] ?? null : null;
}
