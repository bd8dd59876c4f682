// The list of labels beside a picture: which one is drawn with, and which are tags of the picture.

import { RequestError, getJson } from "./api.js";
import { h, percent, plural, swatch } from "./dom.js";
import { addClass, placedMarks, state } from "./state.js";

// Without T, C, B, P, S, M, E, F, which are tools.
export const KEYS = "1234567890qwryuioadghjklzxvn";

export class Labels {
  constructor(choose, toggle) {
    this.choose = choose;
    this.toggle = toggle;
    this.rows = state.dataset.classes.map((one, n) => this.row(one, KEYS[n] ?? ""));
    this.element = h("div", { class: "labels" }, this.rows.map((row) => row.element));
  }

  row(one, key) {
    const box = h("input", { type: "checkbox", "aria-label": `${one.name} is in the picture`, title: "In the picture (tag)",
      onchange: () => this.toggle(one.name) });
    const button = h("button", { type: "button", class: "label", "aria-pressed": "false", onclick: () => this.choose(one.name),
      "aria-keyshortcuts": key || null },
      h("kbd", {}, key.toUpperCase()), swatch(one.color), h("span", { class: "name" }, one.name), h("span", { class: "count muted" }));
    return { name: one.name, box, button, count: button.querySelector(".count"), element: h("div", { class: "label-row" }, button, box) };
  }

  // With many labels the list is longer than the window.
  reveal(name) {
    this.rows.find((row) => row.name === name)?.element.scrollIntoView({ block: "nearest" });
  }

  // Names of the labels that are in the picture.
  get checked() {
    return this.rows.filter((row) => row.box.checked).map((row) => row.name);
  }

  // `strokes` has how many there are of each label, by its name, and `painted` which share of the picture its mask has.
  update(marks, strokes, painted, chosen, tagging) {
    const open = marks.tags.some((tag) => tag.label !== undefined);
    for (const { name, box, button, count, element } of this.rows) {
      const tagged = marks.tags.some((tag) => isTagged(tag, name));
      const found = placedMarks(marks).filter((mark) => mark.label === name);
      const drawn = found.length + (strokes.get(name) ?? 0);
      const share = marks.areas.find((area) => area.label === name)?.share;
      const there = drawn > 0 || share > 0 || painted.has(name);
      box.checked = tagged || there;
      box.disabled = there && !tagged;
      const colored = painted.has(name) ? percent(painted.get(name)) : "";
      const absent = marks.tags.some((tag) => tag.label === name && tag.present === 0);
      const unsaid = open && !tagged && !there && !absent ? "?" : "";
      count.textContent = [drawn ? `× ${drawn}` : "", share === undefined ? "" : percent(share), colored, absent ? "not there" : unsaid].filter(Boolean).join(", ");
      count.title = unsaid ? "Nothing is said of it" : colored && `${colored} of the picture is painted with it`;
      button.setAttribute("aria-pressed", tagging ? box.checked : name === chosen);
      element.classList.toggle("chosen", !tagging && name === chosen);
      element.classList.toggle("tagged", box.checked);
    }
  }
}

// Whether a tag says that a label is there. Tags are names; those that need not be all are objects, with 1 or 0.
export function isTagged(tag, name) {
  return (tag.label ?? tag) === name && tag.present !== 0;
}

// What a class may be: the server says which there are.
const KIND_TEXTS = {
  thing: "Things, such as cows: they can be counted",
  stuff: "Stuff, such as grass: it has no shape",
  either: "Either, such as trees: one alone, or a forest behind things",
};

export function kindText(kind) {
  return KIND_TEXTS[kind] ?? kind;
}

export function shortKindText(kind) {
  return kindText(kind).split(":")[0];
}

function kindChoices() {
  return state.dataset.class_kinds.map((kind, n) => h("label", { class: "check" },
    h("input", { type: "radio", name: "kind", value: kind, checked: n === 0 }), h("span", {}, kindText(kind))));
}

// Opens the dialog for a new label; `added` is told its name.
export function newLabelButton(added) {
  const dialog = document.getElementById("class-dialog");
  const form = dialog.querySelector("form");
  const trouble = document.getElementById("class-trouble");
  const earlier = document.getElementById("class-earlier");
  const open = () => {
    form.reset();
    document.getElementById("class-kinds").replaceChildren(...kindChoices());
    trouble.textContent = "";
    earlier.hidden = true;
    getJson("/api/upkeep").then(({ complete }) => {
      earlier.hidden = !complete;
      document.getElementById("class-before").textContent = `${plural(complete, "picture")} say what is in them, without the new label`;
    }).catch((error) => { trouble.textContent = error.message; });
    form.onsubmit = async (event) => {
      event.preventDefault();
      const name = form.elements.name.value.trim();
      try {
        await addClass(name, form.elements.kind.value, form.elements.looked.value === "yes");
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        trouble.textContent = `It is not added: ${error.message}.`;
        return;
      }
      dialog.close();
      added(name);
    };
    document.getElementById("class-cancel").onclick = () => dialog.close();
    dialog.showModal();
    form.elements.name.focus();
  };
  return h("button", { type: "button", class: "quiet new-label", onclick: open }, "+ New label");
}

export function labelOfKey(key) {
  const place = KEYS.indexOf(key.toLowerCase());
  return key.length === 1 && place >= 0 ? state.dataset.classes[place]?.name ?? null : null;
}
