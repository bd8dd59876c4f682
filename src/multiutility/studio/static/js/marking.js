// What tools for marks share: how near the pointer must be, colors and names.

import { state } from "./state.js";
import { contrast } from "./viewport.js";

export const GRIP = 7; // on the screen
export const TOUCH = 14;

export function colorOf(name) {
  return state.dataset.classes.find((one) => one.name === name)?.color ?? "#888888";
}

let strokes = 0;

// A name for all that a drag does, which is undone at once.
export function nextStroke() {
  return ++strokes;
}

export function drawName(context, unit, name, x, y) {
  const color = colorOf(name);
  context.font = `600 ${12 * unit}px system-ui, sans-serif`;
  const width = context.measureText(name).width + 8 * unit;
  const top = y - 17 * unit < 0 ? y : y - 17 * unit;
  context.fillStyle = color;
  context.fillRect(x - unit, top, width, 17 * unit);
  context.fillStyle = contrast(color);
  context.fillText(name, x + 3 * unit, top + 12.5 * unit);
}
