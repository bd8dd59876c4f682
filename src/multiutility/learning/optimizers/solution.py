"""What every optimizer takes, reports and returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import FloatArray

S = TypeVar("S")
# What is minimized: optimizers differ in what they must know of it.
R_contra = TypeVar("R_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Record:
    """The objective after a pass over the blocks.

    ``exact`` says whether the primal belongs to one weight vector; otherwise it is an estimate from the gaps
    of blocks at different times of the pass. Even an exact primal is only as good as the oracle: with an
    approximate one it is a lower estimate.

    >>> Record(passes=3, primal=2.0, dual=1.5, seconds=0.1, exact=True).relative_gap
    0.25
    """

    passes: int
    primal: float
    dual: float
    seconds: float
    exact: bool
    iteration: int = 0

    @property
    def gap(self) -> float:
        """Duality gap."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Duality gap as part of the primal."""
        return self.gap / self.primal if self.primal > 0 else 0.0


Callback: TypeAlias = Callable[[Record], None]


def ignore(_record: Record) -> None:
    """Do nothing after a pass."""


@dataclass(frozen=True, eq=False, slots=True)
class Solution(Generic[S]):
    """The best weights found with their primal objective, the dual objective, and what to start from next."""

    weights: FloatArray
    primal: float
    dual: float
    state: S
    converged: bool


class Run(Protocol[S]):
    """A minimization on its way: between two passes it can be kept, and gone on with later."""

    @property
    def state(self) -> S:
        """What a solution would have as its state, as it is now."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""

    def advance(self) -> None:
        """Make a pass, or whatever comes next."""

    def solution(self) -> Solution[S]:
        """Return the solution of a finished run."""

    def arrays(self) -> Arrays:
        """Return all that it takes to go on, but for the state and the random state."""


class Minimizer(Protocol[R_contra, S]):
    """Minimizes ``|w|^2 / 2 + risk(w)`` over weights whose pairwise part is not negative."""

    def minimize(
        self,
        risk: R_contra,
        tolerance: float,
        start: S | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[S]:
        """Stop when the duality gap is at most ``tolerance`` times the primal objective.

        ``start`` is the state of an earlier solution, of a risk that may differ in its anchors.
        """


class Optimizer(Minimizer[R_contra, S], Protocol[R_contra, S]):
    """A minimizer that can be interrupted between two passes."""

    def begin(
        self,
        risk: R_contra,
        tolerance: float,
        start: S | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Run[S]:
        """Return a run that has made no pass yet; ``minimize`` advances it until it is finished."""

    def resume(
        self,
        risk: R_contra,
        tolerance: float,
        state: S,
        arrays: Mapping[str, NDArray[Any]],
        random_state: np.random.RandomState,
        callback: Callback = ignore,
    ) -> Run[S]:
        """Return a run as it was when ``arrays`` were taken; they may be of another process."""

    def pack(self, state: S) -> Arrays:
        """Return a state as arrays."""

    def unpack(self, risk: R_contra, arrays: Mapping[str, NDArray[Any]]) -> S:
        """Return the state of packed arrays, which belongs to the risk as it was anchored then."""


def finish(run: Run[S]) -> Solution[S]:
    """Advance a run until it is finished, and return its solution."""
    while not run.finished:
        run.advance()
    return run.solution()


class Progress:
    """Keeps the best weights and tells the callback about every pass."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self._begin = time.perf_counter()
        self._passes = 0
        self.primal = np.inf
        self.weights: FloatArray = np.zeros(0)

    def report(self, primal: float, dual: float, exact: bool) -> Record:
        """Report a pass."""
        self._passes += 1
        seconds = time.perf_counter() - self._begin
        record = Record(self._passes, primal, dual, seconds, exact)
        self._callback(record)
        return record

    def offer(self, weights: FloatArray, primal: float) -> None:
        """Keep the weights if they are the best so far."""
        if primal < self.primal:
            self.primal, self.weights = primal, weights

    def relative_gap(self, dual: float) -> float:
        """Gap between the best primal and the dual, as part of the former."""
        return (self.primal - dual) / self.primal if self.primal > 0 else 0.0

    def arrays(self) -> Arrays:
        """Return all of it as arrays."""
        numbers = [self._passes, self.primal, time.perf_counter() - self._begin]
        return {"progress": np.array(numbers, dtype=np.float64), "best": self.weights}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where the arrays were taken; time in between does not count."""
        passes, self.primal, seconds = arrays["progress"].tolist()
        self._passes, self._begin = int(passes), time.perf_counter() - seconds
        self.weights = np.array(arrays["best"], dtype=np.float64)
