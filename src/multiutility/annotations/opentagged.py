"""The term of open tags: some labels that are there are named, and some that are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from multiutility.annotations.term import Says, Shared, Term
from multiutility.arrays import FloatArray, check_range, index_array
from multiutility.constraints import Cover


@dataclass(frozen=True, eq=False)
class OpenTagged(Term):
    """Tags that need not be all: of labels that are neither tagged nor ``absent`` nothing is said.

    Such a label is there by the chance ``pi_k`` that ``chances`` [K] have, estimated over a dataset; without
    them, ``pi_k = 1``. The loss is the mean of that of complete tags, over the labels that may be there, but
    for what they would cost where no node has them: a node with label k costs ``c_i (1 - pi_k)``. ``Joint``
    has it, as it has that of other tags. With ``strict``, every tag is on at least one node in consistent
    labelings.

    >>> from multiutility import LabelingProblem
    >>> from multiutility.annotations import Joint
    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)))
    >>> joint = Joint.of([OpenTagged([0], absent=[1])], n_labels=3)
    >>> [joint.loss(problem, [0, 0, 0, label]) for label in range(3)]
    [0.0, 1.0, 0.0]
    >>> [joint.expecting([1.0, 1.0, 0.25]).loss(problem, [0, 0, 0, label]) for label in range(3)]
    [0.0, 1.0, 0.75]
    """

    tags: Sequence[int]
    absent: Sequence[int] = ()
    strict: bool = False
    chances: FloatArray | None = None
    name: ClassVar[str] = "open tags"
    says: ClassVar[Says] = "open"

    @property
    def labels(self) -> Sequence[int]:
        """The tags."""
        return self.tags

    def expecting(self, chances: FloatArray) -> Self:
        """The same with chances [K]."""
        return replace(self, chances=chances)

    def check(self, n_labels: int) -> None:
        """Raise if there is no such label."""
        check_range(index_array([*self.tags, *self.absent], self.name), self.name, n_labels, "labels")

    def covers(self, shared: Shared) -> Iterable[Cover]:
        """All nodes, for each tag."""
        everywhere = np.arange(len(shared.node_sizes))
        tags = shared.partition.tagged if self.strict else ()
        return [(everywhere, label) for label in tags if label in self.tags]
