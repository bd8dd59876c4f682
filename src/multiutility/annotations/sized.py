"""The term of areas: labels cover known shares of all nodes, within tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from multiutility.annotations.term import Says, Shared, Term
from multiutility.arrays import FloatArray, IndexArray
from multiutility.sizes import Range

# How far an estimate by eye is off, in relation to itself, if nobody says otherwise.
TOLERANCE = 0.25
# Shares that add up to this name all that is there: people round.
WHOLE = 0.98


class Area(NamedTuple):
    """A label, its share of the size of all nodes, and how far that may be off, in relation to itself."""

    label: int
    share: float
    tolerance: float = TOLERANCE

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest share.

        >>> Area(0, 0.5, 0.25).limits, Area(0, 0.9, 0.25).limits
        ((0.375, 0.625), (0.675, 1.0))
        """
        return self.share * (1 - min(self.tolerance, 1.0)), min(self.share * (1 + self.tolerance), 1.0)


@dataclass(frozen=True, eq=False)
class Sized(Term):
    """Areas: a label has the known size S_k, and what is too much or too little of it costs.

    ``K(y) = sum_k omega_k max(0, low_k - s_k(y), s_k(y) - high_k)`` with the size ``s_k`` of a label and its
    range ``S_k (1 - tolerance)`` to ``S_k (1 + tolerance)``; ``Joint`` takes S_k for sigma_k, too (eq.
    upp-bnd-kappa). A label whose share is 0 is absent, and others are there. If all shares add up to 1, no
    other label is. Consistent labelings have sizes in their ranges.

    >>> from multiutility import LabelingProblem
    >>> from multiutility.annotations import Joint
    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)), node_sizes=[1, 2, 3, 4])
    >>> joint = Joint([0, 1], [], [], n_labels=3, terms=[Sized([Area(0, 0.3, 0.0), Area(1, 0.7, 0.5)])])
    >>> [joint.loss(problem, labels) for labels in ([0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1])]
    [0.0, 3.0, 6.0]
    >>> joint.constraints(problem).missed([0, 0, 0, 1])
    array([0])
    """

    areas: Sequence[Area]
    name: ClassVar[str] = "areas"
    says: ClassVar[Says] = "there"

    @property
    def labels(self) -> Sequence[int]:
        """Labels that are there."""
        return [area.label for area in self.areas if area.share > 0]

    @property
    def absent(self) -> Sequence[int]:
        """Labels whose share is 0."""
        return [area.label for area in self.areas if area.share == 0]

    @property
    def complete(self) -> bool:
        """Whether the shares add up to 1."""
        return math.fsum(self.parts.values()) >= WHOLE

    @property
    def parts(self) -> Mapping[int, float]:
        """Shares of labels that are there."""
        return {area.label: area.share for area in self.areas if area.share > 0}

    def check(self, n_labels: int) -> None:
        """Raise if there is no such label, it is there twice, or shares are out of range, or too much."""
        super().check(n_labels)
        seen: set[int] = set()
        for a, (label, share, tolerance) in enumerate(self.areas):
            if not 0 <= label < n_labels:
                raise ValueError(f"areas[{a}] has label {label}: labels must be in 0..{n_labels - 1}")
            if label in seen:
                raise ValueError(f"areas[{a}] is of label {label}: it has an area already")
            if not 0 <= share <= 1:
                raise ValueError(f"areas[{a}] has the share {share}: expected 0 to 1")
            if not 0 <= tolerance < math.inf:
                raise ValueError(f"areas[{a}] has the tolerance {tolerance}: expected 0 or more")
            seen.add(label)
        least = math.fsum(area.limits[0] for area in self.areas)
        if least > 1 + 1e-9:
            raise ValueError(f"areas add up to {least:g} at least: more than all nodes have")

    def ranges(self, shared: Shared) -> Iterator[Range]:
        """Least and largest size of each label that is there."""
        total = float(shared.node_sizes.sum())
        for area in self.areas:
            if area.share > 0:
                low, high = area.limits
                yield shared.node_sizes, area.label, low * total, high * total

    def losses(self, shared: Shared, labels: IndexArray) -> Iterator[float]:
        """How far the size of each label is from its range."""
        for sizes, label, low, high in self.ranges(shared):
            size = float(np.asarray(sizes)[labels == label].sum())
            yield float(shared.weights[label]) * max(0.0, low - size, size - high)


def spread(shares: Mapping[int, float], labels: Sequence[int], n_labels: int) -> FloatArray:
    """How likely labels are [K] of which some have shares, and others have the rest alike; the mean is 1.

    >>> spread({}, [0, 2], 3), spread({0: 0.75}, [0, 1, 2], 3)
    (array([1., 0., 1.]), array([2.25 , 0.375, 0.375]))
    """
    known = np.array([shares.get(label, 0.0) for label in labels])
    free = np.array([label not in shares for label in labels], dtype=np.bool_)
    if free.any():
        # However small, it is not zero: labels that are possible stay so.
        known[free] = max(1.0 - float(known.sum()), 1.0 - WHOLE) / free.sum()
    likely = np.zeros(n_labels)
    likely[list(labels)] = len(labels) * known / known.sum() if known.sum() > 0 else 1.0
    return likely
