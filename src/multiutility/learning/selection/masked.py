"""Choices with full labelings: weak annotations are read as these teach, and judged by those held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations.annotation import Annotation
from multiutility.arrays import BoolArray, FloatArray
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
    surely_better,
)
from multiutility.learning.selection.provable import rate_of
from multiutility.learning.selection.reading import Known, Reading, clues_of, of_neighbors
from multiutility.learning.selection.regression import Targets, fit_logistic, probabilities
from multiutility.learning.selection.sizes import sized
from multiutility.learning.selection.stand_in import fit_hinges
from multiutility.learning.selection.unmasked import held_out_errors
from multiutility.learning.starts.soft import SoftStart

# Candidates: weights of weak annotations beside full labelings, the more careful first, and ridges.
ALPHAS = (0.1, 1.0)
# What is learned from: masks alone, weak annotations as masks teach to read them, or as without masks.
ALONE, READ, SOFT = "masks only", "read by the masks", "soft labels"
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

    def opinion(
        self, features: NDArray[np.float32], fold: int | None, weak: FloatArray, possible: BoolArray
    ) -> FloatArray:
        """Probabilities [V, K] by the regression on all other folds, or on all if there is no fold.

        Of labels that these do not show it knows nothing: such labels are as likely as a weak opinion [V, K]
        has them, and those that are shown and possible [V, K] share out the rest.
        """
        model = self.whole if fold is None else self.models[fold]
        parts = self.targets if fold is None else self.others(fold)
        seen = np.any([part.counts.any(axis=0) for part in parts], axis=0)
        rest = np.where(seen & possible, probabilities(features, model), 0.0)
        sums = rest.sum(axis=1, keepdims=True)
        shares = np.divide(rest, sums, out=np.zeros_like(rest), where=sums > 0)
        unseen = np.where(seen, 0.0, weak)
        return np.asarray(unseen + (1.0 - unseen.sum(axis=1, keepdims=True)) * shares)

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
    facts = {"start": ALONE, "class_weight": chosen}
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
    told = {READ: [reader(n) for n in data.weak], SOFT: opinions.soft.shares}
    power = usual_balance(len(data.full)) if balance is None else balance
    trials = compare(Trials(reader, told, power), alpha, fixed=balance is not None)
    best = best_trial(trials)
    strong = set(data.full)
    # Masks alone leave them out: their weight is 0 then.
    read = told[SOFT if best.start == SOFT else READ]
    posteriors = [None if n in strong else read[data.places[n]] for n in range(len(data.examples))]
    judged = estimate(best.confusions)
    facts = {
        "start": best.start,
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

    def __call__(self, n: int, fold: int | None = None) -> FloatArray:
        """Posterior [V, K] of a weakly annotated example, by full labelings: all, or those of other folds."""
        data = self.masks.data
        features, soft, clues = data.features(n), self.opinions.soft.shares[data.places[n]], data.clues(n)
        own = self.masks.opinion(features, fold, soft, clues.possible)
        known = own, of_neighbors(data.examples[n].problem, own), *self.opinions.of(soft, features)
        return sized(data.examples[n], self.reading(clues.with_opinions(*known)))


def rehearsed(masks: Masks, rehearsals: Sequence[Sequence[Annotation]], opinions: Opinions) -> list[Known]:
    """Clues of the weak annotations that full labelings would have had, by models that do not know these."""
    found = []
    rows = zip(masks.chosen, masks.targets, masks.truths, masks.folds.tolist(), strict=True)
    for n, targets, truth, fold in rows:
        example = masks.data.examples[n]
        for annotation in rehearsals[n]:
            weak = replace(
                example, annotation=annotation, constraints=annotation.constraints(example.problem)
            )
            soft = opinions.soft.shares_of([weak])[0]
            clues = clues_of(annotation, example.problem)
            own = masks.opinion(targets.features, fold, soft, clues.possible)
            known = own, of_neighbors(example.problem, own), *opinions.of(soft, targets.features)
            read = clues.with_opinions(*known)
            found.append(Known(read, truth, fold))
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """What to learn from, and how, with confusions of held-out examples.

    That is: how weak annotations are read, their weight, and the power of class weights.
    """

    alpha: float
    balance: float
    confusions: Sequence[FloatArray]
    start: str = READ

    @cached_property
    def scores(self) -> FloatArray:
        """Accuracy, mean recall and mean IoU; zeros if nothing could be held out."""
        return scores(np.sum(self.confusions, axis=0)) if self.confusions else np.zeros(3)

    @property
    def facts(self) -> dict[str, Any]:
        """What was tried, and how it scored."""
        rounded = [round(value, 4) for value in self.scores.tolist()]
        return {
            "start": self.start,
            "alpha": self.alpha,
            "class_weight": self.balance,
            "scores": rounded,
        }


class Trials:
    """Stand-ins of the learner for each fold, from masks and weak annotations that are read in some way."""

    def __init__(self, reader: Reader, told: Mapping[str, Sequence[FloatArray]], power: float) -> None:
        self.masks, self.told, self.power, self._reader = reader.masks, told, power, reader
        self.data = reader.masks.data
        self._some = evenly(self.data.weak, MOST_WEAK)
        self._plain = self.masks.stand_ins(power)
        self._weak: dict[str, list[list[Targets]]] = {}

    @property
    def alone(self) -> Trial:
        """Masks alone."""
        return Trial(0.0, self.power, self.masks.held_out(self._plain), ALONE)

    def weak(self, start: str) -> list[list[Targets]]:
        """Return some weak annotations, as they are read for each fold."""
        if start not in self._weak:
            folds = range(self.masks.n_folds)
            self._weak[start] = [[self._target(start, n, f) for n in self._some] for f in folds]
        return self._weak[start]

    def _target(self, start: str, n: int, fold: int) -> Targets:
        data = self.data
        return data.targets(n, self._reader(n, fold) if start == READ else self.told[start][data.places[n]])

    def trial(self, start: str, alpha: float, power: float) -> Trial:
        """Judge what is learned by the full labelings that are held out."""
        n_full, n_weak = len(self.data.full), len(self.data.weak)
        weight = alpha * n_weak / len(self._some) * len(self.masks.chosen) / n_full
        models = [
            fit_hinges(
                [*self.masks.others(f), *(part.times(weight) for part in parts)],
                self.masks.ridge,
                power,
                self._plain[f],
                FEW_STEPS,
            )
            for f, parts in enumerate(self.weak(start))
        ]
        return Trial(alpha, power, self.masks.held_out(models), start)

    def starts(self, alpha: float) -> tuple[str, ...]:
        """Ways to read weak annotations, the better first: as masks teach, or also as without masks.

        Few masks may show too few labels to teach anything. Then they cannot tell which is better either: if
        they do not surely prefer what they teach, errors that are provable from weak annotations decide.
        """
        soft, read = (self.trial(one, alpha, self.power) for one in (SOFT, READ))
        if surely_better(soft.confusions, read.confusions):
            return (READ,)
        errors = [held_out_errors(self.data, self.told[one], self.power) for one in (SOFT, READ)]
        return (SOFT, READ) if rate_of(errors[0]) < rate_of(errors[1]) else (READ,)


def compare(trials: Trials, alpha: float | None, fixed: bool) -> list[Trial]:
    """Judge weights of weak annotations, and powers of class weights, by full labelings that are held out.

    The first trial is of masks alone, unless ``alpha`` is given; the best is the last that beats all before.
    The more careful come first: a larger weight must be surely better than a smaller one. Where weak
    annotations are used, they may count as full labelings do for class weights, and these be less: that must
    be surely better, and worse in nothing, as it trades the recall of rare labels for accuracy; not if class
    weights are ``fixed``.
    """
    alphas = ALPHAS if alpha is None else (alpha,)
    for start in trials.starts(alphas[-1]):
        found = [trials.alone] if alpha is None else []
        found += [trials.trial(start, one, trials.power) for one in alphas]
        best = best_trial(found)
        if best.alpha > 0:
            break
    less = usual_balance(len(trials.data.full) + round(best.alpha * len(trials.data.weak)))
    if not fixed and less < trials.power:
        found.append(trials.trial(best.start, best.alpha, less))
    return found


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
