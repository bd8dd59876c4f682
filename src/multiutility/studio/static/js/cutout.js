// The server finds the outline of a thing, by a box around it or by a click on it.

import { imagePath, sendJson } from "./api.js";

// The part of the picture between two places, in whole pixels: those that it touches.
function part(one, other, { width, height }) {
  const within = (value, least, most) => Math.max(least, Math.min(most, value));
  const left = within(Math.floor(Math.min(one.x, other.x)), 0, width - 1);
  const top = within(Math.floor(Math.min(one.y, other.y)), 0, height - 1);
  return {
    left,
    top,
    right: within(Math.ceil(Math.max(one.x, other.x)), left + 1, width),
    bottom: within(Math.ceil(Math.max(one.y, other.y)), top + 1, height),
  };
}

// Of a click, only what is in sight is looked at: who zooms in, means something small.
export async function cutOut(document, from, to, [corner, opposite]) {
  const window = to ? part(from, to, document) : part(corner, opposite, document);
  const click = to ? null : { x: Math.floor(from.x), y: Math.floor(from.y) };
  const answer = await sendJson("POST", imagePath(document.name, "/cutout"), { ...window, click });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const { left, top, right, bottom } = window;
  return { bytes, rectangle: { x: left, y: top, w: right - left, h: bottom - top }, any: bytes.some(Boolean) };
}
