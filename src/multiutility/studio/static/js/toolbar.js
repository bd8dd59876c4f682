// Above a picture: which one it is, tools, undo, and zoom.

import { h, rove } from "./dom.js";
import { lastChanged } from "./history.js";
import { markKinds, state } from "./state.js";
import { TOOLS } from "./tools.js";

function button(text, title, onclick, spoken = title) {
  return h("button", { type: "button", title, "aria-label": spoken, onclick }, text);
}

export class Toolbar {
  constructor(page) {
    this.document = page.document;
    const { name } = page.document;
    this.tools = Object.entries(TOOLS).map(([kind, { name: text, key }]) =>
      h("button", { type: "button", role: "radio", "aria-checked": "false", "data-tool": kind, "aria-keyshortcuts": key,
        onclick: () => page.use(kind) }, text, h("kbd", {}, key.toUpperCase())));
    this.undo = button("↶", "Undo (Ctrl Z)", () => page.undo(), "Undo");
    this.redo = button("↷", "Redo (Ctrl Shift Z)", () => page.document.redo(), "Redo");
    const copied = markKinds().map(({ badge }) => badge).join(", ");
    this.element = rove(h("div", { class: "toolbar", role: "toolbar", "aria-label": "Tools and views" },
      button("‹", "Previous picture (,)", () => page.step(-1)),
      button("›", "Next picture (.)", () => page.step(1)),
      h("h1", { class: "title", title: name }, name),
      h("span", { class: "muted" }, `${state.byName.get(name) + 1} of ${state.images.length}`),
      h("span", { class: "grow" }),
      h("div", { class: "tools", role: "radiogroup", "aria-label": "Tools" }, this.tools),
      button("Copy", `Copy ${copied} of the picture before`, () => page.copy()),
      this.undo, this.redo,
      button("−", "Zoom out (−)", () => page.viewport.zoom(0.8), "Zoom out"),
      button("+", "Zoom in (+)", () => page.viewport.zoom(1.25), "Zoom in"),
      h("button", { type: "button", title: "Fit (F)", onclick: () => page.viewport.fit() }, "Fit")));
  }

  choose(kind) {
    for (const one of this.tools) one.setAttribute("aria-checked", one.dataset.tool === kind);
  }

  update() {
    this.undo.disabled = !this.document.past.length && !lastChanged();
    this.redo.disabled = !this.document.future.length;
  }
}
