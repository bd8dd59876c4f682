"""Tiny pictures with superpixels: the pixel side of annotations, written out pixel by pixel.

``rasterize`` makes the annotation in nodes; ``pixel_loss`` computes its loss from the pixels alone, straight
from the equations, with plain loops and nothing of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility import LabelingProblem
from multiutility.annotations import Box, Joint, Seed

MARGIN = 0.06


@dataclass(frozen=True)
class PixelBox:
    """Right and bottom are exclusive."""

    label: int
    left: int
    top: int
    right: int
    bottom: int

    def shrunk(self) -> tuple[list[int], list[int]]:
        """Rows and columns whose pixel centers are within the margins; all of them if none is."""
        width, height = self.right - self.left, self.bottom - self.top
        rows = [
            y
            for y in range(self.top, self.bottom)
            if self.top + MARGIN * height <= y + 0.5 <= self.bottom - MARGIN * height
        ]
        columns = [
            x
            for x in range(self.left, self.right)
            if self.left + MARGIN * width <= x + 0.5 <= self.right - MARGIN * width
        ]
        if rows and columns:
            return rows, columns
        return list(range(self.top, self.bottom)), list(range(self.left, self.right))


@dataclass(frozen=True)
class Picture:
    """Superpixels [H, W], and what a person said about them."""

    regions: NDArray[np.int32]
    n_labels: int
    tags: Sequence[int] = ()
    boxes: Sequence[PixelBox] = ()
    seeds: Sequence[tuple[int, int, int]] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def problem(self, edges: Any = ()) -> LabelingProblem:
        """The problem whose node sizes are pixels."""
        sizes = np.bincount(self.regions.ravel())
        pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        return LabelingProblem(np.zeros((len(sizes), 1)), pairs, np.ones((len(pairs), 1)), sizes)

    def box(self, box: PixelBox, *, tight: bool = True) -> Box:
        """The box in nodes."""
        rows, columns = box.shrunk()
        part = self.regions[np.ix_(rows, columns)]
        width, height = box.right - box.left, box.bottom - box.top
        return Box(
            box.label,
            part,
            part.T,
            area=width * height,
            row_positions=[(y + 0.5 - box.top) / height for y in rows],
            column_positions=[(x + 0.5 - box.left) / width for x in columns],
            tight=tight,
        )

    def rasterize(self) -> Joint:
        """The annotation in nodes."""
        boxes = [self.box(box) for box in self.boxes]
        seeds = [Seed.in_grid(label, (y, x), self.regions) for label, x, y in self.seeds]
        unions = {box.label: float(self.union(box.label)) for box in self.boxes}
        options = {"box_areas": unions} | self.options
        return Joint(self.tags, boxes, seeds, self.n_labels, **options)

    def union(self, label: int) -> int:
        """Pixels in any of the boxes of the label."""
        pixels = {
            (y, x)
            for box in self.boxes
            if box.label == label
            for y in range(box.top, box.bottom)
            for x in range(box.left, box.right)
        }
        return len(pixels)


def pixel_loss(picture: Picture, labels: Sequence[int], omega: Sequence[float] | None = None) -> float:
    """Loss of the labeling, from the pixels alone; for default areas and profiles."""
    height, width = picture.regions.shape
    pixels = [(y, x) for y in range(height) for x in range(width)]
    node = {(y, x): int(picture.regions[y, x]) for y, x in pixels}
    label = {pixel: labels[node[pixel]] for pixel in pixels}
    omega = [1.0] * picture.n_labels if omega is None else omega
    beta, other = picture.options.get("beta", 1.0), picture.options.get("other")

    boxed = {box.label for box in picture.boxes}
    seeded = {k for k, _, _ in picture.seeds} - boxed
    tagged = set(picture.tags) - boxed - seeded
    if other is not None and (not picture.tags or {*picture.tags, *seeded} <= boxed):
        tagged = {other} - boxed - seeded
    complete = picture.options.get("complete")
    if complete is None:
        complete = bool(tagged) or bool(picture.tags and seeded)
    absent = set(range(picture.n_labels)) - boxed - seeded - tagged if complete else set()
    present = boxed | seeded | tagged
    mean = sum(omega[k] for k in present) / len(present)

    inside = {node[y, x] for box in picture.boxes for y in box.shrunk()[0] for x in box.shrunk()[1]}
    area = sum(node[pixel] not in inside for pixel in pixels)
    sigma = area / len(tagged | seeded) if tagged | seeded else 0.0

    total = 0.0
    for pixel in pixels:
        wrong = label[pixel] in absent or (label[pixel] in boxed and node[pixel] not in inside)
        total += mean * wrong
    for k in tagged:
        total += omega[k] * sigma * all(label[pixel] != k for pixel in pixels)
    counts = {k: [seed[0] for seed in picture.seeds].count(k) for k in present}
    both = {k for k in boxed if counts[k]}
    halved = set() if picture.options.get("sum_box_and_seed") else both
    for box in picture.boxes:
        rows, columns = box.shrunk()
        weight = beta * omega[box.label] * (0.5 if box.label in halved else 1.0)
        half = (box.right - box.left) * (box.bottom - box.top) / 2
        for y in rows:
            total += weight * half / len(rows) * all(label[y, x] != box.label for x in columns)
        for x in columns:
            total += weight * half / len(columns) * all(label[y, x] != box.label for y in rows)
    for k, x0, y0 in picture.seeds:
        tau = (picture.union(k) / 2 if k in both else sigma) / counts[k]
        weight = beta * omega[k] * (0.5 if k in halved else 1.0)
        for y, x in pixels:
            distance = (x - x0) ** 2 + (y - y0) ** 2
            near = exp(-pi * distance / tau) if tau > 0 else float(distance == 0)
            total += weight * near * (label[y, x] != k)
    return total


def random_regions(rng: np.random.Generator, n_nodes: int, height: int, width: int) -> NDArray[np.int32]:
    """Superpixels around random centers; each has a pixel."""
    places = rng.choice(height * width, size=n_nodes, replace=False)
    centers = np.stack(np.divmod(places, width), axis=1)
    grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1)
    squares = ((grid[:, :, np.newaxis] - centers) ** 2).sum(axis=-1)
    return np.asarray(squares.argmin(axis=-1), dtype=np.int32)


def random_box(rng: np.random.Generator, label: int, height: int, width: int) -> PixelBox:
    """Box of at least one pixel."""
    left, top = int(rng.integers(width)), int(rng.integers(height))
    right, bottom = int(rng.integers(left + 1, width + 1)), int(rng.integers(top + 1, height + 1))
    return PixelBox(label, left, top, right, bottom)


def random_picture(
    rng: np.random.Generator, parts: str = "tbs", max_nodes: int = 5, max_labels: int = 4
) -> Picture:
    """Picture with tags (t), boxes (b), seeds (s) that do not contradict each other, and random options."""
    n_nodes, n_labels = int(rng.integers(1, max_nodes + 1)), int(rng.integers(2, max_labels + 1))
    height, width = int(rng.integers(3, 20)), int(rng.integers(3, 20))
    regions = random_regions(rng, n_nodes, height, width)
    labels = rng.permutation(n_labels).tolist()
    tags = labels[: rng.integers(1 if parts == "t" else 0, n_labels + 1)] if "t" in parts else []
    # One label has no box: it may be outside all boxes.
    thing = rng.integers(n_labels - 1, size=rng.integers(1, 4))
    boxes = [random_box(rng, (int(k) + labels[0] + 1) % n_labels, height, width) for k in thing]
    picture = Picture(regions, n_labels, tags, boxes if "b" in parts else [])
    seeds = random_seeds(rng, picture) if "s" in parts else []
    options: dict[str, Any] = {"beta": float(rng.choice([0.0, 0.5, 1.0, 2.0]))}
    options["sum_box_and_seed"] = bool(rng.random() < 0.5)
    options["strict"], options["tight"] = bool(rng.random() < 0.5), bool(rng.random() < 0.7)
    if rng.random() < 0.3:
        options["other"] = int(rng.integers(n_labels))
    if not (picture.tags or picture.boxes or seeds):
        return random_picture(rng, parts, max_nodes, max_labels)
    return Picture(regions, n_labels, tags, picture.boxes, seeds, options)


def random_seeds(rng: np.random.Generator, picture: Picture) -> list[tuple[int, int, int]]:
    """Seeds in the boxes of their labels, and of one label in each node."""
    height, width = picture.regions.shape
    taken: dict[int, int] = {}
    seeds = []
    for k in rng.integers(picture.n_labels, size=rng.integers(1, 4)).tolist():
        x, y = int(rng.integers(width)), int(rng.integers(height))
        node = int(picture.regions[y, x])
        own = [picture.box(box).nodes for box in picture.boxes if box.label == k]
        if taken.get(node, k) == k and (not own or any(node in nodes for nodes in own)):
            taken[node] = k
            seeds.append((k, x, y))
    return seeds
