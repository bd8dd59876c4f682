"""How good labelings are: accuracy, recall, intersection over union."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import FloatArray, check_range, check_shape, check_values, index_array, numeric_array


def confusion(
    truth: ArrayLike, predicted: ArrayLike, n_labels: int, weights: ArrayLike | None = None, void: int = -1
) -> FloatArray:
    """Return how much of each true label (row) was given which label (column): [K, K].

    ``truth`` and ``predicted`` are labelings [V], ``weights`` [V] the sizes of what is labeled (or 1).
    Where the truth is ``void`` nothing counts. Matrices of several labelings may be added up.

    >>> confusion([0, 0, 1, -1], [0, 1, 1, 0], n_labels=2, weights=[1, 2, 3, 4])
    array([[1., 2.],
           [0., 3.]])
    """
    true, given = index_array(truth, "truth"), index_array(predicted, "predicted")
    check_shape(given, "predicted", true.shape)
    sizes = np.ones(len(true)) if weights is None else numeric_array(weights, "weights")
    check_shape(sizes, "weights", true.shape)
    check_values(sizes, "weights", "weights", minimum=0.0)
    counted = true != void
    check_range(np.where(counted, true, 0), "truth", n_labels, "labels")
    check_range(given, "predicted", n_labels, "labels")
    cells = true[counted].astype(np.int64) * n_labels + given[counted]
    sums: FloatArray = np.bincount(cells, sizes[counted], n_labels**2).astype(np.float64)
    return sums.reshape(n_labels, n_labels)


def mask_confusion(mask: ArrayLike, labels: ArrayLike, n_labels: int) -> FloatArray:
    """Return the confusion [K, K] of a mask [H, W], with 0 for void and label + 1, and labels of its pixels.

    >>> mask_confusion([[1, 2], [2, 0]], [[0, 0], [1, 1]], n_labels=2)
    array([[1., 0.],
           [1., 1.]])
    """
    return confusion(np.ravel(mask).astype(np.int64) - 1, np.ravel(labels), n_labels)


def total_confusion(
    truths: Iterable[ArrayLike],
    predictions: Iterable[ArrayLike],
    n_labels: int,
    weights: Sequence[ArrayLike] | None = None,
    void: int = -1,
) -> FloatArray:
    """Return the sum of the confusions of several labelings, [K, K].

    >>> total_confusion([[0], [1, 1]], [[0], [1, 0]], n_labels=2)
    array([[1., 0.],
           [1., 1.]])
    """
    total = np.zeros((n_labels, n_labels))
    for n, (truth, predicted) in enumerate(zip(truths, predictions, strict=True)):
        total += confusion(truth, predicted, n_labels, None if weights is None else weights[n], void)
    return total


def accuracy(matrix: FloatArray) -> float:
    """Part of everything that has the right label; nan if there is nothing.

    >>> accuracy(np.array([[6.0, 2.0], [0.0, 2.0]]))
    0.8
    """
    total = matrix.sum()
    return float(matrix.trace() / total) if total > 0 else float("nan")


def recall(matrix: FloatArray) -> FloatArray:
    """Part of each label that was found, [K]; nan for labels that do not occur.

    >>> recall(np.array([[6.0, 2.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    array([0.75, 1.  ,  nan])
    """
    return ratio(matrix.diagonal(), matrix.sum(axis=1))


def mean_recall(matrix: FloatArray, rare: Collection[int] = ()) -> float:
    """Mean recall of the labels that occur, except ``rare`` ones; nan if there are none.

    >>> matrix = np.array([[6.0, 2.0], [0.0, 2.0]])
    >>> mean_recall(matrix), mean_recall(matrix, rare=[1])
    (0.875, 0.75)
    """
    return mean_known(recall(matrix), rare)


def intersection_over_union(matrix: FloatArray) -> FloatArray:
    """What was found of each label, over all that is of this label or was called so, [K]; nan if nothing is.

    >>> intersection_over_union(np.array([[6.0, 2.0], [0.0, 2.0]]))
    array([0.75, 0.5 ])
    """
    union = matrix.sum(axis=0) + matrix.sum(axis=1) - matrix.diagonal()
    return ratio(matrix.diagonal(), union)


def mean_iou(matrix: FloatArray, rare: Collection[int] = ()) -> float:
    """Mean intersection over union of the labels that occur or were given, except ``rare`` ones.

    >>> mean_iou(np.array([[6.0, 2.0], [0.0, 2.0]]))
    0.625
    """
    return mean_known(intersection_over_union(matrix), rare)


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole, nan where the whole is nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))


def mean_known(values: FloatArray, left_out: Collection[int]) -> float:
    """Mean of the values that are not nan, some left out; nan if there are none."""
    kept = values[[k for k in range(len(values)) if k not in left_out and not np.isnan(values[k])]]
    return float(kept.mean()) if len(kept) else float("nan")
