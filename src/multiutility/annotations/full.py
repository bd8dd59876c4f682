"""Full labelings."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations.annotation import frozen_weights, uniform
from multiutility.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_range,
    check_shape,
    checked_labels,
    frozen_floats,
    index_array,
)
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem

# Histograms of pixels, divided by their number, may add up to a little more than the size of the node.
ROUNDING = 1e-6


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Full:
    """The label of every node, or of everything that it is made of: eq. delta, with its footnote.

    ``Delta(y) = sum_i sum_{k != y_i} omega_k histograms[i, k]``: what node ``i`` has of other labels than its
    own. ``histograms`` [V, K] >= 0 is in the unit of the node sizes, or in shares of them if ``relative``;
    what is missing to the size of a node is void, and costs nothing. A consistent labeling gives each node
    the label that it has most of (the first among equals), and anything to nodes that are all void.

    >>> problem = LabelingProblem(np.zeros((3, 1)), [], np.zeros((0, 1)), node_sizes=[4, 4, 4])
    >>> full = Full([[4, 0], [1, 3], [0, 0]])
    >>> full.loss(problem, [0, 1, 1]), full.loss(problem, [1, 0, 0])
    (1.0, 7.0)
    >>> full.start(problem), full.labeled
    (array([0, 1, 0], dtype=int32), array([ True,  True, False]))
    """

    histograms: FloatArray
    relative: bool
    weights: FloatArray
    strong: ClassVar[bool] = True

    def __init__(self, histograms: ArrayLike, relative: bool = False) -> None:
        array = frozen_floats(histograms, "histograms", (None, None), "sizes", minimum=0.0)
        if array.shape[1] == 0:
            raise ValueError("histograms has no columns: there must be at least one label")
        object.__setattr__(self, "histograms", array)
        object.__setattr__(self, "relative", relative)
        object.__setattr__(self, "weights", frozen_weights(np.ones(array.shape[1]), array.shape[1]))

    @classmethod
    def from_labels(cls, labels: ArrayLike, n_labels: int, void: int = -1) -> Self:
        """Full labeling [V] of nodes that are of one label each, or ``void``.

        >>> Full.from_labels([0, 1, -1], n_labels=2)
        Full(n_nodes=3, n_labels=2)
        """
        array = index_array(labels, "labels")
        known = np.flatnonzero(array != void)
        check_range(np.where(array == void, 0, array), "labels", n_labels, "labels")
        shares = np.zeros((len(array), n_labels))
        shares[known, array[known]] = 1.0
        return cls(shares, relative=True)

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.histograms.shape[1])

    @property
    def labeled(self) -> BoolArray:
        """Nodes that are not all void, bool [V]."""
        return np.asarray(self.histograms.any(axis=1))

    def take(self, nodes: ArrayLike) -> Self:
        """The annotation of some of the nodes only: indices, or bool [V]."""
        return type(self)(self.histograms[np.asarray(nodes)], self.relative).weighted(self.weights)

    def histogram(self, problem: LabelingProblem) -> FloatArray:
        """How much each node has of each label [V, K], in the unit of the node sizes."""
        check_shape(self.histograms, "histograms", (problem.n_nodes, None))
        sizes = problem.node_sizes[:, np.newaxis]
        sums = self.histograms * sizes if self.relative else self.histograms
        excess = sums.sum(axis=1) > problem.node_sizes * (1 + ROUNDING)
        if excess.any():
            i = int(np.argmax(excess))
            total, size = sums[i].sum(), problem.node_sizes[i]
            raise ValueError(f"histograms[{i}] adds up to {total:g}: the size of the node is {size:g}")
        return np.asarray(sums, dtype=np.float64)

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """Weighted Hamming loss of the labeling [V]."""
        y = checked_labels(labels, problem.n_nodes, self.n_labels)
        wrong = np.arange(self.n_labels) != y[:, np.newaxis]
        return float((self.histogram(problem) * self.weights)[wrong].sum())

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss: what is right counts, what could be is the offset."""
        gains = self.histogram(problem) * self.weights
        return Energy(gains, offset=-float(gains.sum()))

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Each node its main label; anything for void nodes."""
        return Constraints(self._allowed(problem))

    def _allowed(self, problem: LabelingProblem) -> BoolArray:
        main = self.histogram(problem).argmax(axis=1)[:, np.newaxis] == np.arange(self.n_labels)
        return np.asarray(main | ~self.labeled[:, np.newaxis])

    def start(self, problem: LabelingProblem) -> IndexArray:
        """Each node's main label; void nodes get the label that the problem has most of."""
        histogram = self.histogram(problem)
        fallback = histogram.sum(axis=0).argmax()
        return np.asarray(np.where(self.labeled, histogram.argmax(axis=1), fallback), dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """Each node's main label; all labels alike for void nodes."""
        return uniform(self._allowed(problem))

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Size of each label [K], void aside."""
        return np.asarray(self.histogram(problem).sum(axis=0))

    def weighted(self, weights: ArrayLike) -> Self:
        """The same labeling with class weights omega [K]."""
        other = copy.copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, self.n_labels))
        return other

    def __repr__(self) -> str:
        return f"Full(n_nodes={len(self.histograms)}, n_labels={self.n_labels})"
