"""Confusions of many images, and the bootstrap over them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.experiments.confusions import Confusions, difference, standard_errors
from multiutility.metrics import accuracy, mean_iou, mean_recall


def random_matrices(seed: int, n_images: int = 12, n_labels: int = 4, right: float = 40) -> list[FloatArray]:
    rng = np.random.default_rng(seed)
    matrices = rng.poisson(2, (n_images, n_labels, n_labels)) + np.eye(n_labels) * right
    # Most images have a few labels only.
    present: NDArray[np.bool_] = rng.random((n_images, n_labels, 1)) < 0.6
    present[:, 0] = True
    return list((matrices * present).astype(np.float64))


def test_measures_are_those_of_all_images_together() -> None:
    matrices = random_matrices(0)
    found = Confusions.of(matrices, rare=[2])
    total = np.sum(matrices, axis=0)
    assert np.array_equal(found.matrix, total)
    assert found.accuracy == accuracy(total)
    assert found.mean_recall == mean_recall(total, [2])
    assert found.mean_iou == mean_iou(total, [2])
    assert found.scores.tolist() == [found.accuracy, found.mean_recall, found.mean_iou]
    parts = [Confusions.of(matrices[:5], rare=[2]), Confusions.of(matrices[5:], rare=[2])]
    assert np.array_equal(Confusions.joined(parts).entries, found.entries)
    assert Confusions.joined(parts).scores.tolist() == found.scores.tolist()


def test_resampling_counts_images_as_often_as_they_are_drawn() -> None:
    matrices = random_matrices(1)
    found = Confusions.of(matrices, rare=[1])
    drawn = np.random.default_rng(0).integers(len(matrices), size=(5, len(matrices)))
    weights = np.array([np.bincount(row, minlength=len(matrices)) for row in drawn], dtype=np.float64)
    for row, (by_accuracy, by_recall, by_iou) in zip(drawn, found.resampled(weights), strict=True):
        total = np.sum([matrices[n] for n in row], axis=0)
        assert by_accuracy == pytest.approx(accuracy(total))
        assert by_recall == pytest.approx(mean_recall(total, [1]))
        assert by_iou == pytest.approx(mean_iou(total, [1]))


def test_errors_are_those_of_differences_between_pairs() -> None:
    # Images differ a lot in how hard they are, but the second method is always better by about as much.
    rng = np.random.default_rng(0)
    hard = rng.integers(100, 900, size=40)
    first = [np.array([[1000.0 - wrong, wrong], [0.0, 0.0]]) for wrong in hard]
    easier = hard - 20 + rng.integers(-3, 3, 40)
    second = [np.array([[1000.0 - wrong, wrong], [0.0, 0.0]]) for wrong in easier]
    gain = difference([Confusions.of(first)], [Confusions.of(second)])
    gains = [(b[0, 0] - a[0, 0]) / 1000 for a, b in zip(first, second, strict=True)]
    assert gain.accuracy == pytest.approx(np.mean(gains))
    assert gain.accuracy_error == pytest.approx(np.std(gains) / np.sqrt(40), rel=0.2)
    assert gain.mean_recall == pytest.approx(gain.accuracy)
    # Not paired, it would be lost in the noise.
    assert standard_errors([Confusions.of(first)])[0] > gain.accuracy
    assert not gain.worse
    assert difference([Confusions.of(second)], [Confusions.of(first)]).worse


def test_a_measure_that_falls_is_enough_to_be_worse() -> None:
    better_accuracy = [np.array([[990.0, 10.0], [5.0, 5.0]])] * 9
    better_recall = [np.array([[900.0, 100.0], [0.0, 10.0]])] * 9
    gain = difference([Confusions.of(better_recall)], [Confusions.of(better_accuracy)])
    assert gain.accuracy > 0
    assert gain.mean_recall < 0
    assert gain.worse


def test_measures_are_named_that_change_beyond_noise() -> None:
    # 6 pixels are called the second class, of which 4 are: IoU is 4 / 6.
    right = [np.diag([96.0, 4.0])] * 9
    called = [np.array([[94.0, 2.0], [0.0, 4.0]])] * 9
    gain = difference([Confusions.of(right)], [Confusions.of(called)])
    assert gain.mean_iou == pytest.approx((94 / 96 + 4 / 6) / 2 - 1)
    assert gain.of("mean_iou") == (gain.mean_iou, gain.iou_error)
    assert gain.lower() == ["accuracy", "mean_recall", "mean_iou"]
    assert gain.lower(["mean_iou"]) == ["mean_iou"]
    assert gain.higher() == []
    back = difference([Confusions.of(called)], [Confusions.of(right)])
    assert back.higher(["accuracy", "mean_iou"]) == ["accuracy", "mean_iou"]
    assert back.text() == "+2.0 ± 0.0 / +1.0 ± 0.0 / +17.7 ± 0.0 points"
    assert str(back) == "+2.0 ± 0.0 / +1.0 ± 0.0 points"


def test_runs_are_averaged_and_must_be_of_the_same_images() -> None:
    low, high = Confusions.of(random_matrices(2, right=10)), Confusions.of(random_matrices(2, right=60))
    gain = difference([low, high], [high])
    assert gain.accuracy == pytest.approx((high.accuracy - low.accuracy) / 2)
    with pytest.raises(ValueError, match="different images"):
        difference([low], [Confusions.of(random_matrices(2, n_images=3))])
