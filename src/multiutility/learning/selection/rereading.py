"""Reading of weak annotations that change after everything was chosen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from multiutility.annotations.expected import DECIDED
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import RIDGE, evenly, truth_of
from multiutility.learning.selection.reading import MARKS, Reading, clues_of
from multiutility.learning.selection.regression import Space, Targets, fit_logistic, probabilities
from multiutility.learning.selection.sizes import sized
from multiutility.learning.starts.known_sizes import within_boxes
from multiutility.learning.starts.openness import ODDS, expecting, odds_of, silence_of
from multiutility.learning.starts.soft_labels import CERTAIN

# Nodes of all examples that the regression goes by, at most, and of one that has changed.
MOST_NODES, MOST_CHANGED = 8192, 512
# Steps of the first regression, and of those that go on from the last one.
STEPS, FEW_STEPS = 60, 15


class Rereader:
    """Reads weak annotations by a regression on what was chosen, and on what has become certain since then.

    Of the examples that were chosen for, it takes the posteriors as they are (None for full labelings). Of
    weak annotations that are new or have changed, it takes no guesses: only nodes whose label is certain. So
    a stroke tells what other nodes are that look alike. What it has read stays until that changes again.

    ``marks`` are the weights of clues, see ``Reading``. Without ``guesses``, nothing is said of nodes whose
    label is not certain. ``space`` has the principal features, of which the regression is.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        posteriors: Sequence[FloatArray | None],
        marks: Sequence[float],
        balance: float,
        guesses: bool,
        space: Space,
    ) -> None:
        self._reading = Reading(("weak", *MARKS), np.array([1.0, *marks]))
        self._balance, self._guesses = balance, guesses
        self._chances = silence_of(examples).chances(odds_of(examples) or ODDS)
        self._space = space
        self._targets: dict[int, Targets] = {}
        most = max(1, MOST_NODES // len(examples))
        for one, posterior in zip(examples, posteriors, strict=True):
            self._targets[one.index] = self._some(one, counts_of(one, posterior), most)
        self._model: FloatArray | None = None
        self._fit(examples[0].annotation.n_labels)

    def __call__(self, changed: Sequence[Example], gone: Collection[int] = ()) -> list[FloatArray | None]:
        """Posteriors [V, K] of examples that are new or have changed; None for full labelings."""
        for index in gone:
            self._targets.pop(index, None)
        known = [self._with_chances(one) for one in changed]
        for one in known:
            counts = truth_of(one) if one.annotation.strong else CERTAIN * certain(one)
            self._targets[one.index] = self._some(one, counts, MOST_CHANGED)
        if changed:
            self._fit(changed[0].annotation.n_labels)
        return [None if one.annotation.strong else self._posterior(one) for one in known]

    def _posterior(self, example: Example) -> FloatArray:
        clues, n_labels = clues_of(example.annotation, example.problem), example.annotation.n_labels
        if not self._guesses or self._model is None:
            sure = certain(example) > 0
            return np.where(sure.any(axis=1, keepdims=True), sure, 1.0 / n_labels)
        opinion = probabilities(self._space(example.problem), self._model)
        read = self._reading(clues.with_opinions(opinion))
        return within_boxes(example, sized(example, read))

    def _with_chances(self, example: Example) -> Example:
        """Return the example with chances of labels that open tags do not name."""
        missing = example.annotation.n_labels - len(self._chances)
        chances = np.pad(self._chances, (0, missing), constant_values=self._chances.min())
        return replace(example, annotation=expecting(example.annotation, chances))

    def _some(self, example: Example, counts: FloatArray, most: int) -> Targets:
        """Return some of the nodes that count [V, K], evenly taken."""
        rows = evenly(np.flatnonzero(counts.any(axis=1)).tolist(), most)
        return Targets(self._space(example.problem)[rows], counts[rows])

    def _fit(self, n_labels: int) -> None:
        """Go on with the regression; without a node that counts, there is none."""
        parts = [Targets(one.features, wider(one.counts, n_labels)) for one in self._targets.values()]
        if not any(part.counts.any() for part in parts):
            self._model = None
        elif self._model is None:
            self._model = fit_logistic(parts, RIDGE, self._balance, n_steps=STEPS)
        else:
            start = wider(self._model.T, n_labels).T
            self._model = fit_logistic(parts, RIDGE, self._balance, start, FEW_STEPS)


def counts_of(example: Example, posterior: FloatArray | None) -> FloatArray:
    """By how much nodes count for labels [V, K]: by their posteriors, if these decide, or by their truth."""
    if posterior is None:
        return truth_of(example)
    counted = example.problem.node_sizes * (posterior.max(axis=1) >= DECIDED)
    return np.asarray(counted[:, np.newaxis] * posterior)


def certain(example: Example) -> FloatArray:
    """Sizes of nodes whose label is certain, as those of their labels [V, K]."""
    allowed, sizes = example.constraints.allowed, example.problem.node_sizes[:, np.newaxis]
    if allowed is None:
        return np.zeros((example.problem.n_nodes, example.annotation.n_labels))
    return np.where(allowed & (allowed.sum(axis=1, keepdims=True) == 1), sizes, 0.0)


def wider(columns: FloatArray, n_labels: int) -> FloatArray:
    """Return columns of labels [..., K], with zeros for labels that are new.

    >>> wider(np.ones((1, 2)), 3)
    array([[1., 1., 0.]])
    """
    return np.pad(columns, ((0, 0), (0, n_labels - columns.shape[1])))
