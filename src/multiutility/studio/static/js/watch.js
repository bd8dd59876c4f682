// What goes on meanwhile, told on all pages: a training that is under way, and a new model.

import { getJson } from "./api.js";
import { percent, toast } from "./dom.js";
import { STAGES } from "./train.js";

const LOOK = 3000;
const ENDS = { done: ["The model is ready: see Review.", ""], failed: ["Training failed: see Train.", "bad"] };

// `model` is sent when there is another model than before; `key` is what it is known by.
export const watch = new EventTarget();
watch.key = null;
let status = null;

export function beginWatch() {
  setInterval(look, LOOK);
  document.addEventListener("visibilitychange", look);
  return look();
}

async function look() {
  if (document.hidden) return;
  try {
    const { key, training } = await getJson("/api/model");
    show(words(training));
    told(training.status);
    if (key !== watch.key) {
      watch.key = key;
      watch.dispatchEvent(new Event("model"));
    }
  } catch (error) {
    show(`Not connected: ${error.message}`);
  }
}

// A link that says nothing is no stop of the Tab key.
function show(text) {
  const place = document.getElementById("training-state");
  place.textContent = text;
  place.hidden = !text;
}

function words({ status: now, stage }) {
  if (now !== "running") return "";
  return stage ? `Training: ${STAGES[stage.stage]}, ${percent(stage.done / stage.total)}` : "Training…";
}

// Who is on another page is told how it has ended.
function told(now) {
  if (status === "running" && now in ENDS && !location.hash.startsWith("#/train")) toast(...ENDS[now]);
  status = now;
}
