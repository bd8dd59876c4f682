"""Choices with full labelings: weak annotations are read as these teach, and judged by those held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import (
    FEW_STEPS,
    MOST_WEAK,
    RIDGE,
    STEPS,
    Choice,
    Data,
    evenly,
    places_model,
    truth_of,
    usual_balance,
)
from multiutility.learning.selection.evidence import (
    TOLERATED,
    confusion,
    estimate,
    folds_of,
    improves,
    scores,
)
from multiutility.learning.selection.reading import Clues, Reading, clues_of, of_neighbors
from multiutility.learning.selection.regression import Targets, fit_logistic, probabilities
from multiutility.learning.selection.stand_in import fit_hinges
from multiutility.learning.starts.soft import SoftStart
from multiutility.problem import LabelingProblem

# Candidates: weights of weak annotations beside full labelings, the more careful first, and ridges.
ALPHAS = (0.1, 1.0)
RIDGES = (1e-3, 3e-4, 1e-4, 3e-5)


class Masks:
    """Full labelings, cut into folds, with a regression on each of the other folds and on all."""

    def __init__(self, data: Data, chosen: Sequence[int]) -> None:
        self.data, self.chosen = data, list(chosen)
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

    def held_out(self, models: Sequence[FloatArray]) -> list[FloatArray]:
        """Confusions [K, K] of all full labelings, each by the model of its fold."""
        rows = zip(self.targets, self.truths, self.folds.tolist(), strict=True)
        return [
            confusion(truth, (one.features @ models[f].T.astype(np.float32)).argmax(axis=1))
            for one, truth, f in rows
        ]

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

    def stand_ins(self, balance: float) -> list[FloatArray]:
        """Return stand-ins of the learner for the folds, with a power of class weights."""
        return [fit_hinges(self.others(f), self.ridge, balance, n_steps=STEPS) for f in range(self.n_folds)]


def masks_alone(masks: Masks, balance: float | None) -> Choice:
    """Choose class weights only."""
    chosen = usual_balance(len(masks.data.full)) if balance is None else balance
    models = masks.stand_ins(chosen)
    judged = estimate(masks.held_out(models)) if masks.n_folds > 1 else None
    facts = {"start": "masks only", "class_weight": chosen}
    return Choice([None] * len(masks.data.examples), 1.0, chosen, judged, facts)


@dataclass(frozen=True, eq=False)
class Opinions:
    """Posteriors of models that do not know full labelings: of weak annotations, and of certain places."""

    soft: SoftStart
    places: FloatArray | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the opinions."""
        return ("weak",) if self.places is None else ("weak", "places")

    def of(self, soft: FloatArray, features: NDArray[np.float32]) -> list[FloatArray]:
        """Return the opinions on an example, given its soft labels [V, K]."""
        return [soft] if self.places is None else [soft, probabilities(features, self.places)]


def mixed(
    masks: Masks,
    rehearsals: Sequence[Sequence[Annotation]],
    soft_start: Callable[[Sequence[Example]], SoftStart],
    alpha: float | None,
    balance: float | None,
) -> Choice:
    """Choose for full labelings and weak annotations: these are read as the full labelings teach."""
    data = masks.data
    soft = soft_start([data.examples[n] for n in data.weak])
    opinions = Opinions(soft, places_model(data, RIDGE))
    reading = Reading.default(("masks", "neighbors", *opinions.names)).fitted(
        rehearsed(masks, rehearsals, opinions)
    )
    reader = Reader(masks, opinions, reading)
    trials = compare(reader, alpha, balance)
    best = best_trial(trials)
    strong = set(data.full)
    posteriors = [None if n in strong else reader(n, masks.whole) for n in range(len(data.examples))]
    judged = estimate(best.confusions)
    facts = {
        "start": "read by the masks" if best.alpha else "masks only",
        "alpha": best.alpha,
        "class_weight": best.balance,
        "reading": reading.facts,
        "trials": [one.facts for one in trials],
    }
    return Choice(posteriors, best.alpha, best.balance, judged, facts)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads weak annotations: opinions and clues, weighed."""

    masks: Masks
    opinions: Opinions
    reading: Reading

    def __call__(self, n: int, model: FloatArray) -> FloatArray:
        """Posterior [V, K] of a weakly annotated example, by a model of full labelings."""
        data = self.masks.data
        features, soft = data.features(n), self.opinions.soft.shares[data.places[n]]
        known = *by_masks(data.examples[n].problem, features, model), *self.opinions.of(soft, features)
        return self.reading(data.clues(n).with_opinions(*known))


def by_masks(
    problem: LabelingProblem, features: NDArray[np.float32], model: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Probabilities [V, K] by a model of full labelings, of the nodes and of their neighbors."""
    own = probabilities(features, model)
    return own, of_neighbors(problem, own)


