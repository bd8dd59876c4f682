"""Full labelings that judge: cut into folds, with models that were not told of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray, FloatArray
from multiutility.learning.selection.choice import FEW_STEPS, STEPS, Data, evenly, truth_of, usual_balance
from multiutility.learning.selection.evidence import Estimate, confusion, estimate, folds_of, merit
from multiutility.learning.selection.learned import MOST_TAUGHT, N_TYPICAL, Learn, Learned
from multiutility.learning.selection.reading import of_neighbors
from multiutility.learning.selection.regression import Targets, fit_logistic, probabilities
from multiutility.learning.selection.stand_in import fit_hinges
from multiutility.problem import LabelingProblem

# What full labelings tell: of a node, of its neighbors, which labels they show at all, and of a node by the
# learner itself, if there is one.
KNOWN, LEARNED = ("masks", "neighbors", "shown"), "learned"
# Candidates of the weight of squares.
RIDGES = (1e-3, 3e-4, 1e-4, 3e-5)


class Masks:
    """Full labelings, cut into folds, with a regression on each of the other folds and on all.

    With ``learn``, the learner has an opinion as well.
    """

    def __init__(self, data: Data, chosen: Sequence[int], learn: Learn | None = None) -> None:
        self.data, self.chosen, self._learn = data, list(chosen), learn
        self.truths = [truth_of(data.examples[n]) for n in chosen]
        self.targets = [
            Targets(data.features(n), truth) for n, truth in zip(chosen, self.truths, strict=True)
        ]
        self.folds = folds_of(len(chosen))
        self.ridge, self.models = self._models()
        self.whole = fit_logistic(self.targets, self.ridge, n_steps=STEPS)

    @property
    def n_folds(self) -> int:
        """Number of folds; with a single one, nothing can be held out."""
        return int(self.folds.max()) + 1

    def others(self, fold: int) -> list[Targets]:
        """Return the targets of all other folds; of a single fold, its own."""
        if self.n_folds == 1:
            return self.targets
        return [one for one, f in zip(self.targets, self.folds, strict=True) if f != fold]

    def opinion(self, features: NDArray[np.float32], fold: int | None) -> FloatArray:
        """Probabilities [V, K] by the regression on all other folds, or on all if there is no fold.

        Of labels that these do not show it knows nothing: they all have the same probability, that of chance,
        so that a node has such a label if it looks like none of those that are possible and shown.
        """
        model, shown = self.whole if fold is None else self.models[fold], self.shown(fold)
        return np.where(shown, probabilities(features, model), 1.0 / len(shown))

    def shown(self, fold: int | None) -> BoolArray:
        """Labels [K] that all other folds show, or all if there is no fold."""
        parts = self.targets if fold is None else self.others(fold)
        return np.asarray(np.any([part.counts.any(axis=0) for part in parts], axis=0))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what full labelings tell."""
        return KNOWN if self._learn is None else (*KNOWN, LEARNED)

    def known(
        self, problem: LabelingProblem, features: NDArray[np.float32], fold: int | None
    ) -> list[FloatArray]:
        """Return what full labelings of other folds tell of an example: ``names``, each [V, K]."""
        own, shown = self.opinion(features, fold), self.shown(fold)
        told = [own, of_neighbors(problem, own), np.exp(np.where(shown, np.zeros_like(own), -1.0))]
        if self._learn is not None:
            told.append(np.where(shown, self._learned[fold](problem), 1.0 / len(shown)))
        return told

    @cached_property
    def _learned(self) -> dict[int | None, Learned]:
        """The learner on all other folds, and on all; on some of them, if there are many."""
        assert self._learn is not None
        examples, found = self.data.examples, {}
        typical = [examples[n].problem for n in evenly(self.data.weak or self.chosen, N_TYPICAL)]
        for fold in (*range(self.n_folds), None):
            others = [n for n, f in zip(self.chosen, self.folds.tolist(), strict=True) if f != fold]
            some = evenly(others or self.chosen, MOST_TAUGHT)
            weights = self._learn([examples[n] for n in some])
            found[fold] = Learned.of(weights, examples[0].annotation.n_labels, typical)
        return found

    def held_out(self, models: Sequence[FloatArray]) -> list[FloatArray]:
        """Confusions [K, K] of all full labelings, each by the model of its fold."""
        rows = zip(self.targets, self.truths, self.folds.tolist(), strict=True)
        return [
            confusion(truth, (one.features @ models[f].T.astype(np.float32)).argmax(axis=1))
            for one, truth, f in rows
        ]

    def estimate(self, confusions: Sequence[FloatArray], named: BoolArray | None = None) -> Estimate | None:
        """Estimate scores on new images from confusions of all full labelings, each by the model of its fold.

        What neither the other folds show nor weak annotations have ``named`` [K], a model of them cannot
        know: where all do show it, that says nothing. What nothing shows will be missed.
        """
        more = np.zeros_like(self.shown(None)) if named is None else named
        known = [self.shown(fold) | more for fold in range(self.n_folds)]
        judged = [
            one * known[f][:, np.newaxis] for one, f in zip(confusions, self.folds.tolist(), strict=True)
        ]
        return estimate(judged, shown=float((self.shown(None) | more).mean()))

    def likelihood(self, models: Sequence[FloatArray]) -> float:
        """Mean logarithm of the probability of what was held out."""
        logs = 0.0
        for one, truth, f in zip(self.targets, self.truths, self.folds.tolist(), strict=True):
            logs += float(np.vdot(truth, np.log(np.maximum(probabilities(one.features, models[f]), 1e-12))))
        return logs / max(sum(float(truth.sum()) for truth in self.truths), 1e-12)

    def _models(self) -> tuple[float, list[FloatArray]]:
        """Return the ridge of the highest likelihood, and the regressions with it."""
        best: tuple[float, float, list[FloatArray]] | None = None
        models: list[FloatArray | None] = [None] * self.n_folds
        for ridge in RIDGES:
            fitted = [
                fit_logistic(self.others(f), ridge, start=models[f], n_steps=FEW_STEPS)
                for f in range(self.n_folds)
            ]
            models = [*fitted]
            likelihood = self.likelihood(fitted)
            if best is not None and likelihood <= best[0]:
                break
            best = likelihood, ridge, fitted
        assert best is not None
        return best[1], best[2]

    @property
    def balance(self) -> float:
        """Power of class weights for so many of them."""
        return usual_balance(len(self.data.full))

    def stand_ins(self, balance: float) -> StandIns:
        """Return stand-ins of the learner for the folds, with a power of class weights.

        Their ridge is the one that suits them best: with another, weak annotations would seem to help that
        only make up for it.
        """
        best: StandIns | None = None
        for ridge in RIDGES if self.n_folds > 1 else (self.ridge,):
            starts = [None] * self.n_folds if best is None else best.models
            models = [
                fit_hinges(self.others(f), ridge, balance, start, STEPS) for f, start in enumerate(starts)
            ]
            tried = StandIns(ridge, models, self.held_out(models))
            if best is not None and merit(tried.confusions) <= merit(best.confusions):
                break
            best = tried
        assert best is not None
        return best


class StandIns(NamedTuple):
    """Stand-ins of the learner, one for each fold, their ridge, and confusions of what they were not told."""

    ridge: float
    models: Sequence[FloatArray]
    confusions: Sequence[FloatArray]
