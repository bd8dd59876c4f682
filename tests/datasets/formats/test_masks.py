"""Plain folders of images and masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from format_cases import CLASSES, assert_same, mixed_samples, nested_mask, put_image, read_all
from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import colors
from multiutility.datasets.formats.masks import read_masks, write_masks

INDICES = np.array([[0, 1, 2], [3, 255, 1]], dtype=np.uint8)
COLORS = np.array(
    [[[0, 0, 0], [255, 0, 0], [0, 255, 0]], [[0, 255, 0], [0, 0, 0], [255, 0, 0]]], dtype=np.uint8
)


def put(folder: Path, pixels: np.ndarray, mask: str = "masks/a.png") -> Path:
    """A folder with an image and its mask."""
    put_image(folder / "images" / "a.jpg", 2, 3)
    (folder / mask).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(folder / mask)
    return folder


def mask_of(folder: Path, void: int = 0) -> list[list[int]]:
    """The mask of the image."""
    mask = read_all(read_masks(folder, void=void))["a"].mask
    assert mask is not None
    return [list(map(int, row)) for row in mask]


def test_indices_follow_the_list_of_classes(tmp_path: Path) -> None:
    put(tmp_path, np.where(INDICES == 255, 0, INDICES))
    (tmp_path / "classes.txt").write_text("sky\ngrass\ncow\n")
    assert read_masks(tmp_path).classes.names == ("sky", "grass", "cow")
    assert mask_of(tmp_path) == [[0, 1, 2], [3, 0, 1]]


def test_void_may_be_255_and_then_indices_begin_with_0(tmp_path: Path) -> None:
    put(tmp_path, INDICES)
    (tmp_path / "classes.csv").write_text("name,color,kind\nroad,#010203,stuff\nsky,,\ngrass,,\ncow,,thing\n")
    assert mask_of(tmp_path, void=255) == [[1, 2, 3], [4, 0, 2]]
    classes = read_masks(tmp_path, void=255).classes
    assert classes[0] == LabelClass("road", (1, 2, 3))
    assert classes[3].kind == "thing"
    with pytest.raises(DatasetError, match=r"a\.png: has the index 255: there are 4 classes.*masks-255"):
        mask_of(tmp_path)


def test_without_a_list_all_indices_are_classes(tmp_path: Path) -> None:
    put(tmp_path, np.where(INDICES == 255, 0, INDICES))
    assert read_masks(tmp_path).classes.names == ("class 1", "class 2", "class 3")
    put(tmp_path, INDICES)
    assert read_masks(tmp_path, void=255).classes.names == ("class 0", "class 1", "class 2", "class 3")


def test_colors_follow_the_list_of_classes(tmp_path: Path) -> None:
    put(tmp_path, COLORS)
    (tmp_path / "classes.csv").write_text("name,color\ngrass,#00ff00\nroof,#ff0000\n")
    assert mask_of(tmp_path) == [[0, 2, 1], [1, 0, 2]]
    (tmp_path / "classes.csv").write_text("name,color\ngrass,#00ff00\nnight,#000000\nroof,#ff0000\n")
    assert mask_of(tmp_path) == [[2, 3, 1], [1, 2, 3]]
    (tmp_path / "classes.csv").write_text("name,color\ngrass,#00ff00\n")
    with pytest.raises(DatasetError, match=r"a\.png: the pixel x 1, y 0 has the color #ff0000"):
        mask_of(tmp_path)


def test_without_a_list_all_colors_are_classes(tmp_path: Path) -> None:
    put(tmp_path, COLORS)
    assert read_masks(tmp_path).classes.names == ("#00ff00", "#ff0000")
    assert mask_of(tmp_path) == [[0, 2, 1], [1, 0, 2]]
    put(tmp_path, np.zeros((2, 3, 3), dtype=np.uint8))
    with pytest.raises(DatasetError, match="0 colors"):
        read_masks(tmp_path)


@pytest.mark.parametrize(
    "mask", ["masks/a.png", "labels/a_mask.png", "annotations/a_GT.bmp", "SegmentationClass/a_L.tif"]
)
def test_masks_are_found_by_name(tmp_path: Path, mask: str) -> None:
    put(tmp_path, np.minimum(INDICES, 3), mask)
    assert mask_of(tmp_path) == [[0, 1, 2], [3, 3, 1]]


def test_sizes_must_agree(tmp_path: Path) -> None:
    put(tmp_path, np.ones((2, 4), dtype=np.uint8))
    with pytest.raises(DatasetError, match=r"a\.png: has width 4 and height 2: the image has width 3"):
        mask_of(tmp_path)


def test_images_without_mask_and_splits(tmp_path: Path) -> None:
    put(tmp_path, np.minimum(INDICES, 3))
    put_image(tmp_path / "images" / "b.png", 4, 4)
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "train.txt").write_text("images\\a.jpg\nb\n")
    imported = read_masks(tmp_path)
    assert read_all(imported)["b"].empty
    assert imported.splits == {"train": ["a", "b"]}
    (tmp_path / "splits" / "train.txt").write_text("a\n\nc\n")
    with pytest.raises(DatasetError, match=r"train\.txt, row 3: there is no image 'c'"):
        read_masks(tmp_path)


def test_folders_that_lack_something_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no folder images or"):
        read_masks(tmp_path)
    put_image(tmp_path / "images" / "a.jpg", 2, 3)
    with pytest.raises(DatasetError, match="no folder masks or"):
        read_masks(tmp_path)
    put_image(tmp_path / "masks" / "a.jpg", 2, 3)
    with pytest.raises(DatasetError, match="there is no mask of any image"):
        read_masks(tmp_path)
    with pytest.raises(DatasetError, match="no such folder"):
        read_masks(tmp_path / "none")


@pytest.mark.parametrize("colors", [False, True])
def test_masks_come_back(tmp_path: Path, colors: bool) -> None:
    masked = [sample for sample in mixed_samples() if sample.name in ("masked", "none", "objects")]
    write_masks(tmp_path / "out", CLASSES, masked, {"train": ["none", "masked"]}, colors=colors)
    imported = read_masks(tmp_path / "out")
    assert imported.classes == CLASSES
    assert imported.splits == {"train": ["none", "masked"]}
    assert_same(imported, masked, objects=False)
    picture = Image.open(tmp_path / "out" / "masks" / "masked.png")
    assert picture.mode == ("RGB" if colors else "P")
    np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), CLASSES.palette[nested_mask()])


def test_weak_annotations_are_lost_only_if_told(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="tagged: has tags, which"):
        write_masks(tmp_path / "out", CLASSES, mixed_samples())
    write_masks(tmp_path / "out", CLASSES, mixed_samples(), lossy=True)
    assert read_all(read_masks(tmp_path / "out"))["weak"].empty


def test_colors_must_differ(tmp_path: Path) -> None:
    classes = Classes([LabelClass("a", (1, 1, 1)), LabelClass("b", (1, 1, 1))])
    with pytest.raises(DatasetError, match="same color"):
        write_masks(tmp_path / "out", classes, [], colors=True)


def test_colors_of_large_pictures_are_found_as_those_of_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(0).integers(0, 1 << 24, (30, 40), dtype=np.int32)
    small = colors.distinct(codes)
    monkeypatch.setattr(colors, "SORTED_PIXELS", 0)
    np.testing.assert_array_equal(colors.distinct(codes), small)
    np.testing.assert_array_equal(small[colors.places_in(small, codes)], codes)
