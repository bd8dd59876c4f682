// Live mode: the switch, how old the model is, and its picture under what is drawn.

import { getBytes, imagePath, sendJson } from "./api.js";
import { duration, plural, toast } from "./dom.js";
import { PixelLayer } from "./viewport.js";

const RETRY = 3000;
const TICK = 1000;
const STEP = 10; // seconds, by which the age is told
const OPACITY = 0.45;

// How the learner stands, as the server tells; `change` is sent whenever it does.
export const live = new EventTarget();
live.state = { phase: "off", on: false };
let lag = 0;

export function beginLive() {
  const button = document.getElementById("live");
  button.onclick = () => turn(!live.state.on, button);
  connect();
  setInterval(show, TICK);
}

function connect() {
  const source = new EventSource("/api/live/events");
  source.onmessage = ({ data }) => {
    live.state = JSON.parse(data);
    lag = live.state.now - Date.now() / 1000;
    show();
    live.dispatchEvent(new Event("change"));
  };
  // Browsers try again by themselves, but not after they were refused.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY); };
}

async function turn(on, button) {
  button.disabled = true;
  try {
    const answer = await sendJson("PUT", "/api/live", { on });
    if (answer.status === 409) toast((await answer.json()).error);
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
}

function show() {
  document.getElementById("live").setAttribute("aria-checked", live.state.on);
  const told = document.getElementById("live-state");
  told.textContent = words(live.state);
  told.title = reasons(live.state);
}

function words({ phase, text, picture, stage, skipped = [] }) {
  if (phase === "off") return "";
  if (phase === "failed" || phase === "again") return text;
  if (!picture) {
    const done = stage ? `Live: learning, ${Math.round((100 * stage.done) / stage.total)} %` : "Live: starting";
    return text ? `${text} ${stage ? done : ""}`.trim() : done;
  }
  const seconds = Math.max(0, Math.round(Date.now() / 1000 + lag - picture.at));
  // Not every second: it is read out, where somebody listens.
  const age = seconds < STEP ? "just now" : `${duration(seconds - (seconds % STEP))} ago`;
  const what = picture.final ? "Live: learned" : "Live: still learning, shown as of";
  const without = skipped.length ? `; ${plural(skipped.length, "file")} skipped` : "";
  return `${what} ${age}${without}${text ? ` – ${text}` : ""}`;
}

// Names of files that cannot be read, and why.
function reasons({ skipped = [] }) {
  return skipped.map(({ image, why }) => `${image}: ${why}`).join("\n");
}

// What the model of now makes of one picture.
export class LiveLayer {
  constructor(picture, image, colors, redraw) {
    Object.assign(this, { image, colors, redraw });
    this.layer = new PixelLayer(picture, image, colors());
    this.turn = 0;
    this.take = () => this.update();
    live.addEventListener("change", this.take);
    this.open();
    this.update();
  }

  close() {
    this.closed = true;
    live.removeEventListener("change", this.take);
  }

  // The server has to know what is looked at: it comes first.
  open() {
    sendJson("PUT", "/api/live/open", { name: this.image.name }).catch((error) => toast(error.message, "bad"));
  }

  async update() {
    const { on, picture } = live.state;
    if (!on || picture?.name !== this.image.name) {
      this.turn = this.shown = 0;
      this.redraw();
      return;
    }
    if (this.turn === picture.turn) return;
    this.turn = picture.turn;
    try {
      const { bytes } = await getBytes(imagePath(this.image.name, "/live"));
      if (this.closed || this.turn !== picture.turn) return;
      this.layer.colors = this.colors();
      this.layer.update((x, y) => bytes[y * this.image.width + x]);
      this.shown = picture.turn;
      this.final = picture.final;
      this.redraw();
    } catch (error) {
      // A newer picture has taken its place, and is on its way.
      if (error.status !== 404) toast(error.message, "bad");
    }
  }

  get visible() {
    return Boolean(this.turn && this.shown);
  }

  // Which picture is seen, and whether it is the last one of all changes so far.
  get told() {
    return this.visible ? `${this.shown} ${this.final ? "final" : "first"}` : "";
  }

  draw(context) {
    if (this.visible) this.layer.draw(context, OPACITY);
  }
}
