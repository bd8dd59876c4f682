// What the model thinks, beside what people said.

import { getBytes, getPicture, imagePath } from "./api.js";
import { openDocument } from "./document.js";
import { ask, h, percent, swatch, toast, typing } from "./dom.js";
import { ScorePage, tabs } from "./scores.js";
import { settings as painting } from "./settings.js";
import { loadDataset, loadImages, state, updateImage } from "./state.js";
import { PixelLayer, Viewport, rgb } from "./viewport.js";
import { watch } from "./watch.js";

const MODES = { prediction: "Prediction", mask: "Your mask", errors: "Differences", confidence: "Confidence" };
const settings = { mode: "prediction", opacity: 0.55, order: "doubt" };

export async function showReview(name, part) {
  await loadDataset();
  if (!state.dataset.model) return drawNothing;
  const names = ordered();
  const wanted = state.byName.has(name) ? name : names[0];
  if (part === "scores") {
    return (view) => {
      const page = new ScorePage(view, wanted);
      return () => page.close();
    };
  }
  const document = await openDocument(wanted);
  const picture = await getPicture(`${imagePath(wanted, "/picture")}?v=${document.stamp}`);
  return (view) => {
    state.last = wanted;
    if (part in MODES) settings.mode = part;
    const page = new ReviewPage(view, document, picture, names);
    return () => page.close();
  };
}

function drawNothing(view) {
  view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "Review"),
    h("p", { class: "intro" }, "There is no model yet. ", h("a", { href: "#/train" }, "Train one"),
      ", and see here what it makes of your pictures.")));
  return null;
}

function ordered() {
  const images = [...state.images];
  if (settings.order === "doubt") images.sort((a, b) => (a.confidence ?? 2) - (b.confidence ?? 2));
  return images.map((image) => image.name);
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
    this.onChange = () => { this.showUndo(); this.load(settings.mode); };
    document.addEventListener("change", this.onChange);
    this.model = state.dataset.model.key;
    // Somebody may have trained again, here or elsewhere.
    this.onModel = () => { this.stale.hidden = !watch.key || watch.key === this.model; };
    watch.addEventListener("model", this.onModel);
    this.pan();
    this.load(document.hasMask || settings.mode === "prediction" || settings.mode === "confidence" ? settings.mode : "prediction");
  }

  close() {
    this.closed = true;
    watch.removeEventListener("model", this.onModel);
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
    this.stale = h("div", { class: "stale card", role: "status", hidden: true }, h("p", {}, "There is a newer model: what you see is of an older one."),
      h("button", { type: "button", class: "primary", onclick: () => this.renew() }, "Show what it says"));
    this.undoButton = h("button", { type: "button", title: "Undo (Ctrl Z)", "aria-label": "Undo", onclick: () => document.undo() }, "↶");
    this.redoButton = h("button", { type: "button", title: "Redo (Ctrl Shift Z)", "aria-label": "Redo", onclick: () => document.redo() }, "↷");
    const step = (by, text, title) => h(
      "button",
      { type: "button", title, "aria-label": title, onclick: () => this.step(by) },
      text,
    );
    view.replaceChildren(h("section", { class: "annotate review" },
      h("div", { class: "toolbar" }, tabs(document.name, false),
        step(-1, "‹", "Previous picture (,)"), step(1, "›", "Next picture (.)"),
        h("h1", { class: "title", title: document.name }, document.name), this.where, h("span", { class: "grow" }), order, this.undoButton, this.redoButton,
        h("button", { type: "button", title: "Fit (F)", onclick: () => this.viewport.fit() }, "Fit")),
      h("div", { class: "stage" }, this.canvas),
      h("aside", { class: "side", "aria-label": "Prediction" }, this.stale,
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
    this.showUndo();
  }

  showUndo() {
    this.undoButton.disabled = !this.document.past.length;
    this.redoButton.disabled = !this.document.future.length;
  }

  async renew() {
    try {
      await loadDataset();
      await loadImages();
    } catch (error) {
      toast(error.message, "bad");
      return;
    }
    this.model = state.dataset.model.key;
    this.stale.hidden = true;
    this.predicted = this.levels = null;
    this.names = ordered();
    this.place = this.names.indexOf(this.document.name);
    this.told();
    await this.load(settings.mode);
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
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => { from = null; });
  }

  key(event) {
    if (typing(event) || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key === "y" || (key === "z" && event.shiftKey)) this.document.redo();
      else if (key === "z") this.document.undo();
      else return;
      event.preventDefault();
      return;
    }
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
      h("p", { class: labeled ? "" : "muted small" }, this.compared(right, labeled))].filter(Boolean));
  }

  // That a prediction is like itself says nothing.
  compared(right, labeled) {
    if (!labeled) return "There is no mask to compare with.";
    if (this.document.accepted) return "This mask is a prediction that was accepted: the model learns from it, but no score is made of it.";
    return `${percent(right / labeled, 1)} of what your mask colors is predicted rightly.`;
  }

  async acceptAll() {
    const predicted = await this.prediction();
    const { document } = this;
    let change = (_, n) => predicted[n];
    if (document.mask.some((value, n) => value && value !== predicted[n])) {
      const choice = await ask("There is a mask already", "What you have colored differs from the prediction in places.",
        [
          { text: "Cancel", value: null },
          { text: "Replace all of it", value: "replace" },
          { text: "Keep mine, fill in the rest", value: "fill", primary: true },
        ]);
      if (!choice) return;
      if (choice === "fill") change = (value, n) => value || predicted[n];
    }
    document.changeAll("mask", change, true);
    toast("The prediction is the mask of this picture now. Undo (Ctrl Z) takes it back.");
  }

  async accept() {
    try {
      await this.acceptAll();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  // Strokes over what is wrong are all that is kept; beside a mask they would add nothing, so that is corrected itself.
  correct() {
    painting.prediction = true;
    const kind = this.document.hasMask ? "mask" : "scribbles";
    location.hash = `#/annotate/${encodeURIComponent(this.document.name)}/${kind}`;
  }
}
