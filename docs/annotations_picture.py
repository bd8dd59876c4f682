"""Draws annotations.svg: one small image, its graph, and three kinds of annotation.

Run it to write the picture anew, beside this file. What a node may be is asked of the annotations, and the
shading of the seed is its Gaussian: the picture shows what the package does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from multiutility import LabelingProblem
from multiutility.annotations import Annotation, Box, Boxes, Full, Gaussian, Seed, Seeds, Tags

# The label's name (its first letter stands for it) and color, dark enough for white letters.
LABELS = (("grass", "#237032"), ("sky", "#1864ab"), ("cow", "#b8400e"), ("other", "#495057"))
GRASS, SKY, COW = 0, 1, 2

REGIONS = np.arange(6).reshape(2, 3).repeat(2, axis=0).repeat(2, axis=1)
EDGES = ((0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5))
TRUTH = (SKY, COW, SKY, GRASS, COW, GRASS)
TOP, BOTTOM, LEFT, RIGHT = 1, 4, 2, 4
SEED = (2, 2)

PIXEL, WIDTH, HEIGHT = 54, 784, 686
INK, FAINT = "#24292f", "#8c959f"


def rectangle(x: float, y: float, width: float, height: float, style: str) -> str:
    """Rectangle with other attributes in ``style``."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {style}/>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Line with other attributes in ``style``."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {style}/>'


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Text whose baseline starts at a point, unless ``style`` says otherwise."""
    return f'<text x="{x:g}" y="{y:g}" {style}>{words}</text>'


def grid() -> Iterator[str]:
    """Pixels in thin lines, superpixels in thick ones, with their numbers."""
    rows, columns = (length * PIXEL for length in REGIONS.shape)
    for place in range(0, columns + 1, PIXEL):
        yield line(place, 0, place, rows, border(place))
    for place in range(0, rows + 1, PIXEL):
        yield line(0, place, columns, place, border(place))
    for node in range(6):
        x, y = center(node)
        yield text(x - PIXEL + 5, y + PIXEL - 5, str(node), f'fill="{INK}" font-size="11"')


def border(place: int) -> str:
    """Style of the line at a place, which is a border of superpixels at every other pixel."""
    return f'stroke="{FAINT}" stroke-width="{0.5 if place % (2 * PIXEL) else 1.5}"'


def center(node: int) -> tuple[float, float]:
    """Place of a node: the middle of its pixels."""
    rows, columns = np.nonzero(np.equal(REGIONS, node))
    return (columns.mean() + 0.5) * PIXEL, (rows.mean() + 0.5) * PIXEL


def graph(allowed: Iterable[Sequence[bool]]) -> Iterator[str]:
    """Nodes and edges; in each node a circle for every label that it may have."""
    for first, second in EDGES:
        yield line(*center(first), *center(second), f'stroke="{INK}" stroke-width="2"')
    for node, row in enumerate(allowed):
        (x, y), labels = center(node), np.flatnonzero(row)
        width = 20 * len(labels) + 6
        shape = f'rx="13" fill="#ffffff" stroke="{INK}" stroke-width="1.5"'
        yield rectangle(x - width / 2, y - 13, width, 26, shape)
        for place, label in enumerate(labels):
            name, color = LABELS[label]
            middle = x + 20 * (place - (len(labels) - 1) / 2)
            yield f'<circle cx="{middle:g}" cy="{y:g}" r="9" fill="{color}"/>'
            style = 'text-anchor="middle" fill="#ffffff" font-size="12" font-weight="bold"'
            yield text(middle, y + 4, name[0], style)


def chips(labels: Iterable[int]) -> Iterator[str]:
    """Tags below the image."""
    x = 0
    for label in labels:
        name, color = LABELS[label]
        width, y = 8 * len(name) + 20, REGIONS.shape[0] * PIXEL + 9
        yield rectangle(x, y, width, 22, f'rx="11" fill="{color}"')
        yield text(x + width / 2, y + 15, name, 'text-anchor="middle" fill="#ffffff" font-size="13"')
        x += width + 8


def filled() -> Iterator[str]:
    """Superpixels in the colors of their labels."""
    for node, label in enumerate(TRUTH):
        x, y = center(node)
        style = f'fill="{LABELS[label][1]}" fill-opacity="0.3"'
        yield rectangle(x - PIXEL, y - PIXEL, 2 * PIXEL, 2 * PIXEL, style)


def box_lines(box: Box) -> Iterator[str]:
    """The box, and what its rows and columns cost if they are empty."""
    color = LABELS[COW][1]
    style = f'fill="{color}" fill-opacity="0.15" stroke="{color}" stroke-width="3" stroke-dasharray="7 4"'
    yield rectangle(LEFT * PIXEL, TOP * PIXEL, (RIGHT - LEFT) * PIXEL, (BOTTOM - TOP) * PIXEL, style)
    yield text(LEFT * PIXEL + 8, TOP * PIXEL + 34, "cow", f'fill="{color}" font-size="13" font-weight="bold"')
    small = f'font-size="12" fill="{color}"'
    for row, cost in enumerate(box.row_costs, TOP):
        yield text(RIGHT * PIXEL + 4, (row + 0.5) * PIXEL + 4, f"{cost:g}", small)
    for column, cost in enumerate(box.column_costs, LEFT):
        y = BOTTOM * PIXEL + 15
        yield text((column + 0.5) * PIXEL, y, f"{cost:g}", f'text-anchor="middle" {small}')


def seed_shades(tau: float) -> Iterator[str]:
    """Pixels shaded by the Gaussian around the seed, and the seed."""
    color = LABELS[COW][1]
    pixels = np.arange(REGIONS.size).reshape(REGIONS.shape)
    for pixel, mass in enumerate(Gaussian(pixels, SEED)(tau)):
        row, column = divmod(pixel, REGIONS.shape[1])
        style = f'fill="{color}" fill-opacity="{0.6 * mass:.3f}"'
        yield rectangle(column * PIXEL, row * PIXEL, PIXEL, PIXEL, style)


def seed_mark() -> Iterator[str]:
    """A cross in the pixel of the seed."""
    row, column = SEED
    x, y = (column + 0.5) * PIXEL, (row + 0.5) * PIXEL
    for slope in (-1, 1):
        yield line(x - 7, y - 7 * slope, x + 7, y + 7 * slope, f'stroke="{INK}" stroke-width="4"')
    yield text(x, y - 12, "cow", f'text-anchor="middle" fill="{INK}" font-size="13" font-weight="bold"')


def panel(place: int, title: str, parts: Iterable[str]) -> str:
    """One of four pictures, with its title above."""
    row, column = divmod(place, 2)
    heading = text(0, -12, title, f'fill="{INK}" font-size="16" font-weight="bold"')
    moved = f'<g transform="translate({32 + 396 * column} {56 + 304 * row})">'
    return "\n".join([moved, heading, *parts, "</g>"])


def draw() -> str:
    """Return the picture as SVG, on a light card of its own: readable on pages of any color."""
    problem = LabelingProblem(np.zeros((6, 1)), EDGES, np.ones((len(EDGES), 1)), np.full(6, 4))

    def nodes(annotation: Annotation) -> Iterator[str]:
        allowed = annotation.constraints(problem).allowed
        assert allowed is not None
        return graph(allowed)

    part = REGIONS[TOP:BOTTOM, LEFT:RIGHT]
    box, seed = Box(COW, part, part.T), Seed.in_grid(COW, SEED, REGIONS)
    full, tags = Full.from_labels(TRUTH, len(LABELS)), Tags([GRASS, SKY, COW], len(LABELS))
    boxes = Boxes([box], len(LABELS), tags=[GRASS, SKY])
    seeds = Seeds([seed], len(LABELS), tags=[GRASS, SKY])
    tau = seeds.sigma(problem)[COW]
    panels = [
        panel(0, "Full: every label", [*filled(), *grid(), *nodes(full)]),
        panel(1, "Tags: which labels", [*grid(), *nodes(tags), *chips([GRASS, SKY, COW])]),
        panel(2, "Boxes: a box and tags", [*grid(), *box_lines(box), *nodes(boxes), *chips([GRASS, SKY])]),
        panel(
            3,
            "Seeds: a point and tags",
            [*seed_shades(tau), *grid(), *nodes(seeds), *seed_mark(), *chips([GRASS, SKY])],
        ),
    ]
    notes = (
        "Circles in a node: the labels that it may have in labelings that agree with the annotation.",
        "At the box: the cost of an empty row or column, in pixels. Shades: that of a pixel that is not cow.",
    )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    card = f'rx="8" fill="#ffffff" stroke="{FAINT}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" role="img">',
            "<title>A full labeling, tags, a box and a seed on a graph of six superpixels</title>",
            rectangle(0.5, 0.5, WIDTH - 1, HEIGHT - 1, card),
            *panels,
            *(text(32, 645 + 21 * n, words, f'fill="{INK}" font-size="13"') for n, words in enumerate(notes)),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    Path(__file__).with_name("annotations.svg").write_text(draw(), encoding="utf-8")
