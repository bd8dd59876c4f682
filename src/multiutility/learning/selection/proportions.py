"""Posteriors from known sizes alone: what looks alike, and comes in such shares, is of one label.

Where all examples have the same labels, tags tell nothing of which is which, but shares that vary do. A model
is fitted whose expected shares are those that are known, on the few features by which the nodes of an example
differ most: with many features, it would tell examples, and not nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from multiutility.arrays import BoolArray, FloatArray
from multiutility.learning.selection.choice import MOST_WEAK, Data, evenly
from multiutility.learning.selection.regression import Targets, fit_logistic, ridges_of
from multiutility.learning.starts.known_sizes import within_sizes

# Features that a model of shares has.
N_AXES = 8
# Ridge of regressions on shares, and on the soft labels that these give.
RIDGE = 1e-3
# Rounds of regressions; powers of the probabilities that soft labels are made of, at first and then; power of
# class weights.
ROUNDS, FIRST, SHARPNESS, BALANCE = 5, 8.0, 4.0, 0.25
# Steps of the fit to shares, and of each regression.
STEPS, FEW_STEPS = 100, 30


def knows_sizes(data: Data) -> bool:
    """Whether every weakly annotated example has a known size."""
    return all(len(data.examples[n].constraints.sizes) for n in data.weak)


def from_proportions(data: Data) -> list[FloatArray]:
    """Posteriors of weakly annotated examples by the model of their shares, sharpened in some rounds."""
    some = evenly(data.weak, 4 * MOST_WEAK)
    axes = within_axes([data.features(n)[:, :-1] for n in some])
    weights = fit_shares([bag_of(data, n, axes) for n in some], RIDGE)
    posteriors = {n: matched(data, n, FIRST * (onto(data.features(n), axes) @ weights.T)) for n in data.weak}
    for _ in range(ROUNDS):
        sizes = {n: data.examples[n].problem.node_sizes[:, np.newaxis] for n in some}
        parts = [Targets(data.features(n), sizes[n] * posteriors[n]) for n in some]
        model = fit_logistic(parts, RIDGE, BALANCE, n_steps=FEW_STEPS)
        posteriors = {n: matched(data, n, SHARPNESS * (data.features(n) @ model.T)) for n in data.weak}
    return [posteriors[n] for n in data.weak]


def matched(data: Data, n: int, scores: FloatArray) -> FloatArray:
    """Posteriors [V, K] by scores, of labels that are possible, with the sizes that are known."""
    return within_sizes(np.where(data.clues(n).possible, scores, -np.inf), data.examples[n].constraints.sizes)


def within_axes(features: Sequence[NDArray[np.float32]]) -> FloatArray:
    """Principal axes [d, N_AXES] of the differences from the means of examples, scaled to variance 1 in all.

    >>> rows = np.array([[0.0, 1.0], [0.0, -1.0]], dtype=np.float32)
    >>> abs(within_axes([rows, rows + 5])[:, -1]).tolist()
    [0.0, 1.0]
    """
    centered = np.concatenate([rows - rows.mean(axis=0) for rows in features]).astype(np.float64)
    variances, axes = np.linalg.eigh(centered.T @ centered / len(centered))
    spread = float(np.sqrt(max(variances[-N_AXES:].sum(), 0.0)))
    return np.asarray(axes[:, -N_AXES:] / (spread if spread > 0 else 1.0))


def onto(features: NDArray[np.float32], axes: FloatArray) -> FloatArray:
    """Features [V, d + 1] on axes, and the constant."""
    return np.column_stack((features[:, :-1] @ axes, features[:, -1]))


class Bag:
    """Nodes with features [V, a], weights [V] that add up to 1, possible labels [V, K], and shares [K].

    Labels whose share is not known have what is left, alike; those that are not possible have none.
    """

    def __init__(
        self, features: FloatArray, sizes: FloatArray, possible: BoolArray, shares: FloatArray
    ) -> None:
        self.features, self.possible, self.shares = features, possible, shares
        self.weights = sizes / max(float(sizes.sum()), np.finfo(float).tiny)


def bag_of(data: Data, n: int, axes: FloatArray) -> Bag:
    """Return an example as a bag."""
    example, possible = data.examples[n], data.clues(n).possible
    sizes = example.annotation.label_sizes(example.problem) * possible.any(axis=0)
    total = float(sizes.sum())
    shares = sizes / total if total > 0 else sizes
    return Bag(onto(data.features(n), axes), example.problem.node_sizes, possible, shares)


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
