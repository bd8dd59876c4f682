"""Training sets with full labelings, made up from seeds: planted weights, noise and a few wrong labels."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances import Floats, Ints, graph, planted_labels

SIGNAL = 4.0
"""Norm of a label's mean feature vector, in standard deviations of the noise, before features are scaled."""
WRONG = 0.1
"""Share of the nodes whose label is that of another node."""
CONTRAST_SCALES = (10.0, 40.0, 100.0)


class Sample(NamedTuple):
    """One instance: features [V, D], edges [E, 2], edge features [E, 4] >= 0 and labels [V]."""

    features: NDArray[np.float32]
    edges: Ints
    edge_features: Floats
    labels: Ints


@dataclass(frozen=True)
class TrainingSet:
    """Sizes of a training set; its first instances are the same whatever their number.

    The standard deviation of feature j is ``j^-decay``: features of pictures are far from white.
    """

    n_instances: int
    n_nodes: int
    n_edges: int
    n_features: int
    n_labels: int
    decay: float = 0.5
    first_seed: int = 0

    @property
    def name(self) -> str:
        """Sizes, as tables show them."""
        sizes = f"{self.n_instances:,} x {self.n_nodes} nodes x {self.n_features:,} features"
        return f"{sizes}, {self.n_labels} labels" + ", white" * (self.decay == 0)

    @property
    def n_bytes(self) -> int:
        """Size of all node features."""
        return 4 * self.n_instances * self.n_nodes * self.n_features

    @cached_property
    def means(self) -> NDArray[np.float32]:
        """Mean features of the labels [K, D], before they are scaled."""
        rng = np.random.default_rng(self.n_features)
        means = rng.standard_normal((self.n_labels, self.n_features), dtype=np.float32)
        return means * np.float32(SIGNAL / np.sqrt(self.n_features))

    @cached_property
    def scales(self) -> NDArray[np.float32]:
        """Standard deviations of the features, [D]."""
        return np.arange(1, self.n_features + 1, dtype=np.float32) ** np.float32(-self.decay)

    def samples(self) -> list[Sample]:
        """Make all instances, in memory."""
        return [self._sample(number, self._features(number)) for number in range(self.n_instances)]

    def write(self, path: Path) -> None:
        """Write the node features of all instances to a file."""
        with path.open("wb") as file:
            for number in range(self.n_instances):
                self._features(number).tofile(file)
            # What the system writes later would take its time from what is measured then.
            file.flush()
            os.fsync(file.fileno())

    def mapped(self, path: Path) -> list[Sample]:
        """Make all instances with node features that are mapped from such a file, of as many or more."""
        shape = (self.n_instances, self.n_nodes, self.n_features)
        features = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
        return [self._sample(number, part) for number, part in enumerate(features)]

    def without_features(self, number: int) -> Sample:
        """Make an instance but for its node features."""
        return self._sample(number, np.zeros((0, self.n_features), dtype=np.float32))

    def _sample(self, number: int, features: NDArray[np.float32]) -> Sample:
        """Make an instance with the features; neighbors of one segment are similar."""
        rng, edges, segments = self._segments(number)
        edges = edges[np.sort(rng.permutation(len(edges))[: self.n_edges])]
        inside = segments[edges[:, 0]] == segments[edges[:, 1]]
        contrasts = np.abs(rng.normal(np.where(inside, 20.0, 50.0), 20.0))
        similarities = [np.exp(-contrasts / scale) for scale in CONTRAST_SCALES]
        edge_features = np.stack([*similarities, np.ones(len(edges))], axis=1) / self.n_nodes
        wrong = rng.random(self.n_nodes) < WRONG
        labels = np.where(wrong, rng.permutation(segments), segments).astype(np.int32)
        return Sample(features, edges, edge_features, labels)

    def _features(self, number: int) -> NDArray[np.float32]:
        """Features of unit length, [V, D]."""
        rng, _, segments = self._segments(number)
        features = rng.standard_normal((self.n_nodes, self.n_features), dtype=np.float32)
        features += self.means[segments]
        features *= self.scales
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return features

    def _segments(self, number: int) -> tuple[np.random.Generator, Ints, NDArray[np.int64]]:
        """Return the instance's generator, edges and planted labels."""
        rng = np.random.default_rng((self.first_seed, number))
        points, edges = graph((self.n_nodes,), rng)
        return rng, edges, planted_labels(points, self.n_labels, rng)
