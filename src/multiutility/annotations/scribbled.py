"""The term of scribbles: the nodes that strokes run over have their labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np

from multiutility.annotations.term import Says, Shared, Term
from multiutility.arrays import FloatArray, IndexArray


class Stroke(NamedTuple):
    """A node that a stroke runs over, and the stroke's label.

    ``extent`` is how much of the whole problem is drawn there, as a part; 0 if that is not known.
    """

    node: int
    label: int
    extent: float = 0.0


@dataclass(frozen=True, eq=False)
class Scribbled(Term):
    """Strokes: the Hamming loss of their nodes, and no more; all else is as other terms have it.

    ``K(y) = sum_{i on a stroke of k} c_i omega_k [y_i != k]``. The nodes are certain in consistent labelings.
    A label that has a stroke is there, as if it were tagged, but others may be there, too.

    >>> from multiutility import LabelingProblem
    >>> from multiutility.annotations import Joint
    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)), node_sizes=[1, 2, 3, 4])
    >>> joint = Joint([0, 1], [], [], n_labels=3, terms=[Scribbled([Stroke(1, 0), Stroke(2, 1)])])
    >>> joint.loss(problem, [1, 0, 1, 1]), joint.loss(problem, [0, 1, 1, 1])
    (0.0, 2.0)
    >>> joint.constraints(problem).allowed[1:3]
    array([[ True, False, False],
           [False,  True, False]])
    """

    strokes: Sequence[Stroke]
    name: ClassVar[str] = "scribbles"
    says: ClassVar[Says] = "there"

    @property
    def labels(self) -> Sequence[int]:
        """Labels of the nodes."""
        return [stroke.label for stroke in self.strokes]

    @property
    def marks(self) -> Sequence[Stroke]:
        """The nodes."""
        return self.strokes

    @property
    def extents(self) -> Sequence[float] | None:
        """Extents of the strokes, if they are known of all."""
        found = [stroke.extent for stroke in self.strokes]
        return found if all(extent > 0 for extent in found) else None

    def check(self, n_labels: int) -> None:
        """Raise if there is no such label, or a node is there twice, which would count twice."""
        super().check(n_labels)
        seen: set[tuple[int, int]] = set()
        for s, (node, label, _) in enumerate(self.strokes):
            if (node, label) in seen:
                raise ValueError(f"scribbles[{s}] is in node {node} with label {label}: it is there already")
            seen.add((node, label))

    def keep(self, marks: Sequence[int]) -> Self:
        """Some of the nodes."""
        return type(self)([self.strokes[m] for m in marks])

    def losses(self, shared: Shared, labels: IndexArray) -> Iterator[float]:
        """Sizes of the nodes of each label that have another."""
        for label in sorted(set(self.labels)):
            wrong = [node for node, own, _ in self.strokes if own == label and labels[node] != label]
            yield float(shared.weights[label] * shared.node_sizes[wrong].sum())

    def gains(self, shared: Shared) -> Iterator[tuple[int, FloatArray]]:
        """Sizes of the nodes of each label."""
        for label in sorted(set(self.labels)):
            gain = np.zeros(len(shared.node_sizes))
            nodes = [node for node, own, _ in self.strokes if own == label]
            gain[nodes] = shared.weights[label] * shared.node_sizes[nodes]
            yield label, gain
