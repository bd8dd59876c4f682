// "That is all": whether anything else may be in a picture than what is named in it.

import { h, typing } from "./dom.js";

const KEY = ";";

export class Completeness {
  constructor(page) {
    this.page = page;
    this.box = h("input", { type: "checkbox", "aria-keyshortcuts": KEY, onchange: () => this.say(this.box.checked) });
    this.hint = h("p", { class: "muted small", role: "status" });
    this.element = h("div", { class: "that-is-all" },
      h("label", { class: "check" }, this.box, h("span", {}, "That is all: nothing else is here ", h("kbd", {}, KEY))), this.hint);
    this.listener = (event) => this.key(event);
    window.addEventListener("keydown", this.listener);
  }

  close() {
    window.removeEventListener("keydown", this.listener);
  }

  key(event) {
    if (event.key === KEY && !typing(event) && !event.ctrlKey && !event.metaKey && !this.box.disabled && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      this.say(!this.box.checked);
    }
  }

  // Tags that are names are all that is there; those that need not be all are objects.
  say(complete) {
    const { document, labels } = this.page;
    const tags = complete
      ? labels.checked
      : document.marks.tags.map((name) => ({ label: name, present: 1 }));
    document.setMarks({ ...document.marks, tags });
  }

  update() {
    const { marks } = this.page.document;
    const { tags } = marks;
    const there = this.page.labels.checked;
    const complete = tags.length > 0 && tags.every((tag) => tag.label === undefined);
    this.box.checked = complete;
    this.box.disabled = !there.length;
    const boxed = new Set(marks.boxes.map((box) => box.label));
    this.hint.textContent = complete && there.every((name) => boxed.has(name))
      ? "Something must be around the boxes: name that, too." : "";
  }
}
