// The annotation of one image: marks (all but masks) and mask, with undo, saved as it changes.

import { RequestError, getBytes, getJson, imagePath, pack, request, sendJson } from "./api.js";
import { ask, toast } from "./dom.js";
import { mergeMarks, mergeMasks, sameMarks } from "./merge.js";
import { knowClasses, markKinds } from "./state.js";

const RETRY = 2000;
const MAX_UNDO = 200;
const MAX_UNDO_BYTES = 200e6;

const open = new Map();
export const saving = new EventTarget();
const channel = new BroadcastChannel("studio");

// How many images have changes that are not saved, and the last trouble with saving, if any.
export function saveState() {
  const documents = [...open.values()].filter((one) => one.dirty);
  return { count: documents.length, trouble: documents.map((one) => one.trouble).find(Boolean) ?? null };
}

function told() {
  saving.dispatchEvent(new Event("change"));
}

channel.onmessage = ({ data }) => {
  open.get(data.name)?.refresh();
  saving.dispatchEvent(new CustomEvent("elsewhere", { detail: data.name }));
};

// Documents with unsaved changes stay; all others are read anew.
export async function openDocument(name) {
  for (const [other, one] of open) if (!one.dirty && other !== name) open.delete(other);
  const known = open.get(name);
  if (known?.dirty) return known;
  const found = await getJson(imagePath(name));
  let mask = null;
  if (found.mask_version !== "none") mask = (await getBytes(imagePath(name, "/mask"))).bytes;
  await knowClasses(found.marks, mask);
  const fresh = new ImageDocument(found, mask);
  open.set(name, fresh);
  return fresh;
}

export class ImageDocument extends EventTarget {
  constructor({ name, width, height, stamp, marks, mask_version: version }, mask) {
    super();
    Object.assign(this, { name, width, height, stamp });
    this.marks = plain(marks);
    this.marksBase = { marks: this.marks, version: marks.version };
    this.mask = mask ?? new Uint8Array(width * height);
    this.maskBase = { mask: this.mask.slice(), version };
    this.past = [];
    this.future = [];
    this.marksDirty = false;
    this.maskDirty = false;
    this.trouble = null;
  }

  get changes() {
    return this.marksDirty || this.maskDirty;
  }

  // Also while the last change is on its way: until the server has said so, it is not saved.
  get dirty() {
    return this.changes || Boolean(this.busy);
  }

  get hasMask() {
    return this.mask.some((value) => value);
  }

  // Replaces the marks; a drag that goes on calls this many times with the same `stroke`, and is undone at once.
  setMarks(marks, stroke = null) {
    const last = this.past.at(-1);
    if (stroke !== null && last?.stroke === stroke) last.after = marks;
    else this.remember({ before: this.marks, after: marks, stroke });
    this.marks = marks;
    this.changed("marks");
  }

  // Remembers a change of pixels in a rectangle: `before` is what was there.
  setPixels(rectangle, before) {
    this.remember({ rectangle, before, after: copyPixels(this, rectangle) });
    this.changed("mask", rectangle);
  }

  remember(change) {
    this.past.push(change);
    this.future = [];
    let bytes = 0;
    for (let n = this.past.length - 1; n >= 0; n--) {
      bytes += this.past[n].rectangle ? 2 * this.past[n].after.length : 500;
      if (bytes > MAX_UNDO_BYTES || this.past.length - n > MAX_UNDO) {
        this.past.splice(0, n + 1);
        break;
      }
    }
  }

  undo() {
    this.replay(this.past, this.future, "after", "before");
  }

  // Undoes what came after so many changes, as if it had never been.
  takeBack(count) {
    while (this.past.length > count) this.undo();
    this.future = [];
  }

  redo() {
    this.replay(this.future, this.past, "before", "after");
  }

  // Takes back only what was mine: others may have changed the rest since.
  replay(from, to, now, then) {
    const change = from.pop();
    if (!change) return;
    to.push(change);
    if (change.rectangle) {
      replacePixels(this, change.rectangle, change[now], change[then]);
      this.changed("mask", change.rectangle);
    } else {
      this.marks = mergeMarks(change[now], change[then], this.marks);
      this.changed("marks");
    }
  }

  changed(part, rectangle = null) {
    this[`${part}Dirty`] = true;
    this.dispatchEvent(new CustomEvent("change", { detail: { part, rectangle } }));
    told();
    this.save();
  }

  // While the pointer is down nothing is saved: it would be many times a second.
  hold() {
    this.held = true;
  }

  release() {
    this.held = false;
    this.save();
  }

