"""What is done with a shard of the examples, by whoever has it: pure functions, whose results are small.

Whoever asks sends weights; what comes back are labelings, numbers, and sums as large as the weights, never
features.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays, part, prefixed
from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Solver
from multiutility.layout import Layout
from multiutility.learning.cccp import Imputation, Imputer
from multiutility.learning.examples import Example, make_instances
from multiutility.learning.labeling_risk import AT_ONCE, LabelingRisk
from multiutility.learning.optimizers.dual import Dual, ascend
from multiutility.learning.optimizers.risk import Risk

# Rounds of line searches along the directions of all shards.
N_SEARCHES = 20
# Blocks that rehearse at the same weights, at most, and as a part of a shard: many at once cost less, but too
# many of a small shard save fewer passes.
REHEARSED, REHEARSED_PART = 16, 4


@dataclass(frozen=True, eq=False)
class Shard:
    """Some of the examples, with the weights of their hinges; what a solver needs of them is made once."""

    examples: Sequence[Example]
    costs: FloatArray
    solver: Solver
    kernel_bytes: float = np.inf
    # The last risk that was asked for, with its anchors: most often it is the next one, too.
    _last: list[tuple[Sequence[IndexArray], LabelingRisk]] = field(default_factory=list, init=False)
    # What steps have made here last, with the risk that has seen what they have: it need not be told again.
    _made: list[tuple[weakref.ref[NDArray[Any]], Risk]] = field(default_factory=list, init=False)

    @cached_property
    def risk(self) -> LabelingRisk:
        """The risk of the examples, anchored at what their annotations propose."""
        starts = [one.annotation.start(one.problem) for one in self.examples]
        instances = make_instances(self.examples, self.costs)
        return LabelingRisk(instances, starts, self.solver, kernel_bytes=self.kernel_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        # What can be made again need not be sent.
        return Shard, (self.examples, self.costs, self.solver, self.kernel_bytes)

    def anchored(self, anchors: Sequence[IndexArray], memory: Arrays) -> LabelingRisk:
        """Return the risk measured from labelings, with a memory that it shares with nobody."""
        known, risk = self._last[0] if self._last else (None, self.risk)
        if known is not anchors:
            risk = risk.anchored(anchors)
            self._last[:] = [(anchors, risk)]
        return risk.with_memory(memory)

    def after(self, before: Step) -> Risk:
        """Return the risk as it was after some steps, for those that come next."""
        # Taken away, as what it has seen will change: steps that are made again begin from what these say.
        made, risk = self._made.pop() if self._made else (None, self.risk)
        same = made is not None and made() is before.state["base"]
        if same and self._last[0][0] is before.anchors:
            return risk
        return self.anchored(before.anchors, memory_of(before))

    def keep(self, found: Step, risk: Risk) -> Step:
        """Return steps, after which the risk is as it is."""
        self._made[:] = [(weakref.ref(found.state["base"]), risk)]
        return found


class Change(NamedTuple):
    """What steps would change: the sum of dual variables, [K D] and [e], and the sum of losses.

    ``gap`` is the sum of the blocks' gaps on the way, ``hinges`` that of their hinges at the weights before.
    """

    nodes: NDArray[Any]
    edges: FloatArray
    loss: float
    gap: float = 0.0
    hinges: float = 0.0


@dataclass(frozen=True, eq=False)
class Step:
    """Dual variables of a shard before and after some steps, of which any part can be taken.

    ``state`` has the bundle as it is after them, the coefficients as they were before, and the memory.
    """

    anchors: Sequence[IndexArray]
    state: Arrays
    change: Change


class Total(NamedTuple):
    """The sum [K D + e] of all dual variables, and of their losses, with a part [S] of each shard's steps.

    ``gap`` and ``hinges`` are the sums of those of the changes.
    """

    sum: FloatArray
    loss: float
    parts: FloatArray
    gap: float
    hinges: float


class Settings(NamedTuple):
    """How steps are made, see ``ShardedFrankWolfe``."""

    batch_size: int | None
    exchanges: int
    rehearsals: int
    company: float


def begin(shard: Shard, anchors: Sequence[IndexArray], memory: Arrays, n_slots: int) -> Step:
    """Return the first dual variables: each block is its anchor."""
    return own_sum(Dual(shard.anchored(anchors, memory), n_slots), anchors)


def refresh(shard: Shard, number: int, before: Step, total: Total) -> Step:
    """Take a part of the last steps; the change is the sum of the shard's own variables, computed anew."""
    dual = taken(shard, number, before, total)
    return shard.keep(own_sum(dual, before.anchors), dual.risk)


