"""What every kind of annotation promises."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import BoolArray, FloatArray, IndexArray, frozen_floats
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem


class Annotation(Protocol):
    """What is known about the labeling of one problem: a loss, and the labelings that agree with it.

    Everything is in nodes: whoever knows what nodes are made of (pixels, words) translates. The law, for
    every labeling ``y``: ``loss_energy(problem).evaluate(y) == -loss(problem, y)``, so that loss-augmented
    inference minimizes ``model.energy(problem, weights) + loss_energy(problem)``. ``multiutility.checks``
    proves it for small problems, with everything else that is promised here.

    Annotations are immutable. None of the methods depends on the weights of a model: callers may keep what
    ``loss_energy``, ``constraints``, ``start``, ``prior`` and ``label_sizes`` return.
    """

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""

    @property
    def strong(self) -> bool:
        """Whether the slack of the instance has weight 1 (full labelings), instead of alpha (weak ones)."""

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """How far the labeling [V] is from the annotation, >= 0, in the unit of the node sizes."""

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss."""

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Constraints that hold for the labelings consistent with the annotation."""

    def start(self, problem: LabelingProblem) -> IndexArray:
        """Labeling [V] to begin with, of labels that ``constraints`` allows; covers may be unmet."""

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """Soft labels [V, K] to begin with: >= 0, rows add up to 1, 0 where ``constraints`` forbids."""

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Estimated size of each label [K], >= 0, in the unit of the node sizes; 0 where nothing is known."""

    def weighted(self, weights: ArrayLike) -> Self:
        """The same annotation with class weights omega [K] >= 0, which replace earlier ones."""


def uniform(allowed: BoolArray) -> FloatArray:
    """Soft labels [V, K], the same for all allowed labels of a node.

    >>> uniform(np.array([[True, False], [True, True]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    return np.asarray(allowed / allowed.sum(axis=1, keepdims=True), dtype=np.float64)


def frozen_weights(weights: ArrayLike, n_labels: int) -> FloatArray:
    """Class weights [K], checked and read-only."""
    return frozen_floats(weights, "weights", (n_labels,), "class weights", minimum=0.0)
