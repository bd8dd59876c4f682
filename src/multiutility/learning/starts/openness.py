"""How likely labels are there that open tags do not name, estimated over examples.

Say that labels go unnamed alike: there are ``odds`` unnamed ones for each that is named. Of the examples with
open tags, n_k name label k, and u_k say nothing of it; so ``odds n_k`` of these have it, and it is there by
the chance ``pi_k = odds n_k / u_k``. Examples that name all their labels tell the odds; without any, the
model that is being learned does, by how much of the examples it gives to labels that are not named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from multiutility.annotations import Joint
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example

# Unnamed labels for each that is named, before anything is known, and as how many examples that counts.
ODDS, FIRMNESS = 0.5, 3.0
# Chances are within these: who names nothing may have overlooked anything.
LEAST_CHANCE, MOST_CHANCE = 1e-4, 0.99
# A label that no example names counts as if so many did.
UNSEEN = 0.5
# How often it is looked again which labels an example has.
LOOKS = 3


class Silence(NamedTuple):
    """How many open annotations name each label [K], and how many say nothing of it [K]."""

    named: FloatArray
    silent: FloatArray

    def chances(self, odds: float) -> FloatArray:
        """How likely labels [K] are there where nothing is said of them.

        >>> Silence(np.array([6.0, 2.0]), np.array([3.0, 8.0])).chances(0.5).round(3)
        array([0.99 , 0.156])
        """
        chances = odds * (self.named + UNSEEN) / np.maximum(self.silent, 1.0)
        return np.asarray(np.clip(chances, LEAST_CHANCE, MOST_CHANCE))


def is_open(annotation: Annotation) -> bool:
    """Whether labels may be there that tags do not name."""
    return isinstance(annotation, Joint) and annotation.open


def is_told(annotation: Annotation) -> bool:
    """Whether open tags know the chances of other labels."""
    return isinstance(annotation, Joint) and any(term.chances is not None for term in annotation.terms)


def silence_of(examples: Sequence[Example]) -> Silence:
    """Count labels of open annotations that do not know their chances."""
    n_labels = examples[0].annotation.n_labels
    named, silent = np.zeros(n_labels), np.zeros(n_labels)
    for one in examples:
        annotation = one.annotation
        if isinstance(annotation, Joint) and annotation.open and not is_told(annotation):
            named[annotation.partition.present] += 1
            silent[list(annotation.partition.unknown)] += 1
    return Silence(named, silent)


def expecting(annotation: Annotation, chances: FloatArray | None) -> Annotation:
    """Return the annotation with chances [K], if it has open tags that do not know them."""
    if chances is None or not isinstance(annotation, Joint) or is_told(annotation):
        return annotation
    return annotation.expecting(chances)


def opened(examples: Sequence[Example], chances: FloatArray | None = None) -> list[Example]:
    """Return the examples, open ones with chances [K]; by default, by examples that name all labels."""
    known = known_chances(examples) if chances is None else chances
    return [replace(one, annotation=expecting(one.annotation, known)) for one in examples]


def known_chances(examples: Sequence[Example]) -> FloatArray | None:
    """How likely labels [K] are there that open tags do not name, by examples that name all; None without."""
    odds = odds_of(examples)
    return None if odds is None else silence_of(examples).chances(odds)


def expecting_all(annotations: Sequence[Annotation], examples: Sequence[Example]) -> list[Annotation]:
    """Return annotations with the chances that open ones among the examples know."""
    known = (one.annotation.terms for one in examples if isinstance(one.annotation, Joint))
    chances = next((term.chances for terms in known for term in terms if term.chances is not None), None)
    return [expecting(one, chances) for one in annotations]


def odds_of(examples: Sequence[Example]) -> float | None:
    """Unnamed labels for each that is named, by examples that name all; None without such, or open ones.

    Both kinds have as many labels in the mean, so ``1 + odds`` is the ratio of the numbers that they name.
    """
    complete, named = [], []
    for one in examples:
        annotation, problem = one.annotation, one.problem
        if isinstance(annotation, Joint) and not annotation.partition.complete:
            named += [len(annotation.partition.present)] if annotation.open else []
        else:
            complete.append(np.count_nonzero(annotation.label_sizes(problem)))
    if not complete or not named:
        return None
    usual = max(float(np.mean(named)), 1.0)
    total = sum(complete) + FIRMNESS * (1 + ODDS) * usual
    return max(total / (len(complete) + FIRMNESS) / usual - 1, 0.0)


def odds_seen(sizes: FloatArray) -> float:
    """Unnamed labels for each that is named, by the sizes of both in open examples [n, 2].

    >>> round(odds_seen(np.array([[0.5, 0.5], [0.1, 0.9]])), 4)
    0.4286
    """
    unnamed, named = sizes.sum(axis=0)
    return float(unnamed / max(named, 1e-12))


def seen_sizes(example: Example, shares: FloatArray) -> FloatArray:
    """Sizes of what has labels of which nothing is said, and of the rest [2], by soft labels [V, K]."""
    annotation = example.annotation
    if not isinstance(annotation, Joint) or not annotation.open:
        return np.zeros(2)
    sizes = example.problem.node_sizes @ shares
    unnamed = sizes[list(annotation.partition.unknown)].sum()
    return np.array([unnamed, sizes.sum() - unnamed])


def presence(annotation: Annotation, chances: FloatArray | None) -> FloatArray:
    """How likely each label is in an example [K], before it is looked at: 1 of all but open tags."""
    if not is_open(annotation):
        return np.ones(annotation.n_labels)
    known = expecting(annotation, chances)
    assert isinstance(known, Joint)
    return np.where(np.isin(np.arange(known.n_labels), known.partition.unknown), known.chances, 1.0)


def looked(first: FloatArray, example: Example, shares: FloatArray) -> FloatArray:
    """How likely each label is in an example [K], by what was likely at first [K], and soft labels [V, K].

    A label that has the size of one that is named is there, one that has nothing is not; what is likely by
    all examples counts as much as that.
    """
    usual = max(float(example.annotation.label_sizes(example.problem).max()), 1e-12)
    found = np.minimum(example.problem.node_sizes @ shares / usual, 1.0)
    return np.where(first < 1, np.maximum((first + found) / 2, LEAST_CHANCE), 1.0)
