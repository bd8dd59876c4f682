"""What ``planes`` does, in plain NumPy: the readable twin of the native code, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.learning.optimizers.planes import Slots


def scores(rows: NDArray[Any], features: NDArray[Any]) -> NDArray[Any]:
    """Scores [V, K] of nodes with features [V, D], for weights [K, D]."""
    return np.asarray(features @ rows.T)


def lift(nodes: NDArray[Any], features: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``nodes.T @ features`` [K, D] to ``out``, for [V, K] and [V, D]."""
    np.matmul(nodes.T, features, out=out)


def label_sums(matrix: NDArray[Any], labelings: IndexArray) -> FloatArray:
    """Sums [M] of the elements that labelings [M, V] pick from a matrix on the nodes [V, K]."""
    return np.asarray(matrix[np.arange(len(matrix)), labelings].sum(axis=1, dtype=np.float64))


def matrices(slots: Slots) -> FloatArray:
    """Matrices of all slots, [P, V, K]."""
    one_hot = np.eye(slots.rest.shape[1])
    found: FloatArray = slots.cost * (one_hot[slots.anchor] - one_hot[slots.labels])
    found[~slots.used] = 0
    found[0] = slots.rest
    return found


def slot_products(slots: Slots, matrix: NDArray[Any]) -> FloatArray:
    """Inner products [P] of the slots' matrices with another matrix on the nodes [V, K]."""
    return np.asarray(np.einsum("pvk,vk->p", matrices(slots), matrix))


def combine_slots(slots: Slots, coefficients: FloatArray, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return the combination of the slots' matrices by coefficients [P], [V, K]."""
    return np.tensordot(coefficients, matrices(slots), 1).astype(dtype)


def swap_labels(
    symmetric: NDArray[Any], first: IndexArray, second: IndexArray, n_labels: int
) -> NDArray[Any]:
    """Return ``symmetric @ (onehot(first) - onehot(second))`` [V, K], for labelings [V] and [V, V]."""
    one_hot = np.eye(n_labels, dtype=symmetric.dtype)
    return np.asarray(symmetric @ (one_hot[first] - one_hot[second]))


def slot_of(slots: Slots, labels: IndexArray) -> int:
    """Return the used slot that has the labeling [V], or 0, which has none."""
    known = (slots.labels[1:] == labels).all(axis=1) & slots.used[1:]
    return int(np.argmax(known)) + 1 if known.any() else 0


def exchange(
    coefficients: FloatArray, gradients: FloatArray, gram: FloatArray, used: BoolArray, n_steps: int
) -> FloatArray:
    """Maximize ``gradients . d - d gram d / 2`` over coefficients + d on the simplex, for each of B problems.

    Each step moves weight from the coefficient of the least gradient to that of the largest (pairwise
    Frank-Wolfe).
    """
    mixed, gradients = coefficients.copy(), np.where(used, gradients, -np.inf)
    rows = np.arange(len(mixed))
    for _ in range(n_steps):
        up, down = gradients.argmax(axis=1), np.where(mixed > 0, gradients, np.inf).argmin(axis=1)
        slope = gradients[rows, up] - gradients[rows, down]
        if slope.max() <= 0:
            break
        change = gram[rows, :, up] - gram[rows, :, down]
        curvature = change[rows, up] - change[rows, down]
        step = np.divide(slope, curvature, out=np.full(len(slope), np.inf), where=curvature > 0)
        step = np.minimum(step, mixed[rows, down])
        mixed[rows, down] -= step
        mixed[rows, up] += step
        gradients -= step[:, np.newaxis] * change
    return mixed


def ascend_parabola(slopes: FloatArray, gram: FloatArray, n_rounds: int) -> FloatArray:
    """Maximize ``slopes . t - t gram t / 2`` over t in [0, 1]^B, one coordinate after another."""
    slopes, steps = slopes.copy(), np.zeros(len(slopes))
    for _ in range(n_rounds):
        for b, row in enumerate(gram):
            rise = slopes[b] + steps[b] * row[b]
            best = min(max(rise / row[b], 0.0), 1.0) if row[b] > 0 else float(rise > 0)
            slopes -= (best - steps[b]) * row
            steps[b] = best
    return steps
