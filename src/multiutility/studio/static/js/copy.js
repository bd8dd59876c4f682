// Marks of the previous picture: neighbors in a series often show the same.

import { getJson, imagePath } from "./api.js";
import { toast } from "./dom.js";
import { markKinds, neighbor } from "./state.js";

// Kinds that this picture has nothing of yet; marks with a place only if both are of one size.
export async function copyMarks(document) {
  const from = neighbor(document.name, -1);
  if (from === document.name) {
    toast("There is no picture before this one.");
    return;
  }
  const found = await getJson(imagePath(from));
  const alike = found.width === document.width && found.height === document.height;
  const kinds = markKinds().filter(({ name, placed }) =>
    found.marks[name].length && !document.marks[name].length && (alike || !placed));
  if (!kinds.length) {
    toast(`${from} has nothing that could be copied here.`);
    return;
  }
  document.setMarks({ ...document.marks, ...Object.fromEntries(kinds.map(({ name }) => [name, found.marks[name]])) });
  toast(`Copied from ${from}: ${kinds.map(({ name, badge }) => `${found.marks[name].length} ${badge}`).join(", ")}.`);
}
