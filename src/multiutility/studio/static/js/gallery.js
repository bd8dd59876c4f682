// All images as thumbnails. Only those in sight are elements of the page, however many there are.

import { imagePath } from "./api.js";
import { h, plural, swatch, typing } from "./dom.js";
import { guide } from "./first.js";
import { trouble } from "./repair.js";
import { Selection } from "./selection.js";
import { changes, shownImages, state } from "./state.js";
import { TOOLS } from "./tools.js";

const CELL = { width: 196, height: 178 };

export function showGallery() {
  return (view) => {
    const gallery = new Gallery(view);
    return () => gallery.close();
  };
}

class Gallery {
  constructor(view) {
    const { classes, kinds } = state.dataset;
    const { filter } = state;
    const option = (value, text) => h(
      "option",
      { value, selected: String(value) === filter.kind || String(value) === filter.label },
      text,
    );
    this.count = h("span", { role: "status", class: "muted" });
    this.search = h("input", { type: "search", placeholder: "Search names", "aria-label": "Search names", value: filter.text,
      oninput: () => this.apply("text", this.search.value) });
    const kind = h("select", { "aria-label": "Show images with", onchange: () => this.apply("kind", kind.value) },
      option("", "All images"), option("none", "Nothing yet"),
      Object.keys(TOOLS).map((name) => option(name, kinds.find((one) => one.name === name).choose)));
    const label = h("select", { "aria-label": "Show images with the label", onchange: () => this.apply("label", label.value) },
      option("", "Any label"), classes.map((one) => option(one.label, one.name)));
    this.sheet = h("div", { class: "sheet" });
    this.scroller = h("div", { class: "scroller", role: "listbox", "aria-label": "Images", "aria-multiselectable": "true", tabindex: "0" }, this.sheet);
    this.selection = new Selection(() => this.mark());
    this.guide = h("div", {});
    view.replaceChildren(
      h("section", { class: "gallery" }, this.guide,
        h("div", { class: "toolbar" }, this.search, kind, label, h("span", { class: "grow" }), this.count,
          h("a", { class: "button quiet", href: "#/labels" }, "Labels"), h("a", { class: "button quiet", href: "#/files" }, "Files")),
        this.selection.element, this.scroller));
    this.cells = new Map();
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("click", (event) => {
      const cell = event.target.closest(".cell");
      if (cell) this.click(event, Number(cell.dataset.place));
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    this.listener = () => this.update();
    changes.addEventListener("images", this.listener);
    this.slash = (event) => {
      if (event.key === "/" && !typing(event)) {
        event.preventDefault();
        this.search.focus();
      }
    };
    document.addEventListener("keydown", this.slash);
    this.update();
    this.reveal(state.position);
    this.scroller.focus({ preventScroll: true });
  }

  close() {
    this.observer.disconnect();
    changes.removeEventListener("images", this.listener);
    document.removeEventListener("keydown", this.slash);
  }

  apply(name, value) {
    state.filter[name] = value;
    state.position = 0;
    this.scroller.scrollTop = 0;
    this.update();
  }

  update() {
    this.guide.replaceChildren(...[guide(), trouble()].filter(Boolean));
    this.images = shownImages();
    state.position = Math.max(0, Math.min(state.position, this.images.length - 1));
    const all = state.images.length;
    this.count.textContent = this.images.length === all ? plural(all, "image") : `${this.images.length} of ${plural(all, "image")}`;
    for (const cell of this.cells.values()) cell.remove();
    this.cells.clear();
    this.draw();
  }

  get columns() {
    return Math.max(1, Math.floor((this.scroller.clientWidth - 8) / CELL.width));
  }

  draw() {
    const { columns } = this;
    const rows = Math.ceil(this.images.length / columns);
    this.sheet.style.height = `${rows * CELL.height + 8}px`;
    const { scrollTop, clientHeight, clientWidth } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / CELL.height) - 2) * columns;
    const last = Math.min(this.images.length, (Math.ceil((scrollTop + clientHeight) / CELL.height) + 2) * columns);
    for (const [place, cell] of this.cells) {
      if (place < first || place >= last) {
        cell.remove();
        this.cells.delete(place);
      }
    }
    const indent = (clientWidth - columns * CELL.width) / 2;
    for (let place = first; place < last; place++) {
      if (!this.cells.has(place)) {
        const cell = this.make(place);
        this.cells.set(place, cell);
        this.sheet.append(cell);
      }
      const { style } = this.cells.get(place);
      style.transform = `translate(${indent + (place % columns) * CELL.width}px, ${Math.floor(place / columns) * CELL.height + 6}px)`;
    }
    this.mark();
    this.sheet.classList.toggle("empty", !this.images.length);
  }