  async save() {
    if (this.busy) return;
    this.busy = true;
    while (this.changes && !this.held) {
      try {
        if (this.marksDirty) await this.saveMarks();
        else await this.saveMask();
        this.trouble = null;
        if (!this.changes) channel.postMessage({ name: this.name });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        if (error.status === 400 || error.status === 404) this.giveUp(error);
        else {
          this.trouble = error;
          told();
          await new Promise((resolve) => setTimeout(resolve, RETRY));
        }
      }
      told();
    }
    this.busy = false;
    told();
  }

  async saveMarks() {
    const sent = this.marks;
    this.marksDirty = false;
    try {
      const answer = await sendJson(
        "PUT",
        imagePath(this.name, "/marks"),
        sent,
        { "if-match": this.marksBase.version },
      );
      const now = await answer.json();
      if (answer.status === 409) {
        await knowClasses(now, null);
        this.marks = mergeMarks(this.marksBase.marks, this.marks, plain(now));
        this.marksDirty = true;
        this.dispatchEvent(new CustomEvent("change", { detail: { part: "marks", rectangle: null } }));
        toast("Joined with what was changed in another window.");
      }
      this.marksBase = { marks: answer.status === 409 ? plain(now) : sent, version: now.version };
      if (answer.status === 409 && sameMarks(this.marks, this.marksBase.marks)) this.marksDirty = false;
    } catch (error) {
      this.marksDirty = true;
      throw error;
    }
  }

  async saveMask() {
    const sent = this.mask.slice();
    this.maskDirty = false;
    try {
      const answer = await request(imagePath(this.name, "/mask"),
        { method: "PUT", headers: { "if-match": this.maskBase.version }, body: await pack(sent) });
      if (answer.status === 409) await this.joinMask(answer);
      else this.maskBase = { mask: sent, version: (await answer.json()).version };
    } catch (error) {
      this.maskDirty = true;
      throw error;
    }
  }

  async joinMask(answer) {
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const theirs = bytes.length ? bytes : new Uint8Array(this.mask.length);
    await knowClasses(this.marks, theirs);
    const { merged, conflicts } = mergeMasks(this.maskBase.mask, this.mask, theirs);
    let result = merged;
    if (conflicts) {
      const choice = await ask("Painted in two windows",
        `Another window has painted some of the same places of ${this.name}. Which of the two shall stay there?`,
        [{ text: "The other window's", value: "theirs" }, { text: "Mine", value: "mine", primary: true }]);
      if (choice === "theirs") result = mergeMasks(this.maskBase.mask, theirs, merged).merged;
    }
    this.mask.set(result);
    this.maskBase = { mask: theirs, version: answer.headers.get("etag") };
    this.maskDirty = true;
    toast("Joined with what was painted in another window.");
    this.dispatchEvent(new CustomEvent("change", { detail: { part: "mask", rectangle: null } }));
  }

  // The server will never take this: show what it has.
  giveUp(error) {
    toast(`Not saved: ${error.message}`, "bad");
    this.marks = this.marksBase.marks;
    this.mask.set(this.maskBase.mask);
    this.marksDirty = this.maskDirty = false;
    this.past = [];
    this.future = [];
    for (const part of ["marks", "mask"]) this.dispatchEvent(
      new CustomEvent("change", { detail: { part, rectangle: null } }),
    );
  }

  // Another window has saved something.
  async refresh() {
    if (this.dirty) return;
    const found = await getJson(imagePath(this.name));
    const mask = found.mask_version === this.maskBase.version ? null
      : (await getBytes(imagePath(this.name, "/mask"))).bytes;
    await knowClasses(found.marks, mask);
    if (this.dirty) return;
    if (found.marks.version !== this.marksBase.version) {
      this.marks = plain(found.marks);
      this.marksBase = { marks: this.marks, version: found.marks.version };
      this.dispatchEvent(new CustomEvent("change", { detail: { part: "marks", rectangle: null } }));
    }
    if (mask) {
      if (mask.length) this.mask.set(mask);
      else this.mask.fill(0);
      this.maskBase = { mask: this.mask.slice(), version: found.mask_version };
      this.dispatchEvent(new CustomEvent("change", { detail: { part: "mask", rectangle: null } }));
    }
  }
}

function plain(marks) {
  return Object.fromEntries(markKinds().map(({ name }) => [name, marks[name]]));
}

export function copyPixels({ mask, width }, { x, y, w, h }) {
  const copy = new Uint8Array(w * h);
  for (let row = 0; row < h; row++) {
    const start = (y + row) * width + x;
    copy.set(mask.subarray(start, start + w), row * w);
  }
  return copy;
}

function replacePixels({ mask, width }, { x, y, w, h }, expected, values) {
  for (let row = 0; row < h; row++) {
    for (let column = 0; column < w; column++) {
      const place = (y + row) * width + x + column;
      const n = row * w + column;
      if (mask[place] === expected[n]) mask[place] = values[n];
    }
  }
}
