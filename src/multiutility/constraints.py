"""Hard constraints on labelings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import (
    MAX_INDEX,
    BoolArray,
    IndexArray,
    StartArray,
    any_in_sets,
    check_range,
    check_shape,
    checked_labels,
    concatenate,
    concatenate_sets,
    concatenate_starts,
    freeze,
    frozen_sets,
    numeric_array,
    owners,
    read_only,
)
from multiutility.sizes import NO_SIZES, Range, Sizes

Cover: TypeAlias = tuple[ArrayLike, int]


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Constraints:
    """What a labeling must satisfy: allowed labels for each node, covers, and sizes.

    ``allowed[i, y_i]`` for every node ``i``, and for every cover ``(nodes, label)``: ``y_i = label`` for at
    least one ``i`` in ``nodes``. ``allowed`` is bool [V, K], or None for everything. Covers are stored flat:
    cover ``c`` has ``cover_labels[c]`` and ``cover_nodes[cover_starts[c]:cover_starts[c + 1]]``, sorted and
    unique. Sizes are ``(weights [V], label, low, high)``: all nodes of the label together count at least
    ``low`` and at most ``high``, see ``Sizes``.

    >>> constraints = Constraints(allowed=[[True, True], [True, False]], covers=[([0, 1], 1)])
    >>> constraints.satisfied([1, 0]), constraints.satisfied([0, 0])
    (True, False)
    >>> constraints.unmet([0, 0])
    array([0])
    >>> (constraints & Constraints(covers=[([1], 0)])).n_covers
    2
    >>> Constraints(sizes=[([3, 4], 1, 2.0, 5.0)]).missed([1, 1])
    array([0])
    """

    allowed: BoolArray | None
    cover_starts: StartArray
    cover_nodes: IndexArray
    cover_labels: IndexArray
    sizes: Sizes

    def __init__(
        self,
        allowed: ArrayLike | None = None,
        covers: Iterable[Cover] = (),
        sizes: Iterable[Range] = (),
    ) -> None:
        covers = list(covers)
        for c, cover in enumerate(covers):
            if len(cover) != 2:
                raise ValueError(f"covers[{c}] must be (nodes, label)")
        starts, nodes = concatenate_sets([cover[0] for cover in covers], "covers")
        self._store(allowed, starts, nodes, [cover[1] for cover in covers], Sizes(sizes))

    @classmethod
    def from_arrays(
        cls,
        allowed: ArrayLike | None,
        cover_starts: ArrayLike,
        cover_nodes: ArrayLike,
        cover_labels: ArrayLike,
        sizes: Sizes = NO_SIZES,
    ) -> Constraints:
        """Constraints whose covers are given flat: starts [C + 1], nodes [starts[-1]], labels [C].

        >>> Constraints.from_arrays(None, [0, 2], [0, 1], [1]).unmet([1, 0])
        array([], dtype=int64)
        """
        constraints = cls.__new__(cls)
        constraints._store(allowed, cover_starts, cover_nodes, cover_labels, sizes)
        return constraints

    def _store(
        self, allowed: ArrayLike | None, starts: ArrayLike, nodes: ArrayLike, labels: ArrayLike, sizes: Sizes
    ) -> None:
        mask = None if allowed is None else frozen_mask(allowed)
        n_nodes, n_labels = (MAX_INDEX, MAX_INDEX) if mask is None else mask.shape
        starts, nodes, labels = frozen_sets(starts, nodes, labels, n_nodes, n_labels, kind="cover")
        empty = np.diff(starts) == 0
        if empty.any():
            raise ValueError(f"covers[{int(np.argmax(empty))}] has no nodes: it can never be met")
        if mask is not None:
            sizes.validate_for(n_nodes, n_labels)
        for name, value in zip(self.__slots__, (mask, starts, nodes, labels, sizes), strict=True):
            object.__setattr__(self, name, value)

    @property
    def n_covers(self) -> int:
        """Number of covers."""
        return len(self.cover_labels)

    @property
    def has_covers(self) -> bool:
        """Whether there are covers."""
        return self.n_covers > 0

    def validate_for(self, n_nodes: int, n_labels: int) -> None:
        """Raise unless the constraints fit labelings of that many nodes and labels."""
        if self.allowed is not None:
            check_shape(self.allowed, "allowed", (n_nodes, n_labels))
        check_range(self.cover_nodes, "cover_nodes", n_nodes, "nodes")
        check_range(self.cover_labels, "cover_labels", n_labels, "labels")
        self.sizes.validate_for(n_nodes, n_labels)

    def satisfied(self, labels: ArrayLike) -> bool:
        """Whether the labeling [V] uses allowed labels only and meets all covers and sizes."""
        array = self._checked(labels)
        within = self.allowed is None or bool(self.allowed[np.arange(len(array)), array].all())
        return within and self.n_failed(array) == 0

    def n_failed(self, labels: ArrayLike) -> int:
        """Count the covers and sizes that the labeling [V] does not meet."""
        return len(self.unmet(labels)) + len(self.missed(labels))

    def unmet(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Return the indices of the covers that the labeling [V] does not meet."""
        wanted = self.cover_labels[owners(self.cover_starts)]
        hits = self._checked(labels)[self.cover_nodes] == wanted
        return np.flatnonzero(~any_in_sets(hits, self.cover_starts))

    def missed(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Return the indices of the sizes that the labeling [V] does not meet."""
        array = self._checked(labels)
        self.sizes.validate_for(len(array), MAX_INDEX)
        return self.sizes.missed(array)

    def _checked(self, labels: ArrayLike) -> NDArray[Any]:
        if self.allowed is not None:
            return checked_labels(labels, *self.allowed.shape)
        array = numeric_array(labels, "labels", "iu")
        check_shape(array, "labels", (None,))
        check_range(array, "labels", MAX_INDEX, "labels")
        check_range(self.cover_nodes, "cover_nodes", len(array), "nodes")
        return array

    def __and__(self, other: Constraints) -> Constraints:
        return Constraints.from_arrays(
            intersect(self.allowed, other.allowed),
            concatenate_starts(self.cover_starts, other.cover_starts),
            concatenate(self.cover_nodes, other.cover_nodes),
            concatenate(self.cover_labels, other.cover_labels),
            self.sizes + other.sizes,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return Constraints.from_arrays, tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        shape = None if self.allowed is None else self.allowed.shape
        sizes = f", n_sizes={len(self.sizes)}" if len(self.sizes) else ""
        return f"Constraints(allowed={shape}, n_covers={self.n_covers}{sizes})"


def frozen_mask(value: ArrayLike) -> BoolArray:
    """Read-only bool [V, K] with an allowed label for every node."""
    array = numeric_array(value, "allowed", "b")
    check_shape(array, "allowed", (None, None))
    if array.shape[1] == 0:
        raise ValueError("allowed has no columns: there must be at least one label")
    without = ~array.any(axis=1)
    if without.any():
        raise ValueError(f"allowed[{int(np.argmax(without))}] is all false: the node has no label left")
    return freeze(array, np.bool_)


def intersect(first: BoolArray | None, second: BoolArray | None) -> BoolArray | None:
    """Labels allowed by both masks, where None allows everything."""
    if first is None or second is None:
        return first if second is None else second
    check_shape(second, "allowed", first.shape)
    return read_only(first & second)
