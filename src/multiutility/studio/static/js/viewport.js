// A picture that can be zoomed and moved, with layers above it. All coordinates are pixels of the full image.

const MIN_SCREEN = 24;
const MIN_LAYER = 900;
const HATCH = 16; // from line to line, in pixels of the layer

export class Viewport {
  constructor(canvas, paint) {
    this.canvas = canvas;
    this.paint = paint;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.picture = null;
    this.size = { width: 1, height: 1 };
    this.fitted = true;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
    }, { passive: false });
  }

  close() {
    this.observer.disconnect();
  }

  show(picture, size) {
    this.picture = picture;
    this.size = size;
    this.fit();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    if (this.fitted) this.fit();
    else this.redraw();
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const margin = 12;
    const room = [clientWidth - 2 * margin, clientHeight - 2 * margin];
    this.scale = Math.min(room[0] / this.size.width, room[1] / this.size.height);
    this.left = (clientWidth - this.size.width * this.scale) / 2;
    this.top = (clientHeight - this.size.height * this.scale) / 2;
    this.fitted = true;
    this.redraw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const least = MIN_SCREEN / Math.max(this.size.width, this.size.height);
    const scale = Math.min(40, Math.max(least, this.scale * factor));
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.fitted = false;
    this.redraw();
  }

  move(dx, dy) {
    this.left += dx;
    this.top += dy;
    this.fitted = false;
    this.redraw();
  }

  toImage(x, y) {
    return { x: (x - this.left) / this.scale, y: (y - this.top) / this.scale };
  }

  // The places in the image at two corners of the canvas.
  visible() {
    return [this.toImage(0, 0), this.toImage(this.canvas.clientWidth, this.canvas.clientHeight)];
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const context = this.canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!this.picture) return;
    context.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.left, ratio * this.top);
    context.imageSmoothingEnabled = this.scale * ratio < 3;
    context.drawImage(this.picture, 0, 0, this.size.width, this.size.height);
    this.paint(context, 1 / this.scale);
  }
}

// Values of pixels in colors, at the size of the shown picture; of a small one, magnified, so that lines are thin.
export class PixelLayer {
  constructor(shown, size, colors) {
    const factor = Math.ceil(MIN_LAYER / Math.max(shown.width, shown.height));
    this.canvas = new OffscreenCanvas(factor * shown.width, factor * shown.height);
    this.context = this.canvas.getContext("2d");
    this.size = size;
    this.colors = colors;
  }

  // The part of the layer that a rectangle of the full image, or all of it, is shown in.
  area(rectangle) {
    const { width, height } = this.canvas;
    if (!rectangle) return { x0: 0, y0: 0, x1: width, y1: height };
    const across = this.size.width / width;
    const down = this.size.height / height;
    return {
      x0: Math.max(0, Math.floor(rectangle.x / across) - 1),
      y0: Math.max(0, Math.floor(rectangle.y / down) - 1),
      x1: Math.min(width, Math.ceil((rectangle.x + rectangle.w) / across) + 1),
      y1: Math.min(height, Math.ceil((rectangle.y + rectangle.h) / down) + 1),
    };
  }

  // `values(x, y)` of a pixel of the full image, as index into the colors [n][r, g, b, a]. Borders between
  // values are dark with outlines, and with `lines`, nothing but borders is drawn, in the last of the colors.
  update(values, rectangle = null, { outlines = true, lines = false } = {}) {
    const { width, height } = this.canvas;
    const across = this.size.width / width;
    const down = this.size.height / height;
    const { x0, y0, x1, y1 } = this.area(rectangle);
    if (x1 <= x0 || y1 <= y0) return;
    const image = this.context.createImageData(x1 - x0, y1 - y0);
    const column = (x) => Math.min(this.size.width - 1, Math.floor((x + 0.5) * across));
    const columns = Int32Array.from({ length: width + 1 }, (_, x) => column(x));
    let place = 0;
    for (let y = y0; y < y1; y++) {
      const row = Math.min(this.size.height - 1, Math.floor((y + 0.5) * down));
      const below = Math.min(this.size.height - 1, Math.floor((y + 1.5) * down));
      for (let x = x0; x < x1; x++, place += 4) {
        const value = values(columns[x], row);
        const border = (outlines || lines) &&
          (value !== values(columns[x + 1], row) || value !== values(columns[x], below));
        if (lines && !border) continue;
        const [red, green, blue, alpha] = lines ? this.colors.at(-1) : this.colors[value];
        const edge = border && !lines && alpha;
        image.data[place] = edge ? red * 0.6 : red;
        image.data[place + 1] = edge ? green * 0.6 : green;
        image.data[place + 2] = edge ? blue * 0.6 : blue;
        image.data[place + 3] = edge ? 255 : alpha;
      }
    }
    this.context.putImageData(image, x0, y0);
  }

  draw(context, opacity) {
    context.globalAlpha = opacity;
    context.drawImage(this.canvas, 0, 0, this.size.width, this.size.height);
    context.globalAlpha = 1;
  }
}

// Lines across all that has no value: there, nothing is said.
export class HatchLayer extends PixelLayer {
  constructor(shown, size) {
    super(shown, size, []);
  }

  update(values, rectangle = null) {
    const { x0, y0, x1, y1 } = this.area(rectangle);
    if (x1 <= x0 || y1 <= y0) return;
    const image = this.context.createImageData(x1 - x0, y1 - y0);
    const [across, down] = [this.size.width / this.canvas.width, this.size.height / this.canvas.height];
    let place = 0;
    for (let y = y0; y < y1; y++) {
      const row = Math.min(this.size.height - 1, Math.floor((y + 0.5) * down));
      for (let x = x0; x < x1; x++, place += 4) {
        const stripe = (x + y) % HATCH;
        if (stripe > 3 || values(Math.min(this.size.width - 1, Math.floor((x + 0.5) * across)), row)) continue;
        image.data.set(stripe < 2 ? [255, 255, 255, 130] : [0, 0, 0, 110], place);
      }
    }
    this.context.putImageData(image, x0, y0);
  }
}

export function rgb(color) {
  return [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
}

export function isLight([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}

export function contrast(color) {
  return isLight(rgb(color)) ? "#000" : "#fff";
}
