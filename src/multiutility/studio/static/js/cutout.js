// The server finds the outline of a thing, by a box around it or by a click on it.

import { imagePath, sendJson } from "./api.js";

// The part of the picture between two places, in whole pixels.
function part(one, other, { width, height }) {
  const within = (value, most) => Math.max(0, Math.min(most, value));
  const [left, right] = [Math.min(one.x, other.x), Math.max(one.x, other.x)];
  const [top, bottom] = [Math.min(one.y, other.y), Math.max(one.y, other.y)];
  return {
    left: within(Math.round(left), width - 1),
    top: within(Math.round(top), height - 1),
    right: within(Math.max(Math.round(left) + 1, Math.round(right)), width),
    bottom: within(Math.max(Math.round(top) + 1, Math.round(bottom)), height),
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
