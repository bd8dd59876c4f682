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

# The share of a label that is as likely as all others together.
DECIDED = 0.5
# Power of class weights by which rare labels are likelier. By training images of five datasets, with five
# masks: by all of the weight, the learner gives rare labels too much on one (superalloy), by half of it too
# little on another (facade).
TILT = 0.75


@dataclass(frozen=True, eq=False, repr=False)
class Expected:
    """The Hamming loss that is expected over the labelings that agree with a weak annotation.

    ``K(y) = sum_i c_i omega_i (1 - q[i, y_i])``, with the class weight that is expected of a node,
    ``omega_i = sum_k omega_k q[i, k]``. The losses of tags, boxes and seeds estimate the same expectation,
    with nothing to go by but the annotation. Who has learned how likely labels are, given the features, too,
    has better ``shares`` [V, K]; their rows add up to 1. Without class weights, ``q`` are the shares. With
    them, ``q[i, k]`` is in proportion to ``shares[i, k] omega_k^TILT``: rare labels are favored where a node
    may have them, nearly as much as where it has them for certain.

    Nodes none of whose labels is as likely as all others together are undecided: they cost nothing, and
    consistent labelings give them any label, and all others their likeliest.

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
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        tilted = self.tilted
        wrong = 1.0 - tilted[np.arange(len(y)), y]
        return float((self.decided * problem.node_sizes * (tilted @ self.weights)) @ wrong)

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss: what is right counts, what could be is the offset."""
        tilted = self.tilted
        counted = self.decided * self._sizes(problem).sum(axis=1) * (tilted @ self.weights)
        gains = counted[:, np.newaxis] * tilted
        return Energy(gains, offset=-float(gains.sum()))

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Each node its likeliest label; anything for those that are undecided."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return Constraints(self._best() | ~self.decided[:, np.newaxis])

    def start(self, problem: LabelingProblem) -> IndexArray:
        """The likeliest label of each node."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return np.asarray(self._best().argmax(axis=1), dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """The likeliest label, for certain, as others would not agree; the shares of undecided nodes."""
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return np.where(self.decided[:, np.newaxis], self._best(), self.tilted)

    @property
    def decided(self) -> BoolArray:
        """Nodes with a label that is at least as likely as all others together, bool [V]."""
        return np.asarray(self.tilted.max(axis=1) >= DECIDED)

    @property
    def tilted(self) -> FloatArray:
        """How likely labels are with class weights, [V, K]; as without them where these are all 0."""
        return tilted_shares(self.shares, self.weights)

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Expected size of each label [K], in nodes that shares, without class weights, decide.

        Others have no loss: they must not make a label seem frequent that nobody has seen.
        """
        decided = self.shares.max(axis=1) >= DECIDED
        return np.asarray(self._sizes(problem)[decided].sum(axis=0))

    def weighted(self, weights: ArrayLike) -> Self:
        """The same shares with class weights omega [K]."""
        other = copy.copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, self.n_labels))
        return other

    def _sizes(self, problem: LabelingProblem) -> FloatArray:
        check_shape(self.shares, "shares", (problem.n_nodes, None))
        return np.asarray(problem.node_sizes[:, np.newaxis] * self.shares)

    def _best(self) -> BoolArray:
        """The likeliest label of each node, bool [V, K]; the first among equals."""
        best = self.tilted.argmax(axis=1)
        return np.asarray(best[:, np.newaxis] == np.arange(self.n_labels))

    def __repr__(self) -> str:
        return f"Expected({self.annotation!r})"


def tilted_shares(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Shares [V, K] in proportion to themselves and to a power of class weights [K].

    >>> tilted_shares(np.array([[0.8, 0.2], [1.0, 0.0]]), np.array([1.0, 4.0 ** (1 / TILT)]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    scaled = shares * weights**TILT
    sums = scaled.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, np.divide(scaled, sums, out=shares.copy(), where=sums > 0), shares))
