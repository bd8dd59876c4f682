// What keys do beside and in a picture. In it, arrows move a cross, and Enter clicks there.

import { typing } from "./dom.js";
import { labelOfKey } from "./labels.js";
import { TOOLS } from "./tools.js";
import { WAYS } from "./ways.js";

export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Keyboard {
  constructor(page) {
    this.page = page;
    this.cross = null;
    this.corner = false; // of a box, the first of two
    page.canvas.addEventListener("blur", () => { this.cancel(); page.redraw(); });
    this.onKey = (event) => this.key(event);
    this.onKeyUp = (event) => { if (event.key === " ") page.pointer.space = false; };
    window.addEventListener("keydown", this.onKey);
    window.addEventListener("keyup", this.onKeyUp);
  }

  close() {
    window.removeEventListener("keydown", this.onKey);
    window.removeEventListener("keyup", this.onKeyUp);
  }

  // Not in the middle of a stroke: another tool, or another picture, would not know its beginning.
  key(event) {
    if (typing(event) || this.page.pointer.working || document.querySelector("dialog[open]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey) {
      if (key === "z" && event.shiftKey) this.page.document.redo();
      else if (key === "z") this.page.undo();
      else if (key === "y") this.page.document.redo();
      else return;
      event.preventDefault();
      return;
    }
    if (event.altKey) return;
    const left = key === "Escape" && this.page.tool.leave?.();
    if (left || this.pictureKey(event, key) || this.commandKey(event, key)) event.preventDefault();
  }

  commandKey(event, key) {
    const { page } = this;
    const tool = Object.entries(TOOLS).find(([, one]) => one.key === key)?.[0];
    const label = labelOfKey(key);
    const inControl = event.target.matches?.("input, button");
    const inSlider = event.target.matches?.("input[type=range]");
    const way = event.shiftKey && page.tool.ways && Object.keys(WAYS).find((name) => WAYS[name].key === key);
    if (way) page.useWay(way);
    else if (tool) page.use(tool);
    else if (label) page.labelClicked(label);
    else if (key === "," || (key === "PageUp" && !inSlider)) page.step(-1);
    else if (key === "." || (key === "PageDown" && !inSlider)) page.step(1);
    else if (key === "ArrowLeft" && !inControl) page.step(-1);
    else if (key === "ArrowRight" && !inControl) page.step(1);
    else if (key === "e" && page.tool.erases) page.erase(!page.tool.erasing);
    else if (key === "[") page.changeSize(false);
    else if (key === "]") page.changeSize(true);
    else if (key === "+" || key === "=") page.viewport.zoom(1.25);
    else if (key === "-") page.viewport.zoom(0.8);
    else if (key === "f") page.viewport.fit();
    else if (key === "Delete" || key === "Backspace") (page.tool.remove ?? page.tool.takeBack)?.call(page.tool);
    else if (key === "Escape") location.hash = "#/gallery";
    else return false;
    return true;
  }

  // With the focus in the picture.
  pictureKey(event, key) {
    const { page } = this;
    if (event.target !== page.canvas) return false;
    if (key === " " && !event.repeat && !this.cross) {
      page.pointer.space = true;
      return true;
    }
    if (page.tool.pans) return false;
    if (key in ARROWS) {
      this.moveCross(ARROWS[key], event.shiftKey);
      return true;
    }
    if ((key === "Enter" || key === " ") && this.cross) {
      this.click();
      return true;
    }
    if (key === "Escape" && this.cross) {
      this.cancel();
      page.redraw();
      return true;
    }
    return false;
  }

  moveCross([dx, dy], fine) {
    const { page } = this;
    const step = (fine ? 1 : 12) * page.unit;
    const { width, height } = page.document;
    const from = this.cross ?? { x: width / 2, y: height / 2 };
    const within = (value, most) => Math.min(most - 0.5, Math.max(0, value));
    this.cross = { x: within(from.x + dx * step, width), y: within(from.y + dy * step, height) };
    if (this.corner) page.tool.move(this.cross, page.unit);
    page.tool.hover?.(this.cross, page.unit);
    page.redraw();
  }

  // Of a box, twice, at two corners.
  click() {
    const { page } = this;
    if (page.kind === "boxes" && !this.corner) {
      this.corner = true;
      this.before = page.document.past.length;
      page.document.hold();
      page.tool.down(this.cross, page.unit);
      return;
    }
    if (!this.corner) {
      page.document.hold();
      page.tool.down(this.cross, page.unit);
    }
    this.corner = false;
    page.tool.up(this.cross, page.unit);
    page.document.release();
    page.update();
  }

  // A box with one corner was not meant, if somebody does something else then.
  cancel() {
    const { page, cross } = this;
    this.cross = null;
    if (!this.corner) return;
    this.corner = false;
    page.tool.up(cross, page.unit);
    page.document.takeBack(this.before);
    page.document.release();
  }

  draw(context, unit) {
    if (!this.cross) return;
    const { x, y } = this.cross;
    for (const [style, width] of [["#000", 4], ["#fff", 1.6]]) {
      context.strokeStyle = style;
      context.lineWidth = width * unit;
      context.beginPath();
      for (const [dx, dy] of Object.values(ARROWS)) {
        context.moveTo(x + 4 * dx * unit, y + 4 * dy * unit);
        context.lineTo(x + 18 * dx * unit, y + 18 * dy * unit);
      }
      context.stroke();
    }
  }
}
