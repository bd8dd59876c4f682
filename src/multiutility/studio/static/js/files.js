// Import, export, and prediction of a folder: commands that run on this machine.

import { command, getJson, request } from "./api.js";
import { h, toast } from "./dom.js";
import { state } from "./state.js";

const POLL = 700;
const RETRY = 5000;
const DOING = { export: "Exporting…", import: "Importing…", predict: "Coloring pictures…" };

export async function showFiles() {
  const job = await getJson("/api/commands");
  return (view) => {
    const page = new FilesPage(view, job);
    return () => page.close();
  };
}

class FilesPage {
  constructor(view, job) {
    this.job = job;
    this.status = h("div", { role: "status", class: "told card" });
    view.replaceChildren(h("section", { class: "page files" }, h("h1", {}, "Files"),
      h("p", { class: "intro" }, `Folders are on this machine; names without a path are in ${job.home}. Files of others are never written over.`),
      this.status, this.exportCard(), this.predictCard(), this.importCard(),
      h("p", {}, h("a", { href: "#/repair" }, "Pictures that are gone, and files that are not used"))));
    this.show();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  formats(writes, label) {
    const found = this.job.formats.filter((one) => !writes || one.writes);
    return h("select", { "aria-label": label }, found.map((one) => h("option", { value: one.name, title: one.help }, `${one.name} – ${one.help}`)));
  }

  field(label, value, hint = "") {
    const input = h("input", { type: "text", value, placeholder: hint, "aria-label": label });
    return { input, element: h("label", { class: "field" }, label, input) };
  }

  card(title, text, parts, button) {
    return h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); button(); } },
      h("h2", {}, title), h("p", { class: "muted small" }, text), parts, h("div", { class: "row end" }, h("button", { class: "primary" }, title)));
  }

  exportCard() {
    const format = this.formats(true, "Format to export to");
    const place = this.field("New folder for the export", `${state.dataset.name}-${format.value}`);
    format.onchange = () => { place.input.value = `${state.dataset.name}-${format.value}`; };
    const lossy = h("input", { type: "checkbox" });
    return this.card("Export", "All that is annotated, in the format of another program.",
      [format, place.element, h("label", { class: "check" }, lossy, h("span", {}, "Leave out what the format does not have"))],
      () => this.start({ what: "export", format: format.value, place: place.input.value, lossy: lossy.checked }));
  }

  predictCard() {
    const source = this.field("Folder of pictures", "", "photos, or /home/me/photos");
    const place = this.field("New folder for the results", `${state.dataset.name}-predicted`);
    if (!state.dataset.model) return h("div", { class: "card" }, h("h2", {}, "Predict"), h("p", { class: "muted small" }, "Train a model first: then it colors all pictures of any folder."));
    return this.card("Predict", "The model colors all pictures of a folder: masks, and pictures with masks over them.", [source.element, place.element],
      () => this.start({ what: "predict", source: source.input.value, place: place.input.value }));
  }

  importCard() {
    const format = this.formats(false, "Format to import");
    const source = this.field("Folder or file of the other program", "", "annotations.json");
    const images = this.field("Folder of its pictures, if they are elsewhere", "");
    const place = this.field("New dataset folder", "imported");
    const takes = () => { images.element.hidden = !this.job.formats.find((one) => one.name === format.value).images; };
    format.onchange = takes;
    takes();
    return this.card("Import", "Makes a dataset folder of its own, which the studio opens next time.", [format, source.element, images.element, place.element],
      () => this.start({ what: "import", format: format.value, source: source.input.value, images: images.element.hidden ? "" : images.input.value, place: place.input.value }));
  }

  async start(data) {
    try {
      this.job = { ...this.job, lines: [], ...await command("POST", "/api/commands", data) };
      this.show();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async cancel() {
    try {
      await request("/api/commands", { method: "DELETE" });
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  show() {
    const { status, what, place, lines = [] } = this.job;
    this.status.hidden = status === "none";
    this.status.className = `told card ${status === "failed" ? "bad" : ""}`;
    const ends = { done: `Done: ${place}`, failed: "It did not work.", cancelled: "Cancelled: nothing is left half written." };
    const next = status === "done" && what === "import" ? h("p", {}, "Open it by: ", h("code", {}, `multiutility studio ${place}`)) : null;
    this.status.replaceChildren(...[h("b", {}, status === "running" ? DOING[what] : ends[status] ?? ""), next,
      lines.length ? h("pre", {}, lines.join("\n")) : null,
      status === "running" ? h("button", { type: "button", onclick: () => this.cancel() }, "Cancel") : null].filter(Boolean));
    if (status === "running") this.timer = setTimeout(() => this.poll(), POLL);
  }

  async poll() {
    try {
      const found = await getJson("/api/commands");
      if (this.closed) return;
      this.job = found;
      this.show();
    } catch (error) {
      if (this.closed) return;
      toast(error.message, "bad");
      this.timer = setTimeout(() => this.poll(), RETRY);
    }
  }
}
