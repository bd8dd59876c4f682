"""Posteriors from known sizes alone: what looks alike, and comes in such shares, is of one label.

Where all examples have the same labels, tags tell nothing of which is which, but shares that vary do. A model
is fitted whose expected shares are those that are known, on the few features by which the nodes of an example
differ most: with many features, it would tell examples, and not nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from multiutility.arrays import BoolArray, FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import GUESSED, MOST_WEAK, RIDGE, Data, evenly
from multiutility.learning.selection.regression import Targets, fit_logistic, ridges_of
from multiutility.learning.starts.known_sizes import within_sizes
from multiutility.learning.starts.locality import LOCALITY, inverse_norms, local_factors, moments_of
from multiutility.problem import LabelingProblem

# Features of the model of shares, and of the regressions after it.
FEW_AXES, N_AXES = 8, 128
# Ridge of the model of shares, of which there are few.
SHARES_RIDGE = 1e-3
# Rounds of regressions; powers of the probabilities that soft labels are made of, at first and then; power of
# class weights.
ROUNDS, FIRST, SHARPNESS, BALANCE = 3, 8.0, 2.0, GUESSED
# Steps of the fit to shares, and of each regression.
STEPS, FEW_STEPS = 100, 30


def knows_sizes(data: Data) -> bool:
    """Whether every weakly annotated example has a known size."""
    return all(len(data.examples[n].constraints.sizes) for n in data.weak)


def from_proportions(data: Data) -> list[FloatArray]:
    """Posteriors of weakly annotated examples by the model of their shares, sharpened in some rounds."""
    some = evenly(data.weak, 4 * MOST_WEAK)
    few, many = (Differences.of([data.examples[n] for n in some], n_axes) for n_axes in (FEW_AXES, N_AXES))
    weights = fit_shares([bag_of(data, n, few) for n in some], SHARES_RIDGE)
    problems = {n: data.examples[n].problem for n in data.weak}
    posteriors = {n: matched(data, n, FIRST * (few(problems[n]) @ weights.T)) for n in data.weak}
    features = {n: many(problems[n]).astype(np.float32) for n in data.weak}
    for _ in range(ROUNDS):
        parts = [Targets(features[n], problems[n].node_sizes[:, np.newaxis] * posteriors[n]) for n in some]
        model = fit_logistic(parts, RIDGE, BALANCE, n_steps=FEW_STEPS)
        posteriors = {n: matched(data, n, SHARPNESS * (features[n] @ model.T)) for n in data.weak}
    return [posteriors[n] for n in data.weak]


def matched(data: Data, n: int, scores: FloatArray) -> FloatArray:
    """Posteriors [V, K] by scores, of labels that are possible, with the sizes that are known."""
    return within_sizes(np.where(data.clues(n).possible, scores, -np.inf), data.examples[n].constraints.sizes)


@dataclass(frozen=True, eq=False)
class Differences:
    """Features by which the nodes of an example differ: on the principal axes of what is within examples.

    Features that tell examples count less, as in the soft start; all together have variance 1.
    """

    factors: FloatArray
    mean: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, examples: Sequence[Example], n_axes: int) -> Self:
        """Find the axes [D, n_axes] of the largest variance around the means of examples."""
        factors = local_factors(moments_of(examples), LOCALITY)
        rows = [local_rows(one.problem, factors) for one in examples]
        centered = np.concatenate([one - one.mean(axis=0) for one in rows])
        variances, axes = np.linalg.eigh(centered.T @ centered / len(centered))
        spread = float(np.sqrt(max(variances[-n_axes:].sum(), 0.0)))
        mean = np.concatenate(rows).mean(axis=0)
        return cls(factors, mean, axes[:, -n_axes:] / (spread if spread > 0 else 1.0))

    def __call__(self, problem: LabelingProblem) -> FloatArray:
        """Features [V, n_axes + 1] of the nodes, of which the last is a constant."""
        found = (local_rows(problem, self.factors) - self.mean) @ self.axes
        return np.column_stack((found, np.ones(len(found))))


def local_rows(problem: LabelingProblem, factors: FloatArray) -> FloatArray:
    """Features [V, D] times factors [D], scaled to norm 1."""
    features = problem.node_features
    return np.asarray(features * factors * inverse_norms(features, factors), dtype=np.float64)


class Bag:
    """Nodes with features [V, a], weights [V] that add up to 1, possible labels [V, K], and shares [K].

    Labels whose share is not known have what is left, alike; those that are not possible have none.
    """

    def __init__(
        self, features: FloatArray, sizes: FloatArray, possible: BoolArray, shares: FloatArray
    ) -> None:
        self.features, self.possible, self.shares = features, possible, shares
        self.weights = sizes / max(float(sizes.sum()), np.finfo(float).tiny)


def bag_of(data: Data, n: int, differences: Differences) -> Bag:
    """Return an example as a bag."""
    example, possible = data.examples[n], data.clues(n).possible
    sizes = example.annotation.label_sizes(example.problem) * possible.any(axis=0)
    total = float(sizes.sum())
    shares = sizes / total if total > 0 else sizes
    return Bag(differences(example.problem), example.problem.node_sizes, possible, shares)


def fit_shares(bags: Sequence[Bag], ridge: float, n_steps: int = STEPS) -> FloatArray:
    """Weights [K, a] of a logistic regression whose mean probabilities in bags are the shares of labels."""
    shape = len(bags[0].shares), bags[0].features.shape[1]
    start = np.zeros(shape[0] * shape[1])
    options = {"maxiter": n_steps}
    found = minimize(shares_loss, start, (bags, ridge), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x).reshape(shape)


def shares_loss(flat: FloatArray, bags: Sequence[Bag], ridge: float) -> tuple[float, FloatArray]:
    """Loss of weights [K a], and its gradient.

    ``-mean_n sum_k S_nk log sum_i c_i p_k(z_i) + ridge / 2 |W|^2`` with shares S and weights c of nodes.
    """
    shape = len(bags[0].shares), bags[0].features.shape[1]
    weights = flat.reshape(shape)
    ridges = ridges_of(shape, ridge)
    loss, gradient = float((ridges * weights**2).sum()) / 2, ridges * weights
    for bag in bags:
        scores = np.where(bag.possible, bag.features @ weights.T, -np.inf)
        likely = softmax(scores, axis=1)
        means = np.maximum(bag.weights @ likely, np.finfo(float).tiny)
        loss -= float(bag.shares @ np.log(means)) / len(bags)
        ratios = bag.shares / means
        slopes = bag.weights[:, np.newaxis] * likely * (ratios - likely @ ratios[:, np.newaxis])
        gradient -= slopes.T @ bag.features / len(bags)
    return loss, gradient.ravel()
