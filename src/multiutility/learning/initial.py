"""Labelings to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.models import Potts


def has_places(example: Example) -> bool:
    """Whether the annotation tells nodes apart (boxes, seeds): then its start says more than its prior."""
    constraints = example.constraints
    return constraints.has_covers or (
        constraints.allowed is not None and bool((constraints.allowed != constraints.allowed[:1]).any())
    )


def soft_labels(example: Example) -> FloatArray:
    """Soft labels of the nodes [V, K]: filled boxes and full labelings, or the prior."""
    if not has_places(example):
        return example.annotation.prior(example.problem)
    start = example.annotation.start(example.problem)
    return np.asarray(start[:, np.newaxis] == np.arange(example.annotation.n_labels), dtype=np.float64)


def soft_weights(
    examples: Sequence[Example],
    shrinkage: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 5e-4, 5e-4),
    n_iterations: int = 15,
) -> FloatArray:
    """Flat weights [K D + e] of a logistic regression to soft labels, which it sharpens in some rounds.

    With soft labels Y [V, K], node sizes s and ``m_k = sum_i s_i Y_ik``, node i counts for label k by
    ``s_i Y_ik / sqrt(m_k)``. The root tells labels apart that come together: say that every picture of a cow
    has grass, that one picture of grass in ten has a cow, and that no places are known. If all nodes count
    the same, the nodes of cows are as much of one label as of the other; if all labels count the same, those
    of grass are. With the root, each kind of node is more of its own label.

    After each round the soft labels are those that the regression gives, squared, among those that each node
    may have. Features are scaled to norm 1, whatever the sizes of the nodes have done to them, and
    ``shrinkage`` is the weight of the ridge in each round. Pairwise weights are zero.
    """
    regression = Regression(examples)
    labels = [soft_labels(one) for one in examples]
    weights: FloatArray = np.zeros(regression.shape)
    for ridge in shrinkage:
        weights = regression.fit(labels, weights, ridge, n_iterations)
        labels = regression.sharpened(labels, weights)
    return np.concatenate((weights.ravel(), np.zeros(examples[0].problem.edge_features.shape[1])))


class Regression:
    """Logistic regression of soft labels on features of norm 1, by quasi-Newton steps over all examples."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.sizes = [one.problem.node_sizes[:, np.newaxis] for one in examples]
        self.features: list[NDArray[Any]] = [one.problem.node_features for one in examples]
        self.scales = [inverse_norms(x) for x in self.features]
        self.shape = examples[0].annotation.n_labels, self.features[0].shape[1]

    def scores(self, example: int, weights: FloatArray) -> FloatArray:
        """Scores [V, K] of the labels of an example's nodes, for weights [K, D]."""
        x = self.features[example]
        return np.asarray(self.scales[example] * (x @ weights.T.astype(x.dtype)), dtype=np.float64)

    def fit(
        self, labels: Sequence[FloatArray], start: FloatArray, ridge: float, n_iterations: int
    ) -> FloatArray:
        """Return weights [K, D] of a few steps from ``start``, for soft labels [V, K] of each example."""
        masses = [size * one for size, one in zip(self.sizes, labels, strict=True)]
        totals = np.sum([mass.sum(axis=0) for mass in masses], axis=0)
        scale = np.divide(1, np.sqrt(totals), out=np.zeros_like(totals), where=totals > 0)
        targets = [mass * scale / float(totals @ scale) for mass in masses]

        def value(flat: FloatArray) -> tuple[float, FloatArray]:
            weights = flat.reshape(self.shape)
            loss, gradient = ridge * float(flat @ flat) / 2, ridge * weights
            for n, target in enumerate(targets):
                logs = log_softmax(self.scores(n, weights), axis=1)
                loss -= float(np.vdot(target, logs))
                residual = self.scales[n] * (target.sum(axis=1, keepdims=True) * np.exp(logs) - target)
                gradient += residual.T.astype(self.features[n].dtype) @ self.features[n]
            return loss, gradient.ravel()

        options = {"maxiter": n_iterations}
        found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x).reshape(self.shape)

    def sharpened(self, labels: Sequence[FloatArray], weights: FloatArray) -> list[FloatArray]:
        """Return the soft labels that the weights give among those that have been possible, squared."""
        doubled = (np.where(old > 0, 2 * self.scores(n, weights), -np.inf) for n, old in enumerate(labels))
        return [np.asarray(softmax(scores, axis=1)) for scores in doubled]


def inverse_norms(features: NDArray[Any]) -> FloatArray:
    """Return 1 / norm of each row, [V, 1]; 0 for rows of zeros."""
    norms = np.sqrt(np.einsum("vd,vd->v", features, features, dtype=np.float64))[:, np.newaxis]
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))


def smoothed(examples: Sequence[Example], weights: FloatArray) -> FloatArray:
    """Return the weights with equal pairwise weights, so strong that neighbors have a say.

    The pull of all neighbors of a node together is, on average, as strong as the node's own preference for
    its best label over the next. Without it the first labelings are scattered, and weights that are fitted to
    scattered labelings never learn that neighbors agree.
    """
    model = Potts(examples[0].annotation.n_labels)
    preferences = np.concatenate([preference(one, model.scores(one.problem, weights)) for one in examples])
    total = sum(2 * float(one.problem.edge_features.sum()) for one in examples)
    pull = total / sum(one.problem.n_nodes for one in examples)
    stronger = weights.copy()
    stronger[model.nonnegative(examples[0].problem)] = preferences.mean() / pull if pull > 0 else 0.0
    return stronger


def preference(example: Example, scores: NDArray[Any]) -> FloatArray:
    """How much the best allowed label of each node scores above the next; 0 where there is no next, [V]."""
    allowed = example.constraints.allowed
    known = scores.astype(np.float64) if allowed is None else np.where(allowed, scores, -np.inf)
    ordered = np.sort(known, axis=1)
    margins = ordered[:, -1] - ordered[:, -2] if known.shape[1] > 1 else np.zeros(len(known))
    return np.where(np.isfinite(margins), margins, 0.0)
