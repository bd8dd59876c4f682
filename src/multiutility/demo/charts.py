"""Charts as SVG, drawn by hand so that pages need no library; their colors come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

# Room for the names of places on the left, and of the axes, in pixels.
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 16, 44


@dataclass(frozen=True)
class Line:
    """A named curve through points; ``style`` is a class of the page's style that gives its color."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str


@dataclass(frozen=True)
class Axis:
    """Maps values between two ends to pixels."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Pixel of a value."""
        span = self.high - self.low
        part = (value - self.low) / span if span > 0 else 0.5
        return self.start + part * (self.stop - self.start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, a few of them.

    >>> ticks(0, 1), ticks(0, 37)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * unit for unit in (1, 2, 2.5, 5, 10) if power * unit >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def number(value: float) -> str:
    """Short text of a number.

    >>> number(0.25), number(20.0), number(12500.0)
    ('0.25', '20', '12500')
    """
    return f"{value:.10g}" if abs(value) >= 1000 else f"{value:.4g}"


def svg(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return a picture with a name for those who cannot see it."""
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" class="chart" aria-label="{escape(title)}">'
    return "".join([head, *parts, "</svg>"])


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Text at a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(words)}</text>'


def rule(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def line_chart(
    lines: Sequence[Line],
    title: str,
    x_label: str,
    y_label: str,
    marks: Sequence[float] = (),
    size: tuple[float, float] = (520, 380),
) -> str:
    """Return curves with axes from 0 on, each named in a row above; ``marks`` are upright lines at some x.

    >>> chart = line_chart([Line("loss", [(0, 1.0), (2, 0.5)], "one")], "Loss", "pass", "objective")
    >>> chart.count("<polyline"), "loss" in chart
    (1, True)
    """
    width, height = size
    points = [point for line in lines for point in line.points]
    x = Axis(0.0, max((p[0] for p in points), default=1.0), LEFT, width - RIGHT)
    y = Axis(0.0, max((p[1] for p in points), default=1.0), height - BOTTOM, TOP + 24)
    parts = [rule(x(mark), y.start, x(mark), y.stop, "mark") for mark in marks]
    parts += frame(x, y, x_label, y_label)
    for line in lines:
        places = " ".join(f"{x(px):.1f},{y(py):.1f}" for px, py in line.points)
        parts.append(f'<polyline points="{places}" class="curve {line.style}"/>')
    parts += key([(line.name, line.style) for line in lines])
    return svg(width, height, title, parts)


def frame(x: Axis, y: Axis, x_label: str, y_label: str, write: Callable[[float], str] = number) -> list[str]:
    """Return the grid with its numbers and the names of both axes."""
    parts = []
    for value in ticks(y.low, y.high):
        parts.append(rule(x.start, y(value), x.stop, y(value), "grid-line"))
        parts.append(text(x.start - 8, y(value) + 4, write(value), "tick end"))
    for value in ticks(x.low, x.high, 8):
        parts.append(text(x(value), y.start + 18, write(value), "tick middle"))
    parts.append(rule(x.start, y.start, x.stop, y.start, "axis"))
    parts.append(text((x.start + x.stop) / 2, y.start + 38, x_label, "label middle"))
    parts.append(text(x.start - 48, y.stop - 16, y_label, "label"))
    return parts


def key(names: Sequence[tuple[str, str]], left: float = 160, top: float = 16) -> list[str]:
    """Return what the colors mean, in one row."""
    parts = []
    for name, style in names:
        parts.append(
            f'<rect x="{left:.1f}" y="{top - 9:.1f}" width="12" height="10" rx="2" class="dot {style}"/>'
        )
        parts.append(text(left + 18, top, name, "label"))
        left += 40 + 6.6 * len(name)
    return parts


def dot_chart(
    rows: Mapping[str, Sequence[float | None]],
    names: Sequence[tuple[str, str]],
    title: str,
    x_label: str,
    width: float = 520,
) -> str:
    """Return a row for each key with a dot for each of its values in 0..1, of the names and styles given.

    >>> dot_chart({"cow": [0.5, None]}, [("a", "one"), ("b", "two")], "Recall", "recall").count("<circle")
    1
    """
    step, left = 24.0, 88.0
    height = TOP + 28 + step * len(rows) + BOTTOM
    x = Axis(0.0, 1.0, left, width - RIGHT)
    top, bottom = TOP + 20, height - BOTTOM
    parts = []
    for value in ticks(0.0, 1.0):
        parts.append(rule(x(value), top, x(value), bottom, "grid-line"))
        parts.append(text(x(value), bottom + 18, f"{100 * value:.0f} %", "tick middle"))
    for n, (row, values) in enumerate(rows.items()):
        middle = top + step * (n + 0.5) + 4
        known = [value for value in values if value is not None]
        parts.append(text(left - 12, middle + 4, row, "label end"))
        if known:
            parts.append(rule(x(min(known)), middle, x(max(known)), middle, "span"))
        for (name, style), share in zip(names, values, strict=True):
            if share is not None:
                parts.append(dot(x(share), middle, style, f"{row}, {name}: {100 * share:.1f} %"))
    parts.append(text((x.start + x.stop) / 2, bottom + 38, x_label, "label middle"))
    return svg(width, height, title, [*key(names, left), *parts])


def dot(x: float, y: float, style: str, about: str) -> str:
    """Dot with words that appear when it is pointed at."""
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="6"'
    return f'<circle {place} class="dot {style}"><title>{escape(about)}</title></circle>'
