"""The associative model of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import BoolArray, FloatArray, IndexArray, check_values, checked_labels, frozen_floats
from multiutility.energy import Energy
from multiutility.layout import Layout
from multiutility.problem import FeatureArray, LabelingProblem


@dataclass(frozen=True)
class Potts:
    """Linear scores for the labels of nodes, and for the agreement of neighbors: eq. energy.

    ``F(y) = sum_i x_i . w_{y_i} + sum_{(i, j)} [y_i = y_j] x_ij . w_p = w . joint_feature(y) = -E(y)``, with
    the weights ``w = [w_0, ..., w_{K-1}, w_p]`` of length ``K D + e``. The pairwise weights ``w_p`` must be
    >= 0, as are the edge features, so that neighbors attract each other.

    >>> problem = LabelingProblem([[1.0, 2.0], [3.0, 4.0]], edges=[[0, 1]], edge_features=[[0.5]])
    >>> model = Potts(n_labels=2)
    >>> model.joint_feature(problem, [1, 1])
    array([0. , 0. , 4. , 6. , 0.5])
    >>> weights = [1.0, 0.0, 0.0, 1.0, 2.0]
    >>> model.scores(problem, weights)
    array([[1., 2.],
           [3., 4.]])
    >>> model.energy(problem, weights).evaluate([1, 1]), -(2 + 4 + 0.5 * 2)
    (-7.0, -7.0)
    """

    n_labels: int

    def __post_init__(self) -> None:
        if self.n_labels < 1:
            raise ValueError(f"n_labels is {self.n_labels}: there must be at least one label")

    def layout(self, problem: LabelingProblem) -> Layout:
        """Where the weights of node and edge features stand."""
        return Layout(self.n_labels, problem.n_features, int(problem.edge_features.shape[1]))

    def n_weights(self, problem: LabelingProblem) -> int:
        """Number of weights, K D + e."""
        return self.layout(problem).n_weights

    def nonnegative(self, problem: LabelingProblem) -> slice:
        """The weights that must stay >= 0: the pairwise ones."""
        return self.layout(problem).nonnegative

    def indicators(self, problem: LabelingProblem, labels: ArrayLike) -> tuple[BoolArray, BoolArray]:
        """Which node has which label, [V, K], and which edges join equal labels, [E]."""
        y = checked_labels(labels, problem.n_nodes, self.n_labels)
        first, second = problem.edges.T
        return y[:, np.newaxis] == np.arange(self.n_labels), y[first] == y[second]

    def assemble(self, problem: LabelingProblem, nodes: ArrayLike, edges: ArrayLike) -> FloatArray:
        """Features summed with weights for nodes and labels [V, K] and for edges [E]: ``[K D + e]``.

        Of the indicators of a labeling it is the joint feature; it is linear, so that sums of joint features
        can be kept as the far smaller sums of indicators.
        """
        features = problem.node_features
        unary = as_features(nodes, features).T @ features
        pairwise = as_features(edges, problem.edge_features) @ problem.edge_features
        return self.layout(problem).join(unary, pairwise)

    def joint_feature(self, problem: LabelingProblem, labels: ArrayLike) -> FloatArray:
        """Features of the labeling [V]: ``[K D + e]``."""
        return self.assemble(problem, *self.indicators(problem, labels))

    def scores(self, problem: LabelingProblem, weights: ArrayLike) -> FeatureArray:
        """``x_i . w_k`` [V, K], in the precision of the node features."""
        rows = self.layout(problem).rows(self._checked(problem, weights))
        return node_scores(problem, as_features(rows, problem.node_features))

    def edge_weights(self, problem: LabelingProblem, weights: ArrayLike) -> FeatureArray:
        """``x_ij . w_p`` [E] >= 0, in the precision of the edge features."""
        pairwise = self.layout(problem).pairwise(self._checked(problem, weights))
        return problem.edge_features @ as_features(pairwise, problem.edge_features)

    def energy(self, problem: LabelingProblem, weights: ArrayLike) -> Energy:
        """Energy ``E = -F``, offset included: ``[y_i = y_j] = 1 - [y_i != y_j]``."""
        attraction = self.edge_weights(problem, weights).astype(np.float64)
        unary = -self.scores(problem, weights).astype(np.float64)
        return Energy(unary, problem.edges, attraction, offset=-float(attraction.sum()))

    def _checked(self, problem: LabelingProblem, weights: ArrayLike) -> FloatArray:
        layout = self.layout(problem)
        array = frozen_floats(weights, "weights", (layout.n_weights,), "weights")
        pairwise = layout.pairwise(array)
        check_values(pairwise, "pairwise weights", "pairwise weights", minimum=0.0)
        return array


def node_scores(problem: LabelingProblem, rows: FeatureArray) -> FeatureArray:
    """``x_i . w_k`` [V, K] for weights [K, D] in the precision of the node features."""
    return problem.node_features @ rows.T


def agreement(problem: LabelingProblem, labels: IndexArray) -> FloatArray:
    """Sum of the features of edges that join equal labels, [e]: the pairwise part of the joint feature."""
    first, second = problem.edges.T
    uncut = labels[first] == labels[second]
    return np.asarray(uncut @ problem.edge_features, dtype=np.float64)


def as_features(value: ArrayLike, features: FeatureArray) -> FeatureArray:
    """Return the value in the precision of the features, so that products are computed in it."""
    if features.dtype == np.float32:
        return np.asarray(value, dtype=np.float32)
    return np.asarray(value, dtype=np.float64)
