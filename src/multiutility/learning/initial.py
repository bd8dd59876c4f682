"""Labelings to begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def soft_weights(examples: Sequence[Example], shrinkage: float = 0.1, n_iterations: int = 30) -> FloatArray:
    """Flat weights [K D + e] of a ridge regression to class-balanced soft labels, by conjugate gradients.

    With soft labels Y [V, K], node sizes s and m_k = sum_i s_i Y_ik, all labels weigh the same:
    ``(X^T T X + lambda) W = X^T (s Y / m)`` with ``T_ii = s_i sum_k Y_ik / m_k``. Pairwise weights are zero.
    ``shrinkage`` is lambda as part of the mean eigenvalue of ``X^T T X``.
    """
    sizes = [one.problem.node_sizes[:, np.newaxis] for one in examples]
    targets = [size * soft_labels(one) for one, size in zip(examples, sizes, strict=True)]
    mass = np.sum([target.sum(axis=0) for target in targets], axis=0)
    targets = [np.divide(t, mass, out=np.zeros_like(t), where=mass > 0) for t in targets]
    features: list[NDArray[Any]] = [one.problem.node_features for one in examples]
    totals = [target.sum(axis=1, keepdims=True) for target in targets]
    trace = sum(float(np.vdot(t * x, x)) for t, x in zip(totals, features, strict=True))
    ridge = shrinkage * trace / features[0].shape[1]

    def normal(weights: FloatArray) -> FloatArray:
        product: FloatArray = ridge * weights
        for x, t in zip(features, totals, strict=True):
            product += (t * (x @ weights.astype(x.dtype).T)).astype(x.dtype).T @ x
        return product

    right = np.sum([t.astype(x.dtype).T @ x for t, x in zip(targets, features, strict=True)], axis=0)
    unary = conjugate_gradients(normal, np.asarray(right, dtype=np.float64), n_iterations)
    return np.concatenate((unary.ravel(), np.zeros(examples[0].problem.edge_features.shape[1])))


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


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], right: FloatArray, n_iterations: int
) -> FloatArray:
    """Rows x [K, D] with ``product(x) = right``, each by its own conjugate gradients.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda rows: rows @ matrix, np.array([[3.0, 4.0], [2.0, 1.0]]), 2).round(6)
    array([[1., 1.],
           [1., 0.]])
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction, norm = residual.copy(), (residual**2).sum(axis=1, keepdims=True)
    enough = 1e-12 * norm
    for _ in range(n_iterations):
        image = product(direction)
        curvature = (direction * image).sum(axis=1, keepdims=True)
        step = np.divide(norm, curvature, out=np.zeros_like(norm), where=norm > enough)
        solution += step * direction
        residual -= step * image
        previous, norm = norm, (residual**2).sum(axis=1, keepdims=True)
        ratio = np.divide(norm, previous, out=np.zeros_like(norm), where=previous > enough)
        direction = residual + ratio * direction
    return solution
