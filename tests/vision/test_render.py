"""Pictures: what is drawn where, and what is left alone."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from multiutility import arrays
from multiutility.datasets import Classes, LabelClass, PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.drawing import borders, overlay, paint
from multiutility.vision.render import (
    captioned,
    compare,
    confusion_picture,
    draw_annotation,
    errors,
    gallery,
    legend,
    samples_picture,
    stack,
)

CLASSES = Classes(
    [
        LabelClass("grass", (0, 128, 0)),
        LabelClass("cow", (0, 0, 200), "thing"),
        LabelClass("sky", (90, 200, 250)),
    ]
)
GRASS, COW, SKY = range(3)
WHITE = [255, 255, 255]


def gray(height: int, width: int, value: int = 100) -> Any:
    return np.full((height, width, 3), value, dtype=np.uint8)


def random_mask(height: int = 12, width: int = 9, n_values: int = 4) -> Any:
    return np.random.default_rng(0).integers(n_values, size=(height, width)).astype(np.uint8)


def test_masks_are_painted() -> None:
    mask = random_mask()
    painted = paint(mask, CLASSES.palette)
    for place in np.ndindex(mask.shape):
        color = CLASSES[int(mask[place]) - 1].color if mask[place] else (0, 0, 0)
        assert tuple(painted[place]) == color
    with pytest.raises(ValueError, match="the mask has the value 4: the palette ends at 3"):
        paint(np.array([[4]], dtype=np.uint8), CLASSES.palette)


def test_overlays_mix_colors_and_leave_void() -> None:
    image, mask = np.random.default_rng(1).integers(256, size=(12, 9, 3)).astype(np.uint8), random_mask()
    before = image.copy()
    mixed = overlay(image, mask, CLASSES.palette, opacity=0.3, outline=False)
    for place in np.ndindex(mask.shape):
        color = CLASSES.palette[mask[place]]
        expected = 0.7 * image[place] + 0.3 * color if mask[place] else image[place]
        np.testing.assert_allclose(mixed[place], expected, atol=0.51)
    assert (image == before).all()
    with pytest.raises(ValueError, match=r"the mask has shape \(9, 12\): the image has \(12, 9\)"):
        overlay(image, mask.T, CLASSES.palette)


def test_outlines_are_opaque() -> None:
    mask = np.zeros((8, 8), dtype=np.uint8)
    mask[2:6, 2:6] = COW + 1
    outlined = overlay(gray(8, 8), mask, CLASSES.palette, opacity=0.5)
    assert outlined[2, 3].tolist() == [0, 0, 200]
    assert outlined[4, 4].tolist() == [50, 50, 150]
    assert outlined[1, 3].tolist() == [100, 100, 100]


def test_borders_are_next_to_other_values() -> None:
    mask = random_mask(n_values=2)
    found = borders(mask)
    height, width = mask.shape
    for y, x in np.ndindex(mask.shape):
        around = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        inside = [(a, b) for a, b in around if 0 <= a < height and 0 <= b < width]
        assert found[y, x] == any(mask[place] != mask[y, x] for place in inside)


def test_errors_are_red_and_void_is_white() -> None:
    truth, predicted = np.array([[1, 1, 0]], dtype=np.uint8), np.array([[1, 2, 2]], dtype=np.uint8)
    right, wrong, void = errors(gray(1, 3), truth, predicted)[0].astype(int)
    assert right[0] == right[1] == right[2]
    assert wrong[0] > wrong[1] + 50
    assert void.tolist() == WHITE
    assert [picture.shape for picture in compare(gray(1, 3), truth, predicted, CLASSES.palette)] == [
        (1, 3, 3)
    ] * 4


@pytest.mark.parametrize("n_rows", [1, 2, 5, 11, 12])
def test_pictures_are_the_same_in_strips(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    image, mask = np.random.default_rng(1).integers(256, size=(12, 9, 3)).astype(np.uint8), random_mask()
    monkeypatch.setattr(arrays, "STRIP_PIXELS", n_rows * 9)
    share = np.where(mask > 0, 0.55, 0.0)
    share[borders(mask) & (mask > 0)] = 1.0
    whole = image + share[:, :, np.newaxis] * (paint(mask, CLASSES.palette).astype(float) - image)
    assert np.array_equal(overlay(image, mask, CLASSES.palette), np.rint(whole))
    parts = errors(image, mask, mask[::-1])
    monkeypatch.undo()
    assert np.array_equal(parts, errors(image, mask, mask[::-1]))


def test_pictures_take_little_more_memory_than_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    side = 500
    image, mask = gray(side, side), random_mask(side, side)
    monkeypatch.setattr(arrays, "STRIP_PIXELS", 1 << 12)
    for predicted in (None, mask):
        tracemalloc.start()
        if predicted is None:
            overlay(image, mask, CLASSES.palette)
        else:
            errors(image, mask, predicted)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * side**2


def test_boxes_are_drawn_on_their_pixels() -> None:
    image = gray(200, 300)
    drawn = draw_annotation(image, PixelAnnotation(boxes=(PixelBox(COW, 100, 60, 200, 150),)), CLASSES)
    cow = [0, 0, 200]
    for y, x in ((60, 100), (60, 199), (149, 100), (149, 199), (100, 100), (149, 150)):
        assert drawn[y, x].tolist() == cow
    for y, x in ((100, 99), (150, 150), (100, 200), (150, 200)):
        assert drawn[y, x].tolist() == [100] * 3
    assert (drawn[70:140, 110:190] == 100).all()
    assert (drawn[:60, 100:130] == cow).all(axis=2).any()  # The name, above.
    assert (image == 100).all()


def test_seeds_are_drawn_around_their_pixels() -> None:
    drawn = draw_annotation(gray(200, 300), PixelAnnotation(seeds=(PixelSeed(SKY, 50, 120),)), CLASSES)
    assert drawn[120, 50].tolist() == [90, 200, 250]
    changed = np.argwhere((drawn[:, :56] != 100).any(axis=2))
    np.testing.assert_allclose(changed[:, 0].mean(), 120, atol=1)


def test_every_class_is_named_once() -> None:
    one = PixelAnnotation(boxes=(PixelBox(COW, 100, 60, 200, 150),))
    two = PixelAnnotation(boxes=(PixelBox(COW, 10, 180, 20, 190), *one.boxes))
    difference = draw_annotation(gray(200, 300), one, CLASSES) != draw_annotation(
        gray(200, 300), two, CLASSES
    )
    rows, columns = np.nonzero(difference.any(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (180, 189, 10, 19)


def test_tags_are_in_the_lower_corner() -> None:
    drawn = draw_annotation(gray(200, 300), PixelAnnotation(tags=(GRASS, SKY)), CLASSES)
    assert (drawn[:150] == 100).all()
    colors = {tuple(color) for color in drawn[150:].reshape(-1, 3).tolist()}
    assert {(0, 128, 0), (90, 200, 250)} <= colors
    # Many tags take more lines.
    many = Classes.from_names([f"class number {n}" for n in range(12)])
    crowded = draw_annotation(gray(200, 300), PixelAnnotation(tags=tuple(range(12))), many)
    shown = {tuple(color) for color in crowded.reshape(-1, 3).tolist()}
    assert {one.color for one in many} <= shown


def test_masks_are_drawn_below_the_rest() -> None:
    mask = np.full((200, 300), GRASS + 1, dtype=np.uint8)
    annotation = PixelAnnotation(mask=mask, boxes=(PixelBox(COW, 10, 50, 60, 90),))
    drawn = draw_annotation(gray(200, 300), annotation, CLASSES)
    assert drawn[50, 10].tolist() == [0, 0, 200]
    assert drawn[150, 150].tolist() == overlay(gray(200, 300), mask, CLASSES.palette)[150, 150].tolist()


@pytest.mark.parametrize("size", [(1, 1), (2, 30), (30, 2), (9, 9), (1500, 40)])
def test_images_of_all_sizes_can_be_drawn_on(size: tuple[int, int]) -> None:
    height, width = size
    annotation = PixelAnnotation(
        tags=(GRASS,),
        boxes=(PixelBox(COW, 0, 0, width, height), PixelBox(COW, -5, -5.5, 0.75, 0.75)),
        seeds=(PixelSeed(SKY, width - 1, height - 1),),
    )
    assert draw_annotation(gray(*size), annotation, CLASSES).shape == (height, width, 3)


def test_galleries_place_images_in_their_cells() -> None:
    picture = gallery([[gray(20, 30, 10), gray(40, 30, 20)], [gray(20, 60, 30)]], cell=(40, 60), gap=4)
    # The first is magnified, the second fits in height, and the second row is as high as its image.
    assert picture.shape == (4 + 40 + 4 + 20 + 4, 4 + 60 + 4 + 60 + 4, 3)
    assert (picture[4:44, 4:64] == 10).all()
    assert (picture[4:44, 68:98] == 20).all()
    assert (picture[4:44, 98:] == 255).all()
    assert (picture[48:68, 4:64] == 30).all()
    assert (picture[44:48] == 255).all()


def test_galleries_have_titles_and_captions() -> None:
    plain = gallery([[gray(40, 60)]] * 2, cell=(40, 60))
    titled = gallery([[gray(40, 60)]] * 2, ["title"], ["first", "second"], cell=(40, 60))
    line = (len(titled) - len(plain)) / 3
    assert line == int(line) > 10
    assert (titled[:, :60] < 100).sum() > (plain[:, :60] < 100).sum()
    assert gallery([]).shape[2] == 3
    with pytest.raises(ValueError, match="1 captions for 2 rows"):
        gallery([[], []], captions=["one"])


def test_stacks_are_as_wide_as_their_widest() -> None:
    picture = stack([gray(2, 3), gray(1, 5)])
    assert (picture[2] == 100).all()
    assert picture[0, :, 0].tolist() == [100] * 3 + [255] * 2
    with pytest.raises(ValueError, match="nothing to stack"):
        stack([])
    above = captioned(gray(5, 80), "name")
    assert (above[-5:] == 100).all()
    assert len(above) > 15


def test_legends_show_all_colors() -> None:
    many = Classes.from_names([f"class {n}" for n in range(30)])
    for shown, labels in ((many, None), (many[3:5], [3, 4])):
        colors = {tuple(color) for color in legend(many, 300, labels).reshape(-1, 3).tolist()}
        assert {one.color for one in shown} <= colors
    assert len(legend(many, 300)) > len(legend(many, 900))
    assert legend(many, 20).shape[1] == 20


def test_samples_are_drawn_with_a_legend() -> None:
    samples = [(f"sample {n}", gray(60, 80), PixelAnnotation(tags=(n % 3,))) for n in range(5)]
    picture = samples_picture(samples, CLASSES, n_columns=2, cell=(60, 80))
    assert picture.shape[1] == 3 * 6 + 2 * 80
    colors = {tuple(color) for color in picture.reshape(-1, 3).tolist()}
    assert {one.color for one in CLASSES} <= colors
    assert samples_picture([], CLASSES).shape[2] == 3


def dark(picture: Any) -> int:
    return int((picture[:, :, 0].astype(int) + 60 < picture[:, :, 2]).sum())


def test_confusion_is_by_row() -> None:
    names = ["grass", "cow", "sky"]
    right = confusion_picture(np.diag([5.0, 1, 1]), names)
    # Blue where it is much, whatever the size of the class; rows without pixels have none.
    assert dark(confusion_picture(np.diag([5000.0, 1, 1]), names)) == dark(right)
    missing = confusion_picture(np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0]]), names)
    assert missing.shape == right.shape
    assert dark(missing) < dark(right) - 500
    # Classes that do not occur are left out.
    small = confusion_picture(np.diag([5.0, 1, 0]), names)
    assert small.shape[0] < right.shape[0]
    assert confusion_picture(np.zeros((3, 3)), names).shape == right.shape
    with pytest.raises(ValueError, match=r"matrix has shape \(3, 3\): there are 2 names"):
        confusion_picture(np.eye(3), names[:2])


def test_names_do_not_hide_seeds() -> None:
    annotation = PixelAnnotation(tags=(GRASS,), seeds=(PixelSeed(COW, 290, 100), PixelSeed(SKY, 12, 190)))
    picture = draw_annotation(gray(200, 300), annotation, CLASSES)
    for seed in annotation.seeds:
        assert tuple(picture[seed.y, seed.x]) == CLASSES[seed.label].color
        # The ring around it, in white or black, is whole.
        ring = [picture[seed.y + dy, seed.x + dx] for dx, dy in ((4, 0), (-4, 0), (0, 4), (0, -4))]
        assert len({tuple(pixel) for pixel in ring}) == 1
        assert tuple(ring[0]) in {(0, 0, 0), (255, 255, 255)}


@pytest.mark.parametrize("n_names", [2, 9, 12])
def test_nothing_of_a_confusion_is_cut(n_names: int) -> None:
    picture = confusion_picture(np.eye(n_names), [f"aeroplane {k}" for k in range(n_names)])
    edges = picture[:3], picture[-3:], picture[:, :3], picture[:, -3:]
    assert all((edge == 255).all() for edge in edges)


def test_drawing_does_not_wait_for_charts() -> None:
    code = "import sys, multiutility.vision.render; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
