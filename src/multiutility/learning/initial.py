"""Labelings to begin with: what annotations say, and a regression makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, logsumexp, softmax

from multiutility.arrays import FloatArray, IndexArray
from multiutility.energy import Energy
from multiutility.inference import Solver
from multiutility.learning.examples import Example

# How much rare labels are favored: 0 not at all, 1 so much that all labels weigh the same.
BALANCE = 0.5
# What full labelings count in comparison with weak annotations, of which the labels are guessed.
CERTAIN = 10.0
# A label has at least this part of the size that its loss expects,
LEAST = 0.35
# and all of it if it must appear in a part of the nodes, as those of boxes.
LEAST_COVERED = 1.0
# Odds are multiplied by at most e to this; more makes no difference.
HIGHEST = 100.0


@dataclass(frozen=True, eq=False)
class SoftStart:
    """Flat weights [K D + e], of which the pairwise ones are zero, and soft labels [V, K] of all examples.

    ``told`` are the same, but as at first where the annotation says nothing: there they are mere guesses.
    """

    weights: FloatArray
    shares: list[FloatArray]
    told: list[FloatArray]

    def labelings(self, examples: Sequence[Example], solver: Solver) -> list[IndexArray]:
        """Return the likeliest labelings that agree with the annotations; the solver meets covers."""
        tiny = np.finfo(np.float64).tiny
        sizes = [one.problem.node_sizes[:, np.newaxis] for one in examples]
        logs = (np.log(np.maximum(share, tiny)) for share in self.shares)
        energies = [Energy(-size * log) for size, log in zip(sizes, logs, strict=True)]
        results = solver.minimize_many(energies, [one.constraints for one in examples])
        return [result.labels for result in results]


def soft_start(
    examples: Sequence[Example],
    shrinkage: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 5e-4, 5e-4),
    n_iterations: int = 15,
    sharpness: float = 8.0,
    locality: float = 5.0,
) -> SoftStart:
    """Fit a logistic regression to soft labels, which it sharpens in some rounds.

    The soft labels are at first those of ``Annotation.prior``. With soft labels Y [V, K], node sizes s and
    ``m_k = sum_i s_i Y_ik``, node i counts for label k by ``s_i Y_ik / m_k^BALANCE``. That tells labels apart
    that come together: say that every picture of a cow has grass, that one picture of grass in ten has a cow,
    and that no places are known. If all nodes count the same, the nodes of cows are as much of one label as
    of the other; if all labels count the same, those of grass are. In between, each kind of node is more of
    its own label.

    After each round the soft labels are those that the regression gives, to the power of ``sharpness``, among
    those that each node may have; and labels get at least a part, ``LEAST``, of the size that is expected of
    them.

    What all nodes of an example have in common cannot tell them apart, but it tells the example: grass around
    a cow would look like a cow. So each feature counts by the ``locality`` power of the part of its variance
    that is within examples. Features are then scaled to norm 1, whatever the sizes of nodes have done to
    them. ``shrinkage`` is the weight of the ridge in each round.
    """
    regression = Regression(examples, locality)
    labels = regression.priors
    weights: FloatArray = np.zeros(regression.shape)
    for ridge in shrinkage:
        weights = regression.fit(labels, weights, ridge, n_iterations)
        labels = regression.sharpened(weights, sharpness)
    flat = (weights * regression.factors).ravel()
    pairwise = np.zeros(examples[0].problem.edge_features.shape[1])
    told = [
        np.where(s > 0, q, p) for s, q, p in zip(regression.sizes, labels, regression.priors, strict=True)
    ]
    return SoftStart(np.concatenate((flat, pairwise)), labels, told)


class Regression:
    """Logistic regression of soft labels on features, by quasi-Newton steps over all examples."""

    def __init__(self, examples: Sequence[Example], locality: float = 0.0) -> None:
        self.examples = examples
        self.features: list[NDArray[Any]] = [one.problem.node_features for one in examples]
        self.shape = examples[0].annotation.n_labels, self.features[0].shape[1]
        self.priors = [one.annotation.prior(one.problem) for one in examples]
        self.sizes = [counted_sizes(one, prior) for one, prior in zip(examples, self.priors, strict=True)]
        self.least = [least_sizes(one) for one in examples]
        self.factors: FloatArray = within_parts(examples) ** locality
        self.scales = [inverse_norms(x, self.factors) for x in self.features]

    def columns(self, weights: FloatArray) -> NDArray[Any]:
        """Weights [K, D] as factors [D, K] of the features."""
        return np.asarray((weights * self.factors).T, dtype=self.features[0].dtype)

    def scores(self, example: int, columns: NDArray[Any]) -> FloatArray:
        """Scores [V, K] of the labels of an example's nodes."""
        return np.asarray(self.scales[example] * (self.features[example] @ columns), dtype=np.float64)

    def fit(
        self, labels: Sequence[FloatArray], start: FloatArray, ridge: float, n_iterations: int
    ) -> FloatArray:
        """Return weights [K, D] of a few steps from ``start``, for soft labels [V, K] of each example."""
        masses = [size * one for size, one in zip(self.sizes, labels, strict=True)]
        totals = np.sum([mass.sum(axis=0) for mass in masses], axis=0)
        scale = np.divide(1, totals**BALANCE, out=np.zeros_like(totals), where=totals > 0)
        whole = float(totals @ scale)
        targets = [mass * scale / (whole if whole > 0 else 1.0) for mass in masses]

        def value(flat: FloatArray) -> tuple[float, FloatArray]:
            weights = flat.reshape(self.shape)
            loss, gradient = ridge * float(flat @ flat) / 2, np.zeros(self.shape)
            columns = self.columns(weights)
            for n, target in enumerate(targets):
                logs = log_softmax(self.scores(n, columns), axis=1)
                loss -= float(np.vdot(target, logs))
                residual = self.scales[n] * (target.sum(axis=1, keepdims=True) * np.exp(logs) - target)
                gradient += residual.T.astype(self.features[n].dtype) @ self.features[n]
            return loss, (ridge * weights + gradient * self.factors).ravel()

        options = {"maxiter": n_iterations}
        found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x).reshape(self.shape)

    def sharpened(self, weights: FloatArray, sharpness: float) -> list[FloatArray]:
        """Return the soft labels that the weights give among those that are possible."""
        columns = self.columns(weights)
        return [self._shares(n, sharpness * self.scores(n, columns)) for n in range(len(self.examples))]

    def _shares(self, example: int, scores: FloatArray) -> FloatArray:
        scores = np.where(self.priors[example] > 0, scores, -np.inf)
        for label, least in self.least[example].items():
            scores[:, label] += raise_of(scores, label, self.examples[example].problem.node_sizes, least)
        return np.asarray(softmax(scores, axis=1))


