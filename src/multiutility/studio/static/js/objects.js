// The list of boxes and points beside a picture: to choose them, and to remove them.

import { h, swatch } from "./dom.js";
import { ARROWS } from "./keyboard.js";
import { colorOf } from "./marking.js";
import { TOOLS } from "./tools.js";

// Those whose marks are drawn one by one.
export const DRAWN = Object.entries(TOOLS).filter(([, { draw }]) => draw);

export class ObjectList {
  constructor(page) {
    this.page = page;
    this.element = h("ul", { class: "objects", "aria-label": "Boxes and points" });
  }

  update() {
    const { marks } = this.page.document;
    const rows = DRAWN.flatMap(
      ([kind, { describe }]) => marks[kind].map((mark, n) => this.row(kind, mark, n, describe(mark))),
    );
    const focused = [...this.element.querySelectorAll(".object")].indexOf(window.document.activeElement);
    this.element.replaceChildren(...rows);
    if (focused >= 0) this.element.querySelectorAll(".object")[focused]?.focus();
  }

  row(kind, mark, n, text) {
    const { page } = this;
    const tool = page.tools[kind];
    const choose = () => { page.use(kind); tool.choose(n); page.update(); };
    const onkeydown = (event) => {
      if (kind === "boxes" && page.kind === "boxes" && this.nudge(event)) event.preventDefault();
    };
    return h("li", { class: tool.chosen === n && page.kind === kind ? "chosen" : "" },
      h("button", { type: "button", class: "object", onclick: choose, onkeydown },
        swatch(colorOf(mark.label)), ` ${mark.label} `, h("span", { class: "muted small" }, text)),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove ${text} of ${mark.label}`, title: "Remove",
        onclick: () => { choose(); tool.remove(); } }, "×"));
  }

  nudge(event) {
    if (!(event.key in ARROWS)) return false;
    event.stopPropagation();
    const { tools, unit } = this.page;
    const [dx, dy] = ARROWS[event.key].map((value) => value * Math.max(1, Math.round(4 * unit)));
    tools.boxes.nudge(dx, dy, event.shiftKey);
    return true;
  }
}
