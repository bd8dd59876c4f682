"""How different images are from those that are annotated, by what their pixels look like to the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.problem import LabelingProblem

# A unit vector; empty if nobody knows.
Place: TypeAlias = tuple[float, ...]

# Directions onto which features are projected: with so many, angles change by a few degrees only.
N_DIRECTIONS = 64


def place_of(problem: LabelingProblem, weighted: bool) -> Place:
    """Direction of the mean features of an image's pixels, projected onto directions that never change.

    With ``weighted``, node features are multiplied by sizes already, as ``Preset`` has it.
    """
    features = np.asarray(problem.node_features, dtype=np.float64)
    total = features.sum(axis=0) if weighted else problem.node_sizes @ features
    directions = np.random.default_rng(0).standard_normal((len(total), N_DIRECTIONS))
    projected = total @ directions
    length = float(np.linalg.norm(projected))
    return () if length == 0 else tuple((projected / length).tolist())


class Novelty:
    """How far images are from those that were taken, each at a level; those of a higher level count as well.

    The novelty of an image is its distance, 1 - cosine, to the nearest *other* image that is taken, in parts
    of the mean distance of all pairs, and at most 1: nothing like it is there yet.

    >>> places = {"a": (1.0, 0.0), "b": (1.0, 0.0), "c": (0.0, 1.0)}
    >>> novelty = Novelty(places, n_levels=2)
    >>> novelty.take("a", level=0)
    >>> novelty.of(np.arange(3), np.zeros(3, int)), novelty.of(np.arange(3), np.ones(3, int))
    (array([1., 0., 1.]), array([1., 1., 1.]))
    """

    def __init__(self, places: Mapping[str, Place], n_levels: int) -> None:
        self._rows = {name: row for row, name in enumerate(places)}
        known = [place for place in places.values() if place]
        empty = (0.0,) * (len(known[0]) if known else 1)
        self._points = np.array([place or empty for place in places.values()]).reshape(
            len(places), len(empty)
        )
        self._near = np.full((len(places), n_levels), np.inf)
        n_known, total = len(known), self._points.sum(axis=0)
        n_pairs = n_known * (n_known - 1)
        # The sum of all cosines is the square of the sum of all unit vectors.
        mean = 1 - (float(total @ total) - n_known) / n_pairs if n_pairs else 0.0
        self._scale = mean if mean > 0 else 1.0

    def take(self, name: str, level: int) -> None:
        """Count an image in, at a level and all below."""
        row = self._rows[name]
        point = self._points[row]
        if not point.any():
            return
        distances = np.maximum(0.0, 1 - self._points @ point)
        # Nothing is known of images without a place: they are as new as can be.
        distances[~self._points.any(axis=1)] = np.inf
        distances[row] = np.inf
        for lower in range(level + 1):
            self._near[:, lower] = np.minimum(self._near[:, lower], distances)

    def of(self, rows: NDArray[Any], levels: NDArray[Any]) -> FloatArray:
        """Novelty 0..1 of images, by number, for annotations at some levels."""
        return np.asarray(np.minimum(1.0, self._near[rows, levels] / self._scale), dtype=np.float64)
