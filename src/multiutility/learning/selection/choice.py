"""What is chosen for the data at hand: posteriors of weak annotations, their weight, and class weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from multiutility.learning.selection.evidence import (
    Estimate,
    confusion,
    estimate,
    folds_of,
    improves,
    scores,
)
from multiutility.learning.selection.provable import provable_errors
from multiutility.learning.selection.reading import MARKS, Clues, Reading, clues_of
from multiutility.learning.selection.regression import Space, Targets, fit_logistic, probabilities
from multiutility.learning.starts.soft import SoftStart

# Candidates: weights of weak annotations beside full labelings, and ridges.
ALPHAS = (0.1, 1.0)
RIDGES = (1e-3, 3e-4, 1e-4, 3e-5)
# Without full labelings, ridges cannot be compared: guesses want more of it than truths.
RIDGE = 3e-4
# Power of class weights with many full labelings; with five or fewer, twice that. Chosen by validation images
# of four datasets: by the mean of accuracy, recall and IoU, 0.5 was better, or as good, with 5 masks,
# and 0.25 with all but those of one dataset.
FEWER = 0.25
# Full labelings that can judge, at least: of two, each would be judged by a model of the other alone. Fewer
# only help to guess, and weak annotations weigh this much beside them.
LEAST_FULL, UNJUDGED = 3, 0.3
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

    ``posteriors`` [V, K] are those of weak annotations, None for full labelings. With the weight ``alpha`` 0,
    weak annotations are left out. ``facts`` say in plain values what was chosen and why.
    """

    posteriors: list[FloatArray | None]
    alpha: float
    balance: float | None
    estimate: Estimate | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def choose(
    examples: Sequence[Example],
    rehearsals: Sequence[Sequence[Annotation]],
    soft_start: Callable[[Sequence[Example]], SoftStart],
    alpha: float | None = None,
    balance: float | None = None,
) -> Choice:
    """Choose posteriors of weak annotations, their weight alpha and the power of class weights.

    ``rehearsals`` are, for each example with a full labeling, weak annotations that it would have had. An
    ``alpha`` or ``balance`` that is given is kept.
    """
    full = [n for n, one in enumerate(examples) if one.annotation.strong]
    weak = [n for n, one in enumerate(examples) if not one.annotation.strong]
    data = Data(examples, full, weak)
    if weak and len(full) < LEAST_FULL:
        return unproven(data, soft_start, alpha, balance)
    masks = Masks(data, evenly(full, MOST_FULL))
    if not weak:
        return masks_alone(masks, balance)
    return mixed(masks, rehearsals, soft_start, alpha, balance)


@dataclass(frozen=True, eq=False)
class Data:
    """Examples with their principal features."""

    examples: Sequence[Example]
    full: Sequence[int]
    weak: Sequence[int]
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
        chosen = [*evenly(self.full, MOST_FULL), *evenly(self.weak, 4 * MOST_WEAK)]
        return Space.of([self.examples[n].problem for n in chosen])

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

    def balanced(self, balance: float) -> list[FloatArray]:
        """Return the regressions of the folds with a power of class weights."""
        return [
            fit_logistic(self.others(f), self.ridge, balance, self.models[f], FEW_STEPS)
            for f in range(self.n_folds)
        ]


def usual_balance(n_full: float) -> float:
    """Power of class weights for so many full labelings: the fewer, the more rare labels must be favored.

    Weak annotations count by their weight.

    >>> usual_balance(5), usual_balance(100)
    (0.5, 0.2625)
    """
    return FEWER * (1.0 + min(1.0, 5 / max(n_full, 1.0)))


def masks_alone(masks: Masks, balance: float | None) -> Choice:
    """Choose class weights only."""
    chosen = usual_balance(len(masks.data.full)) if balance is None else balance
    models = masks.balanced(chosen)
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
    reading = Reading.default(("masks", *opinions.names)).fitted(rehearsed(masks, rehearsals, opinions))
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
        known = probabilities(features, model), *self.opinions.of(soft, features)
        return self.reading(data.clues(n).with_opinions(*known))