def recenter(
    shard: Shard, number: int, before: Step, total: Total, anchors: Sequence[IndexArray], memory: Arrays
) -> Step:
    """Measure the blocks from other anchors; the change is the sum of the shard's own variables."""
    dual = taken(shard, number, before, total)
    # Not another risk, but the same: blocks whose planes are the same object have not changed.
    changed = dual.shift(shard.anchored(before.anchors, memory).anchored(anchors))
    step = own_sum(dual, anchors)
    return Step(anchors, {**step.state, "changed": np.array(changed, dtype=np.int64)}, step.change)


def approach(shard: Shard, number: int, before: Step, total: Total) -> Step:
    """Move blocks whose anchors have changed toward them."""
    dual = taken(shard, number, before, total)
    base = dual.bundle.coefficients.copy()
    dual.approach(before.state["changed"].tolist())
    return stepped(dual, before.anchors, base, total)


def sweep(
    shard: Shard, number: int, before: Step, total: Total, order: NDArray[np.int64], settings: Settings
) -> Step:
    """Make steps of some blocks, one mini-batch after another, as if the other shards stood still.

    The others rehearse: those that have just moved would gain little.
    """
    dual = taken(shard, number, before, total, settings.company)
    base, gap = dual.bundle.coefficients.copy(), 0.0
    for batch in batches(order.tolist(), n_together(dual, settings)):
        weights = dual.weights
        found = dual.risk.oracle(batch, weights)
        gap += step(dual, batch, found, weights, base, settings)
    rehearse(dual, np.setdiff1d(range(dual.n_blocks), order).tolist(), settings)
    return shard.keep(stepped(dual, before.anchors, base, total, gap), dual.risk)


def examine(
    shard: Shard, number: int, before: Step, total: Total, weights: FloatArray, settings: Settings
) -> Step:
    """Ask the oracle about all blocks at the same weights, and use what it has found for steps, too."""
    dual = taken(shard, number, before, total, settings.company)
    base, gap, hinges = dual.bundle.coefficients.copy(), 0.0, 0.0
    for some in batches(range(dual.n_blocks), AT_ONCE):
        violations = dual.risk.oracle(some, weights)
        hinges += float(dual.risk.costs[list(some)] @ [found.hinge for found in violations])
        for batch in batches(some, n_together(dual, settings)):
            found = [violations[n - some[0]] for n in batch]
            gap += step(dual, batch, found, weights, base, settings)
    rehearse(dual, range(dual.n_blocks), settings)
    return shard.keep(stepped(dual, before.anchors, base, total, gap, hinges), dual.risk)


def evaluate(
    shard: Shard, anchors: Sequence[IndexArray], memory: Arrays, weights: FloatArray
) -> tuple[float, Arrays]:
    """Return the risk of the shard at weights, and what the oracle remembers from then on."""
    risk = shard.anchored(anchors, memory)
    some = batches(range(len(risk.costs)), AT_ONCE)
    hinges = [found.hinge for blocks in some for found in risk.oracle(blocks, weights)]
    return float(risk.costs @ hinges), risk.memory()


def impute(
    examples: Sequence[Example], solver: Solver, weights: FloatArray, previous: Sequence[IndexArray]
) -> Imputation:
    """Return labelings of the examples that agree with their annotations."""
    return Imputer(examples, solver).impute(weights, previous)


def no_memory(shard: Shard) -> Arrays:
    """Return what the oracle remembers at first."""
    return shard.risk.memory()


def memory_of(found: Step) -> Arrays:
    """Return what the oracle of a shard remembers after steps."""
    return part(found.state, "memory")


def change_of(found: Step) -> Change:
    """Return what others need to know of steps."""
    return found.change


def add_up(layout: Layout, *changes: Change) -> Total:
    """Return the total of own sums."""
    nodes = np.zeros(len(changes[0].nodes))
    for one in changes:
        nodes += one.nodes
    edges = np.sum([one.edges for one in changes], axis=0)
    loss = float(np.sum([one.loss for one in changes]))
    return Total(layout.join(nodes, edges), loss, np.ones(len(changes)), 0.0, 0.0)


