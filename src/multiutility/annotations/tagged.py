"""The term of tags: all labels that are there are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multiutility.annotations.term import Says, Shared, Term
from multiutility.arrays import check_range, index_array
from multiutility.constraints import Cover


@dataclass(frozen=True, eq=False)
class Tagged(Term):
    """Tags. What they cost is the same for all labels that are known to be there, so ``Joint`` has it.

    With ``strict``, every tag is on at least one node in consistent labelings.
    """

    tags: Sequence[int]
    strict: bool = False
    name: ClassVar[str] = "tags"
    says: ClassVar[Says] = "tagged"

    @property
    def labels(self) -> Sequence[int]:
        """The tags."""
        return self.tags

    def check(self, n_labels: int) -> None:
        """Raise if there is no such label."""
        check_range(index_array(self.tags, self.name), self.name, n_labels, "labels")

    def covers(self, shared: Shared) -> Iterable[Cover]:
        """All nodes, for each tag."""
        everywhere = np.arange(len(shared.node_sizes))
        tags = shared.partition.tagged if self.strict else ()
        return [(everywhere, label) for label in tags if label in self.tags]
