"""Trials: what the learner's stand-in makes of masks and weak annotations, judged by what was held out.

There are two judges. Masks that are held out know all of their images, but there are few of them. Weak
annotations that are held out prove errors only, but there are many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from multiutility.arrays import BoolArray, FloatArray
from multiutility.learning.selection.choice import FEW_STEPS, GUESSED, MOST_WEAK, STEPS, Data, evenly
from multiutility.learning.selection.evidence import TOLERATED, Estimate, improves, scores, surely_better
from multiutility.learning.selection.masks import Masks
from multiutility.learning.selection.provable import Errors, rate_of, surely_fewer
from multiutility.learning.selection.reader import Reader
from multiutility.learning.selection.regression import Targets
from multiutility.learning.selection.stand_in import fit_hinges
from multiutility.learning.selection.unmasked import errors_by, halves

# Candidates: weights of weak annotations beside full labelings, the more careful first.
ALPHAS = (0.1, 1.0)
# What is learned from: masks alone, weak annotations as masks teach to read them, or as without masks.
ALONE, READ, SOFT = "masks only", "read by the masks", "soft labels"


def no_errors() -> list[Errors]:
    """Nothing is proved."""
    return []


def named_by(data: Data) -> BoolArray:
    """Labels [K] that weak annotations name."""
    return np.asarray(np.any([data.clues(n).possible.any(axis=0) for n in data.weak], axis=0))


def shows_all(masks: Masks) -> bool:
    """Whether full labelings show all labels that weak annotations name."""
    return not (named_by(masks.data) & ~masks.shown(None)).any()


def shows_half(masks: Masks) -> bool:
    """Whether full labelings show at least half of the labels that weak annotations name."""
    named = named_by(masks.data)
    return bool(2 * (named & masks.shown(None)).sum() >= named.sum())


@dataclass(frozen=True, eq=False)
class Trial:
    """What to learn from, and how, with confusions of held-out masks.

    That is: how weak annotations are read, their weight, and the power of class weights. ``find_errors`` are
    those that held-out weak annotations prove, one for each, and found if they are asked for.
    """

    alpha: float
    balance: float
    confusions: Sequence[FloatArray]
    start: str = READ
    find_errors: Callable[[], Sequence[Errors]] = no_errors

    @cached_property
    def scores(self) -> FloatArray:
        """Accuracy, mean recall and mean IoU; zeros if nothing could be held out."""
        return scores(np.sum(self.confusions, axis=0)) if self.confusions else np.zeros(3)

    @cached_property
    def errors(self) -> Sequence[Errors]:
        """Errors that held-out weak annotations prove."""
        return self.find_errors()

    @property
    def facts(self) -> dict[str, Any]:
        """What was tried, and how it scored."""
        facts: dict[str, Any] = {
            "start": self.start,
            "alpha": self.alpha,
            "class_weight": self.balance,
            "scores": [round(value, 4) for value in self.scores.tolist()],
        }
        # Only what was looked at: it takes its time.
        if "errors" in vars(self) and self.errors:
            facts["provable_error"] = round(rate_of(self.errors), 4)
        return facts


class Trials:
    """Stand-ins of the learner, from masks and weak annotations that are read in some way."""

    def __init__(self, reader: Reader, told: Mapping[str, Sequence[FloatArray]], power: float | None) -> None:
        self.masks, self.told, self.data, self._reader = reader.masks, told, reader.masks.data, reader
        self.power = self.masks.balance if power is None else power
        self.mixed_power = self._mixed_power() if power is None else power
        self._plain = self.masks.stand_ins(self.power)
        self._weak: dict[str, list[list[Targets]]] = {}
        self._trials: dict[tuple[str, float, float], Trial] = {}

    @cached_property
    def named(self) -> BoolArray:
        """Labels [K] that weak annotations name."""
        return named_by(self.data)

    @cached_property
    def all_shown(self) -> bool:
        """Whether masks show all labels that weak annotations name: only then they can speak for all."""
        return shows_all(self.masks)

    def _mixed_power(self) -> float:
        """Power of class weights beside weak annotations.

        What masks do not show is guessed, as it is without masks; and where nothing says where it is, rare
        labels are not favored at all.
        """
        if self.all_shown:
            return self.power
        return GUESSED if self.placed else 0.0

    @cached_property
    def placed(self) -> bool:
        """Whether most of the weak annotations say where something is."""
        return 2 * sum(self.data.clues(n).placed for n in self.data.weak) > len(self.data.weak)

    @cached_property
    def alone(self) -> Trial:
        """Masks alone."""
        return Trial(0.0, self.power, self._plain.confusions, ALONE, self._errors_alone)

    def trial(self, start: str, alpha: float, power: float) -> Trial:
        """Judge what is learned, by masks and by weak annotations that are held out."""
        key = start, alpha, power
        if key not in self._trials:
            if start not in self._weak:
                self._weak[start] = self._read(start, MOST_WEAK)
            confusions, errors = self._held_out(self._weak[start], alpha, power), partial(self._errors, *key)
            self._trials[key] = Trial(alpha, power, confusions, start, errors)
        return self._trials[key]

    def promised(self, best: Trial) -> Estimate | None:
        """Estimate scores from held-out masks by more of what the learner will learn from.

        A comparison may look at few of the weak annotations. What is promised may not: the more of them there
        are, the better the model. Still, more than four times as many would take too long.
        """
        if best.alpha == 0:
            return self.masks.estimate(best.confusions)
        found = best.confusions
        if len(self.data.weak) > MOST_WEAK:
            found = self._held_out(self._read(best.start, 4 * MOST_WEAK), best.alpha, best.balance)
        return self.masks.estimate(found, self.named)

    def _held_out(self, weak: Sequence[Sequence[Targets]], alpha: float, power: float) -> list[FloatArray]:
        """Confusions of held-out masks by stand-ins of the other masks and of weak annotations, by fold."""
        models = [
            self._fit([*self.masks.others(f), *self._weighted(parts, alpha)], power, f)
            for f, parts in enumerate(weak)
        ]
        return self.masks.held_out(models)

    def _read(self, start: str, most: int) -> list[list[Targets]]:
        """Return some weak annotations, as they are read for each fold."""
        some = evenly(self.data.weak, most)
        return [[self._target(start, n, f) for n in some] for f in range(self.masks.n_folds)]

    def _target(self, start: str, n: int, fold: int) -> Targets:
        data = self.data
        return data.targets(n, self._reader(n, fold) if start == READ else self.told[start][data.places[n]])

    def _weighted(self, parts: Sequence[Targets], alpha: float) -> list[Targets]:
        """Return some weak annotations as they count beside all masks if each has a weight."""
        n_full, n_weak = len(self.data.full), len(self.data.weak)
        weight = alpha * n_weak / len(parts) * len(self.masks.chosen) / n_full
        return [part.times(weight) for part in parts]

    def _fit(self, parts: Sequence[Targets], power: float, fold: int) -> FloatArray:
        return fit_hinges(parts, self._plain.ridge, power, self._plain.models[fold], FEW_STEPS)

    @cached_property
    def _whole(self) -> FloatArray:
        """Stand-in of all masks, from which those with weak annotations go on."""
        return fit_hinges(self.masks.targets, self._plain.ridge, self.power, n_steps=STEPS)

    def _fit_whole(self, weak: Sequence[Targets], power: float) -> FloatArray:
        """Fit a stand-in of all masks and some weak annotations.

        With none it goes on for as many steps: otherwise, steps would tell masks alone from weak annotations
        that say nothing.
        """
        parts = [*self.masks.targets, *weak]
        return fit_hinges(parts, self._plain.ridge, power, self._whole, FEW_STEPS)

    def _errors_alone(self) -> list[Errors]:
        model = self._fit_whole([], self.power)
        return errors_by(self.data, (model, model))

    def _errors(self, start: str, alpha: float, power: float) -> list[Errors]:
        """Errors of stand-ins of all masks and one half of the weak annotations, proved by the other half."""
        parts = [self._weighted(half, alpha) for half in halves(self.data, self.told[start])]
        return errors_by(self.data, [self._fit_whole(half, power) for half in parts])

    def starts(self, alpha: float) -> tuple[str, ...]:
        """Ways to read weak annotations, the better first: as masks teach, or also as without masks.

        Few masks may show too few labels to teach anything. Then they cannot tell which is better either: if
        they do not surely prefer what they teach, errors that are provable from weak annotations decide. So
        they do where masks that do not show all labels prefer it, but these errors surely speak against it.
        Where masks teach nothing, there is one way.
        """
        if READ not in self.told:
            return tuple(self.told)
        soft, read = (self.trial(one, alpha, self.mixed_power) for one in (SOFT, READ))
        heard = self.all_shown or not surely_fewer(read.errors, soft.errors)
        if surely_better(soft.confusions, read.confusions) and heard:
            return (READ,)
        return (SOFT, READ) if rate_of(soft.errors) < rate_of(read.errors) else (READ,)


def compare(trials: Trials, alpha: float | None, fixed: bool) -> tuple[Trial, list[Trial]]:
    """Judge weights of weak annotations, and powers of class weights.

    Return the best trial, and all. The first is of masks alone, unless ``alpha`` is given; the best is the
    last that beats all before. The more careful come first: a larger weight must be surely better than a
    smaller one, but the smallest one has the benefit of the doubt where most annotations have places and are
    not read as soft labels. Where weak annotations are used, class weights may be less, unless they are
    ``fixed``. A weight that is given is kept, but how annotations are read with it is judged all the same.
    """
    alphas = ALPHAS if alpha is None else (alpha,)
    for start in trials.starts(alphas[-1]):
        found = [trials.alone, *(trials.trial(start, one, trials.mixed_power) for one in alphas)]
        best = best_trial(found, trials.all_shown, trials.placed and start != SOFT)
        # Errors that are proved count labels alike, however large they are, and soft labels please them.
        spoiled = start == SOFT and trials.all_shown and lowers(trials.alone, best)
        if best.alpha > 0 and not spoiled:
            break
    if alpha is not None:
        found = found[1:]
        best = found[0]
    if best.alpha > 0 and not fixed and best.balance > GUESSED:
        found.append(trials.trial(best.start, best.alpha, GUESSED))
        best = best_trial([best, found[-1]])
    return best, found


def best_trial(trials: Sequence[Trial], all_shown: bool = True, trusted: bool = False) -> Trial:
    """Return the first trial, or the last that beats those before it.

    If weak annotations are ``trusted``, the second has the benefit of the doubt.

    >>> alone = Trial(0.0, 0.0, [np.array([[4.0, 1.0], [1.0, 4.0]])] * 3)
    >>> mixed, good = (Trial(1.0, 0.0, [np.array(one)] * 3) for one in ([[5.0, 0.0], [2.0, 3.0]], np.eye(2)))
    >>> best_trial([alone, mixed]).alpha, best_trial([alone, mixed, good]) is good
    (0.0, True)
    """
    best = trials[0]
    for place, one in enumerate(trials[1:]):
        believed = trusted and place == 0 and not objected(best, one, all_shown)
        if believed or beats(best, one, all_shown):
            best = one
    return best


def objected(first: Trial, second: Trial, all_shown: bool) -> bool:
    """Whether one of the judges is against the second trial: surely so, or masks in one of the measures.

    Masks that do not show all labels have no objections.

    >>> alone, worse = (Trial(0.0, 0.0, [np.array([[5.0, x], [x, 5.0]])] * 3) for x in (1.0, 2.0))
    >>> objected(alone, worse, all_shown=True), objected(alone, worse, all_shown=False)
    (True, False)
    """
    if all_shown and (lowers(first, second) or surely_better(second.confusions, first.confusions)):
        return True
    return surely_fewer(second.errors, first.errors)


def lowers(first: Trial, second: Trial) -> bool:
    """Whether masks find the second trial worse in some measure, by more than is tolerated."""
    return bool((second.scores - first.scores).min() < -TOLERATED)


def beats(first: Trial, second: Trial, all_shown: bool) -> bool:
    """Whether one of the judges is surely in favor of the second trial, and the other not surely against it.

    Masks are in favor if they do not find it worse in any measure, either; they are not against it if there
    are labels that they do not show. Less of class weights is for masks alone to judge, and must be worse in
    nothing: it trades the recall of rare labels for accuracy, and little of either can be proved.
    """
    if first.alpha == second.alpha:
        return improves(first.confusions, second.confusions, tolerated=0.0)
    if improves(first.confusions, second.confusions, TOLERATED):
        return not surely_fewer(second.errors, first.errors)
    against = all_shown and surely_better(second.confusions, first.confusions)
    return not against and surely_fewer(first.errors, second.errors)
