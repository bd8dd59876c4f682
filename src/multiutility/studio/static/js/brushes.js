// What a pointer paints into a mask or into scribbles, in one of several ways. The eraser and the right button take away.

import { union } from "./pixels.js";
import { settings } from "./settings.js";
import { state } from "./state.js";
import { WAYS } from "./ways.js";

export const BRUSH = { least: 1, most: 200 };
// Of the longer side of a picture, so that strokes look alike in small and large ones.
const SHARE = 1 / 200;
const THIN = 3;

export function usualBrush({ width, height }) {
  return Math.min(BRUSH.most, Math.max(THIN, Math.round(SHARE * Math.max(width, height))));
}

// The next size up or down: by one pixel, of large ones by more.
export function nextBrush(size, up) {
  const next = up ? Math.max(size + 1, Math.round(size * 1.2)) : Math.min(size - 1, Math.round(size / 1.2));
  return Math.max(BRUSH.least, Math.min(BRUSH.most, next));
}

class PaintTool {
  constructor(page, kind) {
    this.page = page;
    this.kind = kind;
    this.erases = true;
    this.erasing = false;
    this.stroke = null;
    this.ways = Object.fromEntries(Object.entries(WAYS).map(([name, { Way }]) => [name, new Way(this)]));
  }

  get way() {
    return this.ways[settings.ways[this.kind]];
  }

  get cursor() {
    return this.way.cursor;
  }

  get image() {
    return this.page.document.images[this.kind];
  }

  get value() {
    return this.erasing ? 0 : 1 + state.dataset.classes.findIndex((one) => one.name === this.page.label);
  }

  down(place, unit, erase = false) {
    this.way.down(place, unit, erase ? 0 : this.value);
  }

  move(place, unit) {
    this.way.move(place, unit);
  }

  up(place, unit) {
    this.way.up(place, unit);
  }

  drop(place, unit) {
    this.way.drop(place, unit);
  }

  hover(place, unit) {
    return this.way.hover?.(place, unit) ?? this.cursor;
  }

  draw(context, unit) {
    this.way.draw?.(context, unit);
  }

  takeBack() {
    return this.way.takeBack?.() ?? false;
  }

  leave() {
    return this.way.leave?.() ?? false;
  }

  // One stroke, which is undone at once

  begin(value) {
    this.stroke = { before: this.image.values.slice(), rectangle: null, value };
  }

  painted(rectangle) {
    if (!rectangle) return;
    this.stroke.rectangle = union(this.stroke.rectangle, rectangle);
    this.page.updatePixels(this.kind, rectangle);
  }

  finish() {
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

export class MaskTool extends PaintTool {
  constructor(page) {
    super(page, "mask");
  }
}

export class StrokeTool extends PaintTool {
  constructor(page) {
    super(page, "scribbles");
  }
}
