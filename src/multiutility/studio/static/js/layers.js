// What is drawn above a photograph: its mask, strokes, and the regions that can be painted.

import { state } from "./state.js";
import { StrokeLayer } from "./strokes.js";
import { HatchLayer, PixelLayer, rgb } from "./viewport.js";

export function valueColors() {
  return [[0, 0, 0, 0], ...state.dataset.classes.map((one) => [...rgb(one.color), 225])];
}

export class Layers {
  constructor(picture, document) {
    this.document = document;
    this.kinds = {
      mask: new PixelLayer(picture, document, valueColors()),
      scribbles: new StrokeLayer(picture, document, valueColors()),
    };
    this.predicted = new PixelLayer(picture, document, valueColors());
    this.unsaid = new HatchLayer(picture, document);
    this.hovered = new PixelLayer(picture, document, [[0, 0, 0, 0], [255, 255, 255, 150]]);
    this.edges = new PixelLayer(picture, document, [[255, 255, 255, 150]]);
  }

  recolor() {
    for (const layer of [...Object.values(this.kinds), this.predicted]) layer.colors = valueColors();
  }

  update(kind, rectangle) {
    const { values, width } = this.document.images[kind];
    const at = (x, y) => values[y * width + x];
    this.kinds[kind].update(at, rectangle);
    if (kind === "mask") this.unsaid.update(at, rectangle);
  }

  // What the model says, to be seen beneath.
  showPrediction(bytes) {
    this.predicted.update((x, y) => bytes[y * this.document.width + x]);
  }

  // A region is about to be painted, or none.
  hover(regions, region) {
    const { canvas, context } = this.hovered;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (region === null) return;
    const { document } = this;
    this.hovered.update(
      (x, y) => (regions.at(x, y, document) === region ? 1 : 0),
      regions.rectangle(region, document),
      { outlines: false },
    );
  }

  showRegions(regions) {
    this.edges.update((x, y) => regions.at(x, y, this.document), null, { lines: true });
    // The same in black beneath, so that lines are seen in a white sky, too.
    const { width, height } = this.edges.canvas;
    this.shadow = new OffscreenCanvas(width, height);
    const context = this.shadow.getContext("2d");
    context.drawImage(this.edges.canvas, 0, 0);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = "rgb(0 0 0 / 70%)";
    context.fillRect(0, 0, width, height);
  }

  drawRegions(context, unit) {
    const { width, height } = this.document;
    context.drawImage(this.shadow, unit, unit, width, height);
    this.edges.draw(context, 1);
    this.hovered.draw(context, 0.6);
  }
}
