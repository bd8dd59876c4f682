"""Ranges for the sizes of labels, which energies and constraints share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import (
    MAX_INDEX,
    FloatArray,
    IndexArray,
    check_range,
    check_shape,
    concatenate,
    freeze,
    frozen_floats,
    index_array,
)

# What each node counts [V], a label, and the least and the largest size.
Range: TypeAlias = tuple[ArrayLike, int, float, float]

# Sums of sizes are rounded: so much of all nodes together is no deviation.
ROUNDING = 1e-6


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Sizes:
    """Sizes of labels, and the range that each is expected in.

    The size of range t in a labeling is ``s_t(y) = sum_i weights[t, i] [y_i = labels_t]``, and it is expected
    in ``low_t <= s_t(y) <= high_t``. ``weights`` is [T, V] >= 0, so that a range may speak of some nodes
    only; ``labels``, ``low`` and ``high`` are [T]. All arrays are read-only.

    >>> sizes = Sizes([([1, 2, 3], 1, 2.0, 4.0), ([1, 1, 0], 0, 0.0, 1.0)])
    >>> sizes.of([[0, 1, 1], [0, 0, 1]])
    array([[5., 1.],
           [3., 2.]])
    >>> sizes.distances([[0, 1, 1], [0, 0, 1]])
    array([[1., 0.],
           [0., 1.]])
    """

    weights: FloatArray
    labels: IndexArray
    low: FloatArray
    high: FloatArray

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        ranges = list(ranges)
        for t, one in enumerate(ranges):
            if len(one) != 4:
                raise ValueError(f"sizes[{t}] must be (weights, label, low, high)")
        rows = [np.asarray(one[0], dtype=np.float64) for one in ranges]
        for t, row in enumerate(rows):
            check_shape(row, f"weights of sizes[{t}]", (len(rows[0]) if rows[0].ndim else None,))
        weights = np.array(rows) if rows else np.zeros((0, 0))
        labels, low, high = ([one[n] for one in ranges] for n in (1, 2, 3))
        self._store(weights, np.array(labels, dtype=np.int64), np.array(low), np.array(high))

    @classmethod
    def from_arrays(cls, weights: ArrayLike, labels: ArrayLike, low: ArrayLike, high: ArrayLike) -> Sizes:
        """Ranges given as arrays: weights [T, V], labels [T], low [T] and high [T].

        >>> len(Sizes.from_arrays([[1, 1]], [0], [1], [2]))
        1
        """
        sizes = cls.__new__(cls)
        sizes._store(weights, labels, low, high)
        return sizes

    def _store(self, weights: ArrayLike, labels: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        weights = frozen_floats(weights, "size_weights", (None, None), "sizes of nodes", minimum=0.0)
        n_ranges = len(weights)
        labels = freeze(index_array(labels, "size_labels"), np.int32)
        check_shape(labels, "size_labels", (n_ranges,))
        check_range(labels, "size_labels", MAX_INDEX, "labels")
        low = frozen_floats(low, "size_low", (n_ranges,), "least sizes")
        high = frozen_floats(high, "size_high", (n_ranges,), "largest sizes")
        if (low > high).any():
            t = int(np.argmax(low > high))
            raise ValueError(f"sizes[{t}] is from {low[t]} to {high[t]}: no size is in there")
        for name, value in zip(self.__slots__, (weights, labels, low, high), strict=True):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def totals(self) -> FloatArray:
        """Sizes [T] of all nodes together."""
        return np.asarray(self.weights.sum(axis=1))

    @property
    def farthest(self) -> FloatArray:
        """Largest distance [T] that a size can have from its range."""
        return np.maximum(np.maximum(self.totals - self.high, self.low), 0.0)

    def of(self, labelings: ArrayLike) -> FloatArray:
        """Sizes [M, T] in the labelings [M, V]."""
        found = np.asarray(labelings)
        sums = [(found == label) @ row for label, row in zip(self.labels.tolist(), self.weights, strict=True)]
        return np.stack(sums, axis=-1) if sums else np.zeros((len(found), 0))

    def distances(self, labelings: ArrayLike) -> FloatArray:
        """How far the sizes [M, T] in the labelings [M, V] are from their ranges."""
        sizes = self.of(labelings)
        return np.maximum(np.maximum(sizes - self.high, self.low - sizes), 0.0)

    def missed(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Return the indices of the ranges that the sizes in the labeling [V] are not in."""
        return np.flatnonzero(self.distances(np.asarray(labels)[np.newaxis])[0] > ROUNDING * self.totals)

    def validate_for(self, n_nodes: int, n_labels: int) -> None:
        """Raise unless the ranges fit labelings of that many nodes and labels."""
        if len(self):
            check_shape(self.weights, "size_weights", (None, n_nodes))
            check_range(self.labels, "size_labels", n_labels, "labels")

    def __add__(self, other: Sizes) -> Sizes:
        if not len(self) or not len(other):
            return self if len(self) else other
        self.validate_for(other.weights.shape[1], MAX_INDEX)
        return Sizes.from_arrays(
            concatenate(self.weights, other.weights),
            concatenate(self.labels, other.labels),
            concatenate(self.low, other.low),
            concatenate(self.high, other.high),
        )

    @property
    def arrays(self) -> tuple[FloatArray, IndexArray, FloatArray, FloatArray]:
        """Weights, labels, low and high."""
        return self.weights, self.labels, self.low, self.high

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return Sizes.from_arrays, self.arrays

    def __repr__(self) -> str:
        return f"Sizes({len(self)} ranges)"


NO_SIZES = Sizes()
