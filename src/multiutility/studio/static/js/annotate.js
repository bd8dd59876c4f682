// One picture and its annotation.

import { getPicture, imagePath } from "./api.js";
import { AreaPanel } from "./areas.js";
import { Beneath } from "./beneath.js";
import { BRUSH, nextBrush, usualBrush } from "./brushes.js";
import { Completeness } from "./complete.js";
import { copyMarks } from "./copy.js";
import { openDocument } from "./document.js";
import { lastChanged } from "./history.js";
import { h, toast } from "./dom.js";
import { Keyboard } from "./keyboard.js";
import { Labels, isTagged, newLabelButton } from "./labels.js";
import { Layers, valueColors } from "./layers.js";
import { LiveLayer } from "./live.js";
import { DRAWN, ObjectList } from "./objects.js";
import { PaintPanel } from "./panels.js";
import { sharesOf } from "./pixels.js";
import { Pointer } from "./pointer.js";
import { Regions } from "./regions.js";
import { settings } from "./settings.js";
import { changes, markKinds, neighbor, placedMarks, state, updateImage } from "./state.js";
import { countStrokes } from "./strokes.js";
import { Toolbar } from "./toolbar.js";
import { TOOLS } from "./tools.js";
import { Viewport } from "./viewport.js";
import { WAYS } from "./ways.js";

const COVERED = "This picture has a mask, which says more than all else: that adds nothing.";
const INSTEAD = "A mask counts instead of all else that you have annotated here. To add to that, scribble.";

export async function showAnnotate(name, tool, label) {
  const wanted = name ?? state.last ?? state.images[0]?.name;
  if (!name) {
    history.replaceState(null, "", `#/annotate/${encodeURIComponent(wanted)}`);
  }
  const document = await openDocument(wanted);
  const picture = await getPicture(`${imagePath(wanted, "/picture")}?v=${document.stamp}`);
  return (view) => {
    state.last = wanted;
    if (tool in TOOLS) settings.tool = tool;
    if (label) settings.label = label;
    knowLabel();
    const page = new AnnotatePage(view, document, picture);
    page.undoIfAsked();
    return () => page.close();
  };
}

// The label that is drawn with is one of those that there are.
function knowLabel() {
  const { classes } = state.dataset;
  if (!classes.some((one) => one.name === settings.label)) settings.label = classes[0].name;
}

class AnnotatePage {
  constructor(view, document, picture) {
    Object.assign(this, { document, picture });
    this.tools = Object.fromEntries(Object.entries(TOOLS).map(([kind, { Tool }]) => [kind, new Tool(this)]));
    this.regions = null;
    this.build(view);
    this.pointer = new Pointer(this);
    this.keyboard = new Keyboard(this);
    this.viewport = new Viewport(this.canvas, (context, unit) => this.paint(context, unit));
    this.layers = new Layers(picture, document);
    this.beneath = new Beneath(this);
    this.live = new LiveLayer(picture, document, valueColors, () => this.redraw());
    this.viewport.show(picture, document);
    this.updateAllPixels();
    this.listen();
    this.use(settings.tool);
    this.beneath.show(settings.prediction);
  }

  get label() {
    return settings.label;
  }

  get kind() {
    return settings.tool;
  }

  get tool() {
    return this.tools[settings.tool];
  }

  get brush() {
    return settings.brush ?? usualBrush(this.document);
  }

  get touch() {
    return this.pointer.touch;
  }

  get unit() {
    return 1 / this.viewport.scale;
  }

