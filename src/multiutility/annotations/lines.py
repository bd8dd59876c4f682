"""Rows and columns of boxes as sets of nodes, and what they cost when empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import (
    MAX_INDEX,
    BoolArray,
    FloatArray,
    IndexArray,
    StartArray,
    any_in_sets,
    freeze,
    frozen_floats,
    index_array,
    owners,
)
from multiutility.energy import Subset


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Lines:
    """Parallel lines of cells (rows or columns of pixels), as sets of nodes stored flat.

    Line ``p`` has the nodes ``nodes[starts[p]:starts[p + 1]]``, which own ``counts`` of its cells, and lies
    at ``positions[p]`` of the box's extent, in 0..1.

    >>> lines = Lines([[4, 4, 7], [7, 7, 7]])
    >>> lines[0], lines.counts, lines.positions
    (array([4, 7], dtype=int32), array([2, 1, 3]), array([0.25, 0.75]))
    >>> lines.empty(np.arange(8) == 4)
    array([False,  True])
    """

    starts: StartArray
    nodes: IndexArray
    counts: StartArray
    positions: FloatArray

    def __init__(
        self, lines: Iterable[ArrayLike], positions: ArrayLike | None = None, name: str = "lines"
    ) -> None:
        cells = list(lines) if is_table(lines) else checked_cells(lines, name)
        owner = np.repeat(np.arange(len(cells)), [len(line) for line in cells])
        keys, counts = np.unique(owner * MAX_INDEX + np.concatenate(cells), return_counts=True)
        starts = np.searchsorted(keys, np.arange(len(cells) + 1) * MAX_INDEX)
        if positions is None:
            positions = (np.arange(len(cells)) + 0.5) / len(cells)
        places = frozen_floats(positions, f"{name} positions", (len(cells),), "positions", minimum=0.0)
        if (places > 1).any():
            raise ValueError(f"{name} positions must be in 0..1")
        object.__setattr__(self, "starts", freeze(starts, np.int64))
        object.__setattr__(self, "nodes", freeze(keys % MAX_INDEX, np.int32))
        object.__setattr__(self, "counts", freeze(counts, np.int64))
        object.__setattr__(self, "positions", places)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, p: int) -> IndexArray:
        p = range(len(self))[p]
        return self.nodes[self.starts[p] : self.starts[p + 1]]

    def empty(self, hits: BoolArray) -> BoolArray:
        """Lines none of whose nodes is hit: bool [V] to [P]."""
        return ~any_in_sets(hits[self.nodes], self.starts)

    def means(self, values: FloatArray) -> FloatArray:
        """Mean over the cells of each line of what their nodes have: [V] to [P]."""
        owner = owners(self.starts)
        return np.bincount(owner, self.counts * values[self.nodes]) / np.bincount(owner, self.counts)

    def highest(self, values: FloatArray) -> FloatArray:
        """Highest of what the lines of each node have: [P] to [V], 0 for nodes of no line."""
        highest = np.zeros(int(self.nodes.max()) + 1)
        np.maximum.at(highest, self.nodes, values[owners(self.starts)])
        return highest

    def __repr__(self) -> str:
        return f"Lines({len(self)})"


def is_table(lines: object) -> TypeGuard[NDArray[Any]]:
    """Whether lines are a matrix of nodes: asking that once is faster than to look at each of many lines."""
    if not isinstance(lines, np.ndarray) or lines.dtype.kind not in "iu" or lines.ndim != 2:
        return False
    return lines.size > 0 and bool(lines.min() >= 0)


def checked_cells(lines: Iterable[ArrayLike], name: str) -> list[NDArray[Any]]:
    """Return the nodes of the cells of each line; raise unless all have some."""
    cells = [index_array(line, f"{name}[{p}]") for p, line in enumerate(lines)]
    for p, line in enumerate(cells):
        if len(line) == 0 or line.min() < 0:
            raise ValueError(f"{name}[{p}] has {'no' if len(line) == 0 else 'negative'} nodes")
    if not cells:
        raise ValueError(f"{name} is empty: a box needs at least one row and one column")
    return cells


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Profile:
    """How much of a row or column the object is expected to fill, by its place in the box.

    ``rows`` and ``columns`` are shares at evenly spaced places from 0 (first line) to 1 (last), linear in
    between; a single one is the same everywhere. The penalty of an empty row, nu in eq. kappa-il-bb, is in
    proportion to the share at its place, and the rows add up to the mean share of the box's area, whatever
    part of the box they run over; columns (omega) likewise. So the uniform profile, 1/2, costs half the width
    for a row and half the height for a column.

    >>> from multiutility.annotations import Box
    >>> box = Box(0, rows=[[0, 0], [1, 1], [2, 2]], columns=[[0, 1, 2], [0, 1, 2]])
    >>> box.row_costs, box.column_costs
    (array([1., 1., 1.]), array([1.5, 1.5]))
    >>> box.with_profile(LINEAR).row_costs
    array([0.6, 1.8, 0.6])
    """

    rows: FloatArray
    columns: FloatArray

    def __init__(self, rows: ArrayLike, columns: ArrayLike) -> None:
        for name, value in (("rows", rows), ("columns", columns)):
            shares = frozen_floats(value, name, (None,), "shares", minimum=0.0)
            if len(shares) == 0:
                raise ValueError(f"{name} is empty: a profile needs at least one share")
            object.__setattr__(self, name, shares)

    def __repr__(self) -> str:
        return f"Profile({self.rows.tolist()}, {self.columns.tolist()})"


UNIFORM = Profile([0.5], [0.5])
"""Half of the box is the object, everywhere alike: the paper's."""

