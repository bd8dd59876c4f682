// One picture and its annotation.

import { getBytes, getPicture, imagePath } from "./api.js";
import { AreaPanel } from "./areas.js";
import { BRUSH, nextBrush, usualBrush } from "./brushes.js";
import { Completeness } from "./complete.js";
import { openDocument } from "./document.js";
import { h, swatch, toast, typing } from "./dom.js";
import { Labels, isTagged, labelOfKey, newLabelButton } from "./labels.js";
import { MaskPanel, StrokePanel } from "./panels.js";
import { Regions } from "./regions.js";
import { changes, neighbor, placedMarks, state, updateImage } from "./state.js";
import { StrokeLayer, countStrokes } from "./strokes.js";
import { TOOLS, colorOf } from "./tools.js";
import { PixelLayer, Viewport, rgb } from "./viewport.js";

// Those whose marks are drawn one by one.
const DRAWN = Object.entries(TOOLS).filter(([, { draw }]) => draw);

const COVERED = "This picture has a mask, which says more than tags, areas, boxes, points and scribbles: they add nothing.";

// Kept from picture to picture; as long as nobody chooses a size, the brush has the usual one of each picture.
const settings = { tool: "tags", label: null, level: 2, opacity: 0.55, brush: null };

export async function showAnnotate(view, name, tool, label) {
  const wanted = name ?? state.last ?? state.images[0]?.name;
  if (!name) {
    history.replaceState(null, "", `#/annotate/${encodeURIComponent(wanted)}`);
  }
  if (tool in TOOLS) settings.tool = tool;
  if (label) settings.label = label;
  knowLabel();
  const document = await openDocument(wanted);
  const picture = await getPicture(`${imagePath(wanted, "/picture")}?v=${document.stamp}`);
  state.last = wanted;
  const page = new AnnotatePage(view, document, picture);
  return () => page.close();
}

// The label that is drawn with is one of those that there are.
function knowLabel() {
  const { classes } = state.dataset;
  if (!classes.some((one) => one.name === settings.label)) settings.label = classes[0].name;
}

function valueColors() {
  return [[0, 0, 0, 0], ...state.dataset.classes.map((one) => [...rgb(one.color), 225])];
}

class AnnotatePage {
  constructor(view, document, picture) {
    Object.assign(this, { document, picture });
    this.tools = Object.fromEntries(Object.entries(TOOLS).map(([kind, { Tool }]) => [kind, new Tool(this)]));
    this.regions = null;
    this.touch = false;
    this.pointers = new Map();
    this.cross = null;
    this.build(view);
    this.viewport = new Viewport(this.canvas, (context, unit) => this.paint(context, unit));
    this.layers = {
      mask: new PixelLayer(picture, document, valueColors()),
      scribbles: new StrokeLayer(picture, document, valueColors()),
    };
    this.hoverLayer = new PixelLayer(picture, document, [[0, 0, 0, 0], [255, 255, 255, 150]]);
    this.edgeLayer = new PixelLayer(picture, document, [[255, 255, 255, 150]]);
    this.viewport.show(picture, document);
    this.updateAllPixels();
    this.listen();
    this.use(settings.tool);
    this.update();
  }

  get label() {
    return settings.label;
  }

  get tool() {
    return this.tools[settings.tool];
  }

  get brush() {
    return settings.brush ?? usualBrush(this.document);
  }