def rehearsed(
    masks: Masks, rehearsals: Sequence[Sequence[Annotation]], opinions: Opinions
) -> list[tuple[Clues, FloatArray]]:
    """Clues of the weak annotations that full labelings would have had, by models that do not know these."""
    found = []
    rows = zip(masks.chosen, masks.targets, masks.truths, masks.folds.tolist(), strict=True)
    for n, targets, truth, fold in rows:
        example = masks.data.examples[n]
        known = by_masks(example.problem, targets.features, masks.models[fold])
        for annotation in rehearsals[n]:
            weak = replace(
                example, annotation=annotation, constraints=annotation.constraints(example.problem)
            )
            soft = opinions.soft.shares_of([weak])[0]
            clues = clues_of(annotation, example.problem)
            found.append((clues.with_opinions(*known, *opinions.of(soft, targets.features)), truth))
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """A weight of weak annotations and a power of class weights, with confusions of held-out examples."""

    alpha: float
    balance: float
    confusions: Sequence[FloatArray]

    @cached_property
    def scores(self) -> FloatArray:
        """Accuracy, mean recall and mean IoU; zeros if nothing could be held out."""
        return scores(np.sum(self.confusions, axis=0)) if self.confusions else np.zeros(3)

    @property
    def facts(self) -> dict[str, Any]:
        """What was tried, and how it scored."""
        rounded = [round(value, 4) for value in self.scores.tolist()]
        return {"alpha": self.alpha, "class_weight": self.balance, "scores": rounded}


def compare(reader: Reader, alpha: float | None, balance: float | None) -> list[Trial]:
    """Judge weights of weak annotations, and powers of class weights, by full labelings that are held out.

    The first trial is of masks alone, unless ``alpha`` is given; the best is the last that beats all before.
    The more careful come first: a larger weight must be surely better than a smaller one. Where weak
    annotations are used, they may count as full labelings do for class weights, and these be less: that must
    be surely better, and worse in nothing, as it trades the recall of rare labels for accuracy.
    """
    masks, data = reader.masks, reader.masks.data
    some = evenly(data.weak, MOST_WEAK)
    power = usual_balance(len(data.full)) if balance is None else balance
    plain = masks.stand_ins(power)
    share = len(data.weak) / len(some) * len(masks.chosen) / len(data.full)
    weak = [[data.targets(n, reader(n, model)) for n in some] for model in masks.models]

    def trial(alpha: float, power: float) -> Trial:
        models = [
            fit_hinges(
                [*masks.others(f), *(part.times(alpha * share) for part in weak[f])],
                masks.ridge,
                power,
                plain[f],
                FEW_STEPS,
            )
            for f in range(masks.n_folds)
        ]
        return Trial(alpha, power, masks.held_out(models))

    if alpha is None:
        trials = [Trial(0.0, power, masks.held_out(plain)), *(trial(one, power) for one in ALPHAS)]
    else:
        trials = [trial(alpha, power)]
    best = best_trial(trials)
    less = usual_balance(len(data.full) + round(best.alpha * len(data.weak)))
    if balance is None and less < power:
        trials.append(trial(best.alpha, less))
    return trials


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the first trial, or the last that beats those before it by more than chance.

    >>> alone = Trial(0.0, 0.0, [np.array([[4.0, 1.0], [1.0, 4.0]])] * 3)
    >>> mixed, good = (Trial(1.0, 0.0, [np.array(one)] * 3) for one in ([[5.0, 0.0], [2.0, 3.0]], np.eye(2)))
    >>> best_trial([alone, mixed]).alpha, best_trial([alone, mixed, good]) is good
    (0.0, True)
    """
    best = trials[0]
    for one in trials[1:]:
        tolerated = TOLERATED if one.balance == best.balance else 0.0
        if improves(best.confusions, one.confusions, tolerated):
            best = one
    return best