def counted_sizes(example: Example, prior: FloatArray) -> FloatArray:
    """Sizes [V, 1] by which nodes count, zero for those of which nothing is known."""
    sizes = example.problem.node_sizes[:, np.newaxis]
    if example.annotation.strong:
        return np.asarray(CERTAIN * sizes * ~example.open_nodes[:, np.newaxis])
    # Where nothing but labels of unknown size is possible, nothing has been said.
    known = prior @ (example.annotation.label_sizes(example.problem) > 0) > 0
    return np.asarray(sizes * known[:, np.newaxis])


def least_sizes(example: Example) -> dict[int, float]:
    """Return the least expected sizes of the labels of a weak annotation."""
    if example.annotation.strong:
        return {}
    constraints, problem = example.constraints, example.problem
    partial = np.diff(constraints.cover_starts) < problem.n_nodes
    covered = np.isin(np.arange(example.annotation.n_labels), constraints.cover_labels[partial])
    least = np.where(covered, LEAST_COVERED, LEAST) * example.annotation.label_sizes(problem)
    return {label: float(least[label]) for label in np.flatnonzero(least).tolist()}


def raise_of(scores: FloatArray, label: int, sizes: FloatArray, least: float) -> float:
    """Return how much a label's scores must rise for it to have at least a size, summed over shares.

    >>> scores = np.log([[0.5, 0.5], [0.75, 0.25]])
    >>> rise = raise_of(scores, 1, np.ones(2), 1.25)
    >>> scores[:, 1] += rise
    >>> round(float(softmax(scores, axis=1)[:, 1].sum()), 6)
    1.25
    """
    odds = scores[:, label] - logsumexp(np.delete(scores, label, axis=1), axis=1)

    def missing(rise: float) -> float:
        return least - float(sizes @ expit(odds + rise))

    if missing(0.0) <= 0:
        return 0.0
    return HIGHEST if missing(HIGHEST) >= 0 else float(brentq(missing, 0.0, HIGHEST))


def within_parts(examples: Sequence[Example]) -> FloatArray:
    """Part of the variance of each feature [D] that is within examples, of features scaled to norm 1.

    Features that never vary keep the part 1; if none varies within examples, all do.

    >>> from multiutility.annotations import Tags
    >>> from multiutility.learning.examples import make_examples
    >>> from multiutility.problem import LabelingProblem
    >>> problems = [LabelingProblem([[s, 1.0], [s, -1.0]], [], np.zeros((0, 1))) for s in (1.0, -1.0)]
    >>> within_parts(make_examples(problems, [Tags([0, 1], n_labels=2)] * 2))
    array([0., 1.])
    """
    total, first = 0.0, np.zeros(examples[0].problem.node_features.shape[1])
    second, between = np.zeros_like(first), np.zeros_like(first)
    for one in examples:
        features, sizes = one.problem.node_features, one.problem.node_sizes
        scaled = features * inverse_norms(features).astype(features.dtype)
        whole, sums = float(sizes.sum()), sizes @ scaled
        total, first, second = total + whole, first + sums, second + sizes @ scaled**2
        between += sums**2 / whole if whole > 0 else 0.0
    spread = second - first**2 / total if total > 0 else np.zeros_like(first)
    # What is left of sums of squares by rounding is no variance.
    varied = spread > 1e-6 * second
    parts = np.divide(second - between, spread, out=np.ones_like(first), where=varied)
    parts = np.clip(parts, 0.0, 1.0)
    return parts if parts[varied].any() else np.ones_like(first)


def inverse_norms(features: NDArray[Any], factors: FloatArray | None = None) -> FloatArray:
    """Return 1 / norm of each row, [V, 1], of features times factors [D]; 0 for rows of zeros."""
    squares = features.astype(np.float64) ** 2
    norms = np.sqrt(squares.sum(axis=1) if factors is None else squares @ factors**2)[:, np.newaxis]
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