  make(place) {
    const image = this.images[place];
    const has = state.dataset.kinds.filter(({ name }) => image[name]);
    const badgeOf = ({ name, badge }) => (name === "mask" && image.accepted ? "accepted mask" : badge);
    const words = has.map((kind) => (image[kind.name] > 1 ? `${image[kind.name]} ${kind.badge}` : badgeOf(kind)));
    const labels = image.labels.map((label) => state.dataset.classes[label].name);
    const told = words.length ? `${words.join(", ")}${labels.length ? `: ${labels.join(", ")}` : ""}` : "nothing yet";
    return h("div", { class: "cell", role: "option", id: `cell-${place}`, "data-place": place, "data-name": image.name,
      "aria-label": `${image.name}, ${told}`, title: `${image.name}\n${told}`,
      "aria-setsize": this.images.length, "aria-posinset": place + 1, "aria-selected": "false" },
      h(
        "img",
        { src: `${imagePath(image.name, "/thumbnail")}?v=${image.stamp}`, alt: "", decoding: "async", draggable: "false" },
      ),
      h("span", { class: "pick", title: "Select", "aria-hidden": "true" }),
      h("div", { class: "dots" }, image.labels.slice(0, 8).map((label) => swatch(state.dataset.classes[label].color))),
      h("div", { class: "caption" },
        h("span", { class: "name" }, image.name),
        h("span", { class: "badges" }, has.map((kind) => h("span", { class: `badge ${kind.name}` }, badgeOf(kind))))));
  }

  mark() {
    for (const [place, cell] of this.cells) {
      const here = place === state.position;
      const selected = this.selection.names.has(cell.dataset.name);
      cell.setAttribute("aria-selected", selected);
      cell.classList.toggle("selected", selected);
      cell.classList.toggle("here", here);
    }
    this.scroller.setAttribute("aria-activedescendant", `cell-${state.position}`);
  }

  // With Ctrl or Shift, or on the box in the corner, images are selected; else they are opened.
  click(event, place) {
    state.position = place;
    if (event.shiftKey) this.selection.extend(this.images, place);
    else if (event.ctrlKey || event.metaKey || event.target.closest(".pick")) this.selection.toggle(this.images, place);
    else this.open(place);
  }

  key(event) {
    const { columns } = this;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / CELL.height)) * columns;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page,
      Home: -Infinity, End: Infinity };
    const { selection, images } = this;
    if (!images.length) return;
    if (event.key in steps) {
      if (event.shiftKey) selection.extend(images, state.position);
      this.reveal(state.position + steps[event.key]);
      if (event.shiftKey) selection.extend(images, state.position);
    } else if (event.key === "Enter") this.open(state.position);
    else if (event.key === " ") selection.toggle(images, state.position);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) selection.all(images);
    else if (event.key === "z" && (event.ctrlKey || event.metaKey) && selection.done) selection.undo();
    else if (event.key !== "Escape" || !selection.clear()) return;
    event.preventDefault();
  }

  reveal(place) {
    state.position = Math.max(0, Math.min(place, this.images.length - 1));
    const top = Math.floor(state.position / this.columns) * CELL.height;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    const bottom = top + CELL.height + 12 - this.scroller.clientHeight;
    if (bottom > this.scroller.scrollTop) this.scroller.scrollTop = bottom;
    this.draw();
  }

  open(place) {
    if (!this.images[place]) return;
    state.position = place;
    location.hash = `#/annotate/${encodeURIComponent(this.images[place].name)}`;
  }
}
