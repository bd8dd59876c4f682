// Strokes of scribbles: how many there are, and how they look.

import { PixelLayer, isLight } from "./viewport.js";

// Places around one that is at the rim of a stroke, in pixels of the layer.
const RIM = 2;
const AROUND = [-2, -1, 0, 1, 2].flatMap((dx) => [-2, -1, 0, 1, 2].map((dy) => [dx, dy]))
  .filter((place) => place.some(Boolean) && Math.hypot(...place) <= RIM);

// How many connected strokes there are of each value; as everywhere, diagonal neighbors are connected.
export function countStrokes({ values, width }) {
  const counts = new Map();
  const seen = new Uint8Array(values.length);
  for (let n = 0; n < values.length; n++) {
    if (!values[n] || seen[n]) continue;
    counts.set(values[n], (counts.get(values[n]) ?? 0) + 1);
    follow(values, width, n, seen);
  }
  return counts;
}

function follow(values, width, start, seen) {
  const waiting = [start];
  seen[start] = 1;
  while (waiting.length) {
    const n = waiting.pop();
    const column = n % width;
    for (let dx = column ? -1 : 0; dx <= (column < width - 1 ? 1 : 0); dx++) {
      for (const next of [n + dx - width, n + dx, n + dx + width]) {
        if (values[next] !== values[start] || seen[next]) continue;
        seen[next] = 1;
        waiting.push(next);
      }
    }
  }
}

// Values in colors, with a rim where nothing is. However thin strokes are, none is lost in a picture that is
// shown smaller.
export class StrokeLayer extends PixelLayer {
  constructor(shown, size, colors) {
    super(shown, size, colors);
    this.shown = new Uint8Array(this.canvas.width * this.canvas.height);
  }

  update(values, rectangle = null) {
    const area = this.area(rectangle);
    this.sample(values, area);
    this.color({
      x0: Math.max(0, area.x0 - RIM),
      y0: Math.max(0, area.y0 - RIM),
      x1: Math.min(this.canvas.width, area.x1 + RIM),
      y1: Math.min(this.canvas.height, area.y1 + RIM),
    });
  }

  sample(values, { x0, y0, x1, y1 }) {
    const { width, height } = this.canvas;
    const [across, down] = [this.size.width / width, this.size.height / height];
    for (let y = y0; y < y1; y++) {
      for (let x = x0; x < x1; x++) {
        let found = 0;
        for (let row = Math.floor(y * down); !found && row < (y + 1) * down; row++) {
          for (let column = Math.floor(x * across); !found && column < (x + 1) * across; column++) {
            found = values(column, row);
          }
        }
        this.shown[y * width + x] = found;
      }
    }
  }

  color({ x0, y0, x1, y1 }) {
    if (x1 <= x0 || y1 <= y0) return;
    const image = this.context.createImageData(x1 - x0, y1 - y0);
    let place = 0;
    for (let y = y0; y < y1; y++) {
      for (let x = x0; x < x1; x++, place += 4) {
        const value = this.shown[y * this.canvas.width + x];
        const beside = value || this.beside(x, y);
        if (!beside) continue;
        const [red, green, blue] = this.colors[beside];
        const rim = isLight([red, green, blue]) ? 0 : 255;
        image.data.set(value ? [red, green, blue, 255] : [rim, rim, rim, 255], place);
      }
    }
    this.context.putImageData(image, x0, y0);
  }

  // The value of a stroke that a place is at the rim of.
  beside(x, y) {
    const { width } = this.canvas;
    for (const [dx, dy] of AROUND) {
      // Above and below the picture there is nothing, beside it there would be the next row.
      const value = x + dx >= 0 && x + dx < width && this.shown[(y + dy) * width + x + dx];
      if (value) return value;
    }
    return 0;
  }
}
