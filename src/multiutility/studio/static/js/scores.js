// How well the model does on pictures with masks, and what it takes for what.

import { getJson, imagePath } from "./api.js";
import { h, percent, plural, swatch } from "./dom.js";
import { state } from "./state.js";

const FEW = 10;

export function tabs(name, scores) {
  const link = (text, address, here) => h("a", { href: address, "aria-current": here ? "page" : null }, text);
  const one = `#/review/${encodeURIComponent(name)}`;
  return h(
    "nav",
    { class: "tabs", "aria-label": "Review" },
    link("Pictures", one, !scores),
    link("Scores", `${one}/scores`, scores),
  );
}

export class ScorePage {
  constructor(view, name) {
    this.body = h("div", { class: "page" }, h("p", {}, "Comparing…"));
    view.replaceChildren(
      h("section", { class: "scores-page" }, h("div", { class: "toolbar" }, tabs(name, true)), this.body),
    );
    this.load();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  async load() {
    try {
      const found = await getJson("/api/scores");
      if (this.closed) return;
      this.body.replaceChildren(...this.parts(found));
      if (found.waiting) this.timer = setTimeout(() => this.load(), 1500);
    } catch (error) {
      this.body.replaceChildren(h("p", {}, error.message));
    }
  }

  parts(found) {
    const parts = [];
    if (found.new) parts.push(
      ...this.scores(
        "On pictures that the model has not learned from",
        found.new,
        "This is what to expect on new pictures.",
      )
    );
    if (found.learned) {
      parts.push(...this.scores("On pictures that it has learned from", found.learned, found.new ? "Usually better than on new ones."
        : "On new pictures it will be worse. To know how much, set masks aside when you train."));
    }
    if (found.accepted) {
      const text = found.accepted === 1 ? "One mask is a prediction that was accepted: no score is made of it."
        : `${found.accepted} masks are predictions that were accepted: no score is made of them.`;
      parts.push(h("p", { class: "muted accepted" }, text));
    }
    if (found.waiting) parts.push(
      h(
        "p",
        { class: "muted", role: "status" },
        `${plural(found.waiting, "picture")} with masks still to be compared…`,
      ),
    );
    if (!parts.length) parts.push(
      h(
        "p",
        { class: "intro" },
        "No picture has a mask: there is nothing to compare with. A handful of masks is enough to see how good the model is.",
      ),
    );
    return parts;
  }

  scores(title, one, note) {
    const number = (value, text) => h(
      "div",
      { class: "number" },
      h("b", {}, percent(value, 1)),
      h("span", { class: "muted" }, text),
    );
    const rows = Object.entries(one.classes).filter(([, { pixels }]) => pixels).map(([name, { recall, iou }]) => {
      const { color } = state.dataset.classes.find((entry) => entry.name === name);
      return h("tr", {}, h("th", { scope: "row" }, swatch(color), ` ${name}`), bar(recall), bar(iou));
    });
    const list = h("div", { class: "confused", role: "status" });
    return [
      h("h1", {}, title),
      h(
        "p",
        { class: "muted" },
        `${plural(one.n_images, "picture")}. ${note}${one.n_images < FEW ? " With so few pictures these are rough figures." : ""}`,
      ),
      h(
        "div",
        { class: "numbers" },
        number(one.accuracy, "of the pixels are right"),
        number(one.mean_recall, "mean recall of the classes"),
        number(one.mean_iou, "mean overlap (IoU)"),
      ),
      h("div", { class: "told", hidden: !one.told }, h("p", {}, `${one.told}.`)),
      h("div", { class: "tables" },
        h(
          "table",
          { class: "scores" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "Class"),
              h("th", { scope: "col" }, "Found (recall)"),
              h("th", { scope: "col" }, "Overlap (IoU)"),
            ),
          ),
          h("tbody", {}, rows),
        ),
        confusion(one, (row, column) => this.open(list, one, row, column))),
      list,
    ];
  }

  // Shows the pictures in which a class is called by the name of another, with the largest mistakes first.
  open(list, { names, where }, row, column) {
    const pictures = where[row][column].map(([name, share]) => h("a", { href: `#/review/${encodeURIComponent(name)}/errors` },
      h("img", { src: `${imagePath(name, "/thumbnail")}?v=${state.images[state.byName.get(name)]?.stamp}`, alt: "" }),
      h("span", {}, `${name} `), h("span", { class: "muted small" }, percent(share, 1))));
    list.replaceChildren(h("h2", {}, `${names[row]} called ${names[column]}`),
      h("p", { class: "muted small" }, "Open a picture to see where. Percentages are of what its mask colors."),
      h("div", { class: "confused-pictures" }, pictures));
    list.scrollIntoView({ block: "nearest" });
  }
}

function bar(value) {
  const filled = h("span", { class: "bar" });
  filled.style.width = `${Math.round(60 * (value ?? 0))}px`;
  return h("td", {}, filled, ` ${percent(value, 0)}`);
}

// What part of each class (row) was called what (column), in percent; a mistake opens its pictures.
function confusion({ names, matrix, where }, open) {
  const used = names.map((_, n) => n).filter((n) => matrix[n].some(Boolean) || matrix.some((row) => row[n]));
  const cell = (row, column) => {
    const total = matrix[row].reduce((sum, value) => sum + value, 0);
    const share = total ? matrix[row][column] / total : 0;
    const title = `${names[row]} called ${names[column]}: ${percent(share, 1)}`;
    const text = share >= 0.005 ? Math.round(100 * share) : "";
    const mistake = row !== column && where[row]?.[column];
    const element = h("td", { title }, mistake
      ? h("button", { type: "button", class: "mistake", "aria-label": title, onclick: () => open(row, column) }, text || "·")
      : text);
    element.style.background = `color-mix(in srgb, ${row === column ? "var(--good)" : "var(--bad)"} ${Math.round(85 * share)}%, transparent)`;
    return element;
  };
  return h("div", { class: "matrix-wrap" },
    h("table", { class: "matrix" },
      h("caption", {}, "What each class (row) was called (column), in percent; click a mistake to see its pictures"),
      h("thead", {}, h("tr", {}, h("td"), used.map((n) => h("th", { scope: "col" }, h("span", {}, names[n]))))),
      h(
        "tbody",
        {},
        used.map((row) => h("tr", {}, h("th", { scope: "row" }, names[row]), used.map((column) => cell(row, column)))),
      )));
}
