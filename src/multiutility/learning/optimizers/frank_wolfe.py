"""Block-coordinate Frank-Wolfe on the dual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import FloatArray
from multiutility.learning.optimizers.dual import Dual
from multiutility.learning.optimizers.risk import Risk, Violation
from multiutility.learning.optimizers.solution import Callback, Progress, Solution, finish, ignore

# Passes over blocks that come first.
ALONE = 2
# Iterate t counts about t ** DECAY times in the average: most of it is the last quarter of all passes.
DECAY = 3


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
        Whether the weights are an average of the iterates, later ones counting more (Shamir and Zhang 2013):
        its primal is lower than that of most iterates, and changes much less from one pass to the next.
    """

    max_passes: int = 200
    batch_size: int | None = None
    planes: int = 10
    exchanges: int = 5
    rehearsals: int = 0
    check_every: int = 5
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
        return finish(self.begin(risk, tolerance, start, random_state, callback))

    def begin(
        self,
        risk: Risk,
        tolerance: float = 0.01,
        start: Dual | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> FrankWolfeRun:
        """Return a run that has made no pass yet."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        if start is None:
            return FrankWolfeRun(Dual(risk, self.planes + 1), self, tolerance, rng, callback)
        start.recenter(risk)
        run = FrankWolfeRun(start, self, tolerance, rng, callback)
        run.due = True
        return run

    def go_on(
        self,
        start: Dual,
        first: Sequence[int],
        tolerance: float = 0.01,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[Dual]:
        """Minimize from dual variables that are good but for some blocks, which come ``first``.

        As little is missing, the primal is computed after every second pass.
        """
        rng = np.random.RandomState(0) if random_state is None else random_state
        run = FrankWolfeRun(start, replace(self, check_every=2), tolerance, rng, callback)
        run.settle(first)
        # Without a change, the gap may be small enough as it is.
        run.due = not len(first)
        return finish(run)

    def resume(
        self,
        risk: Risk,  # noqa: ARG002  (the state has it)
        tolerance: float,
        state: Dual,
        arrays: Mapping[str, NDArray[Any]],
        random_state: np.random.RandomState,
        callback: Callback = ignore,
    ) -> FrankWolfeRun:
        """Return a run as it was when the arrays were taken."""
        run = FrankWolfeRun(state, self, tolerance, random_state, callback)
        run.restore(arrays)
        return run

    def pack(self, state: Dual) -> Arrays:
        """Return dual variables as arrays."""
        return state.arrays()

    def unpack(self, risk: Risk, arrays: Mapping[str, NDArray[Any]]) -> Dual:
        """Return dual variables of packed arrays."""
        return Dual.from_arrays(risk, arrays)


def newest(n_sweeps: int) -> float:
    """Weight of the newest of some iterates in their average.

    >>> newest(1), newest(2)
    (1.0, 0.8)
    """
    return (DECAY + 1) / (DECAY + n_sweeps)


class FrankWolfeRun:
    """One minimization: dual variables, their average, and the best weights so far.

    ``due`` says whether the next pass asks the oracle about all blocks at the same weights.
    """

    def __init__(
        self,
        dual: Dual,
        settings: FrankWolfe,
        tolerance: float,
        random_state: np.random.RandomState,
        callback: Callback,
    ) -> None:
        self.dual = dual
        self.settings = settings
        self.tolerance = tolerance
        self.progress = Progress(callback)
        self.average: FloatArray = dual.sum.copy()
        self.due = False
        self.finished = False
        self.converged = False
        self._random_state = random_state
        self._n_passes = 0
        self._n_sweeps = 0
        self._checked: tuple[FloatArray, list[Violation]] = (dual.weights, [])

    @property
    def state(self) -> Dual:
        """The dual variables as they are now."""
        return self.dual

    def advance(self) -> None:
        """Make a pass; after the last one, see how good the weights are."""
        if self._n_passes == self.settings.max_passes:
            self.converged = self.check() <= self.tolerance
            self.finished = True
            return
        self._n_passes += 1
        if self.due:
            self.converged = self.finished = self.check() <= self.tolerance
            if not self.finished:
                self.step_again()
            self.due = False
            return
        n_blocks = self.dual.n_blocks
        estimate = self.sweep(self._random_state.permutation(n_blocks))
        for _ in range(self.settings.rehearsals):
            self.rehearse(self._random_state.permutation(n_blocks))
        self.due = estimate <= self.tolerance or self._n_passes % self.settings.check_every == 0

    def arrays(self) -> Arrays:
        """Return all that it takes to go on, but for the state and the random state."""
        counts = np.array([self._n_passes, self._n_sweeps, self.due, self.converged, self.finished])
        return {"counts": counts.astype(np.int64), "average": self.average, **self.progress.arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where the arrays were taken."""
        self._n_passes, self._n_sweeps, due, converged, finished = arrays["counts"].tolist()
        self.due, self.converged, self.finished = bool(due), bool(converged), bool(finished)
        self.average[...] = arrays["average"]
        self.progress.restore(arrays)

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
        self.average += newest(self._n_sweeps) * (self.dual.sum - self.average)
        dual = self.dual.objective
        return self.progress.report(dual + gap, dual, exact=False).relative_gap

    def settle(self, blocks: Sequence[int]) -> None:
        """Pass over some blocks, while all others stay as they are.

        Not for long: alone, they would pull the weights much further than all together.
        """
        for _ in range(ALONE):
            for batch in self.batches(blocks):
                weights = self.dual.weights
                self.dual.step(batch, self.dual.risk.oracle(batch, weights), weights, self.settings.exchanges)

    def rehearse(self, order: NDArray[np.int64]) -> None:
        """Pass over all blocks without the oracle, with the planes that they have."""
        for batch in self.batches(order.tolist()):
            weights = self.dual.weights
            self.dual.exchange(batch, self.dual.risk.scores(batch, weights), weights, self.settings.exchanges)

    def check(self) -> float:
        """Ask the oracle about all blocks at the same weights; return the relative gap."""
        self.dual.refresh()
        weights = (
            self.dual.risk.layout.projected(self.average) if self.settings.average else self.dual.weights
        )
        violations = self.dual.risk.oracle(range(self.dual.n_blocks), weights)
        self._checked = weights, violations
        return self._assess(weights, violations)

    def step_again(self) -> None:
        """Use the planes of the last check, though they belong to weights that change on the way."""
        weights, violations = self._checked
        for batch in self.batches(range(self.dual.n_blocks)):
            self.dual.step(batch, [violations[n] for n in batch], weights, self.settings.exchanges)

    def _assess(self, weights: FloatArray, violations: Sequence[Violation]) -> float:
        hinges = np.array([violation.hinge for violation in violations])
        primal, dual = float(weights @ weights / 2 + self.dual.risk.costs @ hinges), self.dual.objective
        self.progress.report(primal, dual, exact=True)
        self.progress.offer(weights, primal)
        return self.progress.relative_gap(dual)

    def solution(self) -> Solution[Dual]:
        """Return the best weights, and the dual variables as they are now."""
        progress = self.progress
        return Solution(progress.weights, progress.primal, self.dual.objective, self.dual, self.converged)
