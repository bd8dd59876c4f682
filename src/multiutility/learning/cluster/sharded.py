"""Learning from examples that are cut into shards, each of them somewhere: the same problem, the same gap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays, part, prefixed
from multiutility.arrays import FloatArray
from multiutility.learning.cluster import shard as at
from multiutility.learning.cluster.shard import Settings, Step, Total
from multiutility.learning.cluster.shards import ShardedRisk
from multiutility.learning.optimizers.frank_wolfe import newest
from multiutility.learning.optimizers.solution import Callback, Progress, Solution, finish, ignore
from multiutility.parallel import Handle

# If less than this part of the steps of a shard is taken, all become more cautious by a factor.
TAKEN, MORE = 0.95, 1.5


@dataclass(frozen=True, eq=False)
class Variables:
    """Dual variables of all shards: their last steps, and the total that says which parts were taken."""

    steps: list[Handle[Step]]
    total: Handle[Total]


@dataclass(frozen=True)
class ShardedFrankWolfe:
    """Block-coordinate Frank-Wolfe in all shards at once, see ``FrankWolfe``.

    A pass has some rounds. In each, every shard steps with some of its blocks, and rehearses with the others,
    from the same weights; then that part of its steps is taken by which the dual rises most. So the dual
    never falls, and what moves between shards is as large as the weights. In order that most steps can be
    taken, each shard counts its own as if some others took the same (Ma et al. 2015); how many, is found on
    the way. The result depends on the shards, but neither on who works on them, nor on how often something
    has to be repeated.

    Parameters
    ----------
    max_passes : int
        Passes over all blocks, at most.
    rounds : int
        Rounds of a pass: the more of them, the fewer passes, and the more often all wait for each other.
    rehearsals : int
        How often a shard goes over the planes of its other blocks in each round, see ``FrankWolfe``: that
        saves passes.
    batch_size, planes, exchanges, check_every, average
        As of ``FrankWolfe``; mini-batches are those of one shard, by default of one in 32 of its blocks.
    keep_every : int
        After so many passes, dual variables are fetched, so that not more than these have to be repeated when
        a worker is lost.
    """

    max_passes: int = 400
    rounds: int = 4
    batch_size: int | None = None
    planes: int = 10
    exchanges: int = 5
    rehearsals: int = 1
    check_every: int = 5
    average: bool = True
    keep_every: int = 5

    def __post_init__(self) -> None:
        for name in ("max_passes", "rounds", "batch_size", "planes", "check_every", "keep_every"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected at least 1")

    def minimize(
        self,
        risk: ShardedRisk,
        tolerance: float = 0.01,
        start: Variables | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[Variables]:
        """Minimize ``|w|^2 / 2 + risk(w)`` until the gap is at most ``tolerance`` times the primal."""
        return finish(self.begin(risk, tolerance, start, random_state, callback))

    def begin(
        self,
        risk: ShardedRisk,
        tolerance: float = 0.01,
        start: Variables | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> ShardedRun:
        """Return a run that has made no pass yet."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        if start is None:
            run = ShardedRun(risk, self._first(risk), self, tolerance, rng, callback)
        else:
            run = ShardedRun(risk, start, self, tolerance, rng, callback)
            run.recenter()
            run.due = True
        run.average = run.total.sum.copy()
        return run

    def _first(self, risk: ShardedRisk) -> Variables:
        shards = risk.shards
        slots = [self.planes + 1] * len(risk.handles)
        steps = shards.each(at.begin, risk.handles, shards.cut(risk.labelings), risk.memories, slots)
        changes = shards.each(at.change_of, steps)
        return Variables(steps, shards.executor.call(at.add_up, shards.layout, *changes))

    def resume(
        self,
        risk: ShardedRisk,
        tolerance: float,
        state: Variables,
        arrays: Mapping[str, NDArray[Any]],
        random_state: np.random.RandomState,
        callback: Callback = ignore,
    ) -> ShardedRun:
        """Return a run as it was when the arrays were taken."""
        run = ShardedRun(risk, state, self, tolerance, random_state, callback)
        run.restore(arrays)
        return run

    def pack(self, state: Variables) -> Arrays:
        """Return dual variables as arrays."""
        steps = [handle.result() for handle in state.steps]
        packed: Arrays = {}
        for n, one in enumerate(steps):
            packed |= prefixed(f"shard{n}", {**one.state, "anchors": np.concatenate(one.anchors)})
        total = state.total.result()
        numbers = np.array([total.loss, total.gap, total.hinges])
        return {**packed, "sum": total.sum, "parts": total.parts, "numbers": numbers}

    def unpack(self, risk: ShardedRisk, arrays: Mapping[str, NDArray[Any]]) -> Variables:
        """Return dual variables of packed arrays."""
        shards, layout = risk.shards, risk.shards.layout
        steps = []
        for n, labelings in enumerate(shards.cut(risk.labelings)):
            state = part(arrays, f"shard{n}")
            anchors = np.split(state.pop("anchors"), np.cumsum([len(labels) for labels in labelings])[:-1])
            nothing = at.Change(np.zeros(layout.n_unary), np.zeros(layout.n_pairwise), 0.0)
            steps.append(shards.executor.put(Step(anchors, state, nothing)))
        loss, gap, hinges = arrays["numbers"].tolist()
        total = Total(np.array(arrays["sum"]), loss, np.array(arrays["parts"]), gap, hinges)
        return Variables(steps, shards.executor.put(total))


