"""Tags: labels known to be present, with no places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multiutility.annotations.full import Full
from multiutility.annotations.joint import Joint
from multiutility.problem import LabelingProblem


# A subclass, not a wrapper: Tags is a Joint without boxes and seeds, and only its arguments differ.
class Tags(Joint):
    """Labels that are present somewhere, all others being absent: eq. kappa-il.

    ``K(y) = sum_i c_i [y_i not in labels] + sum_{k in labels} sigma_k [no node has label k]``. By default
    ``sigma_k = sum_i c_i / |labels|``; with known ``areas`` S_k it is eq. upp-bnd-kappa, and with ``shares``
    (see ``estimate_areas``) the sizes are split in proportion. With ``strict``, consistent labelings have
    every tag on at least one node.

    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)), node_sizes=[1, 2, 3, 4])
    >>> tags = Tags([0, 2], n_labels=3)
    >>> tags.loss(problem, [0, 0, 2, 2]), tags.loss(problem, [0, 0, 0, 0]), tags.loss(problem, [0, 1, 0, 0])
    (0.0, 5.0, 7.0)
    >>> Tags([0, 2], n_labels=3, areas={2: 1.0}).loss(problem, [0, 0, 0, 0])
    1.0
    """

    def __init__(
        self,
        labels: Sequence[int],
        n_labels: int,
        areas: Mapping[int, float] | None = None,
        strict: bool = False,
        *,
        shares: Mapping[int, float] | None = None,
    ) -> None:
        if not len(labels):
            raise ValueError("tags are empty: leave out instances without an annotation")
        super().__init__(labels, (), (), n_labels, areas=areas or {}, strict=strict, shares=shares or {})


def estimate_areas(problems: Sequence[LabelingProblem], fulls: Sequence[Full]) -> dict[int, float]:
    """Mean share of the labeled size that each label has where it is present; the ``shares`` of ``Tags``.

    Labels that no full labeling has are missing.

    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)))
    >>> fulls = [Full.from_labels([0, 0, 0, 2], n_labels=4), Full.from_labels([2, 2, 2, -1], n_labels=4)]
    >>> estimate_areas([problem, problem], fulls)
    {0: 0.75, 2: 0.625}
    """
    seen: dict[int, list[float]] = {}
    for problem, full in zip(problems, fulls, strict=True):
        sizes = full.label_sizes(problem)
        for label in np.flatnonzero(sizes).tolist():
            seen.setdefault(label, []).append(float(sizes[label] / sizes.sum()))
    return {label: float(np.mean(shares)) for label, shares in sorted(seen.items())}
