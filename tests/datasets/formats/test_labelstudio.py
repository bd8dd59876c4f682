"""Label Studio, against tasks in its documented form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from format_cases import (
    BRUSH,
    CLASSES,
    SPLITS,
    assert_same,
    assert_same_array,
    mixed_samples,
    noise,
    put_image,
    put_json,
    read_all,
    with_kinds,
)
from multiutility.arrays import BoolArray
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import rle_pack
from multiutility.datasets.formats.labelstudio import read_labelstudio
from multiutility.datasets.formats.labelstudio_export import write_labelstudio
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed

HEIGHT, WIDTH = 5, 7


def result(kind: str, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A result as Label Studio exports it."""
    size = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}
    control = {"id": "Dx_aB91ISN", "from_name": "tag", "to_name": "img", "type": kind, "origin": "manual"}
    return control | size | {"value": value} | more


def rectangle(x: float, y: float, width: float, height: float, **more: Any) -> dict[str, Any]:
    """A rectangle of a cow."""
    place = {"x": x, "y": y, "width": width, "height": height, "rotation": 0}
    return result("rectanglelabels", place | {"rectanglelabels": ["Cow"]} | more)


def task(*results: dict[str, Any], image: str = "/data/upload/3/1a2b3c4d-photo.jpg") -> dict[str, Any]:
    """A task as Label Studio exports it."""
    annotation = {"id": 1001, "result": list(results), "was_cancelled": False, "ground_truth": False}
    return {"id": 1, "data": {"image": image}, "annotations": [annotation], "predictions": [], "project": 83}


def import_tasks(folder: Path, *tasks: dict[str, Any], **options: Any) -> dict[str, PixelAnnotation]:
    """Annotations of tasks, beside two images."""
    put_image(folder / "images" / "photo.jpg", HEIGHT, WIDTH)
    put_image(folder / "images" / "other.jpg", HEIGHT, WIDTH)
    return read_all(read_labelstudio(put_json(folder / "tasks.json", list(tasks)), **options))


def import_one(folder: Path, *results: dict[str, Any]) -> PixelAnnotation:
    """Annotation of a task with these results."""
    return import_tasks(folder, task(*results))["photo"]


def test_rectangles_are_in_percent(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        rectangle(100 * 2 / 7, 20, 100 * 3 / 7, 40.0),
        rectangle(0, 0, 100, 100),
        rectangle(50.8, 5.869797225186766, 22.4, 30.458911419423693),
    )
    assert found.boxes[:2] == (PixelBox(0, 2, 1, 5, 3), PixelBox(0, 0, 0, 7, 5))
    box = found.boxes[2]
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((3.556, 0.29348986, 5.124, 1.81643543))


def test_keypoints_are_seeds(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        result("keypointlabels", {"x": 3.1, "y": 81.9, "width": 2, "keypointlabels": ["Car"]}),
        result("keypointlabels", {"x": 100, "y": 0, "width": 2, "keypointlabels": ["Car", "Cow"]}),
    )
    assert found.seeds == (PixelSeed(0, 0, 4), PixelSeed(0, 6, 0), PixelSeed(1, 6, 0))


