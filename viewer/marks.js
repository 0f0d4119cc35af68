// How are cars, actions and words drawn on the road?
//
// Into a context whose unit is a metre; `pixel` is one pixel in metres, so that strokes have their width
// at any scale. Ego, others, wrecks and ghosts differ in brightness and outline as well as in colour.

/** @import { Pose } from "./episode.js" */

/** Colours by name. @typedef {Record<string, string>} Inks */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Pose} pose
 * @param {[number, number]} size
 * @param {"ego" | "car" | "hazard" | "ghost"} kind
 * @param {Inks} inks
 * @param {number} pixel
 */
export function drawCar(context, [x, y, heading, , wreck], [length, width], kind, inks, pixel) {
  context.save();
  context.translate(x, y);
  context.rotate(heading);
  const body = new Path2D();
  body.roundRect(-length / 2, -width / 2, length, width, 0.5);
  context.lineWidth = Math.max(0.18, 1.2 * pixel);
  if (kind === "ghost") {
    context.setLineDash([4 * pixel, 3 * pixel]);
    context.strokeStyle = inks.ghost;
    context.lineWidth = Math.max(0.25, 1.8 * pixel);
    context.stroke(body);
  } else {
    context.fillStyle = kind === "ego" ? inks.ego : inks.car;
    context.fill(body);
    context.strokeStyle = wreck ? inks.wreck : kind === "ego" ? inks["ego-line"] : inks["car-line"];
    context.stroke(body);
    // The windscreen shows which end is the front.
    context.fillStyle = kind === "ego" ? inks.paper : inks["car-line"];
    context.fillRect(length * 0.12, -width * 0.36, length * 0.14, width * 0.72);
  }
  if (wreck) {
    context.setLineDash([]);
    context.strokeStyle = inks.wreck;
    context.lineWidth = Math.max(0.4, 2.4 * pixel);
    context.beginPath();
    for (const side of [-1, 1]) {
      context.moveTo(-length / 2, (side * width) / 2);
      context.lineTo(length / 2, (-side * width) / 2);
    }
    context.stroke();
  }
  if (kind === "hazard") {
    context.strokeStyle = inks.conflict;
    context.lineWidth = Math.max(0.3, 2.2 * pixel);
    context.beginPath();
    context.ellipse(0, 0, length * 0.75, width * 1.15, 0, 0, 2 * Math.PI);
    context.stroke();
  }
  context.restore();
}

/** Where an arrow ends: ahead and to the right \[m\]. @param {string} action @returns {[number, number]} */
function arrowEnd(action) {
  const steer = Number(action);
  if (!Number.isNaN(steer)) return [11, 7 * steer];
  switch (action) {
    case "FASTER": return [17, 0];
    case "SLOWER": return [6.5, 0];
    case "LANE_LEFT": return [13, -4];
    case "LANE_RIGHT": return [13, 4];
    default: return [11, 0];
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Pose} ego
 * @param {string} action
 * @param {string} ink
 * @param {boolean} refused
 * @param {number} pixel
 */
export function drawArrow(context, [x, y, heading], action, ink, refused, pixel) {
  const [ahead, aside] = arrowEnd(action ?? "");
  context.save();
  context.translate(x, y);
  context.rotate(heading);
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = Math.max(0.4, 2.6 * pixel);
  if (refused) context.setLineDash([4.5 * pixel, 3 * pixel]);
  const start = 3;
  context.beginPath();
  context.moveTo(start, 0);
  context.bezierCurveTo(start + (ahead - start) / 2, 0, start + (ahead - start) / 2, aside, ahead, aside);
  context.stroke();
  context.setLineDash([]);
  context.translate(ahead, aside);
  const reach = Math.max(1.3, 6 * pixel);
  context.beginPath();
  if (refused) {
    for (const side of [-1, 1]) {
      context.moveTo(-reach * 0.6, -side * reach * 0.6);
      context.lineTo(reach * 0.6, side * reach * 0.6);
    }
    context.stroke();
  } else {
    context.moveTo(reach, 0);
    context.lineTo(-reach * 0.4, -reach * 0.75);
    context.lineTo(-reach * 0.4, reach * 0.75);
    context.fill();
  }
  context.restore();
}

/**
 * Words beside a pose, in pixels: letters of a few metres would be badly shaped.
 * @param {CanvasRenderingContext2D} context
 * @param {string} words
 * @param {Pose} pose
 * @param {string} ink
 * @param {string} halo
 */
export function drawLabel(context, words, pose, ink, halo) {
  const { a: factor, e, f } = context.getTransform();
  const dots = window.devicePixelRatio || 1;
  const [x, y] = [(pose[0] * factor + e) / dots, (pose[1] * factor + f) / dots];
  context.save();
  context.setTransform(dots, 0, 0, dots, 0, 0);
  context.font = "600 12px system-ui, sans-serif";
  const half = context.measureText(words).width / 2 + 6;
  const room = context.canvas.width / dots;
  const middle = Math.max(half, Math.min(room - half, x));
  // Above, unless the ego drives there.
  const gap = (3.2 * factor) / dots;
  const above = Math.sin(pose[2]) < -0.5 ? y + gap + 14 : Math.max(16, y - gap - 6);
  context.textAlign = "center";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = halo;
  context.strokeText(words, middle, above);
  context.fillStyle = ink;
  context.fillText(words, middle, above);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} scale
 * @param {number} width
 * @param {number} height
 * @param {Inks} inks
 */
export function drawScaleBar(context, scale, width, height, inks) {
  const metres = [5, 10, 20, 50, 100].find((length) => length * scale > 40) ?? 200;
  const [x, y] = [width - 12 - metres * scale, height - 10];
  context.strokeStyle = inks.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y - 3);
  context.lineTo(x, y);
  context.lineTo(x + metres * scale, y);
  context.lineTo(x + metres * scale, y - 3);
  context.stroke();
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillStyle = inks.ink;
  context.fillText(`${metres} m`, x - 5, y + 1);
}
