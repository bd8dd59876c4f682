// The labels: renamed, merged, recolored, put into another order, deleted; all files are changed at once.

import { getJson } from "./api.js";
import { ask, h, plural, toast } from "./dom.js";
import { kindText, newLabelButton, shortKindText } from "./labels.js";
import { changeFolder, state } from "./state.js";

export async function showClasses() {
  const upkeep = await getJson("/api/upkeep");
  return (view) => {
    const page = new ClassesPage(view, upkeep);
    return () => page.close();
  };
}

class ClassesPage {
  constructor(view, upkeep) {
    this.upkeep = upkeep;
    // What the labels will be, and of which ones they are made.
    this.wanted = state.dataset.classes.map(({ name, color, kind }) => ({ name, color, kind, of: [name] }));
    this.base = JSON.stringify(this.wanted);
    this.gone = [];
    this.add = newLabelButton(() => {});
    this.list = h("ol", { class: "classes", "aria-label": "Labels" });
    this.told = h("p", { class: "muted", role: "status" });
    this.save = h("button", { type: "button", class: "primary", id: "save-classes", onclick: () => this.apply() }, "Save changes");
    this.drop = h("button", { type: "button", onclick: () => this.reset() }, "Discard them");
    view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "Labels"),
      h("p", { class: "intro" }, "Tables, scribbles and masks follow all at once, when you save. The order is that of the keys."),
      undoLine(upkeep), h("div", { class: "row wrap" }, this.save, this.drop, this.add, this.told), this.list));
    this.draw();
    this.ask = (event) => { if (this.changed) event.preventDefault(); };
    addEventListener("beforeunload", this.ask);
  }

  close() {
    removeEventListener("beforeunload", this.ask);
    if (this.changed) toast("Changes of labels were not saved.");
  }

  get changed() {
    return !this.saved && JSON.stringify(this.wanted) !== this.base;
  }

  reset() {
    this.wanted = JSON.parse(this.base);
    this.gone = [];
    this.draw();
  }

  move(n, by) {
    const [one] = this.wanted.splice(n, 1);
    this.wanted.splice(n + by, 0, one);
    this.draw();
    this.list.children[n + by].querySelector(by < 0 ? ".up" : ".down").focus();
  }

  merge(n, into) {
    const target = this.wanted[into];
    target.of.push(...this.wanted[n].of);
    this.wanted.splice(n, 1);
    this.draw();
  }

  remove(n) {
    this.gone.push(...this.wanted[n].of);
    this.wanted.splice(n, 1);
    this.draw();
  }

  row(one, n) {
    const { wanted } = this;
    const name = h("input", { type: "text", value: one.name, maxlength: 200, "aria-label": `Name of ${one.of[0]}`,
      oninput: () => { one.name = name.value.trim(); this.tell(); } });
    const color = h("input", { type: "color", value: one.color, "aria-label": `Color of ${one.name}`,
      oninput: () => { one.color = color.value; this.tell(); } });
    const kind = h("select", { "aria-label": `What ${one.name} is`, onchange: () => { one.kind = kind.value; this.tell(); } },
      state.dataset.class_kinds.map((value) => h("option", { value, title: kindText(value), selected: value === one.kind }, shortKindText(value))));
    const into = h("select", { "aria-label": `Merge ${one.name} into`, onchange: () => this.merge(n, Number(into.value)) },
      h("option", { value: "" }, "Merge into…"), wanted.map((other, k) => (k === n ? null : h("option", { value: k }, other.name))));
    const button = (text, title, action, disabled, kind = "") => h(
      "button", { type: "button", class: `quiet ${kind}`, title, "aria-label": `${title}: ${one.name}`, onclick: action, disabled }, text,
    );
    const also = one.of.slice(1);
    return h("li", {}, button("↑", "Up", () => this.move(n, -1), n === 0, "up"), button("↓", "Down", () => this.move(n, 1), n === wanted.length - 1, "down"),
      color, name, kind, into, button("×", "Delete", () => this.remove(n), wanted.length === 1),
      also.length ? h("span", { class: "muted small" }, `with ${also.join(", ")}`) : null);
  }

  draw() {
    this.list.replaceChildren(...this.wanted.map((one, n) => this.row(one, n)));
    this.tell();
  }

  tell() {
    this.save.disabled = !this.changed;
    this.drop.hidden = !this.changed;
    this.add.disabled = this.changed; // the list is made anew with it
    this.told.textContent = this.gone.length ? `To be deleted: ${this.gone.join(", ")}. What was annotated with them goes, too.` : "";
  }

  async apply() {
    if (this.gone.length) {
      const counts = this.gone.map((name) => {
        const label = state.dataset.classes.findIndex((one) => one.name === name);
        return `${name} (${plural(state.images.filter((image) => image.labels.includes(label)).length, "picture")})`;
      });
      const sure = await ask("Delete labels?", `Tags, marks and painted places of ${counts.join(", ")} are deleted. To keep them, merge the label into another one.`,
        [{ text: "Cancel", value: false }, { text: "Delete", value: true, primary: true }]);
      if (!sure) return;
    }
    this.save.disabled = true;
    this.told.textContent = "Changing all files…";
    this.saved = true;
    try {
      await changeFolder("PUT", "/api/classes", { classes: this.wanted, version: state.dataset.classes_version });
      toast(state.dataset.model ? "Labels are changed in all files. The model knows the old ones: train again." : "Labels are changed in all files.");
    } catch (error) {
      this.saved = false;
      this.tell();
      this.told.textContent = `Nothing is changed: ${error.message}.`;
    }
  }
}

// The last change of the whole folder, with a button that takes it back.
export function undoLine({ undo }) {
  if (!undo) return null;
  const take = async () => {
    try {
      await changeFolder("POST", "/api/undo", {});
      toast("Taken back.");
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  return h("p", { class: "note row" }, h("span", {}, `Last change: ${undo}.`), h("button", { type: "button", id: "undo-folder", onclick: take }, "Undo it"));
}
