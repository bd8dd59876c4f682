"""Refinement of borders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.kinds import PixelAnnotation
from multiutility.vision.photo import ArrayPhoto
from multiutility.vision.predictor import Predictor
from multiutility.vision.refinements import CANDIDATES, chosen_refinement
from multiutility.vision.regions.refine import MIDDLE, NARROW, WIDE, Refinement
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.training_set import AnnotatedPhoto, TrainingSet
from toy import CLASSES, toy_preset


def disk(radius: float, shape: tuple[int, int] = (60, 80)) -> NDArray[np.bool_]:
    rows, columns = np.indices(shape)
    return np.asarray(np.hypot(rows - 30, columns - 40) < radius)


def noisy_disk(rng: np.random.Generator, radius: float, noise: float) -> NDArray[np.uint8]:
    colors = np.where(disk(radius)[..., np.newaxis], CLASSES[2].color, CLASSES[1].color)
    return np.clip(colors + rng.normal(0, noise, (60, 80, 3)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("given", [17, 24])
@pytest.mark.parametrize("how", [WIDE, MIDDLE, NARROW])
def test_borders_move_to_where_colors_change(given: float, how: Refinement) -> None:
    image = noisy_disk(np.random.default_rng(0), 20, noise=20)
    truth = disk(20).astype(np.uint8) + np.uint8(1)
    mask = disk(given).astype(np.uint8) + np.uint8(1)
    before = mask.copy()
    found = how(image, mask)
    assert (found != truth).sum() < 0.8 * (mask != truth).sum()
    assert np.array_equal(mask, before)


def test_nothing_changes_beyond_reach() -> None:
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (60, 80, 3)).astype(np.uint8)
    mask = disk(15).astype(np.uint8) + np.uint8(4)
    found = Refinement(reach=3, window=9, pull=0)(image, mask)
    changed = found != mask
    assert changed.any()
    rows, columns = np.nonzero(changed)
    distances = np.abs(np.hypot(rows - 30, columns - 40) - 15)
    assert distances.max() < 3 + 1.5  # distances between pixels are from center to center
    assert set(np.unique(found)) <= {4, 5}


def test_pull_holds_where_colors_tell_nothing() -> None:
    image = np.full((60, 80, 3), 99, dtype=np.uint8)
    mask = disk(15).astype(np.uint8) + np.uint8(1)
    assert np.array_equal(WIDE(image, mask), mask)


def test_masks_of_one_label_stay() -> None:
    image = np.random.default_rng(2).integers(0, 256, (1, 7, 3)).astype(np.uint8)
    mask = np.full((1, 7), 9, dtype=np.uint8)
    assert np.array_equal(WIDE(image, mask), mask)
    two = np.array([[1, 1, 1, 2, 2, 2, 2]], dtype=np.uint8)
    assert WIDE(image, two).shape == two.shape


def masked(image: NDArray[np.uint8], truth: NDArray[np.bool_]) -> AnnotatedPhoto:
    mask = truth.astype(np.uint8) + np.uint8(1)
    return AnnotatedPhoto(ArrayPhoto("one", image), lambda: PixelAnnotation(mask=mask))


def training_set(photos: list[AnnotatedPhoto], n_segments: int = 200) -> TrainingSet:
    return Segmenter(replace(toy_preset(), superpixels=Slic(n_segments))).prepare(photos, CLASSES)


def labeler(training: TrainingSet) -> Predictor:
    return Segmenter(training.preset.preset, C=1, tol=0.3, refine=False).fit_prepared(training).predictor_


def n_wrong(training: TrainingSet, model: Predictor, how: Refinement | None) -> int:
    """Pixels that are wrong, counted one by one."""
    wrong = 0
    for photo, one in zip(training.photos, training.prepared, strict=True):
        mask = photo.annotation().mask
        (labels,) = model.labelings([one])
        found = replace(model, refine=how).prediction(photo.photo, one, labels).mask
        wrong += int(np.count_nonzero(mask != found))
    return wrong


@pytest.mark.parametrize(("noise", "n_segments", "dots"), [(5, 400, True), (5, 60, False), (5, 90, False)])
def test_what_is_closest_to_the_masks_is_chosen(noise: float, n_segments: int, dots: bool) -> None:
    rows, columns = np.indices((60, 80))
    truth = ((rows % 12 < 4) & (columns % 12 < 4)) if dots else disk(20)
    colors = np.where(truth[..., np.newaxis], CLASSES[2].color, CLASSES[1].color)
    image = np.clip(colors + np.random.default_rng(3).normal(0, noise, (60, 80, 3)), 0, 255).astype(np.uint8)
    training = training_set([masked(image, truth)], n_segments)
    model = labeler(training)
    wrong = {how: n_wrong(training, model, how) for how in CANDIDATES}
    assert len(set(wrong.values())) > 1
    assert wrong[chosen_refinement(model, training, [0])] <= 1.05 * min(wrong.values())
    assert not dots or wrong[WIDE] > 1.5 * min(wrong.values())


def test_without_masks_the_usual_refinement_is_taken() -> None:
    training = training_set([masked(noisy_disk(np.random.default_rng(0), 20, noise=20), disk(20))])
    assert chosen_refinement(labeler(training), training, []) == MIDDLE
