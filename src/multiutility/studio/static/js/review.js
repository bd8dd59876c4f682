// What the model thinks, beside what people said.

import { getBytes, getJson, getPicture, imagePath } from "./api.js";
import { openDocument } from "./document.js";
import { ask, h, percent, plural, swatch, toast, typing } from "./dom.js";
import { loadDataset, state, updateImage } from "./state.js";
import { PixelLayer, Viewport, rgb } from "./viewport.js";

const MODES = { prediction: "Prediction", mask: "Your mask", errors: "Differences", confidence: "Confidence" };
const FEW = 10;
const settings = { mode: "prediction", opacity: 0.55, order: "doubt" };

export async function showReview(view, name, part) {
  await loadDataset();
  if (!state.dataset.model) {
    view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "Review"),
      h(
        "p",
        { class: "intro" },
        "There is no model yet. ",
        h("a", { href: "#/train" }, "Train one"),
        ", and see here what it makes of your pictures.",
      )));
    return null;
  }
  const names = ordered();
  const wanted = state.byName.has(name) ? name : names[0];
  if (part === "scores") {
    const page = new ScorePage(view, wanted);
    return () => page.close();
  }
  const document = await openDocument(wanted);
  const picture = await getPicture(`${imagePath(wanted, "/picture")}?v=${document.stamp}`);
  state.last = wanted;
  const page = new ReviewPage(view, document, picture, names);
  return () => page.close();
}

function ordered() {
  const images = [...state.images];
  if (settings.order === "doubt") images.sort((a, b) => (a.confidence ?? 2) - (b.confidence ?? 2));
  return images.map((image) => image.name);
}

function tabs(name, scores) {
  const link = (text, address, here) => h("a", { href: address, "aria-current": here ? "page" : null }, text);
  const one = `#/review/${encodeURIComponent(name)}`;
  return h(
    "nav",
    { class: "tabs", "aria-label": "Review" },
    link("Pictures", one, !scores),
    link("Scores", `${one}/scores`, scores),
  );
}

// From blue (sure) over yellow to red (in doubt).
function heat(level) {
  const doubt = 1 - level / 255;
  const stops = [[38, 70, 160], [60, 150, 190], [245, 220, 110], [240, 130, 50], [200, 30, 40]];
  const place = doubt * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  return [...stops[low].map((value, n) => Math.round(value + (stops[low + 1][n] - value) * (place - low))), 255];
}

class ReviewPage {
  constructor(view, document, picture, names) {
    Object.assign(this, { document, picture, names });
    this.place = names.indexOf(document.name);
    this.build(view);
    this.viewport = new Viewport(this.canvas, (context) => this.layer?.draw(context, settings.opacity));
    this.viewport.show(picture, document);
    this.onKey = (event) => this.key(event);
    window.addEventListener("keydown", this.onKey);
    this.onChange = () => this.load(settings.mode);
    document.addEventListener("change", this.onChange);
    this.pan();
    this.load(document.hasMask || settings.mode === "prediction" || settings.mode === "confidence" ? settings.mode : "prediction");
  }

  close() {
    this.closed = true;
    window.removeEventListener("keydown", this.onKey);
    this.document.removeEventListener("change", this.onChange);
    this.viewport.close();
    updateImage(this.document);
  }

