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
    numeric_array,
    owners,
    read_only,
)

Subset: TypeAlias = tuple[ArrayLike, int, float]


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Energy:
    """Cost of a labeling: unary costs, Potts edges, subset costs, an offset.

    ``E(y) = offset + sum_i unary[i, y_i] + sum_e weights[e] [y_i != y_j for edge e = (i, j)]
    + sum_s costs[s] [y_i = label_s for some i in nodes_s]``, to be minimized.

    ``unary`` is [V, K], ``edges`` [E, 2] and ``weights`` [E] >= 0; parallel edges add up. ``subsets`` are
    ``(nodes, label, cost >= 0)``, stored flat: subset ``s`` has ``subset_labels[s]``, ``subset_costs[s]`` and
    ``subset_nodes[subset_starts[s]:subset_starts[s + 1]]``, sorted and unique. All arrays are read-only; an
    argument is copied unless it is an array that is already read-only and of the right type. The magnitudes
    of all costs may add up to 1e300 at most, so that the energy of every labeling is a finite number.

    >>> unary = [[0, 1], [2, 0], [0, 3]]
    >>> energy = Energy(unary, edges=[[0, 1], [1, 2]], weights=[0.5, 0.5], subsets=[([0, 1, 2], 1, 4)])
    >>> energy.evaluate([0, 1, 0]), energy.evaluate([0, 0, 0])
    (5.0, 2.0)
    >>> (energy + Energy([[0, 0], [9, 0], [0, 0]])).evaluate([0, 0, 0])
    11.0
    """

    unary: FloatArray
    edges: IndexArray
    weights: FloatArray
    subset_starts: StartArray
    subset_nodes: IndexArray
    subset_labels: IndexArray
    subset_costs: FloatArray
    offset: float

    def __init__(
        self,
        unary: ArrayLike,
        edges: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        subsets: Iterable[Subset] = (),
        offset: float = 0.0,
    ) -> None:
        subsets = list(subsets)
        for s, subset in enumerate(subsets):
            if len(subset) != 3:
                raise ValueError(f"subsets[{s}] must be (nodes, label, cost)")
        starts, nodes = concatenate_sets([subset[0] for subset in subsets], "subsets")
        labels, costs = [subset[1] for subset in subsets], [subset[2] for subset in subsets]
        edges = [] if edges is None else edges
        weights = [] if weights is None else weights
        self._store(unary, edges, weights, starts, nodes, labels, costs, offset)

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
    ) -> Energy:
        """Energy whose subsets are given flat: starts [S + 1], nodes [starts[-1]], labels [S], costs [S].

        >>> Energy.from_arrays([[0, 1], [2, 0]], [[0, 1]], [3], [0, 2], [0, 1], [1], [5])
        Energy(n_nodes=2, n_labels=2, n_edges=1, n_subsets=1)
        """
        energy = cls.__new__(cls)
        energy._store(unary, edges, weights, subset_starts, subset_nodes, subset_labels, subset_costs, offset)
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
        check_total(unary=unary, weights=weights, subset_costs=costs, offset=np.array([offset]))
        values = (unary, edges, weights, starts, nodes, labels, costs, offset)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def with_costs(self, unary: ArrayLike, weights: ArrayLike, offset: float = 0.0) -> Energy:
        """Energy with the same edges and subsets, but other unary costs [V, K], edge weights [E] and offset.

        Only the new numbers are checked, so this is several times faster than to build an energy anew.

        >>> energy = Energy([[0, 1], [2, 0]], [[0, 1]], [3], subsets=[([0, 1], 1, 5)])
        >>> energy.with_costs([[0, 0], [0, 0]], [1]).evaluate([0, 1])
        6.0
        """
        unary = frozen_floats(unary, "unary", self.unary.shape, "unary costs")
        weights = frozen_floats(weights, "weights", (self.n_edges,), "edge weights", minimum=0.0)
        offset = float(frozen_floats([offset], "offset", (1,), "offsets")[0])
        check_total(unary=unary, weights=weights, subset_costs=self.subset_costs, offset=np.array([offset]))
        sets = (self.subset_starts, self.subset_nodes, self.subset_labels, self.subset_costs)
        values = (unary, self.edges, weights, *sets, offset)
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
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return Energy.from_arrays, tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        sizes = ("n_nodes", "n_labels", "n_edges", "n_subsets")
        return f"Energy({', '.join(f'{name}={getattr(self, name)}' for name in sizes)})"
