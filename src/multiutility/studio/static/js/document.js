// The annotation of one image: marks (entries of tables) and index images, with undo, saved as it changes.

import { RequestError, getBytes, getJson, imagePath, pack, request, sendJson } from "./api.js";
import { ask, toast } from "./dom.js";
import { historyOf } from "./history.js";
import { mergeMarks, mergePixels, sameMarks } from "./merge.js";
import { IndexImage } from "./pixels.js";
import { changes, knowClasses, markKinds, reloadClasses } from "./state.js";

const RETRY = 2000;

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
  open.get(data.name)?.refresh().catch((error) => toast(error.message, "bad"));
  saving.dispatchEvent(new CustomEvent("elsewhere", { detail: data.name }));
};

// Labels may have changed in all files.
changes.addEventListener("classes", () => {
  for (const one of open.values()) one.refresh().catch((error) => toast(error.message, "bad"));
});

// Other windows read the list of images again.
export function tellOthers() {
  channel.postMessage({ name: null });
}

// Documents with unsaved changes stay; all others are read anew.
export async function openDocument(name) {
  for (const [other, one] of open) if (!one.dirty && other !== name) open.delete(other);
  const kept = open.get(name);
  if (kept?.dirty) return kept;
  const found = await getJson(imagePath(name));
  const pixels = await changedPixels(found, {});
  await knowClasses(found.marks, Object.values(pixels));
  const fresh = new ImageDocument(found, pixels);
  open.set(name, fresh);
  return fresh;
}

// Values of those index images that the server has in other versions than are here.
async function changedPixels({ name, versions }, images) {
  const kinds = Object.keys(versions).filter((kind) => versions[kind] !== (images[kind]?.version ?? "none"));
  const found = await Promise.all(kinds.map((kind) => getBytes(imagePath(name, `/${kind}`))));
  return Object.fromEntries(kinds.map((kind, n) => [kind, found[n].bytes]));
}

export class ImageDocument extends EventTarget {
  constructor({ name, width, height, stamp, marks, versions, accepted }, pixels) {
    super();
    // The mask is a prediction that somebody accepted, or has parts of one.
    Object.assign(this, { name, width, height, stamp, accepted });
    this.history = historyOf(name);
    this.marks = plain(marks);
    this.marksBase = { marks: this.marks, version: marks.version };
    this.images = Object.fromEntries(
      Object.entries(versions).map(([kind, version]) => [kind, new IndexImage(this, pixels[kind], version)]),
    );
    this.marksDirty = false;
    this.trouble = null;
  }

  get past() {
    return this.history.past;
  }

  get future() {
    return this.history.future;
  }

  get mask() {
    return this.images.mask.values;
  }

  // The kind of an index image with changes that are not saved.
  get dirtyKind() {
    return Object.keys(this.images).find((kind) => this.images[kind].dirty);
  }

  get changes() {
    return this.marksDirty || Boolean(this.dirtyKind);
  }

  // Also while the last change is on its way: until the server has said so, it is not saved.
  get dirty() {
    return this.changes || Boolean(this.busy);
  }

  get hasMask() {
    return this.images.mask.any;
  }

  // Replaces the marks; a drag that goes on calls this many times with the same `stroke`, and is undone at once.
  setMarks(marks, stroke = null) {
    const last = this.past.at(-1);
    if (stroke !== null && last?.stroke === stroke) last.after = marks;
    else this.history.remember({ before: this.marks, after: marks, stroke });
    this.marks = marks;
    this.changed("marks");
  }

  // Remembers a change of pixels in a rectangle: `before` is what was there.
  setPixels(kind, rectangle, before, accepted = this.accepted) {
    const flags = { before: this.accepted, after: accepted };
    this.history.remember({ kind, rectangle, before, after: this.images[kind].copy(rectangle), accepted: flags });
    this.accepted = accepted;
    this.changed(kind, rectangle);
  }

  // Changes all pixels of an index image: `change` is given the value and the place of each.
  changeAll(kind, change, accepted = this.accepted) {
    const { values } = this.images[kind];
    const before = values.slice();
    values.set(before.map(change));
    this.setPixels(kind, { x: 0, y: 0, w: this.width, h: this.height }, before, accepted);
  }

  clear(kind) {
    this.changeAll(kind, () => 0, kind === "mask" ? false : this.accepted);
  }

  undo() {
    this.replay(this.past, this.future, "after", "before");
  }

