"""What labelings to begin with are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from multiutility.arrays import FloatArray, IndexArray
from multiutility.learning.examples import Example

if TYPE_CHECKING:
    from multiutility.learning.cluster.backends import Backend


@dataclass(frozen=True, eq=False)
class Beginning:
    """Examples, the backend that works on them, and how to learn the weights of the full labelings alone."""

    examples: Sequence[Example]
    place: Backend
    full_weights: Callable[[], FloatArray]

    @property
    def any_full(self) -> bool:
        """Whether there is a full labeling."""
        return any(one.annotation.strong for one in self.examples)


class Start(Protocol):
    """Proposes labelings to begin with. Its ``repr`` is part of the keys of checkpoints."""

    def __call__(self, beginning: Beginning) -> list[IndexArray] | None:
        """Return a labeling of each example; None if there is nothing to make them of."""


def proposed(examples: Sequence[Example]) -> list[IndexArray]:
    """Return the labelings that the annotations propose."""
    return [one.annotation.start(one.problem) for one in examples]
