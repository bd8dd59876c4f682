// What is set beside the picture while somebody paints: the way to paint, eraser, sizes, and what changes all at once.

import { BRUSH } from "./brushes.js";
import { h, percent, rove } from "./dom.js";
import { settings } from "./settings.js";
import { state } from "./state.js";
import { WAYS } from "./ways.js";

// One for mask and scribbles: who changes between them goes on erasing.
export class PaintPanel {
  constructor(page) {
    this.page = page;
    this.ways = Object.entries(WAYS).map(([name, { name: text, key }]) =>
      h("button", { type: "button", role: "radio", "aria-checked": "false", "data-way": name, "aria-keyshortcuts": `Shift+${key}`,
        onclick: () => page.useWay(name) }, text, h("kbd", {}, `⇧${key.toUpperCase()}`)));
    this.eraser = h("button", { type: "button", "aria-pressed": "false", onclick: () => page.erase(!page.tool.erasing) },
      "Eraser", h("kbd", {}, "E"));
    this.buildSliders();
    const clear = h("button", { type: "button", onclick: () => page.document.clear(page.kind) }, "Clear");
    this.ofMask = h("div", { class: "row" },
      h("button", { type: "button", title: "Color what is not colored yet with the chosen label", onclick: () => this.fillRest() },
        "Fill the rest"),
      state.dataset.model && h("button", { type: "button", title: "Color what is not colored yet as the model would",
        onclick: () => page.beneath.fill() }, "Fill in by the model"));
    this.prediction = state.dataset.model && h("label", { class: "check" },
      h("input", { type: "checkbox", checked: settings.prediction, onchange: ({ target }) => page.beneath.show(target.checked) }),
      h("span", {}, "Show the prediction; it is not saved"));
    this.told = h("p", { class: "muted small painted", role: "status" });
    this.element = h("div", { class: "paint-panel" },
      rove(h("div", { class: "ways", role: "radiogroup", "aria-label": "Paint by" }, this.ways)),
      h("div", { class: "row" }, this.eraser, clear), this.ofMask, this.brush, this.regions, this.prediction, this.opacity,
      this.told);
    this.showBrush(page.brush);
  }

  fillRest() {
    const value = 1 + state.dataset.classes.findIndex(({ name }) => name === settings.label);
    this.page.document.changeAll("mask", (before) => before || value);
  }

  buildSliders() {
    const { page } = this;
    this.size = h("input", { type: "range", min: BRUSH.least, max: BRUSH.most, step: 1, "aria-label": "Size of the brush in pixels",
      oninput: () => page.setBrush(Number(this.size.value)) });
    this.pixels = h("span", {});
    this.brush = h("label", { class: "slider" }, h("span", {}, "Brush"), this.size, this.pixels);
    this.level = h("input", { type: "range", min: 0, max: state.dataset.region_levels - 1, step: 1, value: settings.level,
      "aria-label": "Size of the regions, from coarse to fine", onchange: () => page.setLevel(Number(this.level.value)) });
    this.regions = h("label", { class: "slider" }, h("span", {}, "Coarse"), this.level, h("span", {}, "Fine"));
    const opacity = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: settings.opacity, "aria-label": "Opacity of the mask",
      oninput: () => { settings.opacity = Number(opacity.value); page.redraw(); } });
    this.opacity = h("label", { class: "slider" }, h("span", {}, "Photo"), opacity, h("span", {}, "Colors"));
  }

  // For the kind and the way that are chosen.
  show() {
    const { kind, tool } = this.page;
    this.element.hidden = !tool.ways;
    if (!tool.ways) return;
    const way = settings.ways[kind];
    for (const button of this.ways) button.setAttribute("aria-checked", button.dataset.way === way);
    this.brush.hidden = way !== "brush";
    this.regions.hidden = way !== "regions";
    for (const part of [this.ofMask, this.told]) part.hidden = kind !== "mask";
    this.opacity.hidden = kind !== "mask" && !settings.prediction;
  }

  showBrush(size) {
    this.size.value = size;
    this.pixels.textContent = `${size} px`;
  }

  // How much of the mask says something.
  showPainted(share) {
    // Of almost all, something is left, and of almost nothing, something is there.
    const whole = Math.round(100 * share);
    const shown = share > 0 && share < 1 && (whole === 0 || whole === 100) ? 1 : 0;
    this.told.textContent = share ? `${percent(share, shown)} painted; the rest, hatched, says nothing.` : "Nothing is painted yet.";
    if (share === 1) this.told.textContent = "100 % painted.";
  }
}