def test_choices_for_images_are_tags(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        {"from_name": "c", "to_name": "img", "type": "choices", "value": {"choices": ["Field", "Cow"]}},
        result("choices", {"x": 1, "y": 1, "width": 5, "height": 5, "choices": ["Sleeping"]}),
        {"from_name": "t", "to_name": "img", "type": "textarea", "value": {"text": ["nice"]}},
        {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"},
        rectangle(0, 0, 50, 50),
    )
    assert found.tags == (1, 0)
    assert len(found.boxes) == 1


def test_brush_strokes_and_polygons_are_areas(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        result("brushlabels", {"format": "rle", "rle": BRUSH, "brushlabels": ["Cow"]}),
        result("polygonlabels", {"points": [[0, 0], [100, 0], [100, 40], [0, 40]], "polygonlabels": ["Sky"]}),
        result("labels", {"points": [[0, 80], [100 / 7, 80], [100 / 7, 100], [0, 100]], "labels": ["Cow"]}),
    )
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask.tolist() == [
        [2, 2, 2, 2, 2, 2, 2],
        [2, 2, 2, 2, 2, 2, 2],
        [0, 0, 1, 1, 1, 1, 0],
        [0, 0, 1, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 0, 1],
    ]
    assert found.instances[2:, 0].tolist() == [0, 0, 3]
    assert found.instances[4, 6] == 1
    assert found.instances[0, 0] == 2


def brush(area: BoolArray | None = None, label: str = "Cow", control: str = "tag") -> dict[str, Any]:
    """Strokes of an area, or those that Label Studio's own converter wrote."""
    rle = BRUSH if area is None else rle_pack.encode(np.repeat(area.ravel().astype(np.uint8) * 255, 4))
    return result("brushlabels", {"format": "rle", "rle": rle, "brushlabels": [label]}, from_name=control)


STROKES = [
    [1, 0, 0, 0, 0, 0, 0],
    [0, 0, 1, 1, 1, 1, 0],
    [0, 0, 1, 1, 1, 1, 0],
    [0, 0, 1, 1, 1, 1, 0],
    [0, 0, 0, 0, 0, 0, 1],
]


def test_strokes_that_leave_pixels_open_are_scribbles_beside_all_else(tmp_path: Path) -> None:
    choices = {"from_name": "c", "to_name": "img", "type": "choices", "value": {"choices": ["Cow", "Sky"]}}
    found = import_one(tmp_path, brush(), rectangle(0, 0, 100, 100), choices)
    assert found.mask is None
    assert found.instances is None
    assert found.scribbles is not None
    assert found.scribbles.tolist() == STROKES
    assert found.tags == (0, 1)
    assert found.boxes == (PixelBox(0, 0, 0, 7, 5),)
    # The box says what it said before: a mask would be all that counts.
    assert found.partition(2).boxed == (0,)


@pytest.mark.parametrize(("n_open", "is_mask"), [(0, True), (1, True), (2, False)])
def test_strokes_that_cover_the_image_are_a_mask(tmp_path: Path, n_open: int, is_mask: bool) -> None:
    rest = np.array(STROKES) == 0
    rest[0, 1 : 1 + n_open] = False
    found = import_one(tmp_path, brush(), brush(rest, "Sky"))
    painted = np.where(rest, 2, STROKES)
    assert (found.mask is not None, found.scribbles is not None) == (is_mask, not is_mask)
    np.testing.assert_array_equal(found.mask if is_mask else found.scribbles, painted)
    if is_mask:
        np.testing.assert_array_equal(found.instances, painted)


def test_what_strokes_are_may_be_said_by_an_option_or_by_their_control(tmp_path: Path) -> None:
    def read(one: dict[str, Any], **options: Any) -> tuple[bool, bool]:
        found = import_tasks(tmp_path, task(one), **options)["photo"]
        return found.mask is not None, found.scribbles is not None

    everything = np.ones((HEIGHT, WIDTH), dtype=np.bool_)
    assert read(brush(), brush="mask") == (True, False)
    assert read(brush(control="mask")) == (True, False)
    assert read(brush(control="mask"), brush="scribbles") == (False, True)
    assert read(brush(everything)) == (True, False)
    assert read(brush(everything, control="scribbles")) == (False, True)
    assert read(brush(everything), brush="scribbles") == (False, True)


def test_strokes_of_several_controls_are_told_apart(tmp_path: Path) -> None:
    top = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
    top[0] = True
    found = import_one(tmp_path, brush(control="mask"), brush(top, "Sky", "scribbles"))
    assert found.mask is not None
    assert found.scribbles is not None
    assert found.mask.tolist() == STROKES
    assert found.scribbles.tolist() == (2 * top).tolist()
    found = import_one(tmp_path, brush(), brush(top, "Sky", "scribbles"))
    assert found.mask is None
    np.testing.assert_array_equal(found.scribbles, np.where(STROKES, STROKES, 2 * top))


def test_scribbles_come_back(tmp_path: Path) -> None:
    strokes = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    strokes[0, 1:6], strokes[3] = 1, 3
    everywhere = np.full((HEIGHT, WIDTH), 2, dtype=np.uint8)
    mask = np.where(strokes, 0, 2).astype(np.uint8)
    told = [
        PixelAnnotation(tags=(0,), boxes=(PixelBox(1, 0, 1, 4, 3),), scribbles=strokes),
        PixelAnnotation(scribbles=everywhere),
        PixelAnnotation(mask=mask, scribbles=strokes),
    ]
    samples = [NewSample(f"photo{n}", noise(HEIGHT, WIDTH), one) for n, one in enumerate(told)]
    write_labelstudio(tmp_path / "out", CLASSES, samples)
    found = read_labelstudio(tmp_path / "out")
    assert_same(found, samples, objects=False)
    for one, wanted in zip(read_all(found).values(), told, strict=True):
        assert_same_array(one.scribbles, wanted.scribbles)


def test_labels_may_be_apart_from_rectangles(tmp_path: Path) -> None:
    place = {"x": 0, "y": 0, "width": 100, "height": 20, "rotation": 0}
    found = import_one(tmp_path, result("rectangle", place), result("labels", place | {"labels": ["Cow"]}))
    assert found.boxes == (PixelBox(0, 0, 0, 7, 1),)


def test_annotations_that_count(tmp_path: Path) -> None:
    many = task(rectangle(0, 0, 50, 50))
    last = {"result": [rectangle(0, 0, 100, 100)], "was_cancelled": False}
    many["annotations"] += [last, {"result": [rectangle(0, 0, 10, 20)], "was_cancelled": True}]
    assert import_tasks(tmp_path, many)["photo"].boxes == (PixelBox(0, 0, 0, 7, 5),)
    many["annotations"][0]["ground_truth"] = True
    assert import_tasks(tmp_path, many)["photo"].boxes == (PixelBox(0, 0, 0, 3.5, 2.5),)
    guess = task()
    guess |= {"annotations": [], "predictions": [last]}
    other = task(rectangle(0, 0, 50, 50), image="other.jpg")
    assert import_tasks(tmp_path, other, guess)["photo"].empty
    assert import_tasks(tmp_path, other, guess, predictions=True)["photo"].boxes == (PixelBox(0, 0, 0, 7, 5),)
    old = {"data": {"image": "x/photo.jpg"}, "completions": [last]}
    assert import_tasks(tmp_path, old)["photo"].boxes == (PixelBox(0, 0, 0, 7, 5),)


@pytest.mark.parametrize(
    "image",
    [
        "photo.jpg",
        "/data/upload/3/1a2b3c4d-photo.jpg",
        "/data/local-files/?d=some/images/photo.jpg",
        "s3://bucket/images/photo.jpg",
        "https://example.com/a/photo.jpg?size=large#top",
        "C:\\data\\images\\photo.jpg",
        "images%2Fphoto.jpg",
        "https://example.com/photo.jpg#other.txt",
    ],
)
def test_images_are_found_by_name(tmp_path: Path, image: str) -> None:
    found = import_tasks(tmp_path, task(rectangle(0, 0, 50, 50), image=image))
    assert list(found) == ["photo"]


@pytest.mark.parametrize(
    "image", ["../photo.jpg", "/data/local-files/?d=../images/photo.jpg", "images/../photo.jpg"]
)
def test_names_of_images_must_stay_in_the_folder(tmp_path: Path, image: str) -> None:
    with pytest.raises(DatasetError, match=r"tasks\.json: task 1: .* leads out of the folder"):
        import_tasks(tmp_path, task(rectangle(0, 0, 50, 50), image=image))


def test_images_of_one_name_are_told_apart_by_folders_or_refused(tmp_path: Path) -> None:
    put_image(tmp_path / "more" / "photo.jpg", HEIGHT, WIDTH)
    with pytest.raises(DatasetError, match=r"there are 2 images 'photo\.jpg'"):
        import_tasks(tmp_path, task(rectangle(0, 0, 50, 50)))
    two = [task(rectangle(0, 0, 50, 50), image=f"{folder}/photo.jpg") for folder in ("images", "more")]
    assert list(import_tasks(tmp_path, *two)) == ["images-photo.jpg", "more-photo.jpg"]
    with pytest.raises(DatasetError, match=r"task 2: photo\.jpg is the image of task 1, too"):
        import_tasks(tmp_path, two[0], two[0])


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (rectangle(0, 0, 0, 50), "inverted or empty box"),
        (rectangle(101, 0, 5, 50), "no pixel is in the box"),
        (rectangle(0, 0, 50, 50, rotation=12), "is turned"),
        (rectangle(0, 0, 50, 50) | {"image_rotation": 90}, "is turned"),
        (rectangle(0, 0, 50, 50) | {"original_width": 9}, '"original_width" is 9: the image has width 7'),
        (result("keypointlabels", {"x": 120, "y": 2, "keypointlabels": ["a"]}), "is outside"),
        (result("keypointlabels", {"x": 20, "keypointlabels": ["a"]}), '"y" is missing'),
        (result("polygonlabels", {"points": [[1, 2]], "polygonlabels": ["a"]}), "a polygon has 1 points"),
        (result("ellipselabels", {"x": 9, "y": 9, "radiusX": 3, "ellipselabels": ["a"]}), "is an ellipse"),
        (result("brushlabels", {"rle": BRUSH[:9], "brushlabels": ["a"]}), '"rle" ends after'),
        (result("brushlabels", {"rle": [0, 0, 0, 1, *BRUSH[4:]], "brushlabels": ["a"]}), '"rle" has'),
        (result("brushlabels", {"rle": [999], "brushlabels": ["a"]}), '"rle" .*range'),
        (result("brushlabels", {"rle": "0101", "brushlabels": ["a"]}), '"rle" is .0101.; expected a list'),
        (result("rectanglelabels", {"rectanglelabels": "a"}), "list of texts"),
    ],
)
def test_errors_name_file_result_and_fix(tmp_path: Path, one: dict[str, Any], wanted: str) -> None:
    with pytest.raises(DatasetError, match=wanted) as caught:
        import_one(tmp_path, result("choices", {"choices": ["a"]}), one)
    assert caught.value.path.name == "tasks.json"
    assert "task 1, annotations[0], result[1]" in caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize(
    ("tasks", "wanted"),
    [
        ([], "there are no tasks"),
        ([7], "task 1: is 7, not a JSON object"),
        ([{"id": 1}], 'task 1, "data": is None'),
        ([{"data": {"text": "hello"}}], 'task 1: "data" names no image'),
        ([{"data": {"image": "no.jpg"}}], "task 1: there is no image 'no.jpg'"),
    ],
)
def test_bad_tasks_are_refused(tmp_path: Path, tasks: list[Any], wanted: str) -> None:
    with pytest.raises(DatasetError, match=wanted):
        import_tasks(tmp_path, *tasks)


