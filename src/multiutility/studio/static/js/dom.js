// Elements without a framework: h("button", {class: "primary", onclick: go}, "Go").

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function swatch(color) {
  const element = h("span", { class: "swatch", "aria-hidden": "true" });
  element.style.background = color;
  return element;
}

export function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

export function typing(event) {
  const target = event.target;
  return target instanceof HTMLElement && target.matches(
    "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select",
  );
}

// Makes the buttons of a row one stop of the Tab key; arrows go from one to the next.
export function rove(row) {
  const buttons = () => [...row.querySelectorAll("button:not(:disabled)")];
  const stopAt = (one) => { for (const button of row.querySelectorAll("button")) button.tabIndex = button === one ? 0 : -1; };
  const first = () => stopAt(buttons().find((one) => one.getAttribute("aria-checked") === "true") ?? buttons()[0]);
  row.addEventListener("focusin", ({ target }) => stopAt(target));
  row.addEventListener("focusout", first);
  row.addEventListener("keydown", (event) => {
    const all = buttons();
    const place = all.indexOf(document.activeElement);
    const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: -1 }[event.key];
    if (place < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    all.at(next % all.length).focus();
  });
  first();
  return row;
}

export function toast(text, kind = "") {
  const element = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), kind === "bad" ? 9000 : 4000);
}

// Asks a question; gives the value of the choice, or that of the first one after Escape.
export function ask(title, text, choices) {
  const dialog = document.getElementById("ask-dialog");
  document.getElementById("ask-title").textContent = title;
  document.getElementById("ask-text").textContent = text;
  return new Promise((resolve) => {
    let answer = choices[0].value;
    const buttons = choices.map((choice) =>
      h("button", { type: "button", class: choice.primary ? "primary" : "",
        onclick: () => { answer = choice.value; dialog.close(); } }, choice.text));
    document.getElementById("ask-choices").replaceChildren(...buttons);
    dialog.addEventListener("close", () => resolve(answer), { once: true });
    dialog.showModal();
    buttons.at(-1).focus();
  });
}