  build(view) {
    const { document } = this;
    this.canvas = h("canvas", { tabindex: "0", class: "picture", role: "application", "aria-label": `Picture ${document.name}`,
      "aria-describedby": "tool-hint" });
    this.hint = h("p", { id: "tool-hint", class: "hint" });
    this.toolbar = new Toolbar(this);
    this.labels = this.makeLabels();
    this.complete = new Completeness(this);
    this.objects = new ObjectList(this);
    this.panels = { paint: new PaintPanel(this), areas: new AreaPanel(this) };
    view.replaceChildren(
      h("section", { class: "annotate" },
        this.toolbar.element,
        h("div", { class: "stage" }, this.canvas),
        h("aside", { class: "side", "aria-label": "Labels" }, this.hint, Object.values(this.panels).map((panel) => panel.element),
          h("div", { class: "side-head" }, h("h2", {}, "Labels"), h("span", { class: "muted small" }, "in picture")),
          this.complete.element, this.labels.element,
          h("div", { class: "row" }, newLabelButton((name) => this.added(name)), h("a", { class: "button quiet small", href: "#/labels" }, "Edit labels")),
          this.objects.element)));
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
    this.layers.recolor();
    this.updateAllPixels();
    this.update();
  }

  added(name) {
    if (settings.tool !== "tags") this.labelClicked(name);
    this.labels.reveal(name);
  }

  listen() {
    this.onChange = ({ detail }) => {
      if (detail.part in this.layers.kinds) this.updatePixels(detail.part, detail.rectangle);
      this.update();
    };
    this.document.addEventListener("change", this.onChange);
    this.onClasses = () => this.classesChanged();
    changes.addEventListener("classes", this.onClasses);
    this.onFocus = () => this.document.refresh().catch((error) => toast(error.message, "bad"));
    window.addEventListener("focus", this.onFocus);
  }

  close() {
    this.closed = true;
    // It is seen until the next one has come, but its keys are gone: strokes would have a label that nobody chose.
    this.canvas.style.pointerEvents = "none";
    this.keyboard.close();
    this.complete.close();
    this.live.close();
    this.document.removeEventListener("change", this.onChange);
    window.removeEventListener("focus", this.onFocus);
    changes.removeEventListener("classes", this.onClasses);
    this.document.release();
    this.viewport.close();
    updateImage(this.document);
  }

  // Tools

  use(kind) {
    this.keyboard.cancel();
    this.tool.leave?.();
    settings.tool = kind;
    this.toolbar.choose(kind);
    this.panels.areas.element.hidden = kind !== "areas";
    this.wayChanged();
  }

  useWay(way) {
    this.tool.leave();
    settings.ways[settings.tool] = way;
    this.wayChanged();
  }

  wayChanged() {
    this.panels.paint.show();
    this.canvas.style.cursor = this.tool.cursor;
    if (this.tool.way?.needsRegions && !this.regions) this.setLevel(settings.level);
    this.update();
  }

  async setLevel(level) {
    settings.level = Math.max(0, Math.min(state.dataset.region_levels - 1, level));
    this.panels.paint.level.value = settings.level;
    this.canvas.classList.add("waiting");
    try {
      const regions = await Regions.load(this.document.name, settings.level, this.document.stamp);
      if (this.closed) return;
      this.regions = regions;
      for (const { ways } of Object.values(this.tools)) if (ways) ways.regions.hovered = null;
      this.layers.hover(regions, null);
      this.layers.showRegions(regions);
    } catch (error) {
      toast(error.message, "bad");
    }
    this.canvas.classList.remove("waiting");
    this.canvas.dataset.regions = settings.level;
    this.redraw();
  }

  erase(on) {
    for (const tool of Object.values(this.tools)) if (tool.erases) tool.erasing = on;
    this.panels.paint.eraser.setAttribute("aria-pressed", on);
    this.redraw();
  }

  setBrush(size) {
    settings.brush = Math.max(BRUSH.least, Math.min(BRUSH.most, size));
    this.panels.paint.showBrush(settings.brush);
    this.redraw();
  }

  // Of the brush, or of the regions.
  changeSize(up) {
    if (this.tool.way === this.tool.ways?.brush) this.setBrush(nextBrush(this.brush, up));
    else if (this.tool.way?.needsRegions) this.setLevel(settings.level + (up ? 1 : -1));
  }

