// Begins, shows the view that the address names, and tells whether everything is saved.

import { getJson } from "./api.js";
import { showAnnotate } from "./annotate.js";
import { showClasses } from "./classes.js";
import { h, toast, typing } from "./dom.js";
import { beginLive } from "./live.js";
import { saveState, saving } from "./document.js";
import { showFiles } from "./files.js";
import { showFirstLabel } from "./first.js";
import { showGallery } from "./gallery.js";
import { showNext } from "./next.js";
import { showRepair } from "./repair.js";
import { showReview } from "./review.js";
import { changes, loadDataset, loadImages, state } from "./state.js";
import { showTrain } from "./train.js";
import { showTrouble } from "./trouble.js";
import { beginWatch } from "./watch.js";

const VIEWS = {
  gallery: showGallery, annotate: showAnnotate, train: showTrain, review: showReview, next: showNext,
  labels: showClasses, repair: showRepair, files: showFiles,
};
const TITLES = { labels: "Labels", repair: "Repair", files: "Files" };
const view = document.getElementById("view");
let leave = null;
let turn = 0;
let address = null;

// A view is loaded first, which may take its time, and drawn then, unless somebody has gone elsewhere meanwhile.
async function route() {
  const [, name = "gallery", ...parts] = location.hash.split("/");
  const show = VIEWS[name] ? name : "gallery";
  const rest = parts.map(decodeURIComponent);
  const mine = ++turn;
  address = location.hash;
  leave?.();
  leave = null;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === show) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view.dataset.view = show;
  document.title = `${link(show)} – ${state.dataset.name}`;
  const load = show === "annotate" && !state.dataset.classes.length ? showFirstLabel : VIEWS[show];
  let draw;
  try {
    draw = await load(...rest);
  } catch (error) {
    draw = showTrouble(error, show, rest[0]);
  }
  if (mine !== turn) return;
  address = location.hash; // a view may have named in it what it has chosen to show
  leave = draw(view);
}

// The address may change while the page begins, and is told then although it has been followed.
function follow() {
  if (location.hash !== address) route();
}

function link(name) {
  return TITLES[name] ?? document.querySelector(`nav a[data-view=${name}]`).textContent;
}

function showSaving() {
  const { count, trouble } = saveState();
  const place = document.getElementById("save-state");
  const banner = document.getElementById("banner");
  place.textContent = trouble ? "Not saved!" : count ? "Saving…" : "All saved";
  place.className = trouble ? "bad" : count ? "busy" : "good";
  banner.hidden = !trouble;
  if (trouble) banner.textContent = explain(trouble);
}

function explain(trouble) {
  if (trouble.status === 0) {
    return "The studio does not answer: your last changes are not saved yet. Leave this page open and start the " +
      "studio again in the terminal; then they will be.";
  }
  if (trouble.status === 403) {
    return "The studio was started again. Open the new address from the terminal in this browser, and leave this " +
      "page open: your last changes will be saved then.";
  }
  return `Your last changes are not saved yet: ${trouble.message}. They will be as soon as this is mended.`;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function nextTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  const theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme);
  setTheme(theme);
}

async function begin() {
  setTheme(localStorage.getItem("theme"));
  document.getElementById("theme").onclick = nextTheme;
  // By hand: the address after # is that of the view.
  document.querySelector(".skip").onclick = (event) => {
    event.preventDefault();
    (view.querySelector("canvas.picture, .scroller") ?? view).focus();
  };
  const help = document.getElementById("help-dialog");
  document.getElementById("help").onclick = () => help.showModal();
  document.addEventListener("keydown", (event) => {
    if (event.key === "?" && !typing(event)) help.showModal();
  });
  saving.addEventListener("change", showSaving);
  saving.addEventListener("elsewhere", () => loadImages().catch((error) => toast(error.message, "bad")));
  addEventListener("beforeunload", (event) => { if (saveState().count) event.preventDefault(); });
  let training;
  try {
    await loadDataset();
    await loadImages();
    training = await getJson("/api/training");
  } catch (error) {
    view.replaceChildren(
      h("section", { class: "page" }, h("h1", {}, "The dataset cannot be shown"), h("p", {}, error.message)),
    );
    return;
  }
  document.getElementById("dataset-name").textContent = state.dataset.name;
  beginLive();
  beginWatch();
  if (training.status === "interrupted" && !location.hash.startsWith("#/train")) {
    toast("A training was interrupted: see Train.");
  }
  // A picture that is open takes over new labels by itself: somebody may be drawing in it.
  changes.addEventListener("classes", () => { if (!view.querySelector(".annotate")) route(); });
  addEventListener("hashchange", follow);
  await route();
}

begin();
