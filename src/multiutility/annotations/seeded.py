"""The term of seeds: the nodes around a point have its label, the nearer the surer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from multiutility.annotations.seed import Seed
from multiutility.annotations.term import Says, Shared, Term
from multiutility.arrays import FloatArray, IndexArray, frozen_floats


@dataclass(frozen=True, eq=False)
class Seeded(Term):
    """Seeds, one in every thing of their labels, which share the expected size of the label."""

    seeds: Sequence[Seed]
    name: ClassVar[str] = "seeds"
    says: ClassVar[Says] = "seeded"
    estimates: ClassVar[bool] = True

    @property
    def labels(self) -> Sequence[int]:
        """Labels of the seeds."""
        return [seed.label for seed in self.seeds]

    @property
    def marks(self) -> Sequence[Seed]:
        """The seeds."""
        return self.seeds

    def keep(self, marks: Sequence[int]) -> Self:
        """Some of the seeds."""
        return type(self)([self.seeds[m] for m in marks])

    def losses(self, shared: Shared, labels: IndexArray) -> Iterator[float]:
        """Masses of the nodes that do not have a seed's label."""
        for seed, mass in self._masses(shared):
            yield float(float(shared.term_weights[seed.label]) * mass @ (labels != seed.label))

    def gains(self, shared: Shared) -> Iterator[tuple[int, FloatArray]]:
        """Masses around each seed."""
        for seed, mass in self._masses(shared):
            yield seed.label, float(shared.term_weights[seed.label]) * mass

    def fills(self, shared: Shared) -> Iterator[tuple[IndexArray, int]]:
        """Nodes more than half of which are the mass of a seed, unless boxes tell more of its label."""
        for seed, mass in self._masses(shared):
            if seed.label in shared.partition.seeded:
                around = np.flatnonzero(2 * mass > shared.node_sizes)
                yield np.asarray(around, dtype=np.int32), seed.label

    def hints(self, shared: Shared) -> Iterator[tuple[int, FloatArray]]:
        """As much on top as the masses are of the nodes."""
        sizes = shared.node_sizes
        for seed, mass in self._masses(shared):
            yield seed.label, np.divide(mass, sizes, out=np.zeros_like(mass), where=sizes > 0)

    def _masses(self, shared: Shared) -> Iterator[tuple[Seed, FloatArray]]:
        """Each seed, and the mass of the nodes [V] around it, for the expected size of its objects, tau."""
        counts, shape = Counter(self.labels), shared.node_sizes.shape
        for seed in self.seeds:
            mass = seed.mass(shared.label_sizes[seed.label] / counts[seed.label])
            yield seed, frozen_floats(mass, f"mass of {seed}", shape, "masses", minimum=0.0)