  // Undoes what came after so many changes, as if it had never been.
  takeBack(count) {
    while (this.past.length > count) this.undo();
    this.history.future = [];
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
      this.images[change.kind].replace(change.rectangle, change[now], change[then]);
      if (change.kind === "mask") this.accepted = change.accepted[then];
      this.changed(change.kind, change.rectangle);
    } else {
      this.marks = mergeMarks(change[now], change[then], this.marks);
      this.changed("marks");
    }
  }

  changed(part, rectangle = null) {
    if (part === "marks") this.marksDirty = true;
    else this.images[part].dirty = true;
    this.tell(part, rectangle);
    told();
    this.save();
  }

  tell(part, rectangle = null) {
    this.dispatchEvent(new CustomEvent("change", { detail: { part, rectangle } }));
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
        else await this.savePixels(this.dirtyKind);
        this.trouble = null;
        if (!this.changes) channel.postMessage({ name: this.name });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        if ([400, 404, 412].includes(error.status)) await this.giveUp(error);
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
        await knowClasses(now, []);
        this.marks = mergeMarks(this.marksBase.marks, this.marks, plain(now));
        this.marksDirty = true;
        this.tell("marks");
        toast("Joined with what was changed in another window.");
      }
      this.marksBase = { marks: answer.status === 409 ? plain(now) : sent, version: now.version };
      if (answer.status === 409 && sameMarks(this.marks, this.marksBase.marks)) this.marksDirty = false;
    } catch (error) {
      this.marksDirty = true;
      throw error;
    }
  }

  async savePixels(kind) {
    const image = this.images[kind];
    const sent = image.values.slice();
    image.dirty = false;
    // Of what nothing is left, nothing is accepted.
    this.accepted &&= image.any || kind !== "mask";
    const headers = { "if-match": image.version, "x-accepted": this.accepted ? "1" : "0" };
    try {
      const answer = await request(imagePath(this.name, `/${kind}`), { method: "PUT", headers, body: await pack(sent) });
      if (answer.status === 409) await this.joinPixels(kind, answer);
      else image.saved(sent, (await answer.json()).version);
    } catch (error) {
      image.dirty = true;
      throw error;
    }
  }

  async joinPixels(kind, answer) {
    const image = this.images[kind];
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const theirs = bytes.length ? bytes : new Uint8Array(image.values.length);
    await knowClasses(this.marks, [theirs]);
    const { merged, conflicts } = mergePixels(image.base, image.values, theirs);
    let result = merged;
    if (conflicts) {
      const choice = await ask("Painted in two windows",
        `Another window has painted some of the same places of ${this.name}. Which of the two shall stay there?`,
        [{ text: "The other window's", value: "theirs" }, { text: "Mine", value: "mine", primary: true }]);
      if (choice === "theirs") result = mergePixels(image.base, theirs, merged).merged;
    }
    image.values.set(result);
    image.saved(theirs, answer.headers.get("etag"));
    this.accepted ||= answer.headers.get("x-accepted") === "1";
    image.dirty = true;
    toast("Joined with what was painted in another window.");
    this.tell(kind);
  }

  // The server will never take this: show what it has.
  async giveUp(error) {
    toast(`Not saved: ${error.message}`, "bad");
    this.marks = this.marksBase.marks;
    this.marksDirty = false;
    this.history.forget();
    for (const image of Object.values(this.images)) {
      image.values.set(image.base);
      image.dirty = false;
    }
    for (const part of ["marks", ...Object.keys(this.images)]) this.tell(part);
    if (error.status === 412) {
      this.busy = false; // nothing is left to be saved, and what is here is to be read anew
      await reloadClasses();
    }
  }

  // Another window has saved something.
  async refresh() {
    if (this.dirty) return;
    const found = await getJson(imagePath(this.name));
    const pixels = await changedPixels(found, this.images);
    await knowClasses(found.marks, Object.values(pixels));
    if (this.dirty) return;
    if (found.marks.version !== this.marksBase.version) {
      this.marks = plain(found.marks);
      this.marksBase = { marks: this.marks, version: found.marks.version };
      this.tell("marks");
    }
    this.accepted = found.accepted;
    for (const [kind, bytes] of Object.entries(pixels)) this.takeOver(kind, bytes, found.versions[kind]);
  }

  // What a stroke that is not at its end yet has painted stays.
  takeOver(kind, bytes, version) {
    const image = this.images[kind];
    const theirs = bytes.length ? bytes : new Uint8Array(image.values.length);
    image.values.set(mergePixels(image.base, image.values, theirs).merged);
    image.saved(theirs, version);
    this.tell(kind);
  }
}

function plain(marks) {
  return Object.fromEntries(markKinds().map(({ name }) => [name, marks[name]]));
}
