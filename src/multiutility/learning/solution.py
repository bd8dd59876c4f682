"""What every optimizer takes, reports and returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.learning.risk import Risk

S = TypeVar("S")


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


class Optimizer(Protocol[S]):
    """Minimizes ``|w|^2 / 2 + risk(w)`` over weights whose pairwise part is not negative."""

    def minimize(
        self,
        risk: Risk,
        tolerance: float,
        start: S | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[S]:
        """Stop when the duality gap is at most ``tolerance`` times the primal objective.

        ``start`` is the state of an earlier solution, of a risk that may differ in its anchors.
        """


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
