// A small line chart in SVG, which follows the theme.

const NS = "http://www.w3.org/2000/svg";

function svg(tag, attributes, text = "") {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

function short(value) {
  return Number(value.toPrecision(3)).toString();
}

// `curves` are {name, class, values: [[x, y], ...]}.
export function chart(curves, { width = 560, height = 220, title }) {
  const box = { left: 60, right: width - 12, top: 10, bottom: height - 26 };
  const points = curves.flatMap((curve) => curve.values);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": title });
  if (!points.length) return picture;
  const most = Math.max(...points.map(([x]) => x), 1);
  const first = Math.min(...points.map(([x]) => x));
  // A trial of a bad start may be far off: it must not flatten all the rest.
  const sorted = points.map(([, y]) => y).sort((a, b) => a - b);
  const low = Math.min(sorted[Math.floor(0.02 * sorted.length)], 0);
  const high = 1.08 * sorted[Math.floor(0.97 * (sorted.length - 1))] || 1;
  const clipped = (y) => Math.max(low, Math.min(high, y));
  const across = (x) => box.left + ((box.right - box.left) * (x - first)) / Math.max(1, most - first);
  const down = (y) => box.bottom - ((box.bottom - box.top) * (y - low)) / (high - low);
  for (let n = 0; n <= 4; n++) {
    const y = low + ((high - low) * n) / 4;
    picture.append(svg("line", { x1: box.left, x2: box.right, y1: down(y), y2: down(y), class: "grid" }));
    picture.append(svg("text", { x: box.left - 6, y: down(y) + 4, class: "tick", "text-anchor": "end" }, short(y)));
  }
  picture.append(svg("text", { x: box.right, y: height - 8, class: "tick", "text-anchor": "end" }, `pass ${most}`));
  curves.forEach((curve, n) => {
    const path = curve.values.map(
      ([x, y], k) => `${k ? "L" : "M"}${across(x).toFixed(1)} ${down(clipped(y)).toFixed(1)}`,
    ).join("");
    picture.append(svg("path", { d: path, class: `curve ${curve.class}` }));
    picture.append(
      svg("text", { x: box.left + 10 + 150 * n, y: height - 8, class: `legend ${curve.class}` }, `— ${curve.name}`),
    );
  });
  return picture;
}
