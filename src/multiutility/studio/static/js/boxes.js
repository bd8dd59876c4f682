// Boxes: drawn by dragging, and changed by their corners and sides.

import { GRIP, TOUCH, colorOf, drawName, nextStroke } from "./marking.js";
import { contrast } from "./viewport.js";

export class BoxTool {
  constructor(page) {
    this.page = page;
    this.cursor = "crosshair";
    this.choose(null);
    this.action = null;
  }

  // What was just drawn has grips, but the next label and the next box, even inside it, are not for it.
  choose(place, fresh = false) {
    this.chosen = place;
    this.fresh = fresh;
  }

  get boxes() {
    return this.page.document.marks.boxes;
  }

  set(boxes) {
    this.page.document.setMarks({ ...this.page.document.marks, boxes }, this.stroke);
  }

  // What is at a place: a corner or side of the chosen box, or its inside. Of one that was just drawn only the
  // grips count, and of others nothing: objects lie side by side and in each other, and the next drag draws.
  find({ x, y }, unit) {
    const reach = this.reach(unit);
    const chosen = this.boxes[this.chosen];
    if (!chosen) return null;
    const grip = grips(chosen).find((one) => Math.hypot(one.x - x, one.y - y) <= reach * 1.3);
    if (grip) return { box: this.chosen, ...grip };
    if (this.fresh || !inside(chosen, x, y, reach)) return null;
    return { box: this.chosen, ...sideAt(chosen, x, y, reach) };
  }

  reach(unit) {
    return (this.page.touch ? TOUCH : GRIP) * unit;
  }

  down(place, unit) {
    this.stroke = nextStroke();
    this.begin = place;
    this.moved = false;
    const found = this.find(place, unit);
    if (found) {
      this.choose(found.box);
      this.action = { ...found, old: this.boxes[found.box], current: this.boxes[found.box] };
    } else {
      this.action = { draws: true };
    }
    this.page.redraw();
  }

  move(place, unit) {
    if (!this.action) return;
    this.moved ||= Math.hypot(place.x - this.begin.x, place.y - this.begin.y) > 4 * unit;
    if (!this.moved) return;
    const { document, label } = this.page;
    if (this.action.draws) {
      const box = fitted({ label, left: this.begin.x, top: this.begin.y, right: place.x, bottom: place.y }, document);
      if (box) this.replace(box);
    } else {
      const { across, down, old } = this.action;
      const changed = shifted(old, across, down, place.x - this.begin.x, place.y - this.begin.y, document);
      if (changed) this.replace(changed);
    }
  }

  // By identity: while it is drawn, boxes of another window may come in before it.
  replace(box) {
    const place = this.boxes.indexOf(this.action.current);
    this.set(place < 0 ? [...this.boxes, box] : this.boxes.with(place, box));
    this.action.current = box;
    this.choose(this.boxes.indexOf(box), this.action.draws);
  }

  up(place, unit) {
    if (this.action && !this.moved) {
      const near = ({ box }) => inside(box, place.x, place.y, this.reach(unit));
      const around = this.boxes.map((box, n) => ({ box, n })).filter(near);
      around.sort((a, b) => area(a.box) - area(b.box));
      this.choose(around[0]?.n ?? null);
    }
    this.action = null;
    this.page.redraw();
  }

  hover(place, unit) {
    const found = this.find(place, unit);
    if (!found) return "crosshair";
    if (!found.across && !found.down) return "move";
    if (!found.across) return "ns-resize";
    if (!found.down) return "ew-resize";
    return found.across === found.down ? "nwse-resize" : "nesw-resize";
  }

  relabel(label) {
    const box = this.fresh ? null : this.boxes[this.chosen];
    this.stroke = nextStroke();
    if (box && box.label !== label) this.set(this.boxes.with(this.chosen, { ...box, label }));
  }

  remove() {
    if (!this.boxes[this.chosen]) return;
    this.stroke = nextStroke();
    this.set(this.boxes.toSpliced(this.chosen, 1));
    this.choose(null);
  }

  // Arrow keys: move the chosen box, or its lower right corner.
  nudge(dx, dy, corner) {
    const box = this.boxes[this.chosen];
    if (!box) return;
    this.stroke = `nudge${this.chosen}`;
    const changed = shifted(box, corner ? 1 : 0, corner ? 1 : 0, dx, dy, this.page.document);
    if (changed) this.set(this.boxes.with(this.chosen, changed));
  }
}

// Corners and middles of sides, with what they move: -1 left or top, 1 right or bottom.
function grips({ left, top, right, bottom }) {
  const found = [];
  for (const across of [-1, 0, 1]) {
    for (const down of [-1, 0, 1]) {
      if (!across && !down) continue;
      found.push(
        { across, down, x: [left, (left + right) / 2, right][across + 1], y: [top, (top + bottom) / 2, bottom][down + 1] },
      );
    }
  }
  return found;
}

// The side that is within reach, as in grips; none in the middle.
function sideAt({ left, top, right, bottom }, x, y, reach) {
  const side = (low, high, value) => (Math.abs(value - high) <= reach ? 1 : Math.abs(value - low) <= reach ? -1 : 0);
  return { across: side(left, right, x), down: side(top, bottom, y) };
}

function inside({ left, top, right, bottom }, x, y, margin) {
  return x >= left - margin && x <= right + margin && y >= top - margin && y <= bottom + margin;
}

function area({ left, top, right, bottom }) {
  return (right - left) * (bottom - top);
}

// The box in whole pixels, cut at the border; null if nothing is left.
function fitted(box, { width, height }) {
  const clamp = (value, most) => Math.min(most, Math.max(0, Math.round(value)));
  const left = clamp(Math.min(box.left, box.right), width);
  const right = clamp(Math.max(box.left, box.right), width);
  const top = clamp(Math.min(box.top, box.bottom), height);
  const bottom = clamp(Math.max(box.top, box.bottom), height);
  return right > left && bottom > top ? { ...box, left, top, right, bottom } : null;
}

function shifted(box, across, down, dx, dy, size) {
  const { left, top, right, bottom } = box;
  if (!across && !down) {
    const x = Math.min(size.width - right, Math.max(-left, Math.round(dx)));
    const y = Math.min(size.height - bottom, Math.max(-top, Math.round(dy)));
    return { ...box, left: left + x, top: top + y, right: right + x, bottom: bottom + y };
  }
  return fitted({
    ...box,
    left: across < 0 ? left + dx : left,
    right: across > 0 ? right + dx : right,
    top: down < 0 ? top + dy : top,
    bottom: down > 0 ? bottom + dy : bottom,
  }, size);
}

export function drawBoxes(context, unit, boxes, chosen, active) {
  boxes.forEach((box, n) => {
    const color = colorOf(box.label);
    const { left, top, right, bottom } = box;
    for (const [style, width] of [[contrast(color), 4], [color, 2]]) {
      context.strokeStyle = style;
      context.lineWidth = width * unit;
      context.strokeRect(left, top, right - left, bottom - top);
    }
    drawName(context, unit, box.label, left, top);
    if (n === chosen && active) {
      context.fillStyle = "rgb(255 255 255 / 12%)";
      context.fillRect(left, top, right - left, bottom - top);
      for (const { x, y } of grips(box)) {
        context.fillStyle = "#fff";
        context.strokeStyle = "#111";
        context.lineWidth = unit;
        context.beginPath();
        context.rect(x - 4 * unit, y - 4 * unit, 8 * unit, 8 * unit);
        context.fill();
        context.stroke();
      }
    }
  });
}
