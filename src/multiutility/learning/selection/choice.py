"""What is chosen for the data at hand, and what all choices look at: examples, with principal features."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations import Full
from multiutility.annotations.annotation import Annotation
from multiutility.annotations.expected import DECIDED
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.selection.evidence import Estimate
from multiutility.learning.selection.reading import Clues, clues_of
from multiutility.learning.selection.regression import Space, Targets, fit_logistic

# Ridge of regressions on guesses: without full labelings ridges cannot be compared, and guesses want more of
# it than truths.
RIDGE = 3e-4
# Powers of class weights: of few full labelings, of many, and of labels that are guessed. Guesses of rare
# labels are often wrong, and to favor these does harm. With many, held-out training images of cwfid,
# superalloy, camvid, facade and MSRC do not tell 1/4, 3/8 and 1/2 apart by the mean of accuracy, recall and
# IoU.
FEW, MANY, GUESSED = 0.5, 0.375, 0.25
# Examples that are looked at, at most: more makes choices slower, and hardly better.
MOST_FULL, MOST_WEAK = 100, 32
# Examples whose features and clues are kept in memory.
MOST_KEPT = 512
# Examples in which the place of a label is certain, at least, for labels to be learned from such places.
LEAST_PLACES = 3
# Steps of a regression that goes on from a similar one, and from nothing.
FEW_STEPS, STEPS = 30, 80


@dataclass(frozen=True, eq=False)
class Choice:
    """What to learn from, and how it was chosen.

    ``posteriors`` [V, K] are those of weak annotations, None for full labelings and for those that are
    ``left_out``, by number. With the weight ``alpha`` 0, all weak annotations are left out. ``facts`` say in
    plain values what was chosen and why. ``marks`` are the weights of clues by which annotations are read
    that come later, see ``Reading``; None: the usual ones.
    ``space`` finds the principal features.
    """

    posteriors: list[FloatArray | None]
    alpha: float
    balance: float | None
    estimate: Estimate | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    marks: Sequence[float] | None = None
    space: Callable[[], Space] | None = None
    left_out: Collection[int] = ()


@dataclass(frozen=True, eq=False)
class Data:
    """Examples with their principal features."""

    examples: Sequence[Example]
    full: Sequence[int]
    weak: Sequence[int]
    # Those whose features these share.
    whole: Data | None = None
    # Of the examples that are looked at again and again.
    _features: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    _clues: dict[int, Clues] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[int, int]:
        """Place of each weakly annotated example among these."""
        return {n: place for place, n in enumerate(self.weak)}

    @cached_property
    def space(self) -> Space:
        """Principal features, of all examples or of some of them."""
        if self.whole is not None:
            return self.whole.space
        chosen = [*evenly(self.full, MOST_FULL), *evenly(self.weak, 4 * MOST_WEAK)]
        return Space.of([self.examples[n].problem for n in chosen])

    def of_weak(self, weak: Sequence[int]) -> Data:
        """Return the same with some of the weakly annotated examples only, in the same space."""
        return replace(self, weak=weak, whole=self if self.whole is None else self.whole)

    def features(self, n: int) -> NDArray[np.float32]:
        """Principal features of an example."""
        return remembered(self._features, n, lambda: self.space(self.examples[n].problem))

    def targets(self, n: int, posterior: FloatArray) -> Targets:
        """Return the nodes of an example, which count by their sizes and posteriors [V, K], if decided."""
        counted = self.examples[n].problem.node_sizes * (posterior.max(axis=1) >= DECIDED)
        return Targets(self.features(n), counted[:, np.newaxis] * posterior)

    def annotation(self, n: int) -> Annotation:
        """Annotation of an example."""
        return self.examples[n].annotation

    def clues(self, n: int) -> Clues:
        """Clues of the annotation of an example."""
        example = self.examples[n]
        return remembered(self._clues, n, lambda: clues_of(example.annotation, example.problem))


def usual_balance(n_full: int) -> float:
    """Power of class weights for so many full labelings: the fewer, the more rare labels must be favored.

    >>> usual_balance(5), usual_balance(100)
    (0.5, 0.38125)
    """
    return MANY + (FEW - MANY) * min(1.0, 5 / max(n_full, 1))


def places_model(data: Data, ridge: float) -> FloatArray | None:
    """Regression on the nodes whose label is certain; None unless every label that is named has some."""
    n_labels = data.examples[0].annotation.n_labels
    named, places = np.zeros(n_labels, dtype=np.bool_), np.zeros(n_labels)
    parts = []
    for n in data.weak:
        example = data.examples[n]
        named |= data.clues(n).possible.any(axis=0)
        allowed = example.constraints.allowed
        if allowed is None:
            continue
        certain = allowed & (allowed.sum(axis=1, keepdims=True) == 1)
        places += certain.any(axis=0)
        rows = np.flatnonzero(certain.any(axis=1))
        if len(rows):
            # Alike, whatever their sizes: points are where people click, not where most pixels are.
            parts.append(Targets(data.features(n)[rows], certain[rows].astype(np.float64) / len(rows)))
    if not parts or (places[named] < LEAST_PLACES).any():
        return None
    return fit_logistic(parts, ridge, 0.5, n_steps=STEPS)


def truth_of(example: Example) -> FloatArray:
    """Sizes of the true labels of a full labeling [V, K]."""
    annotation, problem = example.annotation, example.problem
    if isinstance(annotation, Full):
        return annotation.histogram(problem)
    known = ~example.open_nodes if example.ignored is None else ~example.ignored
    return np.asarray(annotation.prior(problem) * (problem.node_sizes * known)[:, np.newaxis])


T = TypeVar("T")


def remembered(kept: dict[int, T], n: int, make: Callable[[], T]) -> T:
    """Return what is kept under a number, or make it; only so much is kept."""
    if n in kept:
        return kept[n]
    made = make()
    if len(kept) < MOST_KEPT:
        kept[n] = made
    return made


def evenly(numbers: Sequence[int], most: int) -> list[int]:
    """Return at most so many of some numbers, evenly taken.

    >>> evenly(range(10), 4), evenly([5, 7], 4)
    ([0, 3, 6, 9], [5, 7])
    """
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[place] for place in np.linspace(0, len(numbers) - 1, most).round().astype(int).tolist()]
