"""Planes of a block, and steps of a mini-batch, in native code; ``reference`` has the same in NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multiutility import _core
from multiutility.arrays import BoolArray, FloatArray, IndexArray


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
