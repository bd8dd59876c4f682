"""LabelMe, against JSON files as it saves them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from format_cases import (
    CLASSES,
    SPLITS,
    assert_same,
    fill_by_coco,
    mixed_samples,
    nested_mask,
    noise,
    put_image,
    put_json,
    read_all,
    with_kinds,
)
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.labelme import read_labelme, write_labelme
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed

HEIGHT, WIDTH = 10, 14


def shape(label: str, kind: str, *points: tuple[float, float], **more: Any) -> dict[str, Any]:
    """A shape as LabelMe 5 saves it."""
    fields: dict[str, Any] = {"group_id": None, "description": "", "flags": {}, "mask": None}
    return {"label": label, "points": [list(point) for point in points], "shape_type": kind} | fields | more


def content(*shapes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A file as LabelMe 5 saves it."""
    size = {"imageHeight": HEIGHT, "imageWidth": WIDTH}
    path = {"imagePath": "photo.jpg", "imageData": None}
    return {"version": "5.5.0", "flags": {}, "shapes": list(shapes)} | path | size | changes


def import_one(folder: Path, *shapes: dict[str, Any], **changes: Any) -> PixelAnnotation:
    """Annotation of an image with these shapes."""
    put_image(folder / "photo.jpg", HEIGHT, WIDTH)
    put_json(folder / "photo.json", content(*shapes, **changes))
    return read_all(read_labelme(folder))["photo"]


