// A view that cannot be shown, such as a picture that cannot be read: one can go on to the next one.

import { h, typing } from "./dom.js";
import { neighbor, state } from "./state.js";

const UNREADABLE = 422;
const STEPS = { ",": -1, PageUp: -1, ".": 1, PageDown: 1 };

export function showTrouble(error, show, name) {
  const address = (by) => `#/${show}/${encodeURIComponent(neighbor(name, by))}`;
  const onKey = (event) => {
    if (!(event.key in STEPS) || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    location.hash = address(STEPS[event.key]);
  };
  if (error.status === UNREADABLE) state.unreadable.add(name);
  return (view) => {
    const steps = state.byName.has(name);
    view.replaceChildren(h("section", { class: "page" }, h("h1", {}, "This cannot be shown"), h("p", {}, error.message),
      steps && h("div", { class: "row" },
        h("a", { class: "button", href: address(-1) }, "Previous picture"), h("a", { class: "button", href: address(1) }, "Next picture"))));
    if (!steps) return null;
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  };
}