  build(view) {
    const { document } = this;
    this.canvas = h(
      "canvas",
      { class: "picture", tabindex: "0", role: "img", "aria-label": `Prediction for ${document.name}` },
    );
    this.radios = Object.entries(MODES).map(([mode, text], n) =>
      h("button", { type: "button", role: "radio", "aria-checked": "false", "data-mode": mode, "aria-keyshortcuts": n + 1,
        onclick: () => this.load(mode) }, text, h("kbd", {}, n + 1)));
    const opacity = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: settings.opacity, "aria-label": "Opacity",
      oninput: () => { settings.opacity = Number(opacity.value); this.viewport.redraw(); } });
    const reorder = () => {
      settings.order = order.value;
      this.names = ordered();
      this.place = this.names.indexOf(document.name);
      this.told();
    };
    const order = h("select", { "aria-label": "Order of the pictures", onchange: reorder },
      h("option", { value: "doubt", selected: settings.order === "doubt" }, "Least sure first"),
      h("option", { value: "name", selected: settings.order === "name" }, "By name"));
    this.where = h("span", { class: "muted" });
    this.facts = h("div", { class: "facts" });
    const step = (by, text, title) => h(
      "button",
      { type: "button", title, "aria-label": title, onclick: () => this.step(by) },
      text,
    );
    view.replaceChildren(h("section", { class: "annotate review" },
      h("div", { class: "toolbar" }, tabs(document.name, false),
        step(-1, "‹", "Previous picture (,)"), step(1, "›", "Next picture (.)"),
        h("h1", { class: "title" }, document.name), this.where, h("span", { class: "grow" }), order,
        h("button", { type: "button", title: "Fit (F)", onclick: () => this.viewport.fit() }, "Fit")),
      h("div", { class: "stage" }, this.canvas),
      h("aside", { class: "side", "aria-label": "Prediction" },
        h("div", { class: "modes", role: "radiogroup", "aria-label": "What is shown" }, this.radios),
        h("label", { class: "slider" }, h("span", {}, "Photo"), opacity, h("span", {}, "Colors")),
        h("div", { class: "row wrap" },
          h(
            "button",
            { type: "button", class: "primary", id: "accept", onclick: () => this.accept() },
            "Accept as mask",
          ),
          h("button", { type: "button", onclick: () => this.correct() }, "Correct by painting")),
        this.facts)));
    this.told();
  }

  told() {
    const { confidence } = state.images[state.byName.get(this.document.name)] ?? {};
    const sure = confidence === undefined ? "" : `, confidence ${percent(confidence)}`;
    this.where.textContent = `${this.place + 1} of ${this.names.length}${sure}`;
  }

  pan() {
    let from = null;
    this.canvas.addEventListener(
      "pointerdown",
      (event) => { from = event; this.canvas.setPointerCapture(event.pointerId); },
    );
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.viewport.move(event.offsetX - from.offsetX, event.offsetY - from.offsetY);
      from = event;
    });
    this.canvas.addEventListener("pointerup", () => { from = null; });
  }

  key(event) {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const mode = Object.keys(MODES)[Number(event.key) - 1];
    if (mode) this.load(mode);
    else if (event.key === "," || event.key === "PageUp") this.step(-1);
    else if (event.key === "." || event.key === "PageDown") this.step(1);
    else if (event.key === "f") this.viewport.fit();
    else if (event.key === "+") this.viewport.zoom(1.25);
    else if (event.key === "-") this.viewport.zoom(0.8);
    else return;
    event.preventDefault();
  }

  step(by) {
    const next = this.names[Math.min(this.names.length - 1, Math.max(0, this.place + by))];
    if (next !== this.document.name) location.hash = `#/review/${encodeURIComponent(next)}`;
  }

  async prediction() {
    this.predicted ??= (await getBytes(imagePath(this.document.name, "/prediction"))).bytes;
    return this.predicted;
  }

  async load(mode) {
    settings.mode = mode;
    for (const button of this.radios) button.setAttribute("aria-checked", button.dataset.mode === mode);
    this.canvas.classList.add("waiting");
    try {
      const predicted = await this.prediction();
      if (mode === "confidence") this.levels ??= (await getBytes(imagePath(this.document.name, "/confidence"))).bytes;
      if (this.closed || settings.mode !== mode) return;
      this.show(mode, predicted);
      this.tell(mode, predicted);
      this.canvas.dataset.shown = mode;
    } catch (error) {
      toast(error.message, "bad");
    }
    this.canvas.classList.remove("waiting");
  }

  show(mode, predicted) {
    const { width, mask } = this.document;
    const labels = [[0, 0, 0, 0], ...state.dataset.classes.map((one) => [...rgb(one.color), 230])];
    const modes = {
      prediction: [labels, (place) => predicted[place]],
      mask: [labels, (place) => mask[place]],
      errors: [
        [[0, 0, 0, 0], [70, 170, 110, 120], [214, 39, 40, 235]],
        (place) => (mask[place] ? (mask[place] === predicted[place] ? 1 : 2) : 0),
      ],
      confidence: [Array.from({ length: 256 }, (_, level) => heat(level)), (place) => this.levels[place]],
    };
    const [colors, values] = modes[mode];
    this.layer = new PixelLayer(this.picture, this.document, colors);
    this.layer.update((x, y) => values(y * width + x), null, { outlines: mode !== "confidence" });
    this.viewport.redraw();
  }

  tell(mode, predicted) {
    const { mask } = this.document;
    const counts = new Map();
    let labeled = 0;
    let right = 0;
    predicted.forEach((value, n) => {
      counts.set(value, (counts.get(value) ?? 0) + 1);
      if (mask[n]) {
        labeled++;
        if (mask[n] === value) right++;
      }
    });
    const rows = [...counts].filter(([value]) => value).sort((a, b) => b[1] - a[1]).map(([value, count]) => {
      const { name, color } = state.dataset.classes[value - 1];
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, swatch(color), ` ${name}`),
        h("td", {}, percent(count / predicted.length, 1)),
      );
    });
    const legend = { confidence: "Blue: sure. Red: in doubt.", errors: "Green: as in your mask. Red: different." }[mode];
    this.facts.replaceChildren(...[
      legend && h("p", { class: "small" }, legend),
      h("h2", {}, "In this picture"),
      h("table", { class: "scores" }, h("tbody", {}, rows)),
      labeled ? h("p", {}, `${percent(right / labeled, 1)} of what your mask colors is predicted rightly.`)
        : h("p", { class: "muted small" }, "There is no mask to compare with.")].filter(Boolean));
  }

  async copyToMask() {
    const predicted = await this.prediction();
    const { document } = this;
    if (document.hasMask && document.mask.some((value, n) => value && value !== predicted[n])) {
      const choice = await ask("There is a mask already", "What you have colored differs from the prediction in places.",
        [
          { text: "Cancel", value: null },
          { text: "Replace all of it", value: "replace" },
          { text: "Keep mine, fill in the rest", value: "fill", primary: true },
        ]);
      if (!choice) return false;
      document.changeAll("mask", (value, n) => (choice === "fill" && value) || predicted[n]);
    } else {
      document.changeAll("mask", (_, n) => predicted[n]);
    }
    return true;
  }

  async accept() {
    try {
      if (await this.copyToMask()) toast("The prediction is the mask of this picture now.");
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async correct() {
    try {
      if (await this.copyToMask()) location.hash = `#/annotate/${encodeURIComponent(this.document.name)}/mask`;
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}

class ScorePage {
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
        confusion(one.names, one.matrix)),
    ];
  }
}

