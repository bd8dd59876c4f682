// What all views share: the dataset, its images, and which of them are shown.

import { command, getJson, meanLabels } from "./api.js";
import { toast } from "./dom.js";
import { countStrokes } from "./strokes.js";

export const state = {
  dataset: null,
  images: [],
  byName: new Map(),
  filter: { text: "", kind: "", label: "" },
  position: 0, // of the gallery's focus
  last: null, // image that was open last
  unreadable: new Set(), // names of images that could not be shown
};

export const changes = new EventTarget();

export async function loadDataset() {
  state.dataset = await getJson("/api/dataset");
  state.dataset.classes.forEach((one, label) => { one.label = label; });
  meanLabels(state.dataset.classes_version);
  return state.dataset;
}

const channel = new BroadcastChannel("studio-classes");
channel.onmessage = () => reloadClasses().then(loadImages).catch((error) => toast(error.message, "bad"));

export async function reloadClasses() {
  await loadDataset();
  changes.dispatchEvent(new Event("classes"));
}

// Changes labels or files of the whole folder; all windows read anew what they show.
export async function changeFolder(method, path, data) {
  const found = await command(method, path, data);
  state.filter.label = "";
  await loadDataset();
  await loadImages();
  changes.dispatchEvent(new Event("classes"));
  channel.postMessage(path);
  return found;
}

export function addClass(name, kind, looked) {
  return changeFolder("POST", "/api/classes", { name, kind, looked });
}

// Kinds of annotation that are marks: all but index images.
export function markKinds() {
  return state.dataset.kinds.filter((kind) => kind.columns);
}

// Marks that are somewhere in the picture.
export function placedMarks(marks) {
  return markKinds().filter(({ placed }) => placed).flatMap(({ name }) => marks[name]);
}

// Names of the labels of all marks; a tag is nothing but its name.
function labelsOf(marks) {
  return markKinds().flatMap(({ name }) => marks[name].map((mark) => mark.label ?? mark));
}

// Somebody else, in another browser or in the table itself, may have added classes that marks and index images have now.
export async function knowClasses(marks, pixels) {
  const known = new Set(state.dataset.classes.map((one) => one.name));
  if (labelsOf(marks).some((name) => !known.has(name)) ||
    pixels.some((values) => values.some((value) => value > known.size))) await reloadClasses();
}

let reading = null;

export async function loadImages() {
  const found = await getJson("/api/images");
  state.images = found.images;
  state.byName = new Map(found.images.map((image, n) => [image.name, n]));
  changes.dispatchEvent(new Event("images"));
  clearTimeout(reading);
  // What is in index images is still being read, for filter and badges.
  if (found.unread) reading = setTimeout(() => loadImages().catch((error) => toast(error.message, "bad")), 2000);
}

// Takes over what an open image has now, without asking the server for all.
export function updateImage(document) {
  const image = state.images[state.byName.get(document.name)];
  if (!image) return;
  const label = (name) => state.dataset.classes.findIndex((one) => one.name === name);
  const labels = new Set(labelsOf(document.marks).map(label));
  for (const { name } of markKinds()) image[name] = document.marks[name].length;
  for (const [kind, { values }] of Object.entries(document.images)) {
    const there = new Uint8Array(256);
    for (const value of values) there[value] = 1;
    there.forEach((found, value) => { if (found && value) labels.add(value - 1); });
    image[kind] = there.subarray(1).some(Boolean);
  }
  image.scribbles = [...countStrokes(document.images.scribbles).values()].reduce((sum, count) => sum + count, 0);
  image.labels = [...labels];
  image.accepted = document.accepted;
}

function has(image, kind) {
  return kind === "none" ? !state.dataset.kinds.some(({ name }) => image[name]) : Boolean(image[kind]);
}

export function shownImages() {
  const { text, kind, label } = state.filter;
  const words = text.trim().toLowerCase();
  return state.images.filter((image) =>
    (!words || image.name.toLowerCase().includes(words)) &&
    (!kind || has(image, kind)) &&
    (label === "" || image.labels.includes(Number(label))));
}

// The image before or after another one among those that are shown; if it is not, among all.
export function neighbor(name, step) {
  const shown = shownImages();
  const list = shown.some((image) => image.name === name) ? shown : state.images;
  const place = list.findIndex((image) => image.name === name);
  return list[Math.min(list.length - 1, Math.max(0, place + step))]?.name ?? name;
}
