"""Alpha-expansion with subset costs, in native code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility import _core
from multiutility.arrays import IndexArray, check_total, frozen_edges
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.pieces import by_pieces
from multiutility.inference.solver import (
    Result,
    aligned,
    allowed_mask,
    cheapest_labels,
    checked_start,
    drive,
    reject_covers,
    reject_sizes,
)


@dataclass(frozen=True)
class Expansion:
    """Alpha-expansion (Boykov et al. 2001) with subset costs (Delong et al. 2012), in native code.

    A few sequential message passes (TRW-S) give a start and a reparametrization. From the best start known,
    expansion moves descend until no move to any single label lowers the energy, each from the flow that
    earlier moves left behind. With subset costs, labels in use are then put to the test by vacating them, and
    where one label for all nodes was the best start and little was gained since, labels are tried in two
    other orders. The energy never rises and is never above that of ``start``; the same input gives the same
    labels, whatever ``n_jobs``.

    With size terms it is the best of solutions without them, see ``pieces``: exact for two labels and up to
    three terms, which there is a bound for, too. Moves of the true energy may otherwise still lower it.

    Parameters
    ----------
    n_jobs : int
        Threads for ``minimize_many``; -1 uses all cores. One problem is always solved by one thread.
    bound : bool
        Also compute a certified lower bound of the energy, ``Result.bound``. It takes several times as long
        as the labeling itself.
    passes : int
        Message passes, each up and down the graph, before the first move; they end early when they no longer
        close the gap between bound and energy. 0 begins with the labels of least unary cost; so does an
        energy of which less than one node in a hundred prefers any label, as messages have little to say.
    effort : float
        Work spent on the test of labels, as a multiple of the work of the descent before it; 0 leaves it out,
        and other orders, too.
        More effort finds lower energies where subset costs matter.
    time_limit : float or None
        Seconds for each energy; then the best labeling so far is returned (with ``bound``, the best bound so
        far, too), and ``Result.timed_out`` is true. Learning refuses such results: they depend on time.

    >>> energy = Energy([[0, 2], [1, 1.5], [3, 0]], edges=[[0, 1], [1, 2]], weights=[1, 1])
    >>> result = Expansion(bound=True).minimize(energy)
    >>> result.labels, result.energy, round(result.bound, 6)
    (array([0, 0, 1], dtype=int32), 2.0, 2.0)
    """

    # Results do not depend on it: neither do keys of checkpoints, which are made of what is shown.
    n_jobs: int = field(default=1, repr=False)
    bound: bool = False
    passes: int = 10
    effort: float = 0.15
    time_limit: float | None = None

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """A labeling that no expansion move improves; raises on covers, which need ``Pinpoint``."""
        return self.minimize_many([energy], [constraints], [start])[0]

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """The result of ``minimize`` for each of the energies, on ``n_jobs`` threads without the GIL."""
        constraints = aligned(constraints, len(energies), "constraints")
        starts = aligned(starts, len(energies), "starts")
        if any(len(energy.sizes) for energy in energies):
            given = zip(energies, constraints, starts, strict=True)
            return drive([by_pieces(*problem) for problem in given], self.minimize_many)
        problems = [_arrays(*problem) for problem in zip(energies, constraints, starts, strict=True)]
        self._check()
        seconds = np.inf if self.time_limit is None else self.time_limit
        found = _core.minimize_many(
            problems, self.passes, self.effort, self.bound, self._n_threads(), seconds
        )
        return [
            Result(labels, energy, bound if self.bound else None, moves, flows, timed_out=timed_out)
            for labels, energy, bound, moves, flows, timed_out in found
        ]

    def _n_threads(self) -> int:
        if self.n_jobs == -1:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.n_jobs < 1:
            raise ValueError(f"n_jobs is {self.n_jobs}: expected a number of threads, or -1 for all cores")
        return self.n_jobs

    def _check(self) -> None:
        if self.passes < 0:
            raise ValueError(f"passes is {self.passes}: expected at least 0")
        if not 0 <= self.effort < np.inf:
            raise ValueError(f"effort is {self.effort}: expected a number that is at least 0")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit is {self.time_limit}: expected seconds, more than 0")


def expansion_moves(
    energy: Energy,
    constraints: Constraints | None,
    start: ArrayLike | None,
    order: Sequence[int],
) -> tuple[IndexArray, NDArray[np.float64]]:
    """Plain expansion moves to the labels of ``order``, one after the other.

    Returns the labels [V] and the energy after each move [len(order)].

    >>> energy = Energy([[0, 2], [3, 0]], edges=[[0, 1]], weights=[0.5])
    >>> expansion_moves(energy, None, start=[0, 0], order=[0, 1])
    (array([0, 1], dtype=int32), array([3. , 0.5]))
    """
    allowed = allowed_mask(energy, constraints)
    begin = cheapest_labels(energy, allowed) if start is None else start
    for n, label in enumerate(order):
        if not 0 <= label < energy.n_labels:
            raise ValueError(f"order[{n}] is {label}: expected a label from 0 to {energy.n_labels - 1}")
    labels, energies = _core.expansion_moves(_arrays(energy, constraints, begin), list(order))
    return labels, energies


def min_cut(terminals: ArrayLike, edges: ArrayLike, capacities: ArrayLike) -> tuple[float, NDArray[np.bool_]]:
    """The minimum cut of a graph with two terminals.

    Node i pays ``terminals[i, 0]`` on the source's side and ``terminals[i, 1]`` on the sink's; edge (i, j)
    pays ``capacities[e, 0]`` >= 0 if i is on the source's side and j on the sink's, ``capacities[e, 1]`` for
    the reverse. Returns the least cost and, bool [V], the smallest set of nodes on the source's side that
    reaches it.

    >>> min_cut([[0, 3], [2, 0]], edges=[[0, 1]], capacities=[[1, 1]])
    (1.0, array([ True, False]))
    """
    costs = _finite(terminals, "terminals", 2)
    pairs = frozen_edges(edges, len(costs))
    limits = _finite(capacities, "capacities", 2)
    if len(limits) != len(pairs):
        raise ValueError(f"capacities has {len(limits)} rows: expected {len(pairs)}, one for each edge")
    if limits.min(initial=0.0) < 0:
        e, side = np.argwhere(limits < 0)[0]
        raise ValueError(f"capacities[{e}, {side}] is {limits[e, side]}: capacities must be >= 0")
    check_total(terminals=costs, capacities=limits)
    value, on_source_side = _core.min_cut(costs, pairs, limits)
    return value, on_source_side.view(np.bool_)


def _finite(values: ArrayLike, name: str, n_columns: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.size == 0:
        return array.reshape(-1, n_columns)
    if array.ndim != 2 or array.shape[1] != n_columns:
        raise ValueError(f"{name} has shape {array.shape}: expected [n, {n_columns}]")
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{i}, {j}] is {array[i, j]}: expected a finite number")
    return array


def _arrays(energy: Energy, constraints: Constraints | None, start: ArrayLike | None) -> tuple[Any, ...]:
    """What the native code reads; the order is that of ``Input`` in bindings.cpp."""
    reject_covers(constraints, "Expansion")
    reject_sizes(energy)
    allowed = None
    if constraints is not None:
        constraints.validate_for(energy.n_nodes, energy.n_labels)
        allowed = constraints.allowed
    labels = None
    if start is not None:
        labels = checked_start(energy, allowed_mask(energy, constraints), start)
    return (
        energy.unary,
        energy.edges,
        energy.weights,
        energy.subset_starts,
        energy.subset_nodes,
        energy.subset_labels,
        energy.subset_costs,
        energy.offset,
        allowed,
        labels,
    )
