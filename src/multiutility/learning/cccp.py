"""The concave-convex procedure: impute, refit, guard."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from multiutility.arrays import FloatArray, IndexArray
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference import Solver
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.inference.solver import all_finished
from multiutility.learning.checkpoint.journal import Journal
from multiutility.learning.examples import Example, model_of
from multiutility.learning.labeling_risk import AT_ONCE
from multiutility.learning.optimizers.solution import Callback, Minimizer, Solution, ignore
from multiutility.learning.starts.start import proposed

S = TypeVar("S")


class AnchoredRisk(Protocol):
    """What the procedure sees of a risk: labelings that its hinges are measured from, and the objective."""

    @property
    def costs(self) -> FloatArray:
        """Weights of the hinges, C_n, [N]."""

    @property
    def labelings(self) -> list[IndexArray]:
        """The labelings that hinges are measured from."""

    def anchored(self, anchors: Sequence[IndexArray]) -> Self:
        """Return the same risk measured from other labelings."""

    def objective(self, weights: FloatArray) -> float:
        """Return ``|w|^2 / 2 + risk(w)``; with an approximate solver, a lower estimate."""


R = TypeVar("R", bound=AnchoredRisk)


class Imputation(NamedTuple):
    """Labelings of all examples, how much their scores F have risen [N], and the covers they leave unmet."""

    labelings: list[IndexArray]
    gains: FloatArray
    unmet: dict[int, tuple[int, ...]]


class Imputing(Protocol):
    """Finds labelings that agree with the annotations."""

    def impute(self, weights: FloatArray, previous: Sequence[IndexArray]) -> Imputation:
        """Return labelings for the weights, which are at least as good as the previous ones."""


@dataclass(frozen=True, eq=False)
class Imputer:
    """Annotation-consistent inference: the best labeling that agrees with each annotation.

    A labeling replaces the previous one if it leaves fewer covers and sizes unmet, or as many and has a
    higher score.
    """

    examples: Sequence[Example]
    solver: Solver

    def impute(self, weights: FloatArray, previous: Sequence[IndexArray]) -> Imputation:
        """Return labelings that agree with the annotations, for the weights."""
        latent = [n for n, example in enumerate(self.examples) if example.latent]
        imputation = Imputation(list(previous), np.zeros(len(previous)), {})
        with warnings.catch_warnings():
            # It names places in this batch; who fits the model knows better, and warns once.
            warnings.simplefilter("ignore", UnmetCoverWarning)
            for first in range(0, len(latent), AT_ONCE):
                self._impute(latent[first : first + AT_ONCE], weights, imputation)
        return imputation

    def _impute(self, some: Sequence[int], weights: FloatArray, imputation: Imputation) -> None:
        """Replace the labelings of some examples by better ones."""
        model, (labelings, gains, unmet) = model_of(self.examples), imputation
        energies = [model.energy(self.examples[n].problem, weights) for n in some]
        constraints = [self.examples[n].constraints for n in some]
        starts = [labelings[n] for n in some]
        results = all_finished(self.solver.minimize_many(energies, constraints, starts))
        for n, energy, limits, result in zip(some, energies, constraints, results, strict=True):
            labelings[n], gains[n] = better(energy, limits, labelings[n], result.labels)
            if len(open_covers := limits.unmet(labelings[n])):
                unmet[n] = tuple(open_covers.tolist())


def better(
    energy: Energy, constraints: Constraints, old: IndexArray, new: IndexArray
) -> tuple[IndexArray, float]:
    """Return the better of two labelings and by how much its energy is below that of the old one.

    >>> energy, cover = Energy([[0, 1], [0, 1]]), Constraints(covers=[([0, 1], 1)])
    >>> better(energy, cover, np.array([1, 1]), np.array([0, 1]))
    (array([0, 1]), 1.0)
    >>> better(energy, cover, np.array([1, 1]), np.array([0, 0]))
    (array([1, 1]), 0.0)
    """
    before, after = (constraints.n_failed(labels) for labels in (old, new))
    gain = energy.evaluate(old) - energy.evaluate(new)
    return (new, gain) if after < before or (after == before and gain > 0) else (old, 0.0)


@dataclass(frozen=True, eq=False)
class Fit(Generic[S]):
    """Weights, labelings imputed on the way to them, and the objective after each outer iteration.

    ``reached`` is the tolerance of the last iteration.
    """

    solution: Solution[S]
    imputation: Imputation
    objectives: tuple[float, ...]
    reached: float
    converged: bool


def convex_fit(examples: Sequence[Example], solution: Solution[S], tolerance: float) -> Fit[S]:
    """Return the fit of examples that leave nothing open: a convex problem, without outer iterations."""
    nothing = Imputation(proposed(examples), np.zeros(len(examples)), {})
    return Fit(solution, nothing, (solution.primal,), tolerance, solution.converged)


@dataclass(frozen=True, eq=False)
class Cccp(Generic[R, S]):
    """The concave-convex procedure (Yuille and Rangarajan 2002; Yu and Joachims 2009) for eq. lvssmv-obj.

    Repeats: impute labelings that agree with the annotations, then solve the convex problem with their scores
    on the left-hand side of the constraints, warm from the last one. The objective never rises: weights are
    kept if the new ones are worse, which can happen while the tolerance is loose.

    ``tolerance`` of the relative duality gap holds in the end; it starts at ``loosest`` and is halved in each
    iteration. At the final tolerance, it ends when the labelings no longer change or when the objective falls
    by less than ``tolerance / 10`` of itself.

    ``journal`` keeps what the guard has found, besides what the optimizer may keep there.
    """

    optimizer: Minimizer[R, S]
    tolerance: float = 0.01
    loosest: float = 0.1
    max_iterations: int = 20
    trials: int = 2
    journal: Journal = field(default_factory=Journal)

    def minimize(
        self,
        risk: R,
        imputer: Imputing,
        start: Solution[S],
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Fit[S]:
        """Start from a solution for the risk as it is anchored, of the loosest tolerance."""
        solution, objectives, reached = start, [start.primal], self.loosest
        imputation = Imputation(risk.labelings, np.zeros(len(risk.costs)), {})
        for iteration in range(1, self.max_iterations + 1):
            imputation = imputer.impute(solution.weights, imputation.labelings)
            risk = risk.anchored(imputation.labelings)
            # Only the scores of the anchors have changed, so the objective of the old weights is known.
            old = replace(solution, primal=solution.primal - float(risk.costs @ imputation.gains))
            settled = not imputation.gains.any()
            if settled and reached <= self.tolerance:
                return Fit(old, imputation, tuple(objectives), reached, converged=old.converged)
            tolerance = self.tolerance if settled else max(reached / 2, self.tolerance)
            note = numbered(callback, iteration)
            new = self.optimizer.minimize(risk, tolerance, old.state, random_state, note)
            solution, reached = guarded(risk, old, new, self.journal), tolerance
            objectives.append(solution.primal)
            fall = objectives[-2] - objectives[-1]
            if reached <= self.tolerance and fall <= self.tolerance / 10 * abs(objectives[-1]):
                return Fit(solution, imputation, tuple(objectives), reached, converged=solution.converged)
        return Fit(solution, imputation, tuple(objectives), reached, converged=False)

    def minimize_best(
        self,
        begins: Sequence[R],
        imputer: Imputing,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Fit[S]:
        """Start from each of the risks, which differ in their anchors, and go on from the best objective.

        The first solutions tell little: what fits its own labelings well is often hard to improve. So all
        take ``trials`` outer iterations before they are compared.
        """
        note = numbered(callback, 0)
        starts = [self.optimizer.minimize(b, self.loosest, None, random_state, note) for b in begins]
        if len(begins) == 1:
            return self.minimize(begins[0], imputer, starts[0], random_state, callback)
        trial = replace(self, max_iterations=min(self.trials, self.max_iterations))
        pairs = zip(begins, starts, strict=True)
        fits = [trial.minimize(begin, imputer, start, random_state, note) for begin, start in pairs]
        best = min(fits, key=lambda fit: fit.objectives[-1])
        left = self.max_iterations - len(best.objectives) + 1
        if best.converged or left < 1:
            return best
        rest = replace(self, loosest=best.reached, max_iterations=left)
        risk = begins[0].anchored(best.imputation.labelings)
        fit = rest.minimize(risk, imputer, best.solution, random_state, callback)
        return replace(fit, objectives=best.objectives + fit.objectives[1:])


def numbered(callback: Callback, iteration: int) -> Callback:
    """Return the callback that gets records with the number of the outer iteration."""
    return lambda record: callback(replace(record, iteration=iteration))


def guarded(risk: AnchoredRisk, old: Solution[S], new: Solution[S], journal: Journal) -> Solution[S]:
    """Return the new solution, but with the old weights if they are better.

    The primal of an approximate oracle is an estimate from the labelings it has found. Those found since then
    count for the old weights, too: they are compared on all labelings seen.
    """
    if new.primal <= old.primal:
        return new
    both = journal.values(lambda: np.array([risk.objective(one.weights) for one in (old, new)]))
    before, after = both.tolist()
    if after <= before:
        return replace(new, primal=after)
    return replace(new, weights=old.weights, primal=before)
