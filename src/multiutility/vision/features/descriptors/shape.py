"""The outline of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray
from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Outline:
    """How much of each cell of a ``cells`` x ``cells`` grid over its bounding box a region fills, in 0..1."""

    cells: int = 8

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, cells * cells]."""
        return np.asarray(own_points(picture, self.cells).mean(axis=2), dtype=np.float32)


@dataclass(frozen=True)
class Extent:
    """Width and height of a region's bounding box, as shares of the image's."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 2]."""
        top, left, bottom, right = bounding_boxes(picture).T
        height, width = picture.shape
        return np.stack(((right - left) / width, (bottom - top) / height), axis=1).astype(np.float32)


@dataclass(frozen=True)
class Area:
    """Size of a region, as a share of the image's."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 1]."""
        return (picture.sizes / picture.regions.size)[:, np.newaxis].astype(np.float32)


@dataclass(frozen=True)
class Center:
    """Column and row of a region's center of mass, as shares of the image's size."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 2]."""
        height, width = picture.shape
        places = np.indices(picture.shape, dtype=np.float32)[::-1] + np.float32(0.5)
        return picture.pool_mean(np.moveaxis(places, 0, 2) / np.array([width, height], dtype=np.float32))


@dataclass(frozen=True)
class Top:
    """Height of a region's highest pixel, as a share of the image's: 0 at the top."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        """Nothing to learn."""
        return {}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        """Describe every region: float32 [V, 1]."""
        return (bounding_boxes(picture)[:, :1] / picture.shape[0]).astype(np.float32)


def bounding_boxes(picture: Picture) -> NDArray[np.int64]:
    """Top, left, bottom and right of every region, the last two exclusive: [V, 4]."""
    return picture.once("bounding boxes", lambda: find_boxes(picture))


def find_boxes(picture: Picture) -> NDArray[np.int64]:
    """Compute what `bounding_boxes` returns."""
    flat = picture.regions.ravel()
    boxes = np.tile([np.iinfo(np.int64).max, np.iinfo(np.int64).max, 0, 0], (picture.n_regions, 1))
    for axis, places in enumerate(np.divmod(np.arange(flat.size), picture.shape[1])):
        np.minimum.at(boxes[:, axis], flat, places)
        np.maximum.at(boxes[:, axis + 2], flat, places + 1)
    return boxes


def box_points(picture: Picture, cells: int) -> NDArray[np.int64]:
    """Flat pixels at even places in every region's bounding box, four in each cell: [V, cells * cells, 4].

    Boxes of any size have them, so what is read at them is a thumbnail of the box.
    """
    return picture.once(("box points", cells), lambda: find_points(picture, cells))


def own_points(picture: Picture, cells: int) -> BoolArray:
    """Which of the points in its bounding box belong to the region itself, bool [V, cells * cells, 4]."""
    regions = picture.regions.ravel()[box_points(picture, cells)]
    return np.asarray(regions == np.arange(picture.n_regions)[:, np.newaxis, np.newaxis])


def find_points(picture: Picture, cells: int) -> NDArray[np.int64]:
    """Compute what `box_points` returns."""
    boxes = bounding_boxes(picture)
    shares = (np.arange(2 * cells) + 0.5) / (2 * cells)
    rows, columns = (
        (boxes[:, [axis]] + shares * (boxes[:, [axis + 2]] - boxes[:, [axis]])).astype(np.int64)
        for axis in (0, 1)
    )
    points = rows[:, :, np.newaxis] * picture.shape[1] + columns[:, np.newaxis, :]
    quads = points.reshape(-1, cells, 2, cells, 2).swapaxes(2, 3)
    return quads.reshape(-1, cells * cells, 4)
