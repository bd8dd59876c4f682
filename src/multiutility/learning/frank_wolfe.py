"""Block-coordinate Frank-Wolfe on the dual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.learning.dual import Dual, projected
from multiutility.learning.risk import Risk, Violation
from multiutility.learning.solution import Callback, Progress, Solution, ignore


@dataclass(frozen=True)
class FrankWolfe:
    """Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013), in mini-batches and with cached planes.

    The oracles of a mini-batch see the same weights, so they may run in parallel; the steps of its blocks are
    then taken one after another, each with an exact line search, so that the dual objective never falls.
    Between calls of the oracle, weight is shifted among planes that were found before (Osokin et al. 2016).

    Parameters
    ----------
    max_passes : int
        Passes over all blocks, at most.
    batch_size : int or None
        Blocks of a mini-batch. The result depends on it, but not on the solver's number of threads. By
        default up to 16, but no more than one in 32 blocks: large mini-batches take more passes.
    planes : int
        Planes that each block keeps besides the mixture of all others.
    exchanges : int
        Steps between these planes for each call of the oracle; they cost little, and save passes.
    rehearsals : int
        Passes over the blocks with their planes only, after each pass with the oracle: they take as long as
        the products with the features, and pay if the oracle takes much longer.
    check_every : int
        The primal is computed after so many passes at the latest; earlier if the gap seems small enough.
    average : bool
        If the passes end before the tolerance is reached, also try the average of the iterates, weighted by
        their number; the lower primal wins.
    """

    max_passes: int = 200
    batch_size: int | None = None
    planes: int = 10
    exchanges: int = 5
    rehearsals: int = 0
    check_every: int = 10
    average: bool = True

    def __post_init__(self) -> None:
        for name in ("max_passes", "batch_size", "planes", "check_every"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected at least 1")

    def minimize(
        self,
        risk: Risk,
        tolerance: float = 0.01,
        start: Dual | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[Dual]:
        """Minimize ``|w|^2 / 2 + risk(w)`` until the gap is at most ``tolerance`` times the primal."""
        if start is not None:
            start.recenter(risk)
        run = Run(Dual(risk, self.planes + 1) if start is None else start, self, callback)
        rng = np.random.RandomState(0) if random_state is None else random_state
        check = start is not None
        for passes in range(1, self.max_passes + 1):
            if check:
                if run.check() <= tolerance:
                    return run.solution(converged=True)
                run.step_again()
                check = False
            else:
                estimate = run.sweep(rng.permutation(len(risk.costs)))
                for _ in range(self.rehearsals):
                    run.rehearse(rng.permutation(len(risk.costs)))
                check = estimate <= tolerance or passes % self.check_every == 0
        converged = run.check() <= tolerance
        if self.average and not converged:
            converged = run.check_average() <= tolerance
        return run.solution(converged)


class Run:
    """One minimization: dual variables, their average, and the best weights so far."""

    def __init__(self, dual: Dual, settings: FrankWolfe, callback: Callback) -> None:
        self.dual = dual
        self.settings = settings
        self.progress = Progress(callback)
        self.average: FloatArray = dual.sum.copy()
        self._n_sweeps = 0
        self._checked: tuple[FloatArray, list[Violation]] = (dual.weights, [])

    def batches(self, blocks: Sequence[int]) -> Iterator[Sequence[int]]:
        """Cut the blocks into mini-batches."""
        size = self.settings.batch_size or min(16, max(1, self.dual.n_blocks // 32))
        return (blocks[b : b + size] for b in range(0, len(blocks), size))

    def sweep(self, order: NDArray[np.int64]) -> float:
        """Pass over all blocks, fresh weights for each mini-batch; return an estimate of the relative gap."""
        gap = 0.0
        for batch in self.batches(order.tolist()):
            weights = self.dual.weights
            found = self.dual.risk.oracle(batch, weights)
            gap += float(self.dual.step(batch, found, weights, self.settings.exchanges).sum())
        self._n_sweeps += 1
        self.average += 2 / (self._n_sweeps + 1) * (self.dual.sum - self.average)
        dual = self.dual.objective
        return self.progress.report(dual + gap, dual, exact=False).relative_gap

    def rehearse(self, order: NDArray[np.int64]) -> None:
        """Pass over all blocks without the oracle, with the planes that they have."""
        for batch in self.batches(order.tolist()):
            weights = self.dual.weights
            self.dual.exchange(batch, self.dual.risk.scores(batch, weights), weights, self.settings.exchanges)

    def check(self) -> float:
        """Ask the oracle about all blocks at the same weights; return the relative gap."""
        self.dual.refresh()
        weights = self.dual.weights
        violations = self.dual.risk.oracle(range(self.dual.n_blocks), weights)
        self._checked = weights, violations
        return self._assess(weights, violations)

    def step_again(self) -> None:
        """Use the planes of the last check, though they belong to weights that change on the way."""
        weights, violations = self._checked
        for batch in self.batches(range(self.dual.n_blocks)):
            self.dual.step(batch, [violations[n] for n in batch], weights, self.settings.exchanges)

    def check_average(self) -> float:
        """Ask the oracle about all blocks at the average weights; return the relative gap of the best."""
        weights = projected(self.average, self.dual.risk.n_pairwise)
        return self._assess(weights, self.dual.risk.oracle(range(self.dual.n_blocks), weights))

    def _assess(self, weights: FloatArray, violations: Sequence[Violation]) -> float:
        hinges = np.array([violation.hinge for violation in violations])
        primal, dual = float(weights @ weights / 2 + self.dual.risk.costs @ hinges), self.dual.objective
        self.progress.report(primal, dual, exact=True)
        self.progress.offer(weights, primal)
        return self.progress.relative_gap(dual)

    def solution(self, converged: bool) -> Solution[Dual]:
        """Return the best weights, and the dual variables as they are now."""
        progress = self.progress
        return Solution(progress.weights, progress.primal, self.dual.objective, self.dual, converged)
