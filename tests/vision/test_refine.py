"""Refinement of borders."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.vision.regions.refine import refined
from toy import CLASSES


def disk(radius: float, shape: tuple[int, int] = (60, 80)) -> NDArray[np.bool_]:
    rows, columns = np.indices(shape)
    return np.asarray(np.hypot(rows - 30, columns - 40) < radius)


def noisy_disk(rng: np.random.Generator, radius: float, noise: float) -> NDArray[np.uint8]:
    colors = np.where(disk(radius)[..., np.newaxis], CLASSES[2].color, CLASSES[1].color)
    return np.clip(colors + rng.normal(0, noise, (60, 80, 3)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("given", [17, 24])
def test_borders_move_to_where_colors_change(given: float) -> None:
    image = noisy_disk(np.random.default_rng(0), 20, noise=20)
    truth = disk(20).astype(np.uint8) + np.uint8(1)
    mask = disk(given).astype(np.uint8) + np.uint8(1)
    before = mask.copy()
    found = refined(image, mask)
    assert (found != truth).sum() < 0.6 * (mask != truth).sum()
    assert np.array_equal(mask, before)


def test_nothing_changes_beyond_reach() -> None:
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (60, 80, 3)).astype(np.uint8)
    mask = disk(15).astype(np.uint8) + np.uint8(4)
    found = refined(image, mask, reach=3, pull=0)
    changed = found != mask
    assert changed.any()
    rows, columns = np.nonzero(changed)
    distances = np.abs(np.hypot(rows - 30, columns - 40) - 15)
    assert distances.max() < 3 + 1.5  # distances between pixels are from center to center
    assert set(np.unique(found)) <= {4, 5}


def test_pull_holds_where_colors_tell_nothing() -> None:
    image = np.full((60, 80, 3), 99, dtype=np.uint8)
    mask = disk(15).astype(np.uint8) + np.uint8(1)
    assert np.array_equal(refined(image, mask), mask)


def test_masks_of_one_label_stay() -> None:
    image = np.random.default_rng(2).integers(0, 256, (1, 7, 3)).astype(np.uint8)
    mask = np.full((1, 7), 9, dtype=np.uint8)
    assert np.array_equal(refined(image, mask), mask)
    two = np.array([[1, 1, 1, 2, 2, 2, 2]], dtype=np.uint8)
    assert refined(image, two).shape == two.shape
