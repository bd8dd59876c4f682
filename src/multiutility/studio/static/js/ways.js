// Ways to paint: by brush, by region, by polygon, and by cutting out what is clicked or boxed.
// Each paints through its tool: begin (with the value), painted (with the rectangle), finish.

import { cutOut } from "./cutout.js";
import { toast } from "./dom.js";
import { GRIP, TOUCH } from "./marking.js";
import { state } from "./state.js";
import { contrast } from "./viewport.js";

// Long lines are painted in pieces: the rectangle around a slanted one is large.
const PIECE = 64;

function between(from, to, part) {
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

function distance(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

// The stroke on the screen that what is drawn has, on light and on dark.
function outline(context, unit, color, draw) {
  for (const [style, width] of [[contrast(color), 3], [color, 1.5]]) {
    context.strokeStyle = style;
    context.lineWidth = width * unit;
    context.beginPath();
    draw();
    context.stroke();
  }
}

class Way {
  constructor(tool) {
    this.tool = tool;
    this.page = tool.page;
    this.cursor = "crosshair";
  }

  get color() {
    return this.tool.erasing ? "#ffffff" : state.dataset.classes[this.tool.value - 1]?.color ?? "#888888";
  }

  down(place, _unit, value) {
    this.tool.begin(value);
    this.last = place;
    this.paint(place, place);
  }

  move(place) {
    if (!this.tool.stroke) return;
    this.paint(this.last, place);
    this.last = place;
  }

  up() {
    this.tool.finish();
  }

  // A second finger has come: nothing was meant.
  drop() {
    this.up();
  }
}

class Brush extends Way {
  paint(from, to) {
    const pieces = Math.max(1, Math.ceil(distance(from, to) / PIECE));
    for (let n = 0; n < pieces; n++) {
      const [start, end] = [n, n + 1].map((part) => between(from, to, part / pieces));
      this.tool.painted(this.tool.image.paintLine(start, end, this.page.brush, this.tool.stroke.value));
    }
    this.place = to;
  }

  hover(place) {
    this.place = this.tool.outside(place) ? null : place;
    this.page.redraw();
    return this.cursor;
  }

  // What the next stroke will cover; a finger hides it.
  draw(context, unit) {
    if (!this.place || this.page.touch) return;
    const { x, y } = this.place;
    const radius = Math.max(this.page.brush / 2, 2 * unit);
    outline(context, unit, this.color, () => context.arc(x, y, radius, 0, 2 * Math.PI));
  }
}

class ByRegion extends Way {
  constructor(tool) {
    super(tool);
    this.cursor = "cell";
    this.needsRegions = true;
    this.hovered = null;
  }

  down(...args) {
    this.done = new Set();
    if (this.page.regions) super.down(...args);
  }

  // All regions on the way, even if the pointer is fast.
  paint(from, to) {
    const steps = Math.max(1, Math.ceil(distance(from, to) / Math.max(1, this.page.document.width / 800)));
    for (let n = 1; n <= steps; n++) this.paintAt(between(from, to, n / steps));
  }

  paintAt(place) {
    if (this.tool.outside(place)) return;
    const region = this.regionAt(place);
    if (this.done.has(region)) return;
    this.done.add(region);
    this.tool.painted(this.page.regions.paint(this.tool.image, region, this.tool.stroke.value));
  }

  regionAt({ x, y }) {
    return this.page.regions.at(Math.floor(x), Math.floor(y), this.page.document);
  }

  hover(place) {
    const region = this.tool.outside(place) || !this.page.regions ? null : this.regionAt(place);
    if (region !== this.hovered) {
      this.hovered = region;
      this.page.updateHover(region);
    }
    return this.cursor;
  }
}

// Corners by clicks; a click on the first or on the last of them fills what is between.
class Polygon extends Way {
  constructor(tool) {
    super(tool);
    this.corners = [];
    this.filling = null;
  }

  down(place, unit, value) {
    const reach = (this.page.touch ? TOUCH : GRIP) * unit;
    const { corners } = this;
    this.added = false;
    this.filling = null;
    const ends = [corners[0], corners.at(-1)].some((corner) => corner && distance(corner, place) <= reach);
    if (corners.length > 2 && ends) {
      this.filling = value;
    } else if (!ends) {
      corners.push(place);
      this.added = true;
    }
    this.place = place;
    this.page.redraw();
  }

  fill(value) {
    this.tool.begin(value);
    this.tool.painted(this.tool.image.paintPolygon(this.corners, value));
    this.tool.finish();
    this.corners = [];
  }

  move(place) {
    this.place = place;
  }

  up() {
    if (this.filling !== null) this.fill(this.filling);
    this.filling = null;
  }

  drop() {
    this.filling = null;
    if (this.added) this.corners.pop();
  }

  // The last corner; says whether there was one.
  takeBack() {
    const had = this.corners.pop() !== undefined;
    this.page.redraw();
    return had;
  }

  // All of it.
  leave() {
    const had = this.corners.length > 0;
    this.corners = [];
    this.page.redraw();
    return had;
  }

  hover(place) {
    this.place = place;
    if (this.corners.length) this.page.redraw();
    return this.cursor;
  }

  draw(context, unit) {
    const { corners } = this;
    if (!corners.length) return;
    const end = this.page.touch || !this.place ? [] : [this.place];
    outline(context, unit, this.color, () => {
      for (const { x, y } of [...corners, ...end]) context.lineTo(x, y);
    });
    for (const { x, y } of [corners[0], corners.at(-1)]) {
      outline(context, unit, this.color, () => context.arc(x, y, 4 * unit, 0, 2 * Math.PI));
    }
  }
}

// A click on a thing, or a box around it.
class CutOut extends Way {
  constructor(tool) {
    super(tool);
    this.box = null;
  }

  down(place, _unit, value) {
    if (!this.busy && !this.tool.outside(place)) this.box = { from: place, to: place, value };
  }

  move(place) {
    if (this.box) this.box.to = place;
  }

  up(place, unit) {
    const { box } = this;
    this.box = null;
    if (box) this.cut(box, distance(box.from, place) > 4 * unit);
  }

  drop() {
    this.box = null;
  }

  async cut({ from, to, value }, boxed) {
    const { page, tool } = this;
    this.busy = true;
    page.canvas.classList.add("waiting");
    try {
      const found = await cutOut(page.document, from, boxed ? to : null, page.viewport.visible());
      if (page.closed) return;
      if (!found.any) toast("Nothing stands out there: draw a box around it, or paint it.");
      tool.begin(value);
      tool.painted(tool.image.paintPart(found.rectangle, found.bytes, value));
      tool.finish();
    } catch (error) {
      toast(error.message, "bad");
    } finally {
      this.busy = false;
      page.canvas.classList.remove("waiting");
    }
  }

  draw(context, unit) {
    if (!this.box) return;
    const { from, to } = this.box;
    outline(context, unit, this.color, () => context.rect(from.x, from.y, to.x - from.x, to.y - from.y));
  }
}

// Keys are with Shift: others are for labels.
export const WAYS = {
  brush: {
    Way: Brush,
    key: "b",
    name: "Brush",
    hint: "Paint pixel by pixel; [ and ] change the size of the brush.",
  },
  regions: {
    Way: ByRegion,
    key: "r",
    name: "Regions",
    hint: "Click or drag over regions to color them.",
  },
  polygon: {
    Way: Polygon,
    key: "p",
    name: "Polygon",
    hint: "Click corner by corner, and the first or the last one again to fill it. Ctrl Z takes a corner back.",
  },
  cutout: {
    Way: CutOut,
    key: "c",
    name: "Cut out",
    hint: "Drag a box around a thing, or click on it: its outline is found. Zoom in for small things.",
  },
};
