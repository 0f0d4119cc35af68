// What are the plots made of?
//
// Elements, signs and round numbers. Shapes differ as well as colours, so that a plot can be read in grey.

import { OUTCOMES } from "./words.js";

/** @import { Outcome } from "./outcome.js" */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with its attributes.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
export function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Acts while a plot is dragged. @param {SVGSVGElement} svg @param {(x: number) => void} act */
export function drag(svg, act) {
  const move = (/** @type {PointerEvent} */ event) => act(event.clientX - svg.getBoundingClientRect().left);
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    move(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) move(event);
  });
}

/** A refused proposal. @param {number} x @param {number} y */
export function diamond(x, y) {
  return `M${x - 4} ${y}L${x} ${y - 4}L${x + 4} ${y}L${x} ${y + 4}Z`;
}

/**
 * What came of a branch, by shape: an avoided crash is a disc, one that was not a cross.
 * @param {Outcome} found
 * @param {number} x
 * @param {number} y
 */
export function glyph(found, x, y) {
  const shapes = {
    avoided: element("circle", { class: "outcome avoided", cx: x, cy: y, r: 4.5 }),
    unavoided: element("path", { class: "outcome unavoided", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }),
    closer: element("path", { class: "outcome closer", d: `M${x - 4.5} ${y + 4}h9l-4.5 -8z` }),
    nothing: element("circle", { class: "outcome nothing", cx: x, cy: y, r: 3.5 }),
  };
  shapes[found].append(element("title", {}, OUTCOMES[found]));
  return shapes[found];
}

/** Round numbers in a range. @param {number} least @param {number} most @param {number} count */
export function nice(least, most, count) {
  const rough = (most - least) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const ticks = [];
  for (let tick = Math.ceil(least / step); tick * step <= most * (1 + 1e-9) + 1e-12; tick += 1) {
    ticks.push(Number((tick * step).toPrecision(6)));
  }
  return ticks;
}

/**
 * An element of the page.
 * @param {string} name
 * @param {string} look Its class, or nothing.
 * @param {string} [words]
 * @returns {HTMLElement}
 */
export function make(name, look, words) {
  const made = document.createElement(name);
  if (look) made.className = look;
  if (words !== undefined) made.textContent = words;
  return made;
}
