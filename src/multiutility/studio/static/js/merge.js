// Three-way merges: what I changed since the base, applied to what others made of it meanwhile.

import { markKinds } from "./state.js";

// What makes marks of each kind the same.
function keys() {
  return markKinds().map(({ name, columns, single }) => [
    name,
    (mark) => (columns.length ? JSON.stringify([mark.label, ...columns.map((column) => mark[column])]) : mark),
    single,
  ]);
}

function counted(items, key) {
  const counts = new Map();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

// What is in `items`, but for as many of each as are in `without`.
function difference(items, without, key) {
  const counts = counted(without, key);
  return items.filter((item) => {
    const left = counts.get(key(item)) ?? 0;
    if (left) counts.set(key(item), left - 1);
    return !left;
  });
}

export function sameMarks(a, b) {
  return keys().every(([kind, key]) =>
    a[kind].length === b[kind].length && a[kind].every((item, n) => key(item) === key(b[kind][n])));
}

export function mergeMarks(base, mine, theirs) {
  if (sameMarks(base, theirs)) return mine;
  const merged = {};
  for (const [kind, key, single] of keys()) {
    const removed = difference(base[kind], mine[kind], key);
    const added = difference(mine[kind], base[kind], key);
    // Of what a label has once, mine stays: both together would be refused.
    const mineNow = new Set(single ? added.map((item) => item.label) : []);
    const kept = difference(theirs[kind], removed, key).filter((item) => !mineNow.has(item.label));
    const here = new Set(kept.map(key));
    merged[kind] = [...kept, ...added.filter((item) => !here.has(key(item)))];
  }
  return merged;
}

// Merged pixels, and how many of them both sides changed to something different.
export function mergePixels(base, mine, theirs) {
  const merged = new Uint8Array(mine.length);
  let conflicts = 0;
  for (let n = 0; n < mine.length; n++) {
    const changed = mine[n] !== base[n];
    merged[n] = changed ? mine[n] : theirs[n];
    if (changed && theirs[n] !== base[n] && theirs[n] !== mine[n]) conflicts++;
  }
  return { merged, conflicts };
}