class ShardedRun:
    """One minimization: dual variables, their average, and the best weights so far.

    ``due`` says whether the next pass asks the oracle about all blocks at the same weights.
    """

    def __init__(
        self,
        risk: ShardedRisk,
        variables: Variables,
        settings: ShardedFrankWolfe,
        tolerance: float,
        random_state: np.random.RandomState,
        callback: Callback,
    ) -> None:
        self.risk = risk
        self.state = variables
        self.settings = settings
        self.tolerance = tolerance
        self.progress = Progress(callback)
        self.due = False
        self.finished = False
        self.converged = False
        self._random_state = random_state
        self._n_passes = 0
        self._n_sweeps = 0
        self.average: FloatArray = np.zeros(risk.shards.layout.n_weights)
        self.company = max(1.0, len(risk.handles) / 2)

    @property
    def total(self) -> Total:
        """The total as it is now."""
        return self.state.total.result()

    def advance(self) -> None:
        """Make a pass; after the last one, see how good the weights are."""
        last = self._n_passes == self.settings.max_passes
        self._n_passes += not last
        if last or self.due:
            self.converged = self.examine() <= self.tolerance
            self.finished, self.due = self.converged or last, False
        else:
            estimate = self.sweep()
            self.due = estimate <= self.tolerance or self._n_passes % self.settings.check_every == 0
        if self._n_passes % self.settings.keep_every == 0:
            self.keep()

    def sweep(self) -> float:
        """Pass over all blocks in some rounds; return an estimate of the relative gap."""
        sizes, n_rounds = self.risk.shards.sizes, self.settings.rounds
        orders = [np.array_split(self._random_state.permutation(size), n_rounds) for size in sizes]
        for number in range(n_rounds):
            self._steps(at.sweep, [order[number] for order in orders], [self._settings] * len(sizes))
            self._combine(first=number == 0)
        total = self.total
        self.company = self._next_company(total)
        self._n_sweeps += 1
        self.average += newest(self._n_sweeps) * (total.sum - self.average)
        dual = self._dual(total)
        return self.progress.report(dual + total.gap, dual, exact=False).relative_gap

    def examine(self) -> float:
        """Ask the oracle about all blocks at the same weights; return the relative gap, and make steps."""
        self._steps(at.refresh)
        self._add_up()
        before, n = self.total, len(self.risk.handles)
        weights = self.risk.shards.layout.projected(self.average if self.settings.average else before.sum)
        self._steps(at.examine, [weights] * n, [self._settings] * n)
        self._combine(first=True)
        self._remember()
        return self._assess(weights, float(weights @ weights / 2) + self.total.hinges, self._dual(before))

    def recenter(self) -> None:
        """Take over the anchors of the risk."""
        self._steps(at.recenter, self.risk.shards.cut(self.risk.labelings), self.risk.memories)
        self._add_up()
        self._steps(at.approach)
        self._combine(first=True)

    def keep(self) -> None:
        """Fetch all variables, so that they need not be computed again when a worker is lost."""
        executor = self.risk.shards.executor
        steps, (total,) = executor.keep(self.state.steps), executor.keep([self.state.total])
        self.state = Variables(steps, total)

    def solution(self) -> Solution[Variables]:
        """Return the best weights, and the dual variables as they are now."""
        progress = self.progress
        return Solution(progress.weights, progress.primal, self._dual(self.total), self.state, self.converged)

    def arrays(self) -> Arrays:
        """Return all that it takes to go on, but for the state and the random state."""
        counts = np.array([self._n_passes, self._n_sweeps, self.due, self.converged, self.finished])
        found = {"counts": counts.astype(np.int64), "company": np.array([self.company])}
        return {**found, "average": self.average, **self.progress.arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where the arrays were taken."""
        self._n_passes, self._n_sweeps, due, converged, finished = arrays["counts"].tolist()
        self.due, self.converged, self.finished = bool(due), bool(converged), bool(finished)
        self.average[...] = arrays["average"]
        (self.company,) = arrays["company"].tolist()
        self.progress.restore(arrays)

    @property
    def _settings(self) -> Settings:
        how = self.settings
        return Settings(how.batch_size, how.exchanges, how.rehearsals, self.company)

    def _next_company(self, total: Total) -> float:
        """Return how many shards seem to take the same steps: more, if not all could be taken."""
        return (
            min(MORE * self.company, float(len(total.parts))) if total.parts.min() < TAKEN else self.company
        )

    def _steps(self, function: Callable[..., Step], *columns: Sequence[Any]) -> None:
        """Let all shards make steps from the total."""
        n = len(self.risk.handles)
        known = (self.risk.handles, range(n), self.state.steps, [self.state.total] * n)
        self.state = Variables(self.risk.shards.each(function, *known, *columns), self.state.total)

    def _combine(self, first: bool) -> None:
        shards = self.risk.shards
        changes = shards.each(at.change_of, self.state.steps)
        total = shards.executor.call(at.combine, shards.layout, self.state.total, first, *changes)
        self.state = Variables(self.state.steps, total)

    def _add_up(self) -> None:
        shards = self.risk.shards
        changes = shards.each(at.change_of, self.state.steps)
        total = shards.executor.call(at.add_up, shards.layout, *changes)
        self.state = Variables(self.state.steps, total)

    def _remember(self) -> None:
        """Let others know what the oracles have found; every run ends with this."""
        self.risk.memories[:] = self.risk.shards.each(at.memory_of, self.state.steps)

    def _dual(self, total: Total) -> float:
        weights = self.risk.shards.layout.projected(total.sum)
        return total.loss - float(weights @ weights / 2)

    def _assess(self, weights: FloatArray, primal: float, dual: float) -> float:
        self.progress.report(primal, dual, exact=True)
        self.progress.offer(weights, primal)
        return self.progress.relative_gap(dual)