def combine(layout: Layout, total: Total, first: bool, *changes: Change) -> Total:
    """Take the part of each shard's steps by which the dual rises most, those of the others given.

    Steps of one shard know nothing of those of others; all of them at once can be too much. ``first`` says
    whether gaps are counted anew.
    """
    nodes = np.array([one.nodes for one in changes])
    edges = np.array([one.edges for one in changes])
    losses = np.array([one.loss for one in changes])
    slopes = losses - [float(row.astype(np.float64) @ layout.unary(total.sum)) for row in nodes]
    gram = (nodes @ nodes.T).astype(np.float64)
    parts = ascend(slopes, gram, layout.pairwise(total.sum), edges, N_SEARCHES)
    new = total.sum.copy()
    layout.unary(new)[...] += parts.astype(nodes.dtype) @ nodes
    layout.pairwise(new)[...] += parts @ edges
    gap = float(np.sum([one.gap for one in changes]))
    hinges = float(np.sum([one.hinges for one in changes]))
    return Total(new, total.loss + float(parts @ losses), parts, gap if first else total.gap + gap, hinges)


def n_together(dual: Dual, settings: Settings) -> int:
    """Return how many blocks a mini-batch has."""
    return settings.batch_size or min(16, max(1, dual.n_blocks // 32))


def batches(blocks: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cut blocks into mini-batches."""
    return (blocks[first : first + size] for first in range(0, len(blocks), size))


def taken(shard: Shard, number: int, before: Step, total: Total, company: float = 1.0) -> Dual:
    """Return the dual variables after the part of the steps that was taken, with the sum of all shards'."""
    risk = shard.after(before)
    dual = Dual.from_arrays(risk, {**part(before.state, "bundle"), "sum": total.sum})
    base, coefficients = before.state["base"], dual.bundle.coefficients
    coefficients[...] = base + total.parts[number] * (coefficients - base)
    dual.company = company
    return dual


def step(
    dual: Dual,
    batch: Sequence[int],
    found: Sequence[Any],
    weights: FloatArray,
    base: FloatArray,
    how: Settings,
) -> float:
    """Step as ``Dual.step`` does, with a note of the coefficients before; return the sum of gaps."""
    for n, violation in zip(batch, found, strict=True):
        dual.bundle.add(n, violation.plane)
    # A block gets one new plane: what it was before can be told in the planes that it has now.
    base[list(batch)] = dual.bundle.coefficients[list(batch)]
    inside = dual.exchange(batch, [violation.scores for violation in found], weights, how.exchanges)
    hinges = dual.risk.costs[list(batch)] * [violation.hinge for violation in found]
    return float((hinges - inside).sum())


def rehearse(dual: Dual, blocks: Sequence[int], settings: Settings) -> None:
    """Pass over blocks without the oracle, with the planes that they have."""
    size = max(1, min(REHEARSED, dual.n_blocks // REHEARSED_PART))
    for _ in range(settings.rehearsals):
        for batch in batches(blocks, size):
            weights = dual.weights
            dual.exchange(batch, dual.risk.scores(batch, weights), weights, settings.exchanges)


def stepped(
    dual: Dual,
    anchors: Sequence[IndexArray],
    base: FloatArray,
    total: Total,
    gap: float = 0.0,
    hinges: float = 0.0,
) -> Step:
    """Return what has changed since the total."""
    # In the precision of products with features: half as much to send.
    change = (dual.sum - total.sum) / dual.company
    layout = dual.risk.layout
    nodes, edges = layout.unary(change).astype(dual.risk.dtype), layout.pairwise(change)
    loss = float(np.vdot(dual.bundle.coefficients - base, dual.bundle.losses))
    return Step(anchors, state_of(dual, base), Change(nodes, edges, loss, gap, hinges))


def own_sum(dual: Dual, anchors: Sequence[IndexArray]) -> Step:
    """Return the dual variables of a shard, with their sum as the change."""
    dual.refresh()
    loss = float(np.vdot(dual.bundle.coefficients, dual.bundle.losses))
    change = Change(dual.unary.copy(), dual.pairwise.copy(), loss)
    return Step(anchors, state_of(dual, dual.bundle.coefficients.copy()), change)


def state_of(dual: Dual, base: FloatArray) -> Arrays:
    """Return all variables of a shard, and what its oracle remembers."""
    bundle, memory = prefixed("bundle", dual.bundle.arrays()), prefixed("memory", dual.risk.memory())
    return {**bundle, **memory, "base": base}