def test_all_kinds_come_back(tmp_path: Path) -> None:
    write_labelstudio(tmp_path / "out", CLASSES, mixed_samples(), SPLITS)
    imported = read_labelstudio(tmp_path / "out")
    assert imported.classes.names == CLASSES.names
    assert imported.classes.kinds == with_kinds(["cow", "tree top"]).kinds
    assert imported.splits == SPLITS
    # Each region is an object to Label Studio.
    assert_same(imported, mixed_samples(), objects=False)


def test_predictions_come_back_if_asked_for(tmp_path: Path) -> None:
    write_labelstudio(tmp_path / "out", CLASSES, mixed_samples(), predictions=True)
    assert all(one.empty for one in read_all(read_labelstudio(tmp_path / "out")).values())
    assert_same(read_labelstudio(tmp_path / "out", predictions=True), mixed_samples(), objects=False)


def test_files_are_as_label_studio_has_them(tmp_path: Path) -> None:
    write_labelstudio(tmp_path / "out", CLASSES, mixed_samples())
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text())
    weak = tasks[4]
    assert weak["data"] == {"image": "/data/local-files/?d=images/weak.png"}
    results = weak["annotations"][0]["result"]
    config = ElementTree.parse(tmp_path / "out" / "config.xml").getroot()
    controls = {one.get("name"): one for one in config if one.get("toName")}
    for one in results:
        control = controls[one["from_name"]]
        assert (one["type"], one["to_name"]) == (control.tag.lower(), "image")
        labels = one["value"][one["type"]]
        assert set(labels) <= {child.get("value") for child in control}
    box = results[1]["value"]
    assert (box["x"], box["y"], box["width"], box["height"]) == pytest.approx((100 / 7, 40, 300 / 7, 60))
    assert len({one["id"] for one in results}) == len(results)
    # Objects of the second mask, decoded by the rules of the format in another way.
    strokes = tasks[2]["annotations"][0]["result"]
    assert [one["value"]["brushlabels"] for one in strokes] == [["grass"], ["cow"], ["cow"]]
    painted = np.zeros((6, 8), dtype=int)
    for one in strokes:
        painted[unpack(one["value"]["rle"]).reshape(6, 8, 4)[:, :, 3] > 0] = (
            CLASSES.label(one["value"]["brushlabels"][0]) + 1
        )
    np.testing.assert_array_equal(painted, mixed_samples()[2].annotation.mask)


def unpack(data: list[int]) -> np.ndarray:
    """Runs of bytes as Label Studio writes them, from a text of bits."""
    bits = "".join(f"{byte:08b}" for byte in data)
    assert bits[32:53] == "00111" + "0010" + "0011" + "0111" + "1111"
    words: list[int] = []
    place = 53
    while len(words) < int(bits[:32], 2):
        assert bits[place] == "1"
        size = (3, 4, 8, 16)[int(bits[place + 1 : place + 3], 2)]
        count = int(bits[place + 3 : place + 3 + size], 2) + 1
        words += [int(bits[place + 3 + size : place + 11 + size], 2)] * count
        place += 11 + size
    return np.array(words)
