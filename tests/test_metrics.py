"""Metrics against scikit-learn and against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, jaccard_score, recall_score

from multiutility.metrics import (
    accuracy,
    confusion,
    intersection_over_union,
    mean_iou,
    mean_recall,
    recall,
    total_confusion,
)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(4, size=(2, 50))
    weights = rng.random(50)
    matrix = confusion(truth, predicted, 4, weights)
    labels = np.arange(4)
    np.testing.assert_allclose(
        matrix, confusion_matrix(truth, predicted, labels=labels, sample_weight=weights)
    )
    np.testing.assert_allclose(accuracy(matrix), accuracy_score(truth, predicted, sample_weight=weights))
    np.testing.assert_allclose(
        recall(matrix), recall_score(truth, predicted, labels=labels, average=None, sample_weight=weights)
    )
    np.testing.assert_allclose(
        intersection_over_union(matrix),
        jaccard_score(truth, predicted, labels=labels, average=None, sample_weight=weights),
    )


def test_void_counts_nowhere() -> None:
    matrix = confusion([0, 9, 1, 9], [0, 1, 0, 0], 2, weights=[1, 10, 1, 10], void=9)
    assert accuracy(matrix) == 0.5
    np.testing.assert_array_equal(recall(matrix), [1, 0])


def test_labelings_together_are_labelings_concatenated() -> None:
    rng = np.random.default_rng(0)
    truths, predictions = rng.integers(3, size=(2, 4, 6))
    weights = list(rng.random((4, 6)))
    together = total_confusion(truths, predictions, 3, weights)
    np.testing.assert_allclose(
        together, confusion(truths.ravel(), predictions.ravel(), 3, np.concatenate(weights))
    )


def test_labels_that_do_not_occur_are_left_out_of_means() -> None:
    matrix = confusion([0, 0, 1], [0, 2, 1], 4)
    assert mean_recall(matrix) == pytest.approx((0.5 + 1) / 2)
    assert mean_recall(matrix, rare=[0]) == 1
    assert mean_iou(matrix) == pytest.approx((0.5 + 1 + 0) / 3)
    assert np.isnan(accuracy(np.zeros((2, 2))))
    assert np.isnan(mean_recall(np.zeros((2, 2))))


@pytest.mark.parametrize(
    ("truth", "predicted", "weights", "message"),
    [
        ([0, 5], [0, 0], None, r"truth\[1\] is 5"),
        ([0, 1], [0, 2], None, r"predicted\[1\] is 2"),
        ([0, 1], [0], None, "predicted has shape"),
        ([0, 1], [0, 1], [1], "weights has shape"),
        ([0, 1], [0, 1], [1, -1], r"weights\[1\] is -1"),
    ],
)
def test_errors_name_the_argument(
    truth: list[int], predicted: list[int], weights: list[int] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        confusion(truth, predicted, 2, weights)
