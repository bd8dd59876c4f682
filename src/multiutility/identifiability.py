"""Which labels annotations cannot tell apart, found before learning, and what to add."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray, FloatArray

# Instances that tell two labels apart for sure: with fewer, a single odd one decides what is what.
LEAST = 3
# What part of the instances that name either of two labels must tell them apart, if few give a place. Where
# a part s has the first alone, what looks like the first has it in (1 + s) / 2 of its soft labels to begin
# with, and what looks like the second in 1/2: a learner must see that difference among all others.
SHARE = 0.1

NUMBERS = ("no", "one", "two", "three")


class UnidentifiedLabelsWarning(UserWarning):
    """There are labels that the annotations cannot tell apart."""


@dataclass(frozen=True)
class Bag:
    """Labels that an annotation names: those said to be somewhere (``tagged``), and those with a place.

    A place is a box, a seed, or the nodes of a full labeling; it wins over a tag of the same label. Whether
    labels that are not named are absent or unknown makes no difference: it is the same for all of them.
    """

    tagged: frozenset[int] = frozenset()
    placed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Group:
    """Labels that cannot be told apart, in ascending order.

    Of the instances that name any of them, ``n_together`` name all of them without a place, and ``n_apart``
    do not, as they leave one out, or give a place, which ``n_placed`` of them do. With a place of each label
    in ``n_wanted`` instances more, they can be told apart.
    """

    labels: tuple[int, ...]
    n_together: int
    n_apart: int = 0
    n_placed: int = 0
    n_wanted: int = LEAST

    def advice(self, names: Sequence[str]) -> str:
        """Return what is wrong, and the cheapest thing to add; ``names`` are those of all labels.

        >>> print(Group((0, 2), n_together=51).advice(["sky", "car", "road"]))
        sky and road come together in all 51 images that have them, and nothing says where they are: \
click one point of each in three images
        >>> print(Group((0, 1), n_together=9, n_apart=2, n_placed=2, n_wanted=1).advice(["sky", "car"]))
        sky and car come together in 9 of 11 images that have them, and too little says where they are: \
click one point of each in one more image
        """
        total = self.n_together + self.n_apart
        whole = "the only image that has" if total == 1 else f"all {total:,} images that have"
        part = f"{self.n_together:,} of {total:,} images that have" if self.n_apart else whole
        little, more = ("too little", "more ") if self.n_placed else ("nothing", "")
        images = f"{NUMBERS[self.n_wanted]} {more}image{'s' * (self.n_wanted > 1)}"
        *most, last = (names[label] for label in self.labels)
        what = f"{', '.join(most)} and {last} come together in {part} them"
        return f"{what}, and {little} says where they are: click one point of each in {images}"


def unidentified(bags: Iterable[Bag], n_labels: int, name: str = "bags") -> list[Group]:
    """Return the groups of labels that annotations, a bag for each instance, cannot tell apart.

    Errors begin with ``name``.

    Two labels are exchangeable if exchanging their names changes no annotation: whatever is learned for one
    of them then fits the other just as well. An annotation stays the same if it names neither of the labels,
    or both without a place. So each instance that names either of them has them *together*, without a place,
    or *tells* them apart. A label with places in some instances is told from all others; so is, by
    elimination, the only one without among those that come together.

    No instance tells exchangeable labels apart. A few are too few, if they are less than ``LEAST`` and less
    than those that have the labels together; or if they are less than a part ``SHARE`` of all that name
    either, and less than ``LEAST`` of them give a place. Groups are the connected components of such pairs.

    But for these allowances, groups are all that can be permuted: if a permutation of names changes no
    annotation, then each of its cycles is in a bag as a whole, and without a place, or not at all, and so
    are any two labels of the cycle. That there is no group does not prove that learning succeeds: features
    must show what annotations say.

    >>> sky, road, car = 0, 1, 2
    >>> street, empty = Bag(frozenset({sky, road, car})), Bag(frozenset({sky, road}))
    >>> unidentified([street, empty] * 5, n_labels=3)
    [Group(labels=(0, 1), n_together=10, n_apart=0, n_placed=0, n_wanted=3)]
    >>> clicked = Bag(tagged=frozenset({road, car}), placed=frozenset({sky}))
    >>> unidentified([street, empty] * 5 + [clicked] * 3, n_labels=3)
    []
    """
    all_bags = list(bags)
    tagged, placed = (np.zeros((len(all_bags), n_labels), dtype=np.bool_) for _ in range(2))
    for n, bag in enumerate(all_bags):
        wrong = [label for label in bag.tagged | bag.placed if not 0 <= label < n_labels]
        if wrong:
            raise ValueError(f"{name}[{n}] names label {min(wrong)}: expected labels in 0..{n_labels - 1}")
        tagged[n, list(bag.tagged - bag.placed)] = True
        placed[n, list(bag.placed)] = True
    pairs = confused(both(tagged), either(tagged | placed), either(placed))
    first = first_connected(pairs)
    groups = (np.flatnonzero(first == label).tolist() for label in range(n_labels))
    return [described(labels, tagged, placed) for labels in groups if len(labels) > 1]


def confused(together: FloatArray, named: FloatArray, placed: FloatArray) -> BoolArray:
    """Return which pairs of labels too few instances tell apart, bool [K, K].

    All are numbers of instances [K, K]: with both labels without a place, that name either, and that give a
    place of either.
    """
    telling = named - together
    few = telling < np.minimum(LEAST, together)
    scarce = (telling < SHARE * named) & (placed < LEAST)
    return np.triu(few | scarce, k=1)


def first_connected(pairs: BoolArray) -> NDArray[np.intp]:
    """Return the first label of the connected component of each [K], by pairs [K, K].

    >>> first_connected(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)).tolist()
    [0, 1, 0]
    """
    reached = pairs | pairs.T | np.eye(len(pairs), dtype=np.bool_)
    # Twice as far each time; SciPy's way takes longer to import than all of this to run.
    for _ in range(len(pairs).bit_length()):
        reached = both(reached) > 0
    return np.asarray(reached.argmax(axis=1))


def both(labels: BoolArray) -> FloatArray:
    """Return the number of instances with both of two labels [K, K], given the labels of each [N, K]."""
    counts = labels.astype(np.float64)
    return np.asarray(counts.T @ counts)


def either(labels: BoolArray) -> FloatArray:
    """Return the number of instances with either of two labels [K, K], given the labels of each [N, K]."""
    common = both(labels)
    return np.asarray(np.add.outer(common.diagonal(), common.diagonal()) - common)


def described(labels: list[int], tagged: BoolArray, placed: BoolArray) -> Group:
    """Return the group of some labels, given those of instances, by tags and with places [N, K]."""
    tags, places = tagged[:, labels], placed[:, labels]
    n_together, n_placed = int(tags.all(axis=1).sum()), int(places.any(axis=1).sum())
    n_named = int((tags | places).any(axis=1).sum())
    together, named, given = both(tags), either(tags | places), either(places)
    # Places of all labels, where they are together: there, they are no more, and places are more by as many.
    enough = (n for n in range(1, LEAST) if not confused(together - n, named, given + n).any())
    return Group(tuple(labels), n_together, n_named - n_together, n_placed, n_wanted=next(enough, LEAST))


def warn_unidentified(groups: Iterable[Group], names: Sequence[str]) -> None:
    """Warn of labels that cannot be told apart; the warning points to who called the caller."""
    for group in groups:
        warnings.warn(group.advice(names), UnidentifiedLabelsWarning, stacklevel=3)
