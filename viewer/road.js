// What does the road look like from above?
//
// Lanes come as centre lines with a width. Asphalt is each line drawn as wide as its lane; a dashed
// line goes where two lanes lie side by side. Start at `drawRoad`; `surveyed` is worked out once per
// road.

/** @import { Road } from "./episode.js" */

/**
 * @typedef {object} Survey
 * @property {[number, number][][]} dividers Lines between lanes.
 * @property {[number, number, number, number]} box Least and largest x and y.
 * @property {boolean} straight Whether all of it runs along x.
 */

/** @type {WeakMap<Road, Survey>} */
const surveys = new WeakMap();

/** @param {Road} road @returns {Survey} */
export function surveyed(road) {
  let survey = surveys.get(road);
  if (!survey) {
    survey = { dividers: road.lanes.flatMap((_, lane) => dividersOf(road, lane)), ...extent(road) };
    surveys.set(road, survey);
  }
  return survey;
}

/**
 * Draws a road into a context whose unit is a metre.
 * @param {CanvasRenderingContext2D} context
 * @param {Road} road
 * @param {{edge: string, asphalt: string, divider: string, obstacle: string}} inks
 * @param {number} pixel One pixel, in metres.
 */
export function drawRoad(context, road, inks, pixel) {
  context.lineCap = "butt";
  context.lineJoin = "round";
  for (const [ink, more] of /** @type {[string, number][]} */ ([
    [inks.edge, Math.max(0.5, 3 * pixel)],
    [inks.asphalt, 0],
  ])) {
    context.strokeStyle = ink;
    for (const { width, line } of road.lanes) {
      context.lineWidth = width + more;
      stroke(context, line);
    }
  }
  context.strokeStyle = inks.divider;
  context.lineWidth = Math.max(0.15, pixel);
  context.setLineDash([3, 5]);
  for (const line of surveyed(road).dividers) stroke(context, line);
  context.setLineDash([]);
  context.fillStyle = inks.obstacle;
  for (const [x, y, heading, length, width] of road.obstacles) {
    context.save();
    context.translate(x, y);
    context.rotate(heading);
    context.fillRect(-length / 2, -width / 2, length, width);
    context.restore();
  }
}

/** @param {CanvasRenderingContext2D} context @param {[number, number][]} line */
function stroke(context, line) {
  context.beginPath();
  for (const [x, y] of line) context.lineTo(x, y);
  context.stroke();
}

/**
 * Stretches of a lane's right side along which another lane lies.
 * @param {Road} road
 * @param {number} lane
 */
function dividersOf(road, lane) {
  const { width, line } = road.lanes[lane];
  const others = road.lanes.filter((_, other) => other !== lane);
  /** @type {[number, number][][]} */
  const found = [];
  for (const side of [-1, 1]) {
    /** @type {[number, number][]} */
    let stretch = [];
    for (const [x, y, heading] of sampled(line)) {
      const [across, along] = [-Math.sin(heading) * side, Math.cos(heading) * side];
      const beside = [x + across * width, y + along * width];
      const has = others.some((other, place) =>
        // Between two lanes one line is enough: the earlier lane draws it.
        (side > 0 || place >= lane) && isOn(other.line, beside, heading));
      if (has) stretch.push([x + (across * width) / 2, y + (along * width) / 2]);
      if (!has || stretch.length > 4000) {
        if (stretch.length > 1) found.push(stretch);
        stretch = [];
      }
    }
    if (stretch.length > 1) found.push(stretch);
  }
  return found;
}

/** Points of a line with its heading, a few metres apart. @param {[number, number][]} line */
function* sampled(line) {
  for (let place = 1; place < line.length; place += 1) {
    const [[x0, y0], [x1, y1]] = [line[place - 1], line[place]];
    const length = Math.hypot(x1 - x0, y1 - y0);
    const heading = Math.atan2(y1 - y0, x1 - x0);
    const pieces = Math.max(1, Math.min(60, Math.round(length / 4)));
    for (let piece = place === 1 ? 0 : 1; piece <= pieces; piece += 1) {
      const share = piece / pieces;
      yield /** @type {[number, number, number]} */ ([
        x0 + share * (x1 - x0), y0 + share * (y1 - y0), heading,
      ]);
    }
  }
}

/**
 * Whether a line passes through a place in a direction or against it.
 * @param {[number, number][]} line
 * @param {number[]} place
 * @param {number} heading
 */
function isOn(line, [x, y], heading) {
  for (let end = 1; end < line.length; end += 1) {
    const [[x0, y0], [x1, y1]] = [line[end - 1], line[end]];
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = Math.hypot(dx, dy) || 1;
    const along = ((x - x0) * dx + (y - y0) * dy) / length;
    const across = Math.abs((x - x0) * dy - (y - y0) * dx) / length;
    const turn = Math.abs(Math.sin(heading - Math.atan2(dy, dx)));
    if (across < 0.5 && turn < 0.15 && along > -0.6 && along < length + 0.6) return true;
  }
  return false;
}

/** @param {Road} road @returns {{box: [number, number, number, number], straight: boolean}} */
function extent(road) {
  const points = road.lanes.flatMap(({ line }) => line);
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const box = /** @type {[number, number, number, number]} */ ([
    Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys),
  ]);
  return { box, straight: box[3] - box[2] < 0.1 * (box[1] - box[0]) };
}
