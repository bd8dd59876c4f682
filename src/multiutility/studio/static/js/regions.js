// Regions of an image, to paint one at a time.

import { getBytes, imagePath } from "./api.js";

export class Regions {
  static async load(name, level, stamp) {
    const { bytes, headers } = await getBytes(imagePath(name, `/regions/${level}?v=${stamp}`));
    return new Regions(
      new Uint16Array(bytes.buffer, 0, bytes.length / 2),
      Number(headers.get("x-width")),
      Number(headers.get("x-height")),
    );
  }

  constructor(map, width, height) {
    Object.assign(this, { map, width, height });
    const count = map.reduce((most, value) => Math.max(most, value), 0) + 1;
    // Left, top, right and bottom (exclusive) of each.
    this.extents = new Int32Array(4 * count).map((_, n) => (n % 4 < 2 ? 1 << 30 : 0));
    for (let y = 0, n = 0; y < height; y++) {
      for (let x = 0; x < width; x++, n++) {
        const place = 4 * map[n];
        if (x < this.extents[place]) this.extents[place] = x;
        if (y < this.extents[place + 1]) this.extents[place + 1] = y;
        if (x >= this.extents[place + 2]) this.extents[place + 2] = x + 1;
        if (y >= this.extents[place + 3]) this.extents[place + 3] = y + 1;
      }
    }
  }

  // Region at a pixel of the full image.
  at(x, y, size) {
    const column = Math.min(this.width - 1, Math.floor(((x + 0.5) * this.width) / size.width));
    const row = Math.min(this.height - 1, Math.floor(((y + 0.5) * this.height) / size.height));
    return this.map[row * this.width + column];
  }

  // Rectangle of the full image that a region lies in.
  rectangle(region, size) {
    const [left, top, right, bottom] = this.extents.subarray(4 * region, 4 * region + 4);
    const across = size.width / this.width;
    const down = size.height / this.height;
    const x = Math.max(0, Math.floor(left * across) - 1);
    const y = Math.max(0, Math.floor(top * down) - 1);
    return { x, y, w: Math.min(size.width, Math.ceil(right * across) + 1) - x, h: Math.min(size.height, Math.ceil(bottom * down) + 1) - y };
  }

  // Gives all pixels of a region a value; returns the rectangle of it, or null if all had it.
  paint(image, region, value) {
    const rectangle = this.rectangle(region, image);
    const { x, y, w, h } = rectangle;
    let changed = false;
    for (let row = y; row < y + h; row++) {
      for (let column = x; column < x + w; column++) {
        const place = row * image.width + column;
        if (image.values[place] !== value && this.at(column, row, image) === region) {
          image.values[place] = value;
          changed = true;
        }
      }
    }
    return changed ? rectangle : null;
  }
}
