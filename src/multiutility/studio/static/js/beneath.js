// What the model says of a picture, seen beneath what is painted; nothing of it is saved unless somebody fills it in.

import { getBytes, imagePath } from "./api.js";
import { toast } from "./dom.js";
import { settings } from "./settings.js";
import { state } from "./state.js";

export class Beneath {
  constructor(page) {
    this.page = page;
    this.bytes = null;
  }

  async load() {
    this.bytes ??= (await getBytes(imagePath(this.page.document.name, "/prediction"))).bytes;
    return this.bytes;
  }

  async show(on) {
    const { page } = this;
    settings.prediction = on;
    page.panels.paint.show();
    page.redraw();
    if (!on || !state.dataset.model) return;
    try {
      const bytes = await this.load();
      if (page.closed) return;
      page.layers.showPrediction(bytes);
      page.canvas.dataset.prediction = "shown";
      page.redraw();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async fill() {
    try {
      const bytes = await this.load();
      this.page.document.changeAll("mask", (value, n) => value || bytes[n], true);
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
