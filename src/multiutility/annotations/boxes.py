"""Bounding boxes of things, with tags for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiutility.annotations.box import Box
from multiutility.annotations.joint import Joint


# A subclass, not a wrapper: Boxes is a Joint without seeds, and only its arguments differ.
class Boxes(Joint):
    """Boxes around all things of some labels, and tags: eq. kappa-il-bb.

    Besides the terms of the tags, whose labels share what is outside all boxes, an empty row or column of a
    box costs ``beta`` times what its profile says, and a boxed label costs ``c_i`` outside all boxes. In
    consistent labelings, boxed labels are in their boxes only, and touch all four sides if ``tight``. Without
    tags, the rest is the label ``other`` if given, or else anything; see ``Joint`` for this and for the other
    arguments, and ``Box`` for profiles.

    >>> import numpy as np
    >>> from multiutility import LabelingProblem
    >>> problem = LabelingProblem(np.zeros((6, 1)), [], np.zeros((0, 1)), node_sizes=np.full(6, 4))
    >>> cow = Box(2, rows=[[1, 1], [4, 4], [4, 4]], columns=[[1, 4, 4], [1, 4, 4]])
    >>> boxes = Boxes([cow], n_labels=4, tags=[0, 1])
    >>> boxes.loss(problem, [1, 2, 1, 0, 2, 0]), boxes.loss(problem, [1, 1, 1, 0, 0, 0])
    (0.0, 6.0)
    >>> boxes.constraints(problem)
    Constraints(allowed=(6, 4), n_covers=3)
    """

    def __init__(
        self,
        boxes: Sequence[Box],
        n_labels: int,
        tags: Sequence[int] = (),
        beta: float = 1.0,
        *,
        other: int | None = None,
        complete: bool | None = None,
        strict: bool = False,
        tight: bool = True,
        areas: Mapping[int, float] | None = None,
        shares: Mapping[int, float] | None = None,
    ) -> None:
        super().__init__(
            tags,
            boxes,
            (),
            n_labels,
            beta,
            other=other,
            complete=complete,
            strict=strict,
            tight=tight,
            areas=areas or {},
            shares=shares or {},
        )
