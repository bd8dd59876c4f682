"""Examples in shards, each of them somewhere: their risk, and labelings that agree with annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays, part, prefixed
from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Solver
from multiutility.learning.cccp import Imputation
from multiutility.learning.cluster import shard as at
from multiutility.learning.cluster.shard import Shard
from multiutility.learning.examples import Example, model_of
from multiutility.parallel import Executor, Handle, parts

T = TypeVar("T")

# Examples of a shard, at least: shards of few know little of the others, and take more passes.
LEAST_EXAMPLES = 32


class Shards:
    """Examples that have been sent to an executor, in shards that depend on their number only."""

    def __init__(self, executor: Executor, examples: Sequence[Example]) -> None:
        self.executor = executor
        pieces = parts(examples, executor.n_shards, LEAST_EXAMPLES)
        self.sizes = [len(piece) for piece in pieces]
        self.layout = model_of(examples).layout(examples[0].problem)
        self.examples: list[Handle[Sequence[Example]]] = [executor.put(piece) for piece in pieces]

    def cut(self, values: Sequence[T]) -> list[Sequence[T]]:
        """Cut values of all examples into those of shards."""
        ends = np.cumsum(self.sizes).tolist()
        return [values[last - size : last] for size, last in zip(self.sizes, ends, strict=True)]

    def each(self, function: Callable[..., T], *columns: Iterable[Any]) -> list[Handle[T]]:
        """Call a function for every shard, with its elements of the columns."""
        return [self.executor.call(function, *row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class ShardedImputer:
    """Annotation-consistent inference where the examples are."""

    shards: Shards
    solver: Solver

    def impute(self, weights: FloatArray, previous: Sequence[IndexArray]) -> Imputation:
        """Return labelings that agree with the annotations, for the weights."""
        shards, sent = self.shards, self.shards.executor.put(weights)
        n = len(shards.sizes)
        columns = (shards.examples, [self.solver] * n, [sent] * n, shards.cut(previous))
        found = shards.executor.get(shards.each(at.impute, *columns))
        firsts = np.cumsum([0, *shards.sizes]).tolist()
        return Imputation(
            [labels for one in found for labels in one.labelings],
            np.concatenate([one.gains for one in found]),
            {first + k: c for first, one in zip(firsts, found, strict=False) for k, c in one.unmet.items()},
        )


class ShardedRisk:
    """The risk of examples in shards, measured from labelings: what ``ShardedFrankWolfe`` minimizes."""

    def __init__(
        self,
        shards: Shards,
        costs: FloatArray,
        anchors: Sequence[IndexArray],
        solver: Solver,
        kernel_bytes: float = np.inf,
    ) -> None:
        n = len(shards.sizes)
        columns = (
            shards.examples,
            [np.array(some) for some in shards.cut(costs.tolist())],
            [solver] * n,
            [kernel_bytes] * n,
        )
        self.shards = shards
        self.costs = costs
        self.labelings = list(anchors)
        self.handles: list[Handle[Shard]] = shards.each(Shard, *columns)
        # Shared by risks that differ in their anchors, and replaced by what is remembered later.
        self.memories: list[Handle[Arrays]] = shards.each(at.no_memory, self.handles)

    def anchored(self, anchors: Sequence[IndexArray]) -> ShardedRisk:
        """Return the same risk measured from other labelings; labelings seen so far are shared."""
        other = ShardedRisk.__new__(ShardedRisk)
        vars(other).update(vars(self), labelings=list(anchors))
        return other

    def objective(self, weights: FloatArray) -> float:
        """Return ``|w|^2 / 2 + risk(w)``; with an approximate solver, a lower estimate."""
        shards, sent = self.shards, self.shards.executor.put(weights)
        columns = (self.handles, shards.cut(self.labelings), self.memories, [sent] * len(self.handles))
        found = shards.each(at.evaluate, *columns)
        self.memories[:] = shards.each(itemgetter(1), found)
        values: list[float] = shards.executor.get(shards.each(itemgetter(0), found))
        return float(weights @ weights / 2 + np.sum(values))

    def memory(self) -> Arrays:
        """Return what the oracles of all shards remember."""
        found = self.shards.executor.get(self.memories)
        return {name: a for n, one in enumerate(found) for name, a in prefixed(f"shard{n}", one).items()}

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Replace what the oracles remember, for all risks that share it."""
        executor = self.shards.executor
        self.memories[:] = [executor.put(part(memory, f"shard{n}")) for n in range(len(self.memories))]
