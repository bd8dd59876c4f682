// An index image of a picture: the values of its pixels as they are here, and as the server has them.

export class IndexImage {
  constructor({ width, height }, bytes, version) {
    this.width = width;
    this.height = height;
    this.values = bytes?.length ? bytes : new Uint8Array(width * height);
    this.dirty = false;
    this.saved(this.values.slice(), version);
  }

  saved(base, version) {
    Object.assign(this, { base, version });
  }

  get any() {
    return this.values.some((value) => value);
  }

  // Which share of the pixels has a value.
  get painted() {
    return this.values.reduce((sum, value) => sum + (value > 0), 0) / this.values.length;
  }

  copy({ x, y, w, h }, values = this.values) {
    const copy = new Uint8Array(w * h);
    for (let row = 0; row < h; row++) {
      const start = (y + row) * this.width + x;
      copy.set(values.subarray(start, start + w), row * w);
    }
    return copy;
  }

  // Only where there is what is expected.
  replace({ x, y, w, h }, expected, values) {
    for (let row = 0; row < h; row++) {
      for (let column = 0; column < w; column++) {
        const place = (y + row) * this.width + x + column;
        const n = row * w + column;
        if (this.values[place] === expected[n]) this.values[place] = values[n];
      }
    }
  }

  // Gives a value to what is within half a size of a line; returns the rectangle of it, or null if all had it.
  paintLine(from, to, size, value) {
    const rectangle = this.around(from, to, size / 2);
    const { x, y, w, h } = rectangle;
    const near = nearLine(from, to, size / 2);
    let changed = false;
    for (let row = y; row < y + h; row++) {
      for (let column = x; column < x + w; column++) {
        const place = row * this.width + column;
        if (this.values[place] !== value && near(column, row)) {
          this.values[place] = value;
          changed = true;
        }
      }
    }
    return changed ? rectangle : null;
  }

  // Gives a value to what is within corners, by the centers of pixels; where sides cross, to every other part.
  paintPolygon(corners, value) {
    const [left, right] = [Math.min, Math.max].map((end) => end(...corners.map(({ x }) => x)));
    const [top, bottom] = [Math.min, Math.max].map((end) => end(...corners.map(({ y }) => y)));
    const rectangle = this.around({ x: left, y: top }, { x: right, y: bottom }, 0);
    const { x, y, w, h } = rectangle;
    let changed = false;
    for (let row = y; row < y + h; row++) {
      const crossings = crossed(corners, row + 0.5);
      for (let n = 0; n + 1 < crossings.length; n += 2) {
        const start = Math.max(x, Math.ceil(crossings[n] - 0.5));
        const end = Math.min(x + w, Math.ceil(crossings[n + 1] - 0.5));
        if (start < end) {
          this.values.fill(value, row * this.width + start, row * this.width + end);
          changed = true;
        }
      }
    }
    return changed ? rectangle : null;
  }

  // Gives a value to those pixels of a rectangle that `chosen` has.
  paintPart(rectangle, chosen, value) {
    const { x, y, w, h } = rectangle;
    let changed = false;
    for (let n = 0; n < w * h; n++) {
      if (!chosen[n]) continue;
      this.values[(y + Math.floor(n / w)) * this.width + x + (n % w)] = value;
      changed = true;
    }
    return changed ? rectangle : null;
  }

  // The part of the image in reach of a line.
  around(from, to, reach) {
    const within = (value, most) => Math.max(0, Math.min(most, value));
    const x = within(Math.floor(Math.min(from.x, to.x) - reach), this.width);
    const y = within(Math.floor(Math.min(from.y, to.y) - reach), this.height);
    const right = within(Math.ceil(Math.max(from.x, to.x) + reach), this.width);
    const bottom = within(Math.ceil(Math.max(from.y, to.y) + reach), this.height);
    return { x, y, w: right - x, h: bottom - y };
  }
}

// Whether the center of a pixel is in reach; however thin a line is, the pixel that it ends in belongs to it.
function nearLine(from, to, reach) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = dx * dx + dy * dy || 1;
  const [lastColumn, lastRow] = [Math.floor(to.x), Math.floor(to.y)];
  return (column, row) => {
    const [x, y] = [column + 0.5 - from.x, row + 0.5 - from.y];
    const along = Math.max(0, Math.min(1, (x * dx + y * dy) / length));
    return Math.hypot(x - along * dx, y - along * dy) <= reach || (column === lastColumn && row === lastRow);
  };
}

// Where the sides between corners cross a row, from left to right.
function crossed(corners, row) {
  const found = [];
  corners.forEach((one, n) => {
    const other = corners[(n + 1) % corners.length];
    if (one.y <= row !== other.y <= row) found.push(one.x + ((row - one.y) / (other.y - one.y)) * (other.x - one.x));
  });
  return found.sort((a, b) => a - b);
}

// Which share of an image each of its values has, but for 0.
export function sharesOf({ values }) {
  const counts = new Float64Array(256);
  for (const value of values) counts[value]++;
  return new Map([...counts.keys()].filter((value) => value && counts[value]).map((value) => [value, counts[value] / values.length]));
}

export function union(a, b) {
  if (!a) return b;
  const x = Math.min(a.x, b.x);
  const y = Math.min(a.y, b.y);
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}
