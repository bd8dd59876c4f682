"""The term of boxes: every row and column of a box has its label, or may have it if the box is loose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from multiutility.annotations.box import Box
from multiutility.annotations.term import Says, Shared, Subset, Term
from multiutility.arrays import FloatArray, IndexArray, check_range, check_values, index_array
from multiutility.constraints import Cover


@dataclass(frozen=True, eq=False)
class Boxed(Term):
    """Boxes around all things of their labels; with ``tight``, the label touches the four sides of each.

    That is, of each that is tight itself.

    ``areas`` are those of the union of the boxes of a label (by default, the sum).
    """

    boxes: Sequence[Box]
    areas: Mapping[int, float] = field(default_factory=dict)
    tight: bool = True
    name: ClassVar[str] = "boxes"
    says: ClassVar[Says] = "boxed"
    estimates: ClassVar[bool] = True

    @property
    def labels(self) -> Sequence[int]:
        """Labels of the boxes."""
        return [box.label for box in self.boxes]

    @property
    def homes(self) -> Sequence[Box]:
        """The boxes."""
        return self.boxes

    @property
    def sizes(self) -> Mapping[int, float]:
        """Half the area of the boxes, or of the tight ones that are expected inside of loose ones."""
        return {label: self._area(label) / 2 * self._inside(label) for label in set(self.labels)}

    def check(self, n_labels: int) -> None:
        """Raise if labels or areas cannot be."""
        super().check(n_labels)
        check_range(index_array(list(self.areas), "box_areas"), "box_areas", n_labels, "labels")
        areas = np.array(list(self.areas.values()), dtype=np.float64)
        check_values(areas, "box_areas.values()", "sizes", minimum=0.0)

    def losses(self, shared: Shared, labels: IndexArray) -> Iterator[float]:
        """Costs of the rows and columns of each box that do not have its label."""
        for box in self.boxes:
            hits, weight = labels == box.label, float(shared.term_weights[box.label])
            yield float(weight * box.row_costs @ box.rows.empty(hits))
            yield float(weight * box.column_costs @ box.columns.empty(hits))

    def subsets(self, shared: Shared) -> Iterator[Subset]:
        """Rows and columns."""
        for box in self.boxes:
            weight = float(shared.term_weights[box.label])
            for lines, costs in ((box.rows, box.row_costs), (box.columns, box.column_costs)):
                yield from ((lines[p], box.label, weight * cost) for p, cost in enumerate(costs.tolist()))

    def covers(self, _shared: Shared) -> Iterable[Cover]:
        """Sides of tight boxes, those of the same nodes once."""
        boxes = [box for box in self.boxes if box.tight] if self.tight else []
        sides = {(box.label, side.tobytes()): side for box in boxes for side in box.sides}
        return [(side, label) for (label, _), side in sides.items()]

    def fills(self, _shared: Shared) -> Iterable[tuple[IndexArray, int]]:
        """All of the boxes; small ones lie over large ones."""
        return [(box.nodes, box.label) for box in sorted(self.boxes, key=lambda box: -box.area)]

    def ceilings(self, shared: Shared) -> Iterator[tuple[int, FloatArray]]:
        """What is in the boxes of a label; where these overlap, that may be less."""
        for label in sorted(set(self.labels)):
            inside = np.zeros(len(shared.node_sizes))
            for box in self.boxes:
                if box.label == label:
                    inside[box.nodes] += box.contents
            yield label, np.minimum(inside / shared.node_sizes, 1.0)

    def _area(self, label: int) -> float:
        return self.areas.get(label, sum(box.area for box in self.boxes if box.label == label))

    def _inside(self, label: int) -> float:
        """Part of the boxes' area that tight boxes are expected to have: 1 if all of them are tight."""
        boxes = [box for box in self.boxes if box.label == label]
        if all(box.tight for box in boxes):
            return 1.0
        return sum((1 - box.margin) ** 2 * box.area for box in boxes) / sum(box.area for box in boxes)
