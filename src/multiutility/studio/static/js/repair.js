// Pictures that are gone: what was annotated in them is set aside, put back, or given to the picture by its new name.

import { getJson } from "./api.js";
import { undoLine } from "./classes.js";
import { h, plural, toast } from "./dom.js";
import { changeFolder, state } from "./state.js";

export async function showRepair() {
  const upkeep = await getJson("/api/upkeep");
  return (view) => {
    view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "Repair"), undoLine(upkeep),
      ...missing(upkeep.missing), ...aside(upkeep.aside), ...unused()));
    return null;
  };
}

// One sentence for the first page, if something is amiss.
export function trouble() {
  const { missing: lost, unused: strange } = state.dataset;
  const parts = [lost.length ? `${plural(lost.length, "annotated picture")} ${lost.length === 1 ? "is" : "are"} not in the folder any more` : "",
    strange.length ? `${plural(strange.length, "file")} cannot be used` : ""].filter(Boolean);
  return parts.length ? h("div", { class: "guide trouble", role: "status" }, h("span", {}, `${parts.join("; ")}. All else works.`),
    h("span", { class: "grow" }), h("a", { class: "button", href: "#/repair" }, "Repair")) : null;
}

async function act(action, names, to) {
  try {
    await changeFolder("POST", "/api/upkeep", { action, names, to });
  } catch (error) {
    toast(error.message, "bad");
  }
}

function rows(files) {
  return Object.entries(files).map(([file, count]) => `${count} in ${file}`).join(", ");
}

function missing(lost) {
  if (!lost.length) return [h("p", { class: "intro" }, "All annotated pictures are in the folder.")];
  const bare = state.images.filter((image) => !state.dataset.kinds.some(({ name }) => image[name]));
  const renamed = ({ name }) => {
    const choice = h("select", { "aria-label": `${name} is now`, onchange: () => act("rename", [name], choice.value) },
      h("option", { value: "" }, "It is now called…"), bare.map((image) => h("option", { value: image.name }, image.name)));
    return bare.length ? choice : null;
  };
  return [
    h("p", { class: "intro" }, "These pictures are not in the folder any more, but annotated. Put them back, and they are here again with all annotations. " +
      "Or set the annotations aside: they go to the folder aside, from where they can come back."),
    h("ul", { class: "repairs" }, lost.map((one) => h("li", {}, h("b", {}, one.name), h("span", { class: "muted small" }, rows(one.files)),
      h("span", { class: "grow" }), renamed(one),
      h("button", { type: "button", "aria-label": `Set ${one.name} aside`, onclick: () => act("aside", [one.name]) }, "Set aside")))),
    lost.length > 1 ? h("button", { type: "button", class: "primary", onclick: () => act("aside", lost.map(({ name }) => name)) }, "Set all aside") : null,
  ].filter(Boolean);
}

function aside(found) {
  if (!found.length) return [];
  return [h("h2", {}, "Set aside"), h("ul", { class: "repairs" }, found.map((one) => h("li", {}, h("b", {}, one.name),
    h("span", { class: "muted small" }, `${rows(one.files)}. ${one.here ? "The picture is here again." : "The picture is not here."}`), h("span", { class: "grow" }),
    h("button", { type: "button", class: one.here ? "primary" : "", "aria-label": `Put ${one.name} back`, onclick: () => act("back", [one.name]) }, "Put back"))))];
}

function unused() {
  const found = state.dataset.unused;
  return found.length ? [h("h2", {}, "Files that are not used"), h("ul", {}, found.map((text) => h("li", { class: "small" }, text)))] : [];
}
