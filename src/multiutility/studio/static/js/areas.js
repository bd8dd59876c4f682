// How much of a picture each label covers, as somebody sees it: a slider and a number for each label that is there.

import { h, percent, swatch } from "./dom.js";
import { state } from "./state.js";

let slides = 0; // all that a slider does until it is let go is undone at once

// A share may not grow beyond what the others leave; it need not shrink if they leave too little.
function fitted(share, now, others) {
  return Math.max(0, Math.min(share, Math.max(now ?? 0, 1 - others)));
}

export class AreaPanel {
  constructor(page) {
    this.page = page;
    this.rows = new Map();
    this.asked = new Set(); // labels without a share yet that somebody has chosen here
    this.list = h("div", { class: "areas", role: "group", "aria-label": "Areas in percent" });
    this.left = h("p", { class: "muted small", role: "status" });
    const clear = h("button", { type: "button", onclick: () => this.replace([], `clear ${++slides}`) }, "Clear");
    this.element = h("div", { class: "paint-panel" }, h("div", { class: "row" }, clear), this.list, this.left);
  }

  get areas() {
    return this.page.document.marks.areas;
  }

  replace(areas, stroke) {
    this.page.document.setMarks({ ...this.page.document.marks, areas }, stroke);
  }

  // A percent of null says nothing of the label.
  set(name, value, stroke) {
    const place = this.areas.findIndex((area) => area.label === name);
    const now = this.areas[place];
    if (value === null) {
      if (now) this.replace(this.areas.toSpliced(place, 1), stroke);
      else this.update();
      return;
    }
    const others = this.areas.reduce((sum, area) => sum + (area.label === name ? 0 : area.share), 0);
    // Whole tenths of a percent: sums of shares have more digits than anybody has said.
    const share = Math.round(1000 * fitted(value / 100, now?.share, others)) / 1000;
    if (share === now?.share) this.update();
    else this.replace(now ? this.areas.with(place, { ...now, share }) : [...this.areas, { label: name, share }], stroke);
  }

  // Of a label that was chosen: the slider takes the keys.
  reveal(name) {
    this.asked.add(name);
    this.update();
    const { slider } = this.rows.get(name);
    slider.scrollIntoView({ block: "nearest" });
    slider.focus();
  }

  row({ name, color }) {
    const slider = h("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `${name} in percent, slider`,
      oninput: () => this.set(name, Number(slider.value), `slide ${name} ${slides}`), onchange: () => { slides++; } });
    const number = h("input", { type: "number", min: 0, max: 100, step: 0.1, "aria-label": `${name} in percent`,
      onchange: () => this.set(name, number.value === "" ? null : Number(number.value), `type ${++slides}`) });
    const remove = h("button", { type: "button", class: "quiet", title: "Say nothing of it", "aria-label": `Remove the area of ${name}`,
      onclick: () => { this.asked.delete(name); this.set(name, null, `remove ${++slides}`); } }, "×");
    return { slider, number, element: h("div", { class: "area-row" }, h("span", { class: "name" }, swatch(color), ` ${name}`), slider, number, remove) };
  }

  // Labels that are in the picture, by any mark of it, have rows.
  update() {
    const there = new Set(this.page.labels.checked);
    const shares = new Map(this.areas.map((area) => [area.label, area.share]));
    const shown = state.dataset.classes.filter(({ name }) => there.has(name) || shares.has(name) || this.asked.has(name));
    for (const one of shown) if (!this.rows.has(one.name)) this.rows.set(one.name, this.row(one));
    const elements = shown.map(({ name }) => this.rows.get(name).element);
    // Elements that are put in again lose the focus.
    if (elements.length !== this.list.children.length || elements.some((one, n) => one !== this.list.children[n])) {
      const focused = window.document.activeElement;
      this.list.replaceChildren(...elements);
      if (this.list.contains(focused)) focused.focus();
    }
    for (const { name } of shown) {
      const { slider, number } = this.rows.get(name);
      const share = shares.get(name);
      number.value = share === undefined ? "" : Number((100 * share).toFixed(2));
      slider.value = share === undefined ? 0 : 100 * share;
      slider.setAttribute("aria-valuetext", share === undefined ? "nothing said" : percent(share, 1));
    }
    const total = [...shares.values()].reduce((sum, share) => sum + share, 0);
    this.left.textContent = `${percent(Math.max(0, 1 - total), 1)} of the picture is left.`;
  }
}
