// What to label next.

import { getJson, imagePath } from "./api.js";
import { duration, h, percent, plural, toast } from "./dom.js";
import { state } from "./state.js";
import { TOOLS } from "./tools.js";

// Novelty above which it is told.
const UNLIKE = 0.7;

const AGAIN = 4000;

export async function showNext() {
  const found = await getJson("/api/suggestions");
  return (view) => {
    const page = new NextPage(view, found);
    return () => page.close();
  };
}

class NextPage {
  constructor(view, found) {
    this.section = h("section", { class: "page next" });
    view.replaceChildren(this.section);
    this.show(found);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  show(found) {
    this.section.replaceChildren(...content(found));
    if (found.model && found.waiting) this.timer = setTimeout(() => this.load(), AGAIN);
  }

  // The model has looked at more pictures meanwhile.
  async load() {
    try {
      const found = await getJson("/api/suggestions");
      if (!this.closed) this.show(found);
    } catch (error) {
      if (this.closed) return;
      toast(error.message, "bad");
      this.timer = setTimeout(() => this.load(), AGAIN);
    }
  }
}

function content({ model, waiting, suggestions, unidentified }) {
  const notes = unidentified.map((text) => h("p", { class: "note unidentified" }, `${text}.`));
  const intro = model
    ? "Where your next minutes are worth most, by what the model is unsure of, and by what looks unlike the pictures that you have labeled. The list follows what you annotate; train again after ten or twenty."
    : "There is no model yet that could say where it needs help. Begin with tags of these pictures, which takes seconds each, then train.";
  if (!suggestions.length) return [
    h("h1", {}, "What next?"),
    h("p", { class: "intro" }, "Nothing is left to suggest: train again, or add pictures."),
    ...notes,
  ];
  const best = Math.max(...suggestions.map((one) => one.worth ?? 0));
  return [
    h("h1", {}, "What next?"),
    h("p", { class: "intro" }, intro),
    ...notes,
    waiting ? h("p", { class: "muted" }, `${plural(waiting, "picture")} the model has not looked at yet.`) : null,
    h("ol", { class: "suggestions" }, suggestions.map((one) => row(one, best))),
  ].filter(Boolean);
}

function row(one, best) {
  const image = state.images[state.byName.get(one.name)];
  const address = ["#/annotate", one.name, one.action, one.label].filter(Boolean).map(
    (part, n) => (n ? encodeURIComponent(part) : part),
  ).join("/");
  const [label, rival] = one.confused;
  const unlike = one.novelty > UNLIKE ? " Little that looks like it is labeled this well." : "";
  const reason = label ? `It is unsure between ${label} and ${rival}.${unlike}` : "";
  const gain = h(
    "span",
    { class: "gain", title: one.worth ? `Expected to mend ${percent(one.gain, 1)} of this picture` : "" },
  );
  if (best) gain.style.width = `${Math.max(3, Math.round((100 * one.worth) / best))}%`;
  return h("li", {}, h("a", { href: address },
    h("img", { src: `${imagePath(one.name, "/thumbnail")}?v=${image?.stamp}`, alt: "", loading: "lazy" }),
    h(
      "span",
      { class: "what" },
      h("b", {}, TOOLS[one.action].task(one.label, image)),
      h("span", { class: "muted" }, one.name),
      h("span", { class: "small" }, reason),
    ),
    one.seconds ? h(
      "span",
      { class: "worth" },
      h("span", { class: "small muted" }, `about ${duration(one.seconds)}; may put right ${percent(one.gain, 1)} of this picture`),
      h("span", { class: "track" }, gain),
    ) : null));
}
