// What mouse, pen and fingers do in the picture: one works with the tool, or moves the picture; two zoom it.

export class Pointer {
  constructor(page) {
    this.page = page;
    this.down = new Map();
    this.touch = false;
    this.working = false;
    this.space = false;
    this.listen(page.canvas);
  }

  listen(canvas) {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", (event) => { this.cancel(this.place(event)); this.lift(event); });
    canvas.addEventListener("pointerleave", () => this.page.tool.hover?.({ x: -1, y: -1 }, 1));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  place(event) {
    return this.page.viewport.toImage(event.offsetX, event.offsetY);
  }

  press(event) {
    const { page } = this;
    page.canvas.focus({ preventScroll: true });
    page.keyboard.cancel();
    this.touch = event.pointerType === "touch";
    page.canvas.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.down.size === 2) {
      this.cancel(this.place(event));
      this.panning = true;
    } else if (event.button === 1 || this.space || (page.tool.pans && event.button === 0)) {
      this.panning = true;
      page.canvas.style.cursor = "grabbing";
    } else if (event.button === 0 || (event.button === 2 && page.tool.erases)) {
      page.document.hold();
      this.working = true;
      this.before = page.document.past.length;
      page.tool.down(this.place(event), page.unit, event.button === 2);
    }
  }

  move(event) {
    const { page } = this;
    const before = this.down.get(event.pointerId);
    if (before && this.panning) {
      this.pan(event, before);
    } else if (this.working) {
      for (const one of event.getCoalescedEvents?.() ?? [event]) page.tool.move(this.place(one), page.unit);
      page.tool.move(this.place(event), page.unit);
      page.redraw();
    } else if (!before && page.tool.hover) {
      page.canvas.style.cursor = page.tool.hover(this.place(event), page.unit);
    }
    if (before) this.down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  }

  // One pointer moves the picture, two also zoom it.
  pan(event, before) {
    const { viewport } = this.page;
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) {
      viewport.move(event.offsetX - before.x, event.offsetY - before.y);
      return;
    }
    const distance = (point) => Math.max(10, Math.hypot(point.x - other.x, point.y - other.y));
    const now = { x: event.offsetX, y: event.offsetY };
    viewport.move((now.x - before.x) / 2, (now.y - before.y) / 2);
    viewport.zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  }

  lift(event) {
    this.down.delete(event.pointerId);
    this.end(this.place(event));
    if (!this.down.size) {
      this.panning = false;
      this.page.canvas.style.cursor = this.page.tool.cursor;
    }
  }

  end(place) {
    if (!this.working) return;
    this.working = false;
    this.page.tool.up(place, this.page.unit);
    this.page.document.release();
    this.page.update();
  }

  // What the first of two fingers did was not meant: they zoom.
  cancel(place) {
    if (!this.working) return;
    this.working = false;
    const { tool, document, unit } = this.page;
    if (tool.drop) tool.drop(place, unit);
    else tool.up(place, unit);
    document.takeBack(this.before);
    document.release();
    this.page.update();
  }
}
