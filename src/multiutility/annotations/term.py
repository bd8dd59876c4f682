"""What a kind of annotation adds to the others of one instance; ``Joint`` adds them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, Self, TypeAlias

from multiutility.annotations.partition import Partition
from multiutility.arrays import FloatArray, IndexArray, check_range, index_array
from multiutility.constraints import Cover
from multiutility.sizes import Range

# Nodes, a label, and what it costs if none of them has it.
Subset: TypeAlias = tuple[IndexArray, int, float]
# What naming a label says of it. Tagged: it is there, and so are all others that are tagged, and no more.
# Boxed: it is in its homes, and nowhere else. Seeded: every object of it has a mark. There: it is there.
# Open: it is there, and labels may be that are not tagged.
Says: TypeAlias = Literal["tagged", "boxed", "seeded", "there", "open"]


class Mark(Protocol):
    """A node whose label is certain."""

    @property
    def label(self) -> int:
        """The label."""

    @property
    def node(self) -> int:
        """The node."""


class Home(Protocol):
    """Nodes that have a label somewhere; it is nowhere but in its homes."""

    @property
    def label(self) -> int:
        """The label."""

    @property
    def nodes(self) -> IndexArray:
        """The nodes, sorted."""

    @property
    def reached(self) -> FloatArray:
        """How likely each of the nodes can have the label: 1 if nothing speaks against it."""

    @property
    def main(self) -> int:
        """The node that the label is in if all others are taken."""


@dataclass(frozen=True, eq=False)
class Shared:
    """What all terms of an instance know, for one problem.

    ``label_sizes`` [K] are expected sizes, ``weights`` [K] those of classes, omega, and ``term_weights`` [K]
    those of terms that estimate, ``beta h_k omega_k``; see ``Joint``.
    """

    node_sizes: FloatArray
    partition: Partition
    label_sizes: FloatArray
    weights: FloatArray
    term_weights: FloatArray


class Term(Protocol):
    """What a kind of annotation says about an instance; only ``name``, ``says`` and ``labels`` are a must.

    The law is that of annotations: for every labeling, the sum of ``losses`` is what ``subsets``, ``gains``
    and ``ranges`` tell: a subset costs if none of its nodes has its label, a gain [V] of a label costs where
    nodes do not have it, and a size costs as far as it is from its range, times the weight of the label.
    Marks and homes are the same for all class weights.
    """

    name: ClassVar[str]
    says: ClassVar[Says]
    # Whether the loss estimates where labels are: it has the weight beta, shared with others of the label.
    estimates: ClassVar[bool] = False

    @property
    def labels(self) -> Sequence[int]:
        """Labels that are named, any number of times."""

    @property
    def homes(self) -> Sequence[Home]:
        """Where labels are that are nowhere else."""
        return ()

    @property
    def marks(self) -> Sequence[Mark]:
        """Nodes whose labels are certain: all consistent labelings have them."""
        return ()

    @property
    def extents(self) -> Sequence[float] | None:
        """How much of all is marked at each of the marks, as a part; None if that tells nothing of sizes."""
        return None

    @property
    def sizes(self) -> Mapping[int, float]:
        """Expected sizes of labels that are known from the term alone."""
        return {}

    @property
    def absent(self) -> Sequence[int]:
        """Labels that are said to be nowhere."""
        return ()

    @property
    def complete(self) -> bool:
        """Whether it tells by itself that no label is there but those that are named."""
        return False

    @property
    def parts(self) -> Mapping[int, float]:
        """Known sizes of labels, as parts of the size of all nodes."""
        return {}

    @property
    def chances(self) -> FloatArray | None:
        """How likely labels [K] of which nothing is said are there, where that is known."""
        return None

    def expecting(self, _chances: FloatArray) -> Self:
        """The term with chances [K], if it has any."""
        return self

    def check(self, n_labels: int) -> None:
        """Raise if something cannot be."""
        name = f"labels of {self.name}"
        check_range(index_array(self.labels, name), name, n_labels, "labels")

    def keep(self, _marks: Sequence[int]) -> Self:
        """The term with some of its marks only, by index."""
        return self

    def losses(self, _shared: Shared, _labels: IndexArray) -> Iterable[float]:
        """Parts of the loss of a labeling [V]."""
        return ()

    def subsets(self, _shared: Shared) -> Iterable[Subset]:
        """Costs of nodes none of which has a label."""
        return ()

    def gains(self, _shared: Shared) -> Iterable[tuple[int, FloatArray]]:
        """Labels, and what each node [V] costs without them."""
        return ()

    def covers(self, _shared: Shared) -> Iterable[Cover]:
        """Nodes one of which has a label, in all consistent labelings."""
        return ()

    def ranges(self, _shared: Shared) -> Iterable[Range]:
        """Sizes of labels, which are in their ranges in all consistent labelings."""
        return ()

    def fills(self, _shared: Shared) -> Iterable[tuple[IndexArray, int]]:
        """Nodes with a label to begin with, later ones over earlier ones."""
        return ()

    def ceilings(self, _shared: Shared) -> Iterable[tuple[int, FloatArray]]:
        """Labels, and the part of each node [V] that they can have at most."""
        return ()

    def hints(self, _shared: Shared) -> Iterable[tuple[int, FloatArray]]:
        """Labels, and how much likelier each node [V] has them; 1 is as any other label."""
        return ()
