"""Predictions: margins against energies, masks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from multiutility.inference import Exact
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.kind import nearest
from multiutility.models import Potts
from multiutility.problem import LabelingProblem
from multiutility.vision.photo import ArrayPhoto, enlarged, photos, resized, working_size
from multiutility.vision.predictor import margins


@pytest.mark.parametrize("seed", range(5))
def test_margins_are_what_changing_one_node_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [1, 3]]
    problem = LabelingProblem(rng.normal(size=(4, 3)), edges, rng.random((5, 2)))
    model = Potts(n_labels=3)
    weights = np.concatenate([rng.normal(size=9), rng.random(2)])
    energy = model.energy(problem, weights)
    best = Exact().minimize(energy)
    found = margins(problem, weights, best.labels, 3)
    for node in range(4):
        costs = []
        for label in range(3):
            changed = best.labels.copy()
            changed[node] = label
            if label != best.labels[node]:
                costs.append(energy.evaluate(changed) - best.energy)
        assert found[node] == pytest.approx(min(costs))


def test_margin_of_a_single_label_is_infinite() -> None:
    problem = LabelingProblem(np.ones((2, 1)), [[0, 1]], np.ones((1, 1)))
    assert np.isposinf(margins(problem, np.ones(2), np.zeros(2, dtype=np.int32), 1)).all()


def test_nearest_takes_the_pixels_at_centers() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 9, (7, 11)).astype(np.uint8)
    assert np.array_equal(nearest(pixels, (7, 11)), pixels)
    large = np.repeat(np.repeat(pixels, 3, axis=0), 3, axis=1)
    assert np.array_equal(nearest(large, (7, 11)), pixels)
    assert np.array_equal(nearest(pixels, (21, 33)), large)


def test_enlarged_keeps_labels_and_smooths_corners() -> None:
    mask = nearest(np.array([[1, 2], [3, 1]], dtype=np.uint8), (12, 12))
    large = enlarged(mask, (60, 60))
    assert set(np.unique(large)) == {1, 2, 3}
    # Away from borders, nothing changes.
    assert np.array_equal(nearest(large, (12, 12))[::11, ::11], mask[::11, ::11])
    diagonal = np.asarray(np.tri(8) + 1, dtype=np.uint8)
    stairs, smooth = nearest(diagonal, (80, 80)), enlarged(diagonal, (80, 80))
    rows, columns = np.indices((80, 80))
    ideal = (rows - columns > -5).astype(np.uint8) + 1
    assert (smooth != ideal).sum() < 0.6 * (stairs != ideal).sum()


def test_annotations_are_resized_with_their_images() -> None:
    mask = np.zeros((40, 60), dtype=np.uint8)
    mask[10:20, 30:60] = 2
    boxes, seeds = (PixelBox(1, 30, 10, 60, 20),), (PixelSeed(1, 59, 19), PixelSeed(0, 0, 39))
    small = resized(PixelAnnotation(mask, (0,), boxes, seeds), (40, 60), (20, 30))
    assert small.mask is not None
    assert small.boxes == (PixelBox(1, 15, 5, 30, 10),)
    assert small.seeds == (PixelSeed(1, 29, 9), PixelSeed(0, 0, 19))
    inside = np.zeros((20, 30), dtype=bool)
    inside[5:10, 15:30] = True
    assert np.array_equal(small.mask == 2, inside)


def test_working_size_keeps_proportions() -> None:
    assert working_size((100, 3000), 300) == (10, 300)
    assert working_size((1, 9000), 300) == (1, 300)
    assert working_size((300, 200), 300) == (300, 200)


@pytest.mark.parametrize(
    "pixels", [np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)]
)
def test_arrays_that_are_no_images_are_named(pixels: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"images\[1\] is .*expected uint8"):
        photos([np.zeros((2, 2, 3), np.uint8), pixels])


def test_gray_arrays_are_images() -> None:
    gray = ArrayPhoto("gray", np.arange(6, dtype=np.uint8).reshape(2, 3))
    assert gray.image().shape == (2, 3, 3)
    assert gray.fingerprint() != ArrayPhoto("gray", np.arange(6, dtype=np.uint8).reshape(3, 2)).fingerprint()
