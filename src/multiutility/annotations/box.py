"""Bounding boxes in nodes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations.full import Full
from multiutility.annotations.lines import MARGIN, UNIFORM, Lines, Profile, line_costs, loosened, reach
from multiutility.arrays import FloatArray, IndexArray, freeze, frozen_floats
from multiutility.problem import LabelingProblem


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Box:
    """A bounding box of label ``label``: the node of every cell inside, row by row and column by column.

    ``rows`` and ``columns`` are sequences of nodes, one for each cell; for an image with superpixels
    ``regions[H, W]``, they are the part of it in the (shrunk) box, and its transpose. ``area`` is the size of
    the box before shrinking, in the unit of the node sizes (by default, the number of cells given).
    ``row_positions`` and ``column_positions`` in 0..1 are the places of the rows and columns in the box
    before shrinking (by default, evenly spread). ``profile`` says what empty rows and columns cost:
    ``row_costs`` and ``column_costs``, nu and omega in eq. kappa-il-bb. By default, it is uniform, or
    ``loosened`` if the box is not ``tight``: the object is then inside, and need not touch the sides, which
    are up to ``margin`` of the box from it. ``shrink`` is the part that the box has lost on each side.
    ``contents`` is how much of each node is in the box before shrinking (by default, the cells given).

    >>> regions = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]])
    >>> part = regions[1:3, 1:3]
    >>> box = Box(5, rows=part, columns=part.T)
    >>> box
    Box(label=5, nodes=[0, 1, 2, 3], area=4)
    >>> [side.tolist() for side in box.sides]
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """

    label: int
    rows: Lines
    columns: Lines
    area: float
    nodes: IndexArray
    row_costs: FloatArray
    column_costs: FloatArray
    tight: bool
    margin: float
    shrink: float
    contents: FloatArray

    def __init__(
        self,
        label: int,
        rows: Iterable[ArrayLike],
        columns: Iterable[ArrayLike],
        area: float | None = None,
        profile: Profile | None = None,
        row_positions: ArrayLike | None = None,
        column_positions: ArrayLike | None = None,
        *,
        tight: bool = True,
        margin: float = MARGIN,
        shrink: float = 0.0,
        contents: ArrayLike | None = None,
    ) -> None:
        if not 0 <= margin < 0.5:
            raise ValueError(f"margin is {margin}: expected a share of the box, at least 0, below 0.5")
        costs = profile or (UNIFORM if tight else loosened(UNIFORM, margin))
        across, down = Lines(rows, row_positions, "rows"), Lines(columns, column_positions, "columns")
        nodes = np.unique(across.nodes)
        if not np.array_equal(nodes, np.unique(down.nodes)):
            raise ValueError("rows and columns have different nodes: they must be of the same cells")
        size = across.counts.sum() if area is None else area
        object.__setattr__(self, "label", int(label))
        object.__setattr__(self, "rows", across)
        object.__setattr__(self, "columns", down)
        object.__setattr__(self, "area", float(frozen_floats([size], "area", (1,), "areas", minimum=0.0)[0]))
        object.__setattr__(self, "nodes", freeze(nodes, np.int32))
        object.__setattr__(self, "row_costs", line_costs(across, self.area, costs.rows))
        object.__setattr__(self, "column_costs", line_costs(down, self.area, costs.columns))
        object.__setattr__(self, "tight", bool(tight))
        object.__setattr__(self, "margin", 0.0 if tight else float(margin))
        object.__setattr__(self, "shrink", float(shrink))
        inside = np.bincount(across.nodes, across.counts)[nodes] if contents is None else contents
        object.__setattr__(
            self, "contents", frozen_floats(inside, "contents", (len(nodes),), "sizes", minimum=0.0)
        )

    @property
    def sides(self) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
        """Nodes of the first and last row, first and last column: an object in a tight box touches each."""
        return self.rows[0], self.rows[-1], self.columns[0], self.columns[-1]

    @property
    def main(self) -> int:
        """The node that has most of the box's cells."""
        return int(np.bincount(self.rows.nodes, self.rows.counts).argmax())

    @property
    def line_chances(self) -> tuple[FloatArray, FloatArray]:
        """How likely the object reaches each row, and each column: 1 if the box is tight."""
        across, down = (reach(one.positions, self.margin, self.shrink) for one in (self.rows, self.columns))
        return across, down

    @property
    def reached(self) -> FloatArray:
        """How likely the object's tight box has each of the nodes: 1 if this is the tight one.

        >>> Box(0, rows=[[0, 1, 2]], columns=[[0], [1], [2]], tight=False).reached.round(2)
        array([0.67, 1.  , 0.67])
        """
        across, down = self.line_chances
        return np.asarray(self.rows.highest(across)[self.nodes] * self.columns.highest(down)[self.nodes])

    def with_profile(self, profile: Profile) -> Self:
        """The same box with another profile."""
        box = copy.copy(self)
        object.__setattr__(box, "row_costs", line_costs(self.rows, self.area, profile.rows))
        object.__setattr__(box, "column_costs", line_costs(self.columns, self.area, profile.columns))
        return box

    def __repr__(self) -> str:
        loose = "" if self.tight else ", tight=False"
        return f"Box(label={self.label}, nodes={self.nodes.tolist()}, area={self.area:g}{loose})"


def estimate_profiles(
    boxes: Sequence[Sequence[Box]],
    problems: Sequence[LabelingProblem],
    fulls: Sequence[Full],
    n_places: int = 11,
) -> dict[int, Profile]:
    """Profile of each label that has boxes: the mean share of its boxes' rows and columns that it fills.

    ``boxes[n]`` are boxes of ``problems[n]``, whose labeling is ``fulls[n]``; void is left out, and
    so are loose boxes: see ``loosened`` for theirs. Unlike the uniform profile, a learned one also knows how
    much of the boxes its label fills altogether.

    >>> problem = LabelingProblem(np.zeros((3, 1)), [], np.zeros((0, 1)))
    >>> box = Box(1, rows=[[0], [1], [2]], columns=[[0, 1, 2]])
    >>> estimate_profiles([[box]], [problem], [Full.from_labels([0, 1, 1], n_labels=2)], n_places=2)
    {1: Profile([0.0, 1.0], [0.6666666666666666, 0.6666666666666666])}
    """
    if n_places < 2:
        raise ValueError(f"n_places is {n_places}: expected at least 2, the first line and the last")
    seen: dict[int, list[list[FloatArray]]] = {}
    for group, problem, full in zip(boxes, problems, fulls, strict=True):
        shares = full.histogram(problem) / problem.node_sizes[:, np.newaxis]
        for box in group:
            if box.tight and shares[box.nodes].any():
                curves = [filled(lines, shares, box.label, n_places) for lines in (box.rows, box.columns)]
                seen.setdefault(box.label, []).append(curves)
    return {label: Profile(*np.mean(curves, axis=0)) for label, curves in sorted(seen.items())}


def filled(lines: Lines, shares: FloatArray, label: int, n_places: int) -> FloatArray:
    """Share of the labeled cells of the lines that has the label, at evenly spaced places."""
    labeled = lines.means(shares.sum(axis=1))
    known = labeled > 0
    values = lines.means(shares[:, label])[known] / labeled[known]
    return np.interp(np.linspace(0.0, 1.0, n_places), lines.positions[known], values)