  build(view) {
    const { document } = this;
    const place = state.byName.get(document.name);
    this.canvas = h("canvas", { tabindex: "0", class: "picture", role: "application", "aria-label": `Picture ${document.name}`,
      "aria-describedby": "tool-hint" });
    this.buttons = Object.entries(TOOLS).map(([kind, { name, key }]) =>
      h("button", { type: "button", role: "radio", "aria-checked": "false", "data-tool": kind, "aria-keyshortcuts": key,
        onclick: () => this.use(kind) }, name, h("kbd", {}, key.toUpperCase())));
    this.undoButton = h(
      "button",
      { type: "button", title: "Undo (Ctrl Z)", "aria-label": "Undo", onclick: () => document.undo() },
      "↶",
    );
    this.redoButton = h(
      "button",
      { type: "button", title: "Redo (Ctrl Shift Z)", "aria-label": "Redo", onclick: () => document.redo() },
      "↷",
    );
    const step = (by, text, title) => h(
      "button",
      { type: "button", title, "aria-label": title, onclick: () => this.step(by) },
      text,
    );
    this.hint = h("p", { id: "tool-hint", class: "hint" });
    this.labels = this.makeLabels();
    this.complete = new Completeness(this);
    this.objects = h("ul", { class: "objects", "aria-label": "Boxes and points" });
    this.panels = { mask: new MaskPanel(this, settings), scribbles: new StrokePanel(this), areas: new AreaPanel(this) };
    view.replaceChildren(
      h("section", { class: "annotate" },
        h("div", { class: "toolbar" },
          step(-1, "‹", "Previous picture (,)"), step(1, "›", "Next picture (.)"),
          h("h1", { class: "title" }, document.name),
          h("span", { class: "muted" }, `${place + 1} of ${state.images.length}`),
          h("span", { class: "grow" }),
          h("div", { class: "tools", role: "radiogroup", "aria-label": "Tools" }, this.buttons),
          this.undoButton, this.redoButton,
          h(
            "button",
            { type: "button", title: "Zoom out (−)", "aria-label": "Zoom out", onclick: () => this.viewport.zoom(0.8) },
            "−",
          ),
          h(
            "button",
            { type: "button", title: "Zoom in (+)", "aria-label": "Zoom in", onclick: () => this.viewport.zoom(1.25) },
            "+",
          ),
          h("button", { type: "button", title: "Fit (F)", onclick: () => this.viewport.fit() }, "Fit")),
        h("div", { class: "stage" }, this.canvas),
        h("aside", { class: "side", "aria-label": "Labels" }, this.hint, Object.values(this.panels).map((panel) => panel.element),
          h("div", { class: "side-head" }, h("h2", {}, "Labels"), h("span", { class: "muted small" }, "in picture")),
          this.complete.element, this.labels.element,
          h("div", { class: "row" }, newLabelButton((name) => this.added(name)), h("a", { class: "button quiet small", href: "#/labels" }, "Edit labels")),
          this.objects)));
  }

  makeLabels() {
    return new Labels((name) => this.labelClicked(name), (name) => this.toggleTag(name));
  }

  // Here or in another window; pixels that come from there may have its color already.
  classesChanged() {
    knowLabel();
    const labels = this.makeLabels();
    this.labels.element.replaceWith(labels.element);
    this.labels = labels;
    for (const layer of Object.values(this.layers)) layer.colors = valueColors();
    this.updateAllPixels();
    this.update();
  }

