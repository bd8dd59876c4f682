"""Backends of learning: this process, or an executor that has shards of the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Solver
from multiutility.learning.cccp import Imputer, Imputing
from multiutility.learning.checkpoint.file import fit_key
from multiutility.learning.cluster.sharded import ShardedFrankWolfe
from multiutility.learning.cluster.shards import ShardedImputer, ShardedRisk, Shards
from multiutility.learning.examples import Example, make_instances
from multiutility.learning.labeling_risk import LabelingRisk
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.solution import Optimizer
from multiutility.learning.starts.soft import SoftStart, likeliest, soft_start
from multiutility.parallel import Executor, Threads


class Backend(Protocol):
    """Makes all that takes long, for the solvers of labelings and of labelings that agree."""

    def optimizer(self) -> Optimizer[Any, Any]:
        """Return the optimizer for risks of this backend."""

    def key(self, examples: Sequence[Example], parameters: Mapping[str, Any]) -> str:
        """Hash of all that the result of a fit depends on."""

    def risk(self, examples: Sequence[Example], costs: FloatArray, anchors: Sequence[IndexArray]) -> Any:
        """Return the risk of examples with weights of their hinges, measured from labelings."""

    def imputer(self, examples: Sequence[Example]) -> Imputing:
        """Return what imputes labelings of the examples."""

    def soft_start(self, examples: Sequence[Example]) -> SoftStart:
        """Return soft labels to begin with."""

    def likeliest(self, examples: Sequence[Example], shares: Sequence[FloatArray]) -> list[IndexArray]:
        """Return the likeliest labelings, by soft labels, that agree with the annotations."""


@dataclass(frozen=True, eq=False)
class LocalBackend:
    """Threads of this process."""

    solver: Solver
    agreeing: Solver
    n_jobs: int = 1
    kernel_bytes: float = np.inf

    def optimizer(self) -> Optimizer[Any, Any]:
        """Return the optimizer for risks of this backend."""
        return FrankWolfe()

    def key(self, examples: Sequence[Example], parameters: Mapping[str, Any]) -> str:
        """Hash of all that the result of a fit depends on."""
        return fit_key(examples, parameters)

    def risk(
        self, examples: Sequence[Example], costs: FloatArray, anchors: Sequence[IndexArray]
    ) -> LabelingRisk:
        """Return the risk of examples with weights of their hinges, measured from labelings."""
        instances = make_instances(examples, costs)
        return LabelingRisk(instances, anchors, self.solver, kernel_bytes=self.kernel_bytes)

    def imputer(self, examples: Sequence[Example]) -> Imputing:
        """Return what imputes labelings of the examples."""
        return Imputer(examples, self.agreeing)

    def soft_start(self, examples: Sequence[Example]) -> SoftStart:
        """Return soft labels to begin with."""
        with Threads(self.n_jobs) as executor:
            return soft_start(examples, executor=executor)

    def likeliest(self, examples: Sequence[Example], shares: Sequence[FloatArray]) -> list[IndexArray]:
        """Return the likeliest labelings, by soft labels, that agree with the annotations."""
        return likeliest(examples, shares, self.agreeing)


@dataclass(frozen=True, eq=False)
class ShardedBackend:
    """An executor that has shards of the examples."""

    executor: Executor
    solver: Solver
    agreeing: Solver
    kernel_bytes: float = np.inf
    # Examples that were sent before, with their shards.
    _sent: list[tuple[Sequence[Example], Shards]] = field(default_factory=list)

    def shards(self, examples: Sequence[Example]) -> Shards:
        """Return the shards of examples, which are sent once."""
        known = [shards for sent, shards in self._sent if sent is examples]
        if not known:
            self._sent.append((examples, Shards(self.executor, examples)))
        return known[0] if known else self._sent[-1][1]

    def optimizer(self) -> Optimizer[Any, Any]:
        """Return the optimizer for risks of this backend."""
        return ShardedFrankWolfe()

    def key(self, examples: Sequence[Example], parameters: Mapping[str, Any]) -> str:
        """Hash of all that the result of a fit depends on; features are read where they are."""
        shards = self.shards(examples)
        keys = self.executor.get([self.executor.call(fit_key, some, {}) for some in shards.examples])
        return fit_key([], {**parameters, "shards": keys})

    def risk(
        self, examples: Sequence[Example], costs: FloatArray, anchors: Sequence[IndexArray]
    ) -> ShardedRisk:
        """Return the risk of examples with weights of their hinges, measured from labelings."""
        return ShardedRisk(self.shards(examples), costs, anchors, self.solver, self.kernel_bytes)

    def imputer(self, examples: Sequence[Example]) -> Imputing:
        """Return what imputes labelings of the examples."""
        return ShardedImputer(self.shards(examples), self.agreeing)

    def soft_start(self, examples: Sequence[Example]) -> SoftStart:
        """Return soft labels to begin with."""
        return soft_start(examples, executor=self.executor, shards=self.shards(examples).examples)

    def likeliest(self, examples: Sequence[Example], shares: Sequence[FloatArray]) -> list[IndexArray]:
        """Return the likeliest labelings, by soft labels, that agree with the annotations."""
        shards = self.shards(examples)
        columns = (shards.examples, shards.cut(shares), [self.agreeing] * len(shards.sizes))
        found = self.executor.get(shards.each(likeliest, *columns))
        return [labels for some in found for labels in some]
