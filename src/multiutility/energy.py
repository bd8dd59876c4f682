"""Energies over labelings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import (
    FloatArray,
    IndexArray,
    StartArray,
    any_in_sets,
    are_moderate,
    check_range,
    check_shape,
    check_total,
    checked_labels,
    concatenate,
    concatenate_sets,
    concatenate_starts,
    frozen_edges,
    frozen_floats,
    frozen_sets,
    is_frozen,
    numeric_array,
    owners,
    read_only,
)
from multiutility.sizes import NO_SIZES, Sizes

Subset: TypeAlias = tuple[ArrayLike, int, float]
# What each node counts [V], a label, the least and the largest size, and the gain of any other.
SizeTerm: TypeAlias = tuple[ArrayLike, int, float, float, float]


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Energy:
    """Cost of a labeling: unary costs, Potts edges, subset costs, size terms, an offset.

    ``E(y) = offset + sum_i unary[i, y_i] + sum_e weights[e] [y_i != y_j for edge e = (i, j)]
    + sum_s costs[s] [y_i = label_s for some i in nodes_s]
    - sum_t gains[t] max(0, low_t - s_t(y), s_t(y) - high_t)``, to be minimized.

    ``unary`` is [V, K], ``edges`` [E, 2] and ``weights`` [E] >= 0; parallel edges add up. ``subsets`` are
    ``(nodes, label, cost >= 0)``, stored flat: subset ``s`` has ``subset_labels[s]``, ``subset_costs[s]`` and
    ``subset_nodes[subset_starts[s]:subset_starts[s + 1]]``, sorted and unique. Size terms are
    ``(weights [V], label, low, high, gain >= 0)``: the energy falls as the size ``s_t`` of the label, see
    ``Sizes``, leaves its range, as minus a loss does that grows with the deviation. All arrays are read-only;
    an argument is copied unless it is an array that is already read-only and of the right type. The
    magnitudes of all costs may add up to 1e300 at most, so that the energy of every labeling is finite.

    >>> unary = [[0, 1], [2, 0], [0, 3]]
    >>> energy = Energy(unary, edges=[[0, 1], [1, 2]], weights=[0.5, 0.5], subsets=[([0, 1, 2], 1, 4)])
    >>> energy.evaluate([0, 1, 0]), energy.evaluate([0, 0, 0])
    (5.0, 2.0)
    >>> (energy + Energy([[0, 0], [9, 0], [0, 0]])).evaluate([0, 0, 0])
    11.0
    >>> Energy(unary, sizes=[([1, 1, 1], 0, 0.0, 1.0, 10.0)]).evaluate([0, 0, 0])
    -18.0
    """

    unary: FloatArray
    edges: IndexArray
    weights: FloatArray
    subset_starts: StartArray
    subset_nodes: IndexArray
    subset_labels: IndexArray
    subset_costs: FloatArray
    offset: float
    sizes: Sizes
    size_gains: FloatArray

    def __init__(
        self,
        unary: ArrayLike,
        edges: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        subsets: Iterable[Subset] = (),
        offset: float = 0.0,
        sizes: Iterable[SizeTerm] = (),
    ) -> None:
        subsets = list(subsets)
        for s, subset in enumerate(subsets):
            if len(subset) != 3:
                raise ValueError(f"subsets[{s}] must be (nodes, label, cost)")
        starts, nodes = concatenate_sets([subset[0] for subset in subsets], "subsets")
        labels, costs = [subset[1] for subset in subsets], [subset[2] for subset in subsets]
        edges = [] if edges is None else edges
        weights = [] if weights is None else weights
        terms = list(sizes)
        for t, term in enumerate(terms):
            if len(term) != 5:
                raise ValueError(f"sizes[{t}] must be (weights, label, low, high, gain)")
        ranges, gains = Sizes(term[:4] for term in terms), [term[4] for term in terms]
        self._store(unary, edges, weights, starts, nodes, labels, costs, offset, ranges, gains)

    @classmethod
    def from_arrays(
        cls,
        unary: ArrayLike,
        edges: ArrayLike,
        weights: ArrayLike,
        subset_starts: ArrayLike,
        subset_nodes: ArrayLike,
        subset_labels: ArrayLike,
        subset_costs: ArrayLike,
        offset: float = 0.0,
        sizes: Sizes = NO_SIZES,
        size_gains: ArrayLike = (),
    ) -> Energy:
        """Energy whose subsets are given flat: starts [S + 1], nodes [starts[-1]], labels [S], costs [S].

        Ranges of sizes [T] come with their gains [T].

        >>> Energy.from_arrays([[0, 1], [2, 0]], [[0, 1]], [3], [0, 2], [0, 1], [1], [5])
        Energy(n_nodes=2, n_labels=2, n_edges=1, n_subsets=1)
        """
        energy = cls.__new__(cls)
        subsets = (subset_starts, subset_nodes, subset_labels, subset_costs)
        energy._store(unary, edges, weights, *subsets, offset, sizes, size_gains)
        return energy

    def _store(
        self,
        unary: ArrayLike,
        edges: ArrayLike,
        weights: ArrayLike,
        starts: ArrayLike,
        nodes: ArrayLike,
        labels: ArrayLike,
        costs: ArrayLike,
        offset: float,
        sizes: Sizes,
        gains: ArrayLike,
    ) -> None:
        unary = frozen_floats(unary, "unary", (None, None), "unary costs")
        n_nodes, n_labels = unary.shape
        if n_labels == 0:
            raise ValueError("unary has no columns: there must be at least one label")
        edges = frozen_edges(edges, n_nodes)
        weights = frozen_floats(weights, "weights", (len(edges),), "edge weights", minimum=0.0)
        starts, nodes, labels = frozen_sets(starts, nodes, labels, n_nodes, n_labels, kind="subset")
        costs = frozen_floats(costs, "subset_costs", (len(labels),), "subset costs", minimum=0.0)
        offset = float(frozen_floats([offset], "offset", (1,), "offsets")[0])
        sizes.validate_for(n_nodes, n_labels)
        gains = frozen_floats(gains, "size_gains", (len(sizes),), "gains of sizes", minimum=0.0)
        with np.errstate(over="ignore"):
            most = gains * sizes.farthest
        check_total(
            unary=unary, weights=weights, subset_costs=costs, offset=np.array([offset]), size_gains=most
        )
        values = (unary, edges, weights, starts, nodes, labels, costs, offset, sizes, gains)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def with_costs(self, unary: ArrayLike, weights: ArrayLike, offset: float = 0.0) -> Energy:
        """Energy with other unary costs [V, K], weights [E] and offset; edges, subsets, sizes are the same.

        Only the new numbers are checked, so this is several times faster than to build an energy anew.

        >>> energy = Energy([[0, 1], [2, 0]], [[0, 1]], [3], subsets=[([0, 1], 1, 5)])
        >>> energy.with_costs([[0, 0], [0, 0]], [1]).evaluate([0, 1])
        6.0
        """
        constant = np.array([offset], dtype=np.float64)
        # Learners come here for every instance and step, and ask no more than they have to.
        if not (
            is_frozen(unary, self.unary.shape)
            and is_frozen(weights, self.weights.shape)
            and are_moderate(unary, weights, self.subset_costs, constant)
            and weights.min(initial=0.0) >= 0
        ):
            unary = frozen_floats(unary, "unary", self.unary.shape, "unary costs")
            weights = frozen_floats(weights, "weights", (self.n_edges,), "edge weights", minimum=0.0)
            constant = frozen_floats(constant, "offset", (1,), "offsets")
            check_total(unary=unary, weights=weights, subset_costs=self.subset_costs, offset=constant)
        offset = float(constant[0])
        sets = (self.subset_starts, self.subset_nodes, self.subset_labels, self.subset_costs)
        values = (unary, self.edges, weights, *sets, offset, self.sizes, self.size_gains)
        energy = object.__new__(Energy)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(energy, name, value)
        return energy

    @property
    def n_nodes(self) -> int:
        """Number of nodes, V."""
        return int(self.unary.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.unary.shape[1])

    @property
    def n_edges(self) -> int:
        """Number of edges, E."""
        return len(self.edges)

    @property
    def n_subsets(self) -> int:
        """Number of subsets, S."""
        return len(self.subset_labels)

    def evaluate(self, labels: ArrayLike) -> float:
        """Energy of one labeling [V]."""
        checked = checked_labels(labels, self.n_nodes, self.n_labels)
        return float(self._evaluate(checked[np.newaxis])[0])

    def evaluate_many(self, labelings: ArrayLike) -> FloatArray:
        """Energies [M] of the labelings [M, V].

        >>> Energy([[0, 1], [2, 0]], [[0, 1]], [3]).evaluate_many([[0, 0], [0, 1]])
        array([2., 3.])
        """
        array = numeric_array(labelings, "labelings", "iu")
        check_shape(array, "labelings", (None, self.n_nodes))
        check_range(array, "labelings", self.n_labels, "labels")
        return self._evaluate(array)

    def _evaluate(self, labelings: NDArray[Any]) -> FloatArray:
        total = self.unary[np.arange(self.n_nodes), labelings].sum(axis=1)
        cut = labelings[:, self.edges[:, 0]] != labelings[:, self.edges[:, 1]]
        total += cut @ self.weights
        wanted = self.subset_labels[owners(self.subset_starts)]
        hits = labelings[:, self.subset_nodes] == wanted
        total += any_in_sets(hits, self.subset_starts) @ self.subset_costs
        if len(self.sizes):
            total -= self.sizes.distances(labelings) @ self.size_gains
        return np.asarray(total + self.offset, dtype=np.float64)

    def __add__(self, other: Energy) -> Energy:
        if self.unary.shape != other.unary.shape:
            raise ValueError(f"cannot add energies of shapes {self.unary.shape} and {other.unary.shape}")
        if self.n_edges and np.array_equal(self.edges, other.edges):
            edges, weights = self.edges, self.weights + other.weights
        else:
            edges = concatenate(self.edges, other.edges)
            weights = concatenate(self.weights, other.weights)
        return Energy.from_arrays(
            read_only(self.unary + other.unary),
            edges,
            read_only(weights),
            concatenate_starts(self.subset_starts, other.subset_starts),
            concatenate(self.subset_nodes, other.subset_nodes),
            concatenate(self.subset_labels, other.subset_labels),
            concatenate(self.subset_costs, other.subset_costs),
            self.offset + other.offset,
            self.sizes + other.sizes,
            concatenate(self.size_gains, other.size_gains),
        )

    def without_sizes(self, unary: ArrayLike, offset: float) -> Energy:
        """Energy with the same edges and subsets, but without size terms, of other unary costs and offset."""
        plain = self.with_costs(unary, self.weights, offset)
        object.__setattr__(plain, "sizes", NO_SIZES)
        object.__setattr__(plain, "size_gains", NO_SIZES.low)
        return plain

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return Energy.from_arrays, tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        sizes = ("n_nodes", "n_labels", "n_edges", "n_subsets")
        return f"Energy({', '.join(f'{name}={getattr(self, name)}' for name in sizes)})"