def to_base64(pixels: np.ndarray) -> str:
    """PNG of pixels, as text."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_polygons_cover_the_pixels_whose_centers_they_hold(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        shape("sky", "polygon", (0, 0), (14, 0), (14, 4), (0, 4)),
        shape("cow", "polygon", (2.5, 2.5), (7.6, 2.5), (7.6, 6.4), (2.5, 6.4)),
    )
    wanted = np.zeros((HEIGHT, WIDTH), dtype=int)
    wanted[0:4] = 2
    # The center of column 2 is on the border, that of column 7 is within, that of row 6 is not.
    wanted[2:6, 2:8] = 1
    assert found.mask is not None
    np.testing.assert_array_equal(found.mask, wanted)
    assert found.instances is not None
    assert np.unique(found.instances).tolist() == [0, 1, 2]


def test_rectangles_are_boxes_between_any_corners(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        shape("cow", "rectangle", (1, 2), (5, 9)),
        shape("cow", "rectangle", (14.0, 10.0), (3.25, 0.0)),
        shape("cow", "rectangle", (5, 2), (1, 9)),
    )
    assert found.boxes == (PixelBox(0, 1, 2, 5, 9), PixelBox(0, 3.25, 0, 14, 10), PixelBox(0, 1, 2, 5, 9))
    assert found.boxes[0].n_pixels(HEIGHT, WIDTH) == 4 * 7
    assert found.mask is None


def test_points_are_seeds_of_the_pixel_they_are_on(tmp_path: Path) -> None:
    found = import_one(tmp_path, shape("cow", "point", (3.99, 0.0)), shape("sky", "point", (13.2, 9.9)))
    assert found.seeds == (PixelSeed(0, 3, 0), PixelSeed(1, 13, 9))


def test_disks_turned_rectangles_and_masks_are_areas(tmp_path: Path) -> None:
    picture = np.array([[1, 0, 1], [0, 1, 0]], dtype=np.uint8)
    found = import_one(
        tmp_path,
        shape("a", "circle", (5, 5), (5, 7)),
        shape("b", "oriented_rectangle", (10.2, 0), (12.2, 2), (10.2, 4), (8.2, 2)),
        shape("c", "mask", (0, 8), (2, 9), mask=to_base64(picture)),
        shape("d", "mask", (12, -1), (14, 0), mask=to_base64(picture > 0)),
    )
    assert found.mask is not None
    disk = [(x, y) for y in range(HEIGHT) for x in range(WIDTH) if (x - 4.5) ** 2 + (y - 4.5) ** 2 <= 4]
    assert [(x, y) for y, x in np.argwhere(found.mask == 1).tolist()] == disk
    np.testing.assert_array_equal(
        found.mask == 2, fill_by_coco([10.2, 0, 12.2, 2, 10.2, 4, 8.2, 2], HEIGHT, WIDTH)
    )
    assert found.mask[8:, :3].tolist() == [[3, 0, 3], [0, 3, 0]]
    assert found.mask[0, 12:].tolist() == [0, 4]


def test_flags_are_tags_and_old_polygons_have_no_type(tmp_path: Path) -> None:
    old = shape("cow", "polygon", (0, 0), (2, 0), (2, 2), (0, 2))
    del old["shape_type"]
    found = import_one(tmp_path, old, flags={"indoor": True, "cow": True, "blurred": False})
    assert found.tags == (1, 0)
    assert found.mask is not None
    assert found.mask.sum() == 4


def test_what_is_ignored_is_void_and_groups_are_one_object(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        shape("cow", "polygon", (0, 0), (2, 0), (2, 1), (0, 1), group_id=7),
        shape("cow", "polygon", (4, 0), (6, 0), (6, 1), (4, 1), group_id=7),
        shape("dog", "polygon", (8, 0), (9, 0), (9, 1), (8, 1), group_id=7),
        shape("__ignore__", "rectangle", (1, 0), (5, 1)),
    )
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask[0].tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0]
    assert found.instances[0].tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0]


def test_images_may_be_inside_the_file(tmp_path: Path) -> None:
    image = noise(HEIGHT, WIDTH)
    put_json(tmp_path / "photo.json", content(shape("cow", "point", (3, 3)), imageData=to_base64(image)))
    (sample,) = read_labelme(tmp_path).samples
    np.testing.assert_array_equal(sample.image, image)
    # LabelMe's own tutorial has such a file.
    itself = content(shape("cow", "point", (3, 3)), imageData=to_base64(image), imagePath="photo.json")
    put_json(tmp_path / "photo.json", itself)
    (sample,) = read_labelme(tmp_path).samples
    np.testing.assert_array_equal(sample.image, image)
    put_json(tmp_path / "photo.json", content(imageData="@@@", flags={"a": True}))
    with pytest.raises(DatasetError, match=r"photo\.json: \"imageData\" is not base64"):
        list(read_labelme(tmp_path).samples)
    put_json(tmp_path / "photo.json", content(imageData=to_base64(image)[:40], flags={"a": True}))
    with pytest.raises(DatasetError, match=r"photo\.json: \"imageData\" is empty, damaged"):
        list(read_labelme(tmp_path).samples)


def test_images_may_be_in_another_folder_within(tmp_path: Path) -> None:
    put_image(tmp_path / "images" / "x.jpg", HEIGHT, WIDTH)
    put_json(tmp_path / "labels" / "x.json", content(imagePath="..\\images\\x.jpg", flags={"a": True}))
    (sample,) = read_labelme(tmp_path).samples
    assert sample.image == tmp_path / "images" / "x.jpg"
    with pytest.raises(DatasetError, match=r'x\.json: "imagePath" .* leads out of the folder'):
        list(read_labelme(tmp_path / "labels").samples)


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "C:\\secret.jpg", ""])
def test_names_of_images_must_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    put_image(tmp_path / "secret.jpg", HEIGHT, WIDTH)
    put_json(tmp_path / "in" / "x.json", content(imagePath=name, flags={"a": True}))
    with pytest.raises(DatasetError, match="folder"):
        list(read_labelme(tmp_path / "in").samples)


@pytest.mark.parametrize(
    ("shapes", "changes", "wanted"),
    [
        ([shape("a", "line", (0, 0), (5, 5))], {}, r"shapes\[0\]: a shape of type 'line' has no area"),
        ([shape("a", "polygon", (0, 0), (5, 5))], {}, r"shapes\[0\]: a polygon has 2 points"),
        ([shape("a", "rectangle", (0, 0))], {}, r"shapes\[0\]: a rectangle has 1 points; expected 2"),
        ([shape("a", "rectangle", (0, 0), (0, 5))], {}, r"shapes\[0\]: inverted or empty box"),
        ([shape("a", "rectangle", (20, 0), (25, 5))], {}, r"shapes\[0\]: no pixel is in the box"),
        ([shape("a", "point", (14, 0))], {}, r"shapes\[0\]: the seed .* is outside"),
        ([shape("a", "mask", (0, 0), (1, 1))], {}, r'shapes\[0\]: "mask" is None; expected text'),
        (
            [shape("a", "polygon", (0, 0)) | {"points": [[1, "2"]]}],
            {},
            r'shapes\[0\]: "points" is .*\[x, y\]',
        ),
        ([{"points": []}], {}, r'shapes\[0\]: "label" is missing'),
        ([7], {}, r"shapes\[0\]: is 7"),
        ([shape("a", "point", (1, 0))], {"imageHeight": 11}, '"imageHeight" is 11: the image has width 14'),
        ([shape("a", "point", (1, 0))], {"imagePath": "no.jpg"}, "there is no image 'no.jpg'"),
    ],
)
def test_errors_name_file_shape_and_fix(
    tmp_path: Path, shapes: list[dict[str, Any]], changes: dict[str, Any], wanted: str
) -> None:
    with pytest.raises(DatasetError, match=wanted) as caught:
        import_one(tmp_path, *shapes, **changes)
    assert caught.value.path.name == "photo.json"
    assert caught.value.fix


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    put_json(tmp_path / "settings.json", {"a": 1})
    with pytest.raises(DatasetError, match="no JSON files of LabelMe"):
        read_labelme(tmp_path)
    assert import_one(tmp_path, shape("cow", "point", (1, 1))).seeds


def test_all_kinds_come_back(tmp_path: Path) -> None:
    write_labelme(tmp_path / "out", CLASSES, mixed_samples(), SPLITS)
    imported = read_labelme(tmp_path / "out")
    assert imported.classes.names == CLASSES.names
    assert imported.splits == SPLITS
    assert imported.classes.kinds == with_kinds(["cow", "tree top"]).kinds
    # Each shape is an object to LabelMe, so that areas of a mask without objects come back as objects.
    assert_same(imported, mixed_samples(), objects=False)
    found = read_all(imported)["objects"]
    assert found.mask is not None
    assert found.instances is not None
    wanted = mixed_samples()[2].annotation.instances
    assert wanted is not None
    cows = found.mask == 2
    assert len(set(zip(found.instances[cows].tolist(), wanted[cows].tolist(), strict=True))) == 2


def test_files_are_as_labelme_has_them(tmp_path: Path) -> None:
    write_labelme(tmp_path / "out", CLASSES, mixed_samples())
    saved = json.loads((tmp_path / "out" / "weak.json").read_text())
    assert set(saved) == set(content())
    assert saved["imagePath"] == "weak.png"
    assert (saved["imageHeight"], saved["imageWidth"]) == (5, 7)
    assert saved["flags"] == {"grass": True}
    assert set(saved["shapes"][0]) == set(shape("a", "point", (0, 0)))
    assert [one["shape_type"] for one in saved["shapes"]] == ["rectangle"] * 3 + ["point"] * 2
    assert saved["shapes"][0]["points"] == [[1.0, 2.0], [4.0, 5.0]]
    assert saved["shapes"][3]["points"] == [[2.5, 3.5]]
    assert (tmp_path / "out" / "labels.txt").read_text().splitlines() == ["__ignore__", *CLASSES.names]
    # Filled in their order by another program, polygons are the mask.
    painted = np.zeros((9, 11), dtype=int)
    for one in json.loads((tmp_path / "out" / "masked.json").read_text())["shapes"]:
        value = 0 if one["label"] == "__ignore__" else CLASSES.label(one["label"]) + 1
        painted[fill_by_coco([part for point in one["points"] for part in point], 9, 11)] = value
    np.testing.assert_array_equal(painted, nested_mask())
