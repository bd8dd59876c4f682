"""Weak annotations with shares: how likely each label of a node is, given what is annotated and learned."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations.annotation import Annotation, frozen_weights
from multiutility.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_shape,
    checked_labels,
    frozen_floats,
)
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem

# Labels of a smaller share are ruled out.
UNLIKELY = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Expected:
    """The Hamming loss that is expected over the labelings that agree with a weak annotation.

    ``K(y) = sum_i c_i sum_{k != y_i} omega_k shares[i, k]``. The losses of tags, boxes and seeds estimate the
    same expectation, with nothing to go by but the annotation. Who has learned how likely labels are, given
    the features, too, has better ``shares`` [V, K]; their rows add up to 1.
    Consistent labelings have no label whose share is below ``UNLIKELY``, unless it may be needed for a cover.

    >>> from multiutility.annotations import Tags
    >>> problem = LabelingProblem(np.zeros((2, 1)), [], np.zeros((0, 1)), node_sizes=[1, 4])
    >>> expected = Expected(Tags([0, 1], n_labels=3), [[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]])
    >>> expected.loss(problem, [0, 1]), expected.loss(problem, [0, 2])
    (1.0, 4.0)
    >>> expected.start(problem)
    array([0, 1], dtype=int32)
    """

    annotation: Annotation
    shares: FloatArray
    weights: FloatArray = field(init=False)
    strong: ClassVar[bool] = False

    def __post_init__(self) -> None:
        shape = (None, self.n_labels)
        shares = frozen_floats(self.shares, "shares", shape, "shares of labels", minimum=0.0)
        if not np.allclose(shares.sum(axis=1), 1.0):
            raise ValueError("shares of the labels of a node must add up to 1")
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "weights", frozen_weights(np.ones(self.n_labels), self.n_labels))

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return self.annotation.n_labels

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """Expected loss of the labeling [V]."""
        y = checked_labels(labels, problem.n_nodes, self.n_labels)
        wrong = np.arange(self.n_labels) != y[:, np.newaxis]
        return float((self._sizes(problem) * self.weights)[wrong].sum())

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss: what is right counts, what could be is the offset."""
        gains = self._sizes(problem) * self.weights
        return Energy(gains, offset=-float(gains.sum()))

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Each node the label that is expected to cost least."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return Constraints(self._best())

    def start(self, problem: LabelingProblem) -> IndexArray:
        """The labeling that is expected to cost least."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return np.asarray(self._best().argmax(axis=1), dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """The label that is expected to cost least, for certain: others would not agree."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return self._best().astype(np.float64)

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Expected size of each label [K]."""
        return np.asarray(self._sizes(problem).sum(axis=0))

    def weighted(self, weights: ArrayLike) -> Self:
        """The same shares with class weights omega [K]."""
        other = copy.copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, self.n_labels))
        return other

    def _sizes(self, problem: LabelingProblem) -> FloatArray:
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return np.asarray(problem.node_sizes[:, np.newaxis] * self.shares)

    def _best(self) -> BoolArray:
        """The label of least expected loss of each node, bool [V, K]; the first among equals."""
        best = (self.shares * self.weights).argmax(axis=1)
        return np.asarray(best[:, np.newaxis] == np.arange(self.n_labels))

    def __repr__(self) -> str:
        return f"Expected({self.annotation!r})"
