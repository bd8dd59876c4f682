// Several pictures of the gallery at once: which are selected, and one tag for all of them.

import { sendJson } from "./api.js";
import { tellOthers } from "./document.js";
import { h, plural, toast } from "./dom.js";
import { loadImages, state } from "./state.js";

export class Selection {
  // `changed` is called when other pictures are selected.
  constructor(changed) {
    this.names = new Set();
    this.anchor = null; // where a range begins
    this.done = null; // what can be undone
    this.changed = changed;
    this.count = h("span", { role: "status" });
    this.label = h("select", { "aria-label": "Label of the tag" }, state.dataset.classes.map(({ name }) => h("option", { value: name }, name)));
    const button = (text, onclick) => h("button", { type: "button", onclick }, text);
    this.undoButton = button("Undo", () => this.undo());
    this.actions = h("span", { class: "row wrap" }, this.label, button("Tag", () => this.tag(true)),
      button("Remove tag", () => this.tag(false)), button("Select none", () => this.clear()));
    this.element = h("div", { class: "toolbar selection", role: "toolbar", "aria-label": "Selected images" },
      this.count, this.actions, this.undoButton);
    this.show();
  }

  show() {
    const { size } = this.names;
    this.element.hidden = !size && !this.done;
    this.actions.hidden = !size;
    this.undoButton.hidden = !this.done;
    this.count.textContent = size ? `${size} selected` : "";
  }

  update() {
    this.show();
    this.changed();
  }

  toggle(images, place) {
    const { name } = images[place];
    if (!this.names.delete(name)) this.names.add(name);
    this.anchor = name;
    this.update();
  }

  // All from where the last one was selected.
  extend(images, place) {
    const from = images.findIndex(({ name }) => name === this.anchor);
    const [first, last] = from < 0 ? [place, place] : [Math.min(from, place), Math.max(from, place)];
    for (const { name } of images.slice(first, last + 1)) this.names.add(name);
    this.anchor ??= images[place].name;
    this.update();
  }

  all(images) {
    for (const { name } of images) this.names.add(name);
    this.update();
  }

  // Says whether any were.
  clear() {
    const any = this.names.size > 0;
    this.names.clear();
    this.anchor = null;
    this.update();
    return any;
  }

  async tag(present) {
    const label = this.label.value;
    await this.send("POST", { images: [...this.names], label, present }, (found) => {
      this.done = found;
      const count = plural(Object.keys(found.after).length, "image");
      toast(present ? `${count} tagged ${label}.` : `The tag ${label} is removed from ${count}.`);
    });
  }

  async undo() {
    await this.send("PUT", { now: this.done.after, then: this.done.before }, ({ changed }) => {
      this.done = null;
      toast(`${plural(changed, "image")} as before.`);
    });
  }

  async send(method, data, told) {
    this.element.inert = true;
    try {
      told(await (await sendJson(method, "/api/tags", data)).json());
      tellOthers();
      await loadImages();
    } catch (error) {
      toast(error.message, "bad");
    } finally {
      this.element.inert = false;
    }
    this.show();
  }
}