LINEAR = Profile([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
"""Half of the box is the object, linearly less from the middle to the sides."""

MARGIN, N_MARGINS = 0.25, 10
"""How far a side of a loose box is from its object at most, as a share of the box, if nothing tells it; how
many are tried."""

LEAST_REACHED = 0.01
"""How likely an object reaches a line of its loose box at least: margins may be smaller than expected."""


def loosened(profile: Profile, margin: float = MARGIN) -> Profile:
    """Profile of a loose box, given that of the tight box inside.

    Each of the four margins between the two is anywhere from 0 to a part ``margin`` of the loose box, all
    alike. So the object reaches a line with a chance that falls to 0 at the sides, and is ``1 - margin`` as
    long there.

    >>> loosened(UNIFORM).rows[::5]
    array([0.   , 0.375, 0.375, 0.375, 0.   ])
    """
    places = np.linspace(0.0, 1.0, 2 * N_MARGINS + 1)
    margins = (np.arange(N_MARGINS) + 0.5) * margin / N_MARGINS
    before, after = np.meshgrid(margins, margins)
    inside = (places - before[..., np.newaxis]) / (1 - before - after)[..., np.newaxis]
    reached = (inside > 0) & (inside < 1)
    shares = [
        np.where(reached, np.interp(inside, np.linspace(0.0, 1.0, len(tight)), tight), 0.0).mean(axis=(0, 1))
        for tight in (profile.rows, profile.columns)
    ]
    return Profile(*((1 - margin) * share for share in shares))


LOOSE = loosened(UNIFORM)
"""Of a loose box: half of the tight box inside is the object, and the sides are reached by chance."""


def reach(places: FloatArray, margin: float, shrink: float = 0.0) -> FloatArray:
    """How likely the tight box in a loose one, shrunk by a part on each side, has lines at these places.

    >>> reach(np.array([0.1, 0.25, 0.5]), margin=0.25), reach(np.array([0.1, 0.5]), margin=0.0)
    (array([0.4, 1. , 1. ]), array([1., 1.]))
    """
    if margin == 0:
        return np.ones(len(places))
    # The line at shrink of a box inside is at margin + shrink (1 - 2 margin).
    far = (np.stack((places, 1.0 - places)) - shrink) / (1.0 - 2 * shrink)
    return np.asarray(np.clip(far / margin, LEAST_REACHED, 1.0).prod(axis=0))


def line_costs(lines: Lines, area: float, shares: FloatArray) -> FloatArray:
    """Split the mean share of the area over the lines, in proportion to the share at each."""
    places = np.linspace(0.0, 1.0, len(shares))
    expected = np.interp(lines.positions, places, shares)
    if expected.sum() == 0:
        expected = np.ones(len(lines))
    mean = shares[0] if len(shares) == 1 else (shares[1:] + shares[:-1]).mean() / 2
    return np.asarray(area * mean * expected / expected.sum(), dtype=np.float64)


def merge(subsets: Iterable[tuple[IndexArray, int, float]]) -> list[Subset]:
    """Subsets of the same nodes and label, with their costs added up; free ones left out.

    >>> row, column = np.array([0, 1]), np.array([1])
    >>> merge([(row, 2, 1.0), (column, 2, 3.0), (row, 2, 4.0)])
    [(array([0, 1]), 2, 5.0), (array([1]), 2, 3.0)]
    """
    costs: dict[tuple[int, bytes], float] = {}
    sets: dict[tuple[int, bytes], IndexArray] = {}
    for nodes, label, cost in subsets:
        key = label, nodes.tobytes()
        sets[key] = nodes
        costs[key] = costs.get(key, 0.0) + cost
    return [(sets[key], key[0], cost) for key, cost in costs.items() if cost > 0]
