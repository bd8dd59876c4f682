"""Scores, planes of a block, and steps of a mini-batch, in native code; ``reference`` has it in NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multiutility import _core
from multiutility.arrays import BoolArray, FloatArray, IndexArray

# Multiplications of a product below which BLAS makes no copies of its factors, either; and labels up to which
# a node has too few scores for native code to gain anything.
SMALL_PRODUCT, FEW_LABELS = 10**6, 8


class Slots(NamedTuple):
    """Matrices on the nodes of a block: ``rest`` [V, K], then ``cost (onehot(anchor) - onehot(labels[p]))``.

    ``labels`` is [P, V], of which the first row says nothing; ``anchor`` is [V] and ``used`` [P]: slots that
    are not used count as zero.
    """

    rest: FloatArray
    labels: IndexArray
    anchor: IndexArray
    used: BoolArray
    cost: float


class Scores:
    """Scores ``features @ rows.T`` [V, K] of the nodes of several problems, for the same weights [K, D].

    By native code for features in single precision, on processors that have it for them, else by BLAS. Both
    are sums of the same products, and differ by rounding errors at most.

    >>> Scores(np.array([[1.0, 2.0], [0.0, 1.0]]))(np.array([[3.0, 4.0]]))
    array([[11.,  4.]])
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows
        self._packed: NDArray[np.float32] | None = None

    def __call__(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of the nodes with features [V, D]."""
        if not is_native(len(self.rows), self.rows.dtype, features):
            return np.asarray(features @ self.rows.T)
        found = np.empty((len(features), len(self.rows)), np.float32)
        _core.node_scores(features, self._weights(), found)
        return found

    def _weights(self) -> NDArray[np.float32]:
        """Weights by features [D, K], and zeros, so that labels come in eights."""
        if self._packed is None:
            n_labels, n_features = self.rows.shape
            self._packed = np.zeros((n_features, -(-n_labels // 8) * 8), np.float32)
            self._packed[:, :n_labels] = self.rows.T
        return self._packed


def lift(nodes: NDArray[Any], features: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``nodes.T @ features`` [K, D] to ``out``, for [V, K] and [V, D]; how is as with ``Scores``.

    >>> found = np.zeros((2, 1))
    >>> lift(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[3.0], [4.0]]), found)
    >>> found.tolist()
    [[11.0], [4.0]]
    """
    if out.dtype == np.float32 and is_native(nodes.shape[1], nodes.dtype, features):
        _core.lift(nodes, features, out)
    else:
        np.matmul(nodes.T, features, out=out)


def is_native(n_labels: int, dtype: np.dtype[Any], features: NDArray[Any]) -> bool:
    """Whether native code is faster than BLAS for products of features [V, D] with something for labels."""
    single = features.dtype == np.float32 and dtype == np.float32
    large = n_labels > FEW_LABELS and n_labels * features.size > SMALL_PRODUCT
    return single and large and _core.can_multiply()


def label_sums(matrix: NDArray[Any], labelings: IndexArray) -> FloatArray:
    """Sums [M] of the elements that labelings [M, V] pick from a matrix on the nodes [V, K].

    >>> label_sums(np.array([[1.0, 2.0], [10.0, 20.0]]), np.array([[0, 0], [1, 0]], dtype=np.int32))
    array([11., 12.])
    """
    return _core.label_sums(matrix, labelings)


def slot_products(slots: Slots, matrix: NDArray[Any]) -> FloatArray:
    """Inner products [P] of the slots' matrices with another matrix on the nodes [V, K]."""
    products = _core.slot_products(slots, matrix)
    products[0] = np.vdot(slots.rest, matrix)
    return products


def combine_slots(slots: Slots, coefficients: FloatArray, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return the combination of the slots' matrices by coefficients [P], [V, K]."""
    matrix = np.empty(slots.rest.shape, dtype)
    _core.combine_slots(slots, coefficients, (slots.cost * coefficients[1:]).sum(), matrix)
    return matrix


def swap_labels(
    symmetric: NDArray[Any], first: IndexArray, second: IndexArray, n_labels: int
) -> NDArray[Any]:
    """Return ``symmetric @ (onehot(first) - onehot(second))`` [V, K], for labelings [V], of a matrix [V, V].

    >>> matrix = np.array([[1.0, 2.0], [2.0, 5.0]])
    >>> swap_labels(matrix, np.array([0, 1], np.int32), np.array([0, 0], np.int32), 2)
    array([[-2.,  2.],
           [-5.,  5.]])
    """
    if n_labels * symmetric.size <= SMALL_PRODUCT:
        return np.asarray(symmetric @ swapped(first, second, n_labels, symmetric.dtype))
    found = np.empty((len(symmetric), n_labels), symmetric.dtype)
    _core.swap_labels(symmetric, first, second, found)
    return found


def swapped(first: IndexArray, second: IndexArray, n_labels: int, dtype: DTypeLike) -> NDArray[Any]:
    """``onehot(first) - onehot(second)``, [V, K].

    >>> swapped(np.array([0, 1]), np.array([0, 0]), 2, np.float64)
    array([[ 0.,  0.],
           [-1.,  1.]])
    """
    nodes, matrix = np.arange(len(first)), np.zeros((len(first), n_labels), dtype)
    matrix[nodes, first] = 1
    matrix[nodes, second] -= 1
    return matrix


def slot_of(slots: Slots, labels: IndexArray) -> int:
    """Return the used slot that has the labeling [V], or 0, which has none."""
    return _core.slot_of(slots, labels)


def exchange(
    coefficients: FloatArray, gradients: FloatArray, gram: FloatArray, used: BoolArray, n_steps: int
) -> FloatArray:
    """Maximize ``gradients . d - d gram d / 2`` over coefficients + d on the simplex, for each of B problems.

    Each step moves weight from the coefficient of the least gradient to that of the largest (pairwise
    Frank-Wolfe). Arrays are [B, P] and [B, P, P]; coefficients that are not ``used`` stay zero.

    >>> gram = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> exchange(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), gram, np.ones((1, 2), dtype=bool), 5)
    array([[0.5, 0.5]])
    """
    mixed = coefficients.copy()
    _core.exchange(mixed, gradients.copy(), gram, used, n_steps)
    return mixed


def ascend_parabola(slopes: FloatArray, gram: FloatArray, n_rounds: int) -> FloatArray:
    """Maximize ``slopes . t - t gram t / 2`` over t in [0, 1]^B, one coordinate after another.

    >>> ascend_parabola(np.array([1.0, 3.0]), np.eye(2), n_rounds=1)
    array([1., 1.])
    """
    return _core.ascend_parabola(slopes, gram, n_rounds)
