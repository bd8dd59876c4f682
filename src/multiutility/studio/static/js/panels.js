// What is set beside the picture while somebody paints: eraser, sizes, and what changes all of it at once.

import { BRUSH } from "./brushes.js";
import { h } from "./dom.js";
import { state } from "./state.js";

// The eraser is for all tools that paint: who changes between them goes on erasing.
function eraserButton(page) {
  return h(
    "button",
    { type: "button", "aria-pressed": "false", onclick: () => page.erase(!page.tool.erasing) },
    "Eraser",
    h("kbd", {}, "E"),
  );
}

function clearButton(page, kind) {
  return h("button", { type: "button", onclick: () => page.document.changeAll(kind, () => 0) }, "Clear");
}

export class MaskPanel {
  constructor(page, settings) {
    this.eraser = eraserButton(page);
    this.level = h("input", { type: "range", min: 0, max: state.dataset.region_levels - 1, step: 1, value: settings.level,
      "aria-label": "Size of the regions, from coarse to fine", onchange: () => page.setLevel(Number(this.level.value)) });
    const opacity = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: settings.opacity, "aria-label": "Opacity of the mask",
      oninput: () => { settings.opacity = Number(opacity.value); page.redraw(); } });
    const fill = state.dataset.model
      ? h(
        "button",
        { type: "button", title: "Color what is not colored yet as the model would", onclick: () => page.fillFromModel() },
        "Fill in by the model",
      )
      : null;
    this.element = h("div", { class: "paint-panel" },
      h("div", { class: "row" }, this.eraser, fill, clearButton(page, "mask")),
      h("label", { class: "slider" }, h("span", {}, "Coarse"), this.level, h("span", {}, "Fine")),
      h("label", { class: "slider" }, h("span", {}, "Photo"), opacity, h("span", {}, "Colors")));
  }
}

export class StrokePanel {
  constructor(page) {
    this.eraser = eraserButton(page);
    this.size = h("input", { type: "range", min: BRUSH.least, max: BRUSH.most, step: 1, "aria-label": "Size of the brush in pixels",
      oninput: () => page.setBrush(Number(this.size.value)) });
    this.told = h("span", {});
    this.show(page.brush);
    this.element = h("div", { class: "paint-panel" },
      h("div", { class: "row" }, this.eraser, clearButton(page, "scribbles")),
      h("label", { class: "slider" }, h("span", {}, "Brush"), this.size, this.told));
  }

  show(size) {
    this.size.value = size;
    this.told.textContent = `${size} px`;
  }
}
