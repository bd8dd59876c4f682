// One button, and how far it is.

import { getJson, request, sendJson } from "./api.js";
import { chart } from "./chart.js";
import { duration, h, percent, plural, toast } from "./dom.js";
import { loadDataset, loadImages, state } from "./state.js";

export const STAGES = {
  "fitting features": "Getting to know the pictures",
  features: "Looking at every picture",
  learning: "Learning",
  predicting: "Coloring all pictures",
};
const MIN_MASKS = 5;
const RETRY = 3000;

export async function showTrain() {
  const job = await getJson("/api/training");
  return (view) => {
    const page = new TrainPage(view, job);
    return () => page.close();
  };
}

class TrainPage {
  constructor(view, job) {
    this.job = job;
    this.reset();
    this.status = h("p", { role: "status", class: "intro" });
    this.about = h("div", { class: "told card" });
    this.details = h("div", { class: "progress" });
    this.figure = h("figure", { class: "curve-figure" });
    this.actions = h("div", { class: "row" });
    this.form = this.buildForm();
    view.replaceChildren(h("section", { class: "page" },
      h("h1", {}, "Train"), this.buildCounts(), this.form, this.status, this.actions, this.about,
      this.details, this.figure));
    this.connect();
    this.draw();
  }

  // Browsers try again by themselves, but not after they were refused, as by a studio that was started again.
  connect() {
    const source = new EventSource("/api/training/events");
    this.source = source;
    source.onmessage = ({ data }) => this.take(JSON.parse(data));
    source.onopen = () => { this.away = ""; this.draw(); };
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED;
      this.away = refused
        ? "The studio was started again: open the new address from the terminal in this browser."
        : "The studio does not answer: start it again in the terminal. A training that was under way can be resumed.";
      this.draw();
      if (refused) this.retry = setTimeout(() => this.connect(), RETRY);
    };
  }

  close() {
    this.source.close();
    clearTimeout(this.retry);
  }

  reset() {
    this.stages = new Map();
    this.passes = [];
    this.notes = [];
    this.skipped = [];
    this.model = null;
  }

  buildCounts() {
    const { any, images, ...counts } = this.job.annotated;
    if (!any) {
      return h(
        "p",
        { class: "intro" },
        "Nothing is annotated yet. ",
        h("a", { href: "#/gallery" }, "Give some pictures tags"),
        " first: ten are a start.",
      );
    }
    const parts = state.dataset.kinds.filter(({ name }) => counts[name])
      .map(({ name, one, many }) => `${counts[name]} ${counts[name] === 1 ? one : many}`);
    const of = state.dataset.splits.includes("train") ? " of the split train" : "";
    return h(
      "p",
      { class: "intro" },
      `There are ${any} annotated of ${plural(images, "picture")}${of} to learn from: ${parts.join(", ")}.`,
    );
  }

  buildForm() {
    const chosen = this.job.options?.features ?? "deep";
    this.features = h("select", { id: "features" },
      Object.entries(state.dataset.features).map(
        ([name, text]) => h("option", { value: name, selected: name === chosen }, text),
      ));
    const enough = this.job.annotated.mask >= MIN_MASKS && !state.dataset.splits.includes("train");
    this.holdOut = h("input", { type: "checkbox", id: "hold-out", checked: this.job.options?.hold_out ?? enough });
    this.startButton = h(
      "button",
      { type: "button", class: "primary big", id: "train", onclick: () => this.start() },
      "Train",
    );
    return h("div", { class: "train-form card" },
      h("label", { for: "features" }, "How to look at pictures"), this.features,
      h("label", { class: "check", for: "hold-out", hidden: !this.job.annotated.mask }, this.holdOut,
        h("span", {}, "Set one of five masks aside, to score the model on pictures that it has not learned from: ", this.aside())),
      this.startButton);
  }

  // Which they are: nobody should have to guess.
  aside() {
    const names = this.job.held_out;
    return h("b", { class: "held-out" }, names.length ? names.join(", ") : "none, as there must be two masks at least");
  }

  async start(options = null) {
    const chosen = options ?? { features: this.features.value, hold_out: this.holdOut.checked };
    this.startButton.disabled = true;
    try {
      const answer = await sendJson("POST", "/api/training", chosen);
      if (answer.status === 409) {
        this.startButton.disabled = false;
        toast((await answer.json()).error);
      }
    } catch (error) {
      this.startButton.disabled = false;
      toast(error.message, "bad");
    }
  }

  async cancel() {
    try {
      await request("/api/training", { method: "DELETE" });
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  take(event) {
    if (event.type === "state") {
      const before = this.job.status;
      if (event.status === "running") this.reset();
      this.job = { ...this.job, message: undefined, ...event };
      if (before === "running" && event.status === "done") this.finished();
    } else if (event.type === "stage") {
      this.stages.set(event.stage, { ...event, at: performance.now() });
    } else if (event.type === "pass") {
      this.passes.push(event);
    } else if (event.type === "note") {
      this.notes.push(event.text);
    } else if (event.type === "skipped") {
      this.skipped.push(...event.files);
    } else if (event.type === "model") {
      this.model = event;
      this.finished();
    }
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }
  }

  finished() {
    this.reading = true;
    loadDataset().then(() => {
      this.reading = false;
      this.draw();
      return loadImages();
    }).catch((error) => toast(error.message, "bad"));
  }

  draw() {
    const { status } = this.job;
    const running = status === "running";
    this.form.hidden = running;
    this.startButton.disabled = !this.job.annotated.any;
    this.status.textContent = this.sentence();
    this.status.className = `intro ${this.away || status === "failed" ? "bad" : ""}`;
    this.drawActions(running);
    this.drawAbout(running);
    this.drawStages(running);
    this.drawCurve();
  }

  sentence() {
    if (this.away) return this.away;
    const { status, message } = this.job;
    const without = this.model && this.skipped.length ? `Model ready; ${plural(this.skipped.length, "file")} skipped. ` : "";
    const made = this.model ? `${without}The model has learned from ${plural(this.model.n_images, "picture")} in ${duration(this.model.seconds)}.` : "";
    if (status === "running") return made ? `${made} Now it colors all pictures; you can look at it already.` : `Training… ${this.left()}`;
    if (status === "done") return made || "Training is done.";
    if (status === "cancelled") return "Training was cancelled.";
    if (status === "interrupted") return "Training was interrupted when the studio ended.";
    if (status === "failed") return `Training failed: ${message ?? "no reason was given"}`;
    if (state.dataset.model_trouble) return `The last model cannot be used: ${state.dataset.model_trouble}`;
    if (state.dataset.model) return "There is a model. Train again whenever you have annotated more.";
    return "";
  }

  left() {
    const now = [...this.stages.values()].at(-1);
    const features = this.stages.get("features");
    if (features && features.done === features.total && now === features) return "Learning begins.";
    if (!now?.left) return "";
    // Learning ends when it has converged: its share is a guess, and at the beginning a bad one.
    if (now.stage === "learning") return now.done < 15 ? "Learning takes a few minutes." : `At most about ${duration(now.left)} left.`;
    return `This step: about ${duration(now.left)} left.`;
  }

  drawActions(running) {
    const button = (text, action, primary = false) => h(
      "button",
      { type: "button", class: primary ? "primary" : "", onclick: action },
      text,
    );
    const actions = [];
    if (running) actions.push(button(this.model ? "Stop here" : "Cancel", () => this.cancel()));
    if (this.job.status === "interrupted") {
      actions.push(
        button("Resume", () => this.start({ ...this.job.options, resume: true }), true),
        button("Forget it", () => this.cancel()),
      );
    }
    if (state.dataset.model && (!running || this.model)) {
      actions.push(
        h("a", { class: "button", href: "#/review" }, "Review"),
        h("a", { class: "button", href: "#/next" }, "What to label next"),
      );
    }
    const texts = actions.map((one) => one.textContent).join();
    if (texts !== this.shownActions) this.actions.replaceChildren(...actions);
    this.shownActions = texts;
  }

  // What the model tells of itself; nothing of an old one while there is about to be a new one.
  drawAbout(running) {
    const told = this.reading || (running && !this.model) ? [] : state.dataset.model?.told ?? [];
    this.about.hidden = !told.length;
    const texts = told.join();
    if (texts !== this.shownAbout) {
      this.about.replaceChildren(h("h2", {}, "The model"), ...told.map((line) => h("p", {}, `${line}.`)));
    }
    this.shownAbout = texts;
  }

  drawStages(running) {
    const shown = running || this.stages.size;
    this.details.hidden = !shown;
    if (!shown) return;
    const names = Object.keys(STAGES);
    const rows = names.filter((name) => this.stages.has(name) || running).map((name) => {
      const text = STAGES[name];
      const { done = 0, total = 1 } = this.stages.get(name) ?? {};
      const later = names.slice(names.indexOf(name) + 1).some((one) => this.stages.has(one));
      // Pictures that cannot be read are never colored.
      const over = later || this.job.status === "done" || (name === "learning" && this.model);
      const share = over ? 1 : done / total;
      return h("div", { class: "stage-row" }, h("span", {}, text),
        h("progress", { max: 1, value: share, "aria-label": text }), h("span", { class: "muted" }, percent(share)));
    });
    const skipped = this.skipped.map(({ image, why }) => h("li", {}, h("b", {}, image), ` ${why}`));
    const list = skipped.length ? h("div", { class: "skipped small" }, h("p", {}, "Skipped, as they cannot be read:"), h("ul", {}, skipped)) : null;
    this.details.replaceChildren(...rows, ...[list].filter(Boolean), ...this.notes.slice(-3).map((note) => h("p", { class: "note small" }, note)));
  }

  drawCurve() {
    const { passes } = this;
    this.figure.hidden = passes.length < 2;
    if (passes.length < 2) return;
    const last = passes.at(-1);
    const curves = [
      { name: "misfit so far", class: "one", values: passes.map((one, n) => [n + 1, one.primal]) },
      { name: "least possible", class: "two", values: passes.map((one, n) => [n + 1, one.dual]) },
    ];
    this.figure.replaceChildren(
      chart(curves, { title: "How badly the model fits what you annotated, and the least that is possible" }),
      h("figcaption", { class: "muted small" },
        `After ${plural(passes.length, "look", "looks")} at your pictures: how badly the model fits what you annotated, and the least that is possible. ` +
        `They are still ${percent(last.gap, 1)} apart; when they meet, it has learned all that it can.`));
  }
}
