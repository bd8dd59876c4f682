// What was changed in each picture, to be undone: kept when another picture is opened.

import { changes, state } from "./state.js";

// Of all pictures together.
const MAX_STEPS = 1000;
const MAX_BYTES = 200e6;

const histories = new Map();
let steps = 0;

class History {
  constructor() {
    this.past = [];
    this.future = [];
  }

  remember(change) {
    names ??= state.dataset.classes.map((one) => one.name);
    this.past.push({ ...change, step: ++steps });
    this.future = [];
    trim();
  }

  forget() {
    this.past = [];
    this.future = [];
  }
}

function bytesOf({ rectangle, after }) {
  return rectangle ? 2 * after.length : 500;
}

// The oldest changes go first, in whatever picture they are.
function trim() {
  const all = [...histories.values()];
  const pasts = all.flatMap((one) => one.past).sort((a, b) => b.step - a.step);
  let bytes = 0;
  const last = pasts.find((change, n) => (bytes += bytesOf(change)) > MAX_BYTES || n >= MAX_STEPS);
  if (last) for (const one of all) one.past = one.past.filter(({ step }) => step > last.step);
}

export function historyOf(name) {
  if (!histories.has(name)) histories.set(name, new History());
  return histories.get(name);
}

// The picture with the latest change that can be undone, if any.
export function lastChanged() {
  let found = null;
  for (const [name, { past }] of histories) {
    const step = past.at(-1)?.step ?? 0;
    if (step > (found?.step ?? 0) && state.byName.has(name)) found = { name, step };
  }
  return found?.name ?? null;
}

// Pixels are numbers of classes: what was before the order of these changed can no longer be put back.
let names = null;
changes.addEventListener("classes", () => {
  const now = state.dataset.classes.map((one) => one.name);
  if (names?.some((name, n) => now[n] !== name)) for (const one of histories.values()) one.forget();
  names = now;
});
