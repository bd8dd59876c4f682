"""Cutting things out of photographs: what is found, and that it keeps to what it was told."""

from __future__ import annotations

import cv2
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility.arrays import BoolArray
from multiutility.vision.regions.cutout import Hints, cut_out

SIZE = (60, 80)


def disc(row: int, column: int, radius: int) -> BoolArray:
    rows, columns = np.ogrid[: SIZE[0], : SIZE[1]]
    return np.asarray((rows - row) ** 2 + (columns - column) ** 2 < radius**2)


def picture(things: BoolArray, noise: int = 20) -> NDArray[np.uint8]:
    """Red things on green, with noise."""
    image = np.where(things[..., None], (200, 60, 40), (60, 140, 70))
    return (image + np.random.default_rng(0).integers(-noise, noise + 1, image.shape)).astype(np.uint8)


def test_a_box_and_a_click_find_the_same_thing() -> None:
    thing = disc(30, 40, 15)
    image = picture(thing)
    assert np.array_equal(cut_out(image, Hints.of_box(SIZE, (20, 10, 60, 50))), thing)
    assert np.array_equal(cut_out(image, Hints.of_click(image, 30, 40)), thing)
    # Also the other way round: all that is around it.
    assert np.array_equal(cut_out(image, Hints.of_click(image, 5, 5)), ~thing)


def test_nothing_is_found_apart_from_the_click() -> None:
    one, other = disc(30, 20, 10), disc(30, 60, 10)
    image = picture(one | other)
    assert np.array_equal(cut_out(image, Hints.of_click(image, 30, 20)), one)
    assert np.array_equal(cut_out(image, Hints.of_box(SIZE, (45, 15, 75, 45))), other)


def test_a_box_of_all_of_the_picture() -> None:
    thing = disc(30, 40, 20)
    assert np.array_equal(cut_out(picture(thing), Hints.of_box(SIZE, (0, 0, 80, 60))), thing)


def test_drawn_pictures_without_noise() -> None:
    thing = disc(30, 40, 15)
    assert np.array_equal(cut_out(picture(thing, 0), Hints.of_box(SIZE, (20, 10, 60, 50))), thing)


def test_it_agrees_with_another_program() -> None:
    """Colors overlap, so that neither colors nor borders alone tell."""
    thing = disc(30, 40, 16)
    rng = np.random.default_rng(1)
    colors = np.where(thing[..., None], (150, 110, 90), (110, 130, 100)) + rng.normal(0, 12, (*SIZE, 3))
    image = np.clip(colors, 0, 255).astype(np.uint8)
    ours = cut_out(image, Hints.of_box(SIZE, (20, 10, 60, 50)))
    state = np.zeros(SIZE, np.uint8)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.setRNGSeed(0)
    cv2.grabCut(image[..., ::-1].copy(), state, (20, 10, 40, 40), *models, 5, cv2.GC_INIT_WITH_RECT)
    theirs = (state == cv2.GC_FGD) | (state == cv2.GC_PR_FGD)
    assert (ours & theirs).sum() > 0.95 * (ours | theirs).sum()
    assert (ours & thing).sum() > 0.95 * (ours | thing).sum()


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 12))
def test_it_keeps_to_what_it_was_told(seed: int, height: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    left, right = sorted(rng.choice(width + 1, 2, replace=False).tolist())
    top, bottom = sorted(rng.choice(height + 1, 2, replace=False).tolist())
    inside = np.zeros((height, width), dtype=bool)
    inside[top:bottom, left:right] = True
    assert not (cut_out(image, Hints.of_box((height, width), (left, top, right, bottom))) & ~inside).any()
    row, column = int(rng.integers(height)), int(rng.integers(width))
    found = cut_out(image, Hints.of_click(image, row, column))
    assert found[row, column]
    _, parts = cv2.connectedComponents(found.astype(np.uint8), connectivity=8)
    assert len(np.unique(parts[found])) == 1