def rehearsed(
    masks: Masks, rehearsals: Sequence[Sequence[Annotation]], opinions: Opinions
) -> list[tuple[Clues, FloatArray]]:
    """Clues of the weak annotations that full labelings would have had, by models that do not know these."""
    found = []
    rows = zip(masks.chosen, masks.targets, masks.truths, masks.folds.tolist(), strict=True)
    for n, targets, truth, fold in rows:
        example = masks.data.examples[n]
        known = probabilities(targets.features, masks.models[fold])
        for annotation in rehearsals[n]:
            weak = replace(
                example, annotation=annotation, constraints=annotation.constraints(example.problem)
            )
            soft = opinions.soft.shares_of([weak])[0]
            clues = clues_of(annotation, example.problem)
            found.append((clues.with_opinions(known, *opinions.of(soft, targets.features)), truth))
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


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the best trial that beats the first, of masks alone, by more than chance and in every measure.

    >>> alone = Trial(0.0, 0.0, [np.array([[4.0, 1.0], [1.0, 4.0]])] * 3)
    >>> mixed, good = (Trial(1.0, 0.0, [np.array(one)] * 3) for one in ([[5.0, 0.0], [2.0, 3.0]], np.eye(2)))
    >>> best_trial([alone, mixed]).alpha, best_trial([alone, mixed, good]) is good
    (0.0, True)
    """
    first = trials[0]
    better = [one for one in trials[1:] if improves(first.confusions, one.confusions)]
    return max(better, key=lambda one: float(one.scores.mean()), default=first)


def compare(reader: Reader, alpha: float | None, balance: float | None) -> list[Trial]:
    """Judge weights of weak annotations by full labelings that are held out.

    The first trial is of masks alone, unless ``alpha`` is given.
    """
    masks, data = reader.masks, reader.masks.data
    some = evenly(data.weak, MOST_WEAK)
    # Without weak annotations as if there were none: with the weight 0, they make no difference at all.
    power = usual_balance(len(data.full)) if balance is None else balance
    plain = masks.balanced(power)
    share = len(data.weak) / len(some) * len(masks.chosen) / len(data.full)
    weak = [[data.targets(n, reader(n, model)) for n in some] for model in masks.models]
    trials = [Trial(0.0, power, masks.held_out(plain))] if alpha is None else []
    for one in ALPHAS if alpha is None else (alpha,):
        mixed_power = usual_balance(len(data.full) + one * len(data.weak)) if balance is None else balance
        models = [
            fit_logistic(
                [*masks.others(f), *(part.times(one * share) for part in weak[f])],
                masks.ridge,
                mixed_power,
                plain[f],
                FEW_STEPS,
            )
            for f in range(masks.n_folds)
        ]
        trials.append(Trial(one, mixed_power, masks.held_out(models)))
    return trials


def unproven(
    data: Data,
    soft_start: Callable[[Sequence[Example]], SoftStart],
    alpha: float | None,
    balance: float | None,
) -> Choice:
    """Choose without full labelings, or with too few: by errors that annotations of other examples prove.

    The full labelings that there are go into the soft labels.
    """
    told = [soft for n, soft in enumerate(soft_start(data.examples).told) if n in data.places]
    candidates = {"soft labels": told, "soft labels, sizes learned": resized(data, told)}
    places = places_model(data, RIDGE)
    if places is not None:
        candidates["certain places"] = from_places(data, places)
    powers = unproven_balances(data) if balance is None else (balance,)
    errors = {
        (name, power): held_out_errors(data, told, power)
        for name, told in candidates.items()
        for power in powers
    }
    best, power = min(errors, key=lambda pair: errors[pair])
    facts = {
        "start": best,
        "class_weight": power,
        "provable_error": {f"{name}, {one:g}": round(error, 4) for (name, one), error in errors.items()},
    }
    posteriors = dict(zip(data.weak, candidates[best], strict=True))
    trust = (UNJUDGED if data.full else 1.0) if alpha is None else alpha
    return Choice([posteriors.get(n) for n in range(len(data.examples))], trust, power, None, facts)


def unproven_balances(data: Data) -> tuple[float, ...]:
    """Powers of class weights to try: the usual with full labelings, and none if nothing is said of places.

    Guesses of rare labels are often wrong, and to favor these does harm.
    """
    if data.full:
        return (usual_balance(len(data.full)),)
    placed = any(data.clues(n).terms.any() for n in evenly(data.weak, MOST_WEAK))
    return (0.0, FEWER) if placed else (0.0,)


def resized(data: Data, told: Sequence[FloatArray], n_rounds: int = 2) -> list[FloatArray]:
    """Return soft labels by regressions on them, each half of the examples by that on the other.

    Sizes of labels are then those that the features tell, and not those that were assumed at first.
    """
    posteriors = list(told)
    for _ in range(n_rounds):
        models = half_models(data, posteriors)
        for place, n in enumerate(data.weak):
            clues, features = data.clues(n), data.features(n)
            reading = Reading(("masks", *MARKS), np.array([1.0, 0.0, 3.0, 0.0, 0.0]))
            posteriors[place] = reading(clues.with_opinions(probabilities(features, models[place % 2])))
    return posteriors


def half_models(data: Data, posteriors: Sequence[FloatArray], balance: float = 0.0) -> list[FloatArray]:
    """Regressions on every second example: the first on those that are odd, the second on the others."""
    models = []
    for half in (1, 0):
        chosen = evenly(
            [p for p in range(len(data.weak)) if p % 2 == half or len(data.weak) == 1], 2 * MOST_WEAK
        )
        parts = [data.targets(data.weak[place], posteriors[place]) for place in chosen]
        models.append(fit_logistic(parts, RIDGE, balance, n_steps=STEPS))
    return models


def held_out_errors(data: Data, posteriors: Sequence[FloatArray], balance: float) -> float:
    """Rate of provable errors of regressions, each on one half of the examples and judged on the other."""
    models = half_models(data, posteriors, balance)
    places = evenly(range(len(data.weak)), 4 * MOST_WEAK)
    problems = [data.examples[data.weak[place]].problem for place in places]
    annotations = [data.annotation(data.weak[place]) for place in places]
    labelings = [
        probabilities(data.features(data.weak[place]), models[place % 2]).argmax(axis=1) for place in places
    ]
    return provable_errors(problems, annotations, labelings).rate


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


def from_places(data: Data, places: FloatArray) -> list[FloatArray]:
    """Posteriors by the model of certain places, of labels that are possible."""
    reading = Reading(("places", *MARKS), np.array([1.0, 0.0, 3.0, 0.0, 0.0]))
    return [reading(data.clues(n).with_opinions(probabilities(data.features(n), places))) for n in data.weak]


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