function bar(value) {
  const filled = h("span", { class: "bar" });
  filled.style.width = `${Math.round(60 * (value ?? 0))}px`;
  return h("td", {}, filled, ` ${percent(value, 0)}`);
}

// What part of each class (row) was called what (column), in percent.
function confusion(names, matrix) {
  const used = names.map((_, n) => n).filter((n) => matrix[n].some(Boolean) || matrix.some((row) => row[n]));
  const cell = (row, column) => {
    const total = matrix[row].reduce((sum, value) => sum + value, 0);
    const share = total ? matrix[row][column] / total : 0;
    const element = h(
      "td",
      { title: `${names[row]} called ${names[column]}: ${percent(share, 1)}` },
      share >= 0.005 ? Math.round(100 * share) : "",
    );
    element.style.background = `color-mix(in srgb, ${row === column ? "var(--good)" : "var(--bad)"} ${Math.round(85 * share)}%, transparent)`;
    return element;
  };
  return h("div", { class: "matrix-wrap" },
    h("table", { class: "matrix" },
      h("caption", {}, "What each class (row) was called (column), in percent"),
      h("thead", {}, h("tr", {}, h("td"), used.map((n) => h("th", { scope: "col" }, h("span", {}, names[n]))))),
      h(
        "tbody",
        {},
        used.map((row) => h("tr", {}, h("th", { scope: "row" }, names[row]), used.map((column) => cell(row, column)))),
      )));
}
