// What a pointer paints: whole regions of a mask, or strokes of a scribble. The eraser and the right button take away.

import { union } from "./pixels.js";
import { state } from "./state.js";
import { contrast } from "./viewport.js";

export const BRUSH = { least: 1, most: 200 };
// Of the longer side of a picture, so that strokes look alike in small and large ones.
const SHARE = 1 / 200;
const THIN = 3;
// Long lines are painted in pieces: the rectangle around a slanted one is large.
const PIECE = 64;

export function usualBrush({ width, height }) {
  return Math.min(BRUSH.most, Math.max(THIN, Math.round(SHARE * Math.max(width, height))));
}

// The next size up or down: by one pixel, of large ones by more.
export function nextBrush(size, up) {
  const next = up ? Math.max(size + 1, Math.round(size * 1.2)) : Math.min(size - 1, Math.round(size / 1.2));
  return Math.max(BRUSH.least, Math.min(BRUSH.most, next));
}

class PixelTool {
  constructor(page, kind) {
    this.page = page;
    this.kind = kind;
    this.cursor = "cell";
    this.erases = true;
    this.erasing = false;
    this.stroke = null;
  }

  get image() {
    return this.page.document.images[this.kind];
  }

  get value() {
    return this.erasing ? 0 : 1 + state.dataset.classes.findIndex((one) => one.name === this.page.label);
  }

  down(place, _unit, erase = false) {
    const value = erase ? 0 : this.value;
    this.stroke = { before: this.image.values.slice(), rectangle: null, last: place, value };
    this.paint(place, place);
  }

  move(place) {
    if (!this.stroke) return;
    this.paint(this.stroke.last, place);
    this.stroke.last = place;
  }

  painted(rectangle) {
    if (!rectangle) return;
    this.stroke.rectangle = union(this.stroke.rectangle, rectangle);
    this.page.updatePixels(this.kind, rectangle);
  }

  up() {
    const { stroke, image } = this;
    this.stroke = null;
    if (!stroke?.rectangle) return;
    this.page.document.setPixels(this.kind, stroke.rectangle, image.copy(stroke.rectangle, stroke.before));
  }

  outside({ x, y }) {
    const { width, height } = this.page.document;
    return x < 0 || y < 0 || x >= width || y >= height;
  }
}

export class RegionTool extends PixelTool {
  constructor(page) {
    super(page, "mask");
    this.hovered = null;
  }

  down(...args) {
    this.done = new Set();
    if (this.page.regions) super.down(...args);
  }

  // All regions on the way, even if the pointer is fast.
  paint(from, to) {
    const distance = Math.hypot(to.x - from.x, to.y - from.y);
    const steps = Math.max(1, Math.ceil(distance / Math.max(1, this.page.document.width / 800)));
    for (let n = 1; n <= steps; n++) this.paintAt(between(from, to, n / steps));
  }

  paintAt(place) {
    if (this.outside(place)) return;
    const region = this.regionAt(place);
    if (this.done.has(region)) return;
    this.done.add(region);
    this.painted(this.page.regions.paint(this.image, region, this.stroke.value));
  }

  regionAt({ x, y }) {
    return this.page.regions.at(Math.floor(x), Math.floor(y), this.page.document);
  }

  hover(place) {
    const region = this.outside(place) || !this.page.regions ? null : this.regionAt(place);
    if (region !== this.hovered) {
      this.hovered = region;
      this.page.updateHover(region);
    }
    return this.cursor;
  }
}

export class StrokeTool extends PixelTool {
  constructor(page) {
    super(page, "scribbles");
    this.cursor = "crosshair";
    this.place = null;
  }

  paint(from, to) {
    const pieces = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / PIECE));
    for (let n = 0; n < pieces; n++) {
      const [start, end] = [n, n + 1].map((part) => between(from, to, part / pieces));
      this.painted(this.image.paintLine(start, end, this.page.brush, this.stroke.value));
    }
    this.place = to;
  }

  hover(place) {
    this.place = this.outside(place) ? null : place;
    this.page.redraw();
    return this.cursor;
  }

  // What the next stroke will cover; a finger hides it.
  draw(context, unit) {
    if (!this.place || this.page.touch) return;
    const color = this.erasing ? "#ffffff" : state.dataset.classes[this.value - 1]?.color ?? "#888888";
    for (const [style, width] of [[contrast(color), 3], [color, 1.5]]) {
      context.strokeStyle = style;
      context.lineWidth = width * unit;
      context.beginPath();
      context.arc(this.place.x, this.place.y, Math.max(this.page.brush / 2, 2 * unit), 0, 2 * Math.PI);
      context.stroke();
    }
  }
}

function between(from, to, part) {
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