  added(name) {
    if (settings.tool !== "tags") this.labelClicked(name);
    this.labels.reveal(name);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.pointerDown(event));
    canvas.addEventListener("pointermove", (event) => this.pointerMove(event));
    canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    canvas.addEventListener("pointercancel", (event) => { this.cancelStroke(this.place(event)); this.pointerUp(event); });
    canvas.addEventListener("pointerleave", () => this.tool.hover?.({ x: -1, y: -1 }, 1));
    canvas.addEventListener("blur", () => { this.cross = null; this.redraw(); });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    this.onChange = ({ detail }) => {
      if (detail.part in this.layers) this.updatePixels(detail.part, detail.rectangle);
      this.update();
    };
    this.document.addEventListener("change", this.onChange);
    this.onKey = (event) => this.key(event);
    this.onKeyUp = (event) => { if (event.key === " ") this.space = false; };
    window.addEventListener("keydown", this.onKey);
    window.addEventListener("keyup", this.onKeyUp);
    this.onClasses = () => this.classesChanged();
    changes.addEventListener("classes", this.onClasses);
    this.onFocus = () => this.document.refresh().catch((error) => toast(error.message, "bad"));
    window.addEventListener("focus", this.onFocus);
  }

  close() {
    this.closed = true;
    // It is seen until the next one has come, but its keys are gone: strokes would have a label that nobody chose.
    this.canvas.style.pointerEvents = "none";
    this.document.removeEventListener("change", this.onChange);
    window.removeEventListener("keydown", this.onKey);
    window.removeEventListener("keyup", this.onKeyUp);
    window.removeEventListener("focus", this.onFocus);
    changes.removeEventListener("classes", this.onClasses);
    this.document.release();
    this.viewport.close();
    updateImage(this.document);
  }

  // Tools

  use(kind) {
    settings.tool = kind;
    for (const button of this.buttons) button.setAttribute("aria-checked", button.dataset.tool === kind);
    for (const [name, { element }] of Object.entries(this.panels)) element.hidden = name !== kind;
    this.canvas.style.cursor = this.tool.cursor;
    if (kind === "mask" && !this.regions) this.setLevel(settings.level);
    this.update();
  }

  async setLevel(level) {
    settings.level = Math.max(0, Math.min(state.dataset.region_levels - 1, level));
    this.panels.mask.level.value = settings.level;
    this.canvas.classList.add("waiting");
    try {
      const regions = await Regions.load(this.document.name, settings.level, this.document.stamp);
      if (this.closed) return;
      this.regions = regions;
      this.hoverLayer.context.clearRect(0, 0, this.hoverLayer.canvas.width, this.hoverLayer.canvas.height);
      this.tools.mask.hovered = null;
      this.drawEdges();
    } catch (error) {
      toast(error.message, "bad");
    }
    this.canvas.classList.remove("waiting");
    this.canvas.dataset.regions = settings.level;
    this.redraw();
  }

  erase(on) {
    for (const [kind, { eraser }] of Object.entries(this.panels)) {
      this.tools[kind].erasing = on;
      eraser?.setAttribute("aria-pressed", on);
    }
    this.redraw();
  }

  setBrush(size) {
    settings.brush = Math.max(BRUSH.least, Math.min(BRUSH.most, size));
    this.panels.scribbles.show(settings.brush);
    this.redraw();
  }

  // Of the brush, or of the regions.
  changeSize(up) {
    if (settings.tool === "scribbles") this.setBrush(nextBrush(this.brush, up));
    else this.setLevel(settings.level + (up ? 1 : -1));
  }

  async fillFromModel() {
    try {
      const { bytes } = await getBytes(imagePath(this.document.name, "/prediction"));
      this.document.changeAll("mask", (value, n) => value || bytes[n]);
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  labelClicked(name) {
    if (settings.tool === "tags") {
      this.toggleTag(name);
      return;
    }
    settings.label = name;
    this.erase(false);
    this.tool.relabel?.(name);
    this.update();
    this.labels.reveal(name);
  }

  toggleTag(name) {
    const { marks } = this.document;
    const others = marks.tags.filter((tag) => (tag.label ?? tag) !== name);
    const open = marks.tags.some((tag) => tag.label !== undefined);
    const tagged = marks.tags.some((tag) => isTagged(tag, name));
    const tags = tagged ? others : [...others, open ? { label: name, present: 1 } : name];
    if (!tagged && (this.strokes.has(name) || placedMarks(marks).some((mark) => mark.label === name))) {
      toast(`${name} has boxes, points or scribbles in this picture, so it is there.`);
    }
    this.document.setMarks({ ...marks, tags });
  }

  step(by) {
    const next = neighbor(this.document.name, by);
    updateImage(this.document);
    if (next !== this.document.name) location.hash = `#/annotate/${encodeURIComponent(next)}`;
  }

  // Pointer

  place(event) {
    return this.viewport.toImage(event.offsetX, event.offsetY);
  }

  get unit() {
    return 1 / this.viewport.scale;
  }

  pointerDown(event) {
    this.canvas.focus({ preventScroll: true });
    this.cross = null;
    this.touch = event.pointerType === "touch";
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.pointers.size === 2) {
      this.cancelStroke(this.place(event));
      this.panning = true;
    } else if (event.button === 1 || this.space || (this.tool.pans && event.button === 0)) {
      this.panning = true;
      this.canvas.style.cursor = "grabbing";
    } else if (event.button === 0 || (event.button === 2 && this.tool.erases)) {
      this.document.hold();
      this.working = true;
      this.before = this.document.past.length;
      this.tool.down(this.place(event), this.unit, event.button === 2);
    }
  }

  pointerMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (before && this.panning) {
      this.pan(event, before);
    } else if (this.working) {
      for (const one of event.getCoalescedEvents?.() ?? [event]) this.tool.move(this.place(one), this.unit);
      this.tool.move(this.place(event), this.unit);
      this.redraw();
    } else if (!before && this.tool.hover) {
      this.canvas.style.cursor = this.tool.hover(this.place(event), this.unit);
    }
    if (before) this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  }

  // One pointer moves the picture, two also zoom it.
  pan(event, before) {
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) {
      this.viewport.move(event.offsetX - before.x, event.offsetY - before.y);
      return;
    }
    const distance = (point) => Math.max(10, Math.hypot(point.x - other.x, point.y - other.y));
    const now = { x: event.offsetX, y: event.offsetY };
    this.viewport.move((now.x - before.x) / 2, (now.y - before.y) / 2);
    this.viewport.zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  }

  pointerUp(event) {
    this.pointers.delete(event.pointerId);
    if (this.working) this.endStroke(this.place(event));
    if (!this.pointers.size) {
      this.panning = false;
      this.canvas.style.cursor = this.tool.cursor;
    }
  }

  endStroke(place) {
    if (!this.working) return;
    this.working = false;
    this.tool.up(place, this.unit);
    this.document.release();
    this.update();
  }

  // What the first of two fingers did was not meant: they zoom.
  cancelStroke(place) {
    if (!this.working) return;
    this.working = false;
    this.tool.up(place, this.unit);
    this.document.takeBack(this.before);
    this.document.release();
    this.update();
  }

  // Keys

  // Not in the middle of a stroke: another tool, or another picture, would not know its beginning.
  key(event) {
    if (typing(event) || this.working || document.querySelector("dialog[open]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey) {
      if (key === "z" && event.shiftKey) this.document.redo();
      else if (key === "z") this.document.undo();
      else if (key === "y") this.document.redo();
      else return;
      event.preventDefault();
      return;
    }
    if (event.altKey) return;
    if (this.pictureKey(event, key) || this.commandKey(event, key)) event.preventDefault();
  }

  commandKey(event, key) {
    const tool = Object.entries(TOOLS).find(([, one]) => one.key === key)?.[0];
    const label = labelOfKey(key);
    const inControl = event.target.matches?.("input, button");
    const inSlider = event.target.matches?.("input[type=range]");
    if (tool) this.use(tool);
    else if (label) this.labelClicked(label);
    else if (key === "," || (key === "PageUp" && !inSlider)) this.step(-1);
    else if (key === "." || (key === "PageDown" && !inSlider)) this.step(1);
    else if (key === "ArrowLeft" && !inControl) this.step(-1);
    else if (key === "ArrowRight" && !inControl) this.step(1);
    else if (key === "e" && this.tool.erases) this.erase(!this.tool.erasing);
    else if (key === "[") this.changeSize(false);
    else if (key === "]") this.changeSize(true);
    else if (key === "+" || key === "=") this.viewport.zoom(1.25);
    else if (key === "-") this.viewport.zoom(0.8);
    else if (key === "f") this.viewport.fit();
    else if (key === "Delete" || key === "Backspace") this.tool.remove?.();
    else if (key === "Escape") location.hash = "#/gallery";
    else return false;
    return true;
  }

  // With the focus in the picture: arrows move a cross, Enter clicks there; of a box, twice, at two corners.
  pictureKey(event, key) {
    if (event.target !== this.canvas) return false;
    if (key === " " && !event.repeat && !this.cross) {
      this.space = true;
      return true;
    }
    if (this.tool.pans) return false;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (key in arrows) {
      const step = (event.shiftKey ? 1 : 12) * this.unit;
      const { width, height } = this.document;
      const from = this.cross ?? { x: width / 2, y: height / 2 };
      const [dx, dy] = arrows[key];
      const within = (value, most) => Math.min(most - 0.5, Math.max(0, value));
      this.cross = { x: within(from.x + dx * step, width), y: within(from.y + dy * step, height) };
      if (this.corner) this.tool.move(this.cross, this.unit);
      this.tool.hover?.(this.cross, this.unit);
      this.redraw();
      return true;
    }
    if ((key === "Enter" || key === " ") && this.cross) {
      this.click();
      return true;
    }
    if (key === "Escape" && (this.cross || this.corner)) {
      this.corner = false;
      this.cross = null;
      this.redraw();
      return true;
    }
    return false;
  }

  click() {
    if (settings.tool === "boxes" && !this.corner) {
      this.corner = true;
      this.document.hold();
      this.tool.down(this.cross, this.unit);
      return;
    }
    if (!this.corner) {
      this.document.hold();
      this.tool.down(this.cross, this.unit);
    }
    this.corner = false;
    this.tool.up(this.cross, this.unit);
    this.document.release();
    this.update();
  }

  // Drawing

  redraw() {
    this.viewport?.redraw();
  }

  update() {
    const { document } = this;
    const covered = settings.tool !== "mask" && this.masked;
    this.hint.textContent = covered ? COVERED : TOOLS[settings.tool].hint;
    this.labels.update(document.marks, this.strokes, settings.label, settings.tool === "tags");
    this.complete.update();
    this.panels.areas.update();
    this.undoButton.disabled = !document.past.length;
    this.redoButton.disabled = !document.future.length;
    this.updateObjects();
    this.redraw();
  }

  updateObjects() {
    const row = (kind, mark, n, text) => {
      const choose = () => { this.use(kind); this.tools[kind].choose(n); this.update(); };
      return h("li", { class: this.tools[kind].chosen === n && settings.tool === kind ? "chosen" : "" },
        h("button", { type: "button", class: "object", onclick: choose,
          onkeydown: (event) => { if (kind === "boxes" && settings.tool === "boxes" && this.nudge(event)) event.preventDefault(); } },
        swatch(colorOf(mark.label)), ` ${mark.label} `, h("span", { class: "muted small" }, text)),
        h("button", { type: "button", class: "quiet", "aria-label": `Remove ${text} of ${mark.label}`, title: "Remove",
          onclick: () => { choose(); this.tools[kind].remove(); } }, "×"));
    };
    const rows = DRAWN.flatMap(
      ([kind, { describe }]) => this.document.marks[kind].map((mark, n) => row(kind, mark, n, describe(mark))),
    );
    const focused = [...this.objects.querySelectorAll(".object")].indexOf(window.document.activeElement);
    this.objects.replaceChildren(...rows);
    if (focused >= 0) this.objects.querySelectorAll(".object")[focused]?.focus();
  }

  nudge(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in arrows)) return false;
    event.stopPropagation();
    const [dx, dy] = arrows[event.key].map((value) => value * Math.max(1, Math.round(4 * this.unit)));
    this.tools.boxes.nudge(dx, dy, event.shiftKey);
    return true;
  }

  updateAllPixels() {
    for (const kind of Object.keys(this.layers)) this.updatePixels(kind, null);
  }

  updatePixels(kind, rectangle) {
    const { values, width } = this.document.images[kind];
    if (!this.working) this.survey(kind);
    this.layers[kind].update((x, y) => values[y * width + x], rectangle);
    this.redraw();
  }

  // What takes a look at all pixels: not while somebody paints.
  survey(kind) {
    if (kind === "mask") {
      this.masked = this.document.hasMask;
    } else {
      const counts = [...countStrokes(this.document.images.scribbles)];
      this.strokes = new Map(counts.map(([value, count]) => [state.dataset.classes[value - 1]?.name, count]));
    }
  }

  updateHover(region) {
    const layer = this.hoverLayer;
    layer.context.clearRect(0, 0, layer.canvas.width, layer.canvas.height);
    if (region !== null) {
      const { regions, document } = this;
      layer.update(
        (x, y) => (regions.at(x, y, document) === region ? 1 : 0),
        regions.rectangle(region, document),
        { outlines: false },
      );
    }
    this.redraw();
  }

  drawEdges() {
    const { regions, document, edgeLayer } = this;
    edgeLayer.update((x, y) => regions.at(x, y, document), null, { lines: true });
    // The same in black beneath, so that lines are seen in a white sky, too.
    const { width, height } = edgeLayer.canvas;
    this.shadow = new OffscreenCanvas(width, height);
    const context = this.shadow.getContext("2d");
    context.drawImage(edgeLayer.canvas, 0, 0);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = "rgb(0 0 0 / 70%)";
    context.fillRect(0, 0, width, height);
  }

  paint(context, unit) {
    const painting = settings.tool === "mask";
    this.layers.mask.draw(context, painting ? settings.opacity : 0.4);
    if (!painting) this.layers.scribbles.draw(context, 1);
    if (painting && this.regions) {
      const { width, height } = this.document;
      context.drawImage(this.shadow, unit, unit, width, height);
      this.edgeLayer.draw(context, 1);
      this.hoverLayer.draw(context, 0.6);
    }
    for (const [kind, { draw }] of painting ? [] : DRAWN) {
      draw(context, unit, this.document.marks[kind], this.tools[kind].chosen, settings.tool === kind);
    }
    this.tool.draw?.(context, unit);
    if (this.cross) this.drawCross(context, unit);
  }

  drawCross(context, unit) {
    const { x, y } = this.cross;
    for (const [style, width] of [["#000", 4], ["#fff", 1.6]]) {
      context.strokeStyle = style;
      context.lineWidth = width * unit;
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 4 * dx * unit, y + 4 * dy * unit);
        context.lineTo(x + 18 * dx * unit, y + 18 * dy * unit);
      }
      context.stroke();
    }
  }
}
