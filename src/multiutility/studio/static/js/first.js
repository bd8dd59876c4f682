// The next step in one sentence, and how far one is.

import { h, plural } from "./dom.js";
import { newLabelButton } from "./labels.js";
import { state } from "./state.js";

// Pictures that say something, before the first training is worth its time.
const ENOUGH = 10;

function annotated(image) {
  return state.dataset.kinds.some(({ name }) => image[name]);
}

function link(href, text, primary = true) {
  return h("a", { class: `button ${primary ? "primary" : ""}`, href }, text);
}

function firstLabel() {
  const button = newLabelButton(() => {});
  button.className = "primary";
  return button;
}

// What to do, how far that is from 0 to 1, or null, and where to do it.
function step() {
  const { classes, model } = state.dataset;
  const { images } = state;
  const done = images.filter(annotated).length;
  const goal = Math.min(ENOUGH, images.length);
  const bare = images.find((image) => !annotated(image) && !state.unreadable.has(image.name));
  const open = bare && link(`#/annotate/${encodeURIComponent(bare.name)}/tags`, done ? "Next picture" : "First picture");
  if (!classes.length) return ["First step: name what you want to find in these pictures.", null, [firstLabel()]];
  if (model) {
    const more = done - (model.n_images ?? done);
    if (more > 0) return [`${plural(more, "picture")} annotated since the model has learned: train again, or go on.`, null, [link("#/train", "Train"), link("#/next", "What next?", false)]];
    return ["Look at what the model makes of your pictures, and help it where it is unsure.", null, [link("#/review", "Review"), link("#/next", "What next?", false)]];
  }
  if (!done) return ["Next step: open a picture and say what is in it. Tags take two seconds each.", 0, [open]];
  if (done < goal) return [`${done} of ${goal} pictures for a first model: say what is in the next one.`, done / goal, [open]];
  return [`${plural(done, "picture")} annotated, enough for a first model: train it.`, 1, [link("#/train", "Train")]];
}

export function guide() {
  const [text, share, actions] = step();
  return h("div", { class: "guide", role: "status" }, h("span", {}, text),
    share === null ? null : h("progress", { max: 1, value: share, "aria-label": "Pictures for a first model" }),
    h("span", { class: "grow" }), actions);
}

// In place of a picture, as long as there is nothing to annotate it with.
export function showFirstLabel() {
  return (view) => {
    view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "First, a label"),
      h("p", { class: "intro" }, "Name what you want to find in your pictures, such as sky, road or cow. More names can be added at any time."),
      firstLabel()));
    return null;
  };
}
