// Points: one click each.

import { TOUCH, colorOf, drawName, nextStroke } from "./marking.js";

export class SeedTool {
  constructor(page) {
    this.page = page;
    this.cursor = "crosshair";
    this.choose(null);
    this.dragging = null;
  }

  choose(place, fresh = false) {
    this.chosen = place;
    this.fresh = fresh;
  }

  get seeds() {
    return this.page.document.marks.seeds;
  }

  set(seeds) {
    this.page.document.setMarks({ ...this.page.document.marks, seeds }, this.stroke);
  }

  find({ x, y }, unit) {
    const reach = (this.page.touch ? TOUCH : 10) * unit;
    return this.seeds.findIndex((seed) => Math.hypot(seed.x + 0.5 - x, seed.y + 0.5 - y) <= reach);
  }

  down(place, unit) {
    this.stroke = nextStroke();
    const near = this.find(place, unit);
    if (near >= 0) {
      this.choose(near);
    } else {
      const pixel = this.pixel(place);
      if (!pixel) return;
      this.set([...this.seeds, { label: this.page.label, ...pixel }]);
      this.choose(this.seeds.length - 1, true);
    }
    this.dragging = place;
    this.page.redraw();
  }

  move(place, unit) {
    if (!this.dragging || !this.seeds[this.chosen]) return;
    if (Math.hypot(place.x - this.dragging.x, place.y - this.dragging.y) < 3 * unit) return;
    const pixel = this.pixel(place);
    if (pixel) this.set(this.seeds.with(this.chosen, { ...this.seeds[this.chosen], ...pixel }));
  }

  up() {
    this.dragging = null;
  }

  pixel({ x, y }) {
    const { width, height } = this.page.document;
    const pixel = { x: Math.floor(x), y: Math.floor(y) };
    return pixel.x >= 0 && pixel.y >= 0 && pixel.x < width && pixel.y < height ? pixel : null;
  }

  hover(place, unit) {
    return this.find(place, unit) >= 0 ? "move" : "crosshair";
  }

  relabel(label) {
    const seed = this.fresh ? null : this.seeds[this.chosen];
    this.stroke = nextStroke();
    if (seed && seed.label !== label) this.set(this.seeds.with(this.chosen, { ...seed, label }));
  }

  remove() {
    if (!this.seeds[this.chosen]) return;
    this.stroke = nextStroke();
    this.set(this.seeds.toSpliced(this.chosen, 1));
    this.choose(null);
  }
}

export function drawSeeds(context, unit, seeds, chosen, active) {
  seeds.forEach((seed, n) => {
    const color = colorOf(seed.label);
    const here = n === chosen && active;
    const rings = [["#111", here ? 11 : 8], ["#fff", here ? 9.5 : 7], [color, here ? 7.5 : 5.5]];
    for (const [style, radius] of rings) {
      context.fillStyle = style;
      context.beginPath();
      context.arc(seed.x + 0.5, seed.y + 0.5, radius * unit, 0, 2 * Math.PI);
      context.fill();
    }
    if (here) drawName(context, unit, seed.label, seed.x + 12 * unit, seed.y - 4 * unit);
  });
}