  copy() {
    return copyMarks(this.document).catch((error) => toast(error.message, "bad"));
  }

  // What is not finished is taken back first, corner by corner.
  undo() {
    if (this.tool.takeBack?.()) return;
    const last = lastChanged();
    if (this.document.past.length) this.document.undo();
    else if (last) this.undoIn(last);
  }

  // In another picture: who undoes something sees it.
  undoIn(name) {
    settings.undo = name;
    location.hash = `#/annotate/${encodeURIComponent(name)}`;
  }

  undoIfAsked() {
    const asked = settings.undo === this.document.name;
    settings.undo = null;
    if (!asked || !this.document.past.length) return;
    this.document.undo();
    toast(`Undone in ${this.document.name}.`);
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
    if (!tagged && (this.strokes.has(name) || this.painted.has(name) || placedMarks(marks).some((mark) => mark.label === name))) {
      toast(`${name} is drawn in this picture, so it is there.`);
    }
    this.document.setMarks({ ...marks, tags });
  }

  step(by) {
    const next = neighbor(this.document.name, by);
    updateImage(this.document);
    if (next !== this.document.name) location.hash = `#/annotate/${encodeURIComponent(next)}`;
  }

  // Drawing

  redraw() {
    this.viewport?.redraw();
  }

  update() {
    const { document } = this;
    this.hint.textContent = this.advice();
    this.labels.update(document.marks, this.strokes, this.painted, settings.label, settings.tool === "tags");
    this.complete.update();
    this.panels.areas.update();
    this.toolbar.update();
    this.objects.update();
    this.redraw();
  }

  advice() {
    const painting = settings.tool === "mask";
    if (!painting && this.painted.size) return COVERED;
    const way = WAYS[settings.ways[settings.tool]]?.hint ?? "";
    const others = painting && (this.strokes.size || markKinds().some(({ name }) => this.document.marks[name].length));
    return `${others ? INSTEAD : TOOLS[settings.tool].hint} ${way}`.trim();
  }

  updateAllPixels() {
    for (const kind of Object.keys(this.layers.kinds)) this.updatePixels(kind, null);
  }

  updatePixels(kind, rectangle) {
    if (!this.pointer.working) this.survey(kind);
    this.layers.update(kind, rectangle);
    this.redraw();
  }

  // What takes a look at all pixels: not while somebody paints.
  survey(kind) {
    const named = (counts) => new Map([...counts].map(([value, count]) => [state.dataset.classes[value - 1]?.name, count]));
    if (kind === "mask") {
      this.painted = named(sharesOf(this.document.images.mask));
      this.panels.paint.showPainted(this.document.images.mask.painted);
    } else {
      this.strokes = named(countStrokes(this.document.images.scribbles));
    }
  }

  updateHover(region) {
    this.layers.hover(this.regions, region);
    this.redraw();
  }

  paint(context, unit) {
    const painting = settings.tool === "mask";
    this.live.draw(context);
    this.canvas.dataset.live = this.live.told;
    // What is seen is of one model: that of live mode, if it is on.
    if (settings.prediction && this.tool.ways && !this.live.visible) this.layers.predicted.draw(context, settings.opacity);
    this.layers.kinds.mask.draw(context, painting ? settings.opacity : 0.4);
    if (painting || this.painted.size) this.layers.unsaid.draw(context, 1);
    if (!painting) this.layers.kinds.scribbles.draw(context, 1);
    if (this.tool.way?.needsRegions && this.regions) this.layers.drawRegions(context, unit);
    for (const [kind, { draw }] of painting ? [] : DRAWN) {
      draw(context, unit, this.document.marks[kind], this.tools[kind].chosen, settings.tool === kind);
    }
    this.tool.draw?.(context, unit);
    this.keyboard.draw(context, unit);
  }
}
