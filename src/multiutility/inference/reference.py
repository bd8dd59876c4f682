"""Alpha-expansion in plain NumPy: the readable twin of the native solver.

Boykov, Veksler, Zabih: Fast approximate energy minimization via graph cuts, 2001; subset costs as in Delong,
Osokin, Isack, Boykov: Fast approximate energy minimization with label costs, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import BoolArray, FloatArray, IndexArray, check_range, index_array
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.pieces import by_pieces
from multiutility.inference.solver import (
    Result,
    allowed_mask,
    cheapest_labels,
    checked_start,
    drive,
    minimize_each,
    reject_covers,
    reject_sizes,
)


@dataclass(frozen=True)
class Reference:
    """Alpha-expansion, for tests and for reading; slow, with a dense max-flow.

    A move to label ``alpha`` finds, among the labelings in which every node keeps its label or takes
    ``alpha``, one of least energy; sweeps over all labels are repeated until a sweep changes nothing (or
    ``max_sweeps`` times). Without a start, every node starts at its allowed label of least unary cost. Size
    terms are as in ``Expansion``.

    >>> energy = Energy([[0, 1], [2, 0], [0, 3]], edges=[[0, 1], [1, 2]], weights=[2, 2])
    >>> result = Reference().minimize(energy)
    >>> result.labels, result.energy, result.moves
    (array([0, 0, 0], dtype=int32), 2.0, 4)
    """

    max_sweeps: int | None = None

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """Return a labeling that no expansion move improves."""
        if len(energy.sizes):
            return drive([by_pieces(energy, constraints, start)], self.minimize_many)[0]
        labels, allowed = begin(energy, constraints, start)
        value, before, sweeps = energy.evaluate(labels), np.inf, 0
        # Ends: the value is computed anew from the labels, so none come back, and there are finitely many.
        while value < before and sweeps != self.max_sweeps:
            before = value
            for alpha in range(energy.n_labels):
                labels, value = expand(energy, allowed, labels, alpha)
            sweeps += 1
        moves = sweeps * energy.n_labels
        return Result(labels, value, moves=moves, flows=moves)

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """Return the result of ``minimize`` for each of the energies."""
        return minimize_each(self, energies, constraints, starts)


def expansion_moves(
    energy: Energy, constraints: Constraints | None, start: ArrayLike | None, order: ArrayLike
) -> tuple[IndexArray, FloatArray]:
    """Labels [V] after the expansion moves to the labels in ``order`` [M], and the energy after each [M].

    >>> energy = Energy([[0, 1], [2, 0], [0, 3]], edges=[[0, 1], [1, 2]], weights=[2, 2])
    >>> expansion_moves(energy, None, [1, 1, 1], [1, 0])
    (array([0, 0, 0], dtype=int32), array([4., 2.]))
    """
    labels, allowed = begin(energy, constraints, start)
    alphas = index_array(order, "order")
    check_range(alphas, "order", energy.n_labels, "labels")
    energies = np.zeros(len(alphas))
    for m, alpha in enumerate(alphas.tolist()):
        labels, energies[m] = expand(energy, allowed, labels, alpha)
    return labels, energies


def begin(
    energy: Energy, constraints: Constraints | None, start: ArrayLike | None
) -> tuple[IndexArray, BoolArray]:
    """Return starting labels and allowed labels."""
    reject_covers(constraints, "Reference")
    reject_sizes(energy)
    allowed = allowed_mask(energy, constraints)
    if start is None:
        return cheapest_labels(energy, allowed), allowed
    return checked_start(energy, allowed, start), allowed


def expand(energy: Energy, allowed: BoolArray, labels: IndexArray, alpha: int) -> tuple[IndexArray, float]:
    """Labels after the best move to alpha (the one of the fewest nodes among equals), and their energy."""
    moving = min_cut_sink_side(move_capacities(energy, allowed, labels, alpha))[: energy.n_nodes]
    moved = np.where(moving, np.int32(alpha), labels)
    # The cut is best up to rounding: the comparison keeps the energy from ever rising.
    before, after = energy.evaluate(labels), energy.evaluate(moved)
    return (moved, after) if after < before else (labels, before)


def move_capacities(energy: Energy, allowed: BoolArray, labels: IndexArray, alpha: int) -> FloatArray:
    """Capacities [n, n] of the cut for a move: the V nodes, one for each subset, source, sink.

    Nodes on the sink's side move to alpha, those on the source's side keep their label; so an arc from the
    source costs if its head moves, an arc to the sink if its tail keeps.
    """
    n_nodes = energy.n_nodes
    source, sink = n_nodes + energy.n_subsets, n_nodes + energy.n_subsets + 1
    capacity = np.zeros((sink + 1, sink + 1))
    rise = energy.unary[:, alpha] - energy.unary[np.arange(n_nodes), labels]
    rise[~allowed[:, alpha]] = np.inf
    capacity[source, :n_nodes] = np.maximum(rise, 0.0)
    capacity[:n_nodes, sink] = np.maximum(-rise, 0.0)
    add_edges(capacity, energy, labels, alpha)
    add_subsets(capacity, energy, labels, alpha)
    return capacity


def add_edges(capacity: FloatArray, energy: Energy, labels: IndexArray, alpha: int) -> None:
    """Arcs between nodes, and to the sink."""
    sink = len(capacity) - 1
    for (i, j), weight in zip(energy.edges.tolist(), energy.weights.tolist(), strict=True):
        if labels[i] == labels[j]:
            capacity[i, j] += weight
            capacity[j, i] += weight
        elif labels[i] == alpha:
            capacity[j, sink] += weight
        elif labels[j] == alpha:
            capacity[i, sink] += weight
        else:
            # The weight is paid unless both move: if i keeps, and if i moves while j keeps.
            capacity[i, sink] += weight
            capacity[j, i] += weight


def add_subsets(capacity: FloatArray, energy: Energy, labels: IndexArray, alpha: int) -> None:
    """Arcs of the auxiliary nodes, one for each subset."""
    source, sink = len(capacity) - 2, len(capacity) - 1
    for s in range(energy.n_subsets):
        auxiliary = energy.n_nodes + s
        nodes = energy.subset_nodes[energy.subset_starts[s] : energy.subset_starts[s + 1]]
        label, cost = energy.subset_labels[s], energy.subset_costs[s]
        users = nodes[labels[nodes] == label]
        if label == alpha and not len(users):
            # The cost comes with the first node that moves: then the auxiliary node must move too.
            capacity[source, auxiliary] = cost
            capacity[auxiliary, nodes] = np.inf
        elif label != alpha and len(users):
            # The cost stays with the last node that keeps: then the auxiliary node must keep too.
            capacity[auxiliary, sink] = cost
            capacity[users, auxiliary] = np.inf


def min_cut_sink_side(capacity: FloatArray) -> BoolArray:
    """Smallest sink side of a minimum cut, bool [n]; source and sink are the last two nodes.

    Shortest augmenting paths (Edmonds, Karp 1972), found from the sink backward; every one saturates an arc
    exactly, so that rounding cannot keep the search from ending. No path may be of infinite capacity.
    """
    residual = capacity.copy()
    source = len(residual) - 2
    while True:
        reaches, following = search_from_sink(residual)
        if not reaches[source]:
            return reaches
        path = [source]
        while path[-1] != source + 1:
            path.append(int(following[path[-1]]))
        tails, heads = path[:-1], path[1:]
        flow = residual[tails, heads].min()
        residual[tails, heads] -= flow
        residual[heads, tails] += flow


def search_from_sink(residual: FloatArray) -> tuple[BoolArray, IndexArray]:
    """Nodes that reach the sink over positive residuals, and the next node of each on a shortest path."""
    n = len(residual)
    reaches = np.zeros(n, dtype=np.bool_)
    reaches[n - 1] = True
    following = np.full(n, -1, dtype=np.int32)
    layer = np.array([n - 1])
    while len(layer) and not reaches[n - 2]:
        arcs = residual[:, layer] > 0
        found = arcs.any(axis=1) & ~reaches
        following[found] = layer[arcs[found].argmax(axis=1)]
        reaches |= found
        layer = np.flatnonzero(found)
    return reaches, following
