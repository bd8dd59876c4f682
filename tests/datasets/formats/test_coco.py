"""COCO, against pycocotools and the published schema."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from format_cases import (
    CLASSES,
    SPLITS,
    assert_same,
    decode_by_coco,
    fill_by_coco,
    mixed_samples,
    nested_mask,
    put_image,
    put_json,
    read_all,
)
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.coco import read_coco
from multiutility.datasets.formats.coco_areas import AreaError, decode_runs, encode_runs, fill_polygons
from multiutility.datasets.formats.coco_export import (
    coco_results,
    write_coco,
    write_coco_file,
    write_panoptic,
)
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed

HEIGHT, WIDTH = 10, 14
CATEGORIES = [
    {"id": 18, "name": "dog", "supercategory": "animal"},
    {"id": 3, "name": "car", "supercategory": "vehicle"},
    {"id": 44, "name": "bottle", "supercategory": "kitchen"},
]
areas = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20))


def open_coco(path: Path) -> Any:
    """Open a file with pycocotools, which prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


def document(*found: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A COCO file of one image, by the published schema."""
    image = {"id": 397133, "width": WIDTH, "height": HEIGHT, "file_name": "0001.jpg", "license": 1}
    marks = [{"id": k, "image_id": 397133, "iscrowd": 0, "area": 1.0} | one for k, one in enumerate(found)]
    return {
        "info": {},
        "licenses": [],
        "images": [image],
        "annotations": marks,
        "categories": CATEGORIES,
    } | changes


def import_one(folder: Path, *found: dict[str, Any], **changes: Any) -> PixelAnnotation:
    """Annotation of an image with these annotations in COCO's schema."""
    put_image(folder / "images" / "0001.jpg", HEIGHT, WIDTH)
    path = put_json(folder / "annotations" / "instances_train2017.json", document(*found, **changes))
    return read_all(read_coco(path))["0001"]


def test_polygons_are_filled_as_by_pycocotools(tmp_path: Path) -> None:
    polygons = [[1.0, 1.0, 5.0, 1.0, 5.0, 4.0, 1.0, 4.0], [7.3, 2.1, 12.8, 3.4, 9.9, 9.2, 6.1, 7.7]]
    found = import_one(tmp_path, {"category_id": 18, "bbox": [1, 1, 12, 8], "segmentation": polygons})
    (theirs,) = (decode_by_coco(coco_mask.merge(coco_mask.frPyObjects(polygons, HEIGHT, WIDTH))),)
    assert found.mask is not None
    # Classes are in the order of their ids, so that the dog is the second.
    np.testing.assert_array_equal(found.mask, theirs * 2)
    assert found.mask[1, 1] == 2
    assert found.mask[3, 4] == 2
    assert found.mask[4, 4] == found.mask[3, 5] == found.mask[0, 1] == 0
    assert found.boxes == ()


@given(
    points=st.lists(st.tuples(st.floats(-2, WIDTH + 2), st.floats(-2, HEIGHT + 2)), min_size=3, max_size=7)
)
def test_any_polygon_is_filled_as_by_pycocotools(points: list[tuple[float, float]]) -> None:
    flat = [value for point in points for value in point]
    np.testing.assert_array_equal(fill_polygons([flat], HEIGHT, WIDTH), fill_by_coco(flat, HEIGHT, WIDTH))


@given(area=areas)
def test_run_lengths_are_those_of_pycocotools(area: NDArray[np.bool_]) -> None:
    theirs = coco_mask.encode(np.asfortranarray(area, dtype=np.uint8))
    assert encode_runs(area) == {"size": list(area.shape), "counts": theirs["counts"].decode()}
    np.testing.assert_array_equal(decode_runs(area.shape, theirs["counts"].decode(), *area.shape), area)
    changes = np.flatnonzero(np.diff(area.ravel(order="F").astype(int), prepend=0))
    counts = np.diff(changes, prepend=0, append=area.size).tolist()
    np.testing.assert_array_equal(decode_runs(area.shape, counts, *area.shape), area)


@pytest.mark.parametrize(
    "counts", ["1", "P", "zz~~", "\x7f", "", "PPPPPPPPPPPPPPPP1", "O", [100], [4, -2, 7], [], [1, 2]]
)
def test_damaged_run_lengths_are_refused(counts: str | list[int]) -> None:
    with pytest.raises(AreaError):
        decode_runs([3, 3], counts, 3, 3)


@given(text=st.text(st.characters(min_codepoint=40, max_codepoint=120), max_size=12))
def test_any_text_of_run_lengths_is_decoded_or_refused(text: str) -> None:
    with contextlib.suppress(AreaError):
        assert decode_runs([3, 3], text, 3, 3).shape == (3, 3)


@pytest.mark.parametrize(
    "polygon",
    [
        [0, 0, 1, 1],
        [0, 0, 1, 1, 2],
        [1e9, 1e9, 2e9, 0, 0, 5e8],
        [0, 0, -100, 3, 4, 5],
        [0, 0, 9, 9] * 1000,
        [],
    ],
)
def test_polygons_that_would_break_pycocotools_are_refused(tmp_path: Path, polygon: list[float]) -> None:
    with pytest.raises(DatasetError, match=r"annotations\[0\]: \"segmentation\""):
        import_one(tmp_path, {"category_id": 18, "segmentation": [polygon]})


def test_segmentation_as_text_or_number_is_refused(tmp_path: Path) -> None:
    for wrong in ("[[1, 2, 3]]", 5, [5], [["a"] * 6], {"size": [1]}):
        with pytest.raises(DatasetError, match=r"annotations\[0\]"):
            import_one(tmp_path, {"category_id": 18, "segmentation": wrong})


def test_overlaps_are_crowds_below_stuff_below_large_below_small_objects(tmp_path: Path) -> None:
    def square(left: int, size: int) -> list[list[int]]:
        return [[left, 0, left + size, 0, left + size, size, left, size]]

    whole = {"size": [HEIGHT, WIDTH], "counts": [0, HEIGHT * WIDTH]}
    categories = [*CATEGORIES, {"id": 92, "name": "lawn", "isthing": 0, "color": [1, 2, 3]}]
    found = import_one(
        tmp_path,
        {"category_id": 44, "segmentation": square(2, 2)},
        {"category_id": 18, "segmentation": square(0, 6)},
        {"category_id": 92, "segmentation": square(4, 4)},
        {"category_id": 3, "segmentation": whole, "iscrowd": 1},
        categories=categories,
    )
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask[0].tolist() == [2, 2, 3, 3, 2, 2, 4, 4, 1, 1, 1, 1, 1, 1]
    assert found.instances[0].tolist() == [2, 2, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_overlaps_are_those_of_areas_painted_in_order(tmp_path: Path, data: st.DataObject) -> None:
    categories = [{"id": k, "name": str(k), "isthing": k % 2, "color": [k, 0, 0]} for k in range(4)]
    sides = [
        st.integers(0, HEIGHT - 1),
        st.integers(1, HEIGHT),
        st.integers(0, WIDTH - 1),
        st.integers(1, WIDTH),
    ]
    drawn = data.draw(st.lists(st.tuples(st.integers(0, 3), st.booleans(), *sides), min_size=1, max_size=8))
    marks, layers = [], []
    for number, crowd, top, height, left, width in drawn:
        area = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
        area[top : top + height, left : left + width] = area[0, 0] = True
        marks.append({"category_id": number, "iscrowd": int(crowd), "segmentation": encode_runs(area)})
        is_object = number % 2 == 1 and not crowd
        layers.append(((not crowd, is_object, -int(area.sum())), number, is_object, area))
    counts = np.cumsum([is_object for _, _, is_object, _ in layers]).tolist()
    mask, objects = np.zeros((HEIGHT, WIDTH), dtype=np.uint8), np.zeros((HEIGHT, WIDTH), dtype=np.int32)
    for k in sorted(range(len(layers)), key=lambda k: layers[k][0]):
        _, number, is_object, area = layers[k]
        mask[area], objects[area] = number + 1, counts[k] * is_object
    found = import_one(tmp_path, *marks, categories=categories)
    np.testing.assert_array_equal(found.mask, mask)
    np.testing.assert_array_equal(0 if found.instances is None else found.instances, objects)


def test_without_areas_boxes_count_then_keypoints_then_tags(tmp_path: Path) -> None:
    found = import_one(
        tmp_path,
        {"category_id": 18, "bbox": [2.0, 1.0, 3.5, 4.0], "segmentation": [], "keypoints": [1, 1, 2]},
        {"category_id": 3, "keypoints": [4, 5, 2, 0, 0, 0, 13.7, 9.2, 1], "num_keypoints": 2},
        {"category_id": 44},
    )
    assert found.mask is None
    assert found.boxes == (PixelBox(1, 2.0, 1.0, 5.5, 5.0),)
    assert found.seeds == (PixelSeed(0, 4, 5), PixelSeed(0, 13, 9))
    assert found.tags == (2,)


def test_a_box_of_the_whole_image_is_in_it_and_one_beside_is_not(tmp_path: Path) -> None:
    found = import_one(tmp_path, {"category_id": 18, "bbox": [0, 0, WIDTH, HEIGHT]})
    assert found.boxes[0].n_pixels(HEIGHT, WIDTH) == WIDTH * HEIGHT
    with pytest.raises(DatasetError, match=r"annotations\[0\]: no pixel is in the box"):
        import_one(tmp_path, {"category_id": 18, "bbox": [WIDTH, 0, 3, 3]})


def test_panoptic_pictures(tmp_path: Path) -> None:
    # Ids as the schema tells: red + 256 green + 256 ** 2 blue.
    picture = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    picture[0:2, 0:3] = (5, 0, 0)
    picture[0:2, 3:5] = (5, 1, 0)
    picture[5:] = (4, 3, 2)
    Image.fromarray(picture).save(put_image(tmp_path / "annotations/panoptic_val2017/0001.png", 1, 1))
    put_image(tmp_path / "val2017" / "0001.jpg", HEIGHT, WIDTH)
    info = [
        {"id": 5, "category_id": 18, "area": 6, "bbox": [0, 0, 3, 2], "iscrowd": 0},
        {"id": 5 + 256, "category_id": 18, "area": 4, "bbox": [3, 0, 2, 2], "iscrowd": 0},
        {"id": 4 + 3 * 256 + 2 * 65536, "category_id": 92, "area": 70, "bbox": [0, 5, 14, 5], "iscrowd": 0},
    ]
    categories = [
        {"id": 18, "name": "dog", "supercategory": "animal", "isthing": 1, "color": [70, 0, 0]},
        {"id": 92, "name": "grass", "supercategory": "plant", "isthing": 0, "color": [0, 70, 0]},
    ]
    content = document(categories=categories)
    content["annotations"] = [{"image_id": 397133, "file_name": "0001.png", "segments_info": info}]
    path = put_json(tmp_path / "annotations" / "panoptic_val2017.json", content)
    imported = read_coco(tmp_path)
    assert [(one.name, one.kind, one.color) for one in imported.classes] == [
        ("dog", "thing", (70, 0, 0)),
        ("grass", "stuff", (0, 70, 0)),
    ]
    assert imported.splits == {"val2017": ["0001"]}
    found = read_all(imported)["0001"]
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask[0].tolist() == [1] * 5 + [0] * 9
    assert found.mask[4:6, 0].tolist() == [0, 2]
    assert found.instances[0].tolist() == [1] * 3 + [2] * 2 + [0] * 9
    assert not found.instances[5:].any()
    content["annotations"][0]["segments_info"] = info[:2]
    put_json(path, content)
    with pytest.raises(DatasetError, match=r"0001\.png has pixels of the id 131844"):
        read_all(read_coco(tmp_path))
    content["annotations"][0]["segments_info"] = [*info, info[0] | {"id": 77}]
    put_json(path, content)
    with pytest.raises(DatasetError, match=r"no pixel of 0001\.png has the id 77"):
        read_all(read_coco(tmp_path))


@pytest.mark.parametrize(("name", "lacking"), [("stuff_train2017_pixelmaps", 0), ("stuffthingmaps", 1)])
def test_stuff_pictures(tmp_path: Path, name: str, lacking: int) -> None:
    pixels = np.full((HEIGHT, WIDTH), 92 - lacking, dtype=np.uint8)
    pixels[0] = 0 if lacking == 0 else 255
    Image.fromarray(pixels).save(put_image(tmp_path / name / "0001.png", 1, 1))
    put_image(tmp_path / "0001.jpg", HEIGHT, WIDTH)
    content = document(categories=[{"id": 92, "name": "banner", "supercategory": "textile"}])
    put_json(tmp_path / "annotations" / "stuff_train2017.json", content)
    imported = read_coco(tmp_path)
    assert imported.classes[0].kind == "stuff"
    found = read_all(imported)["0001"]
    assert found.mask is not None
    assert found.mask[:, 0].tolist() == [0] + [1] * (HEIGHT - 1)
    assert found.instances is None
    content["categories"][0]["id"] = 91
    put_json(tmp_path / "annotations" / "stuff_train2017.json", content)
    with pytest.raises(DatasetError, match=r"0001\.png: has pixels of the unknown category 92"):
        read_all(read_coco(tmp_path))


def test_files_of_one_split_tell_of_the_same_images(tmp_path: Path) -> None:
    put_image(tmp_path / "train2017" / "0001.jpg", HEIGHT, WIDTH)
    put_image(tmp_path / "val2017" / "0001.jpg", HEIGHT, WIDTH)
    box = {"category_id": 18, "bbox": [0, 0, 2, 2]}
    put_json(tmp_path / "annotations" / "instances_train2017.json", document(box))
    put_json(tmp_path / "annotations" / "labels_train2017.json", document({"category_id": 3}))
    put_json(tmp_path / "annotations" / "instances_val2017.json", document())
    put_json(tmp_path / "annotations" / "captions_val2017.json", {"images": [], "annotations": []})
    imported = read_coco(tmp_path)
    assert imported.splits == {"train2017": ["train2017-0001.jpg"], "val2017": ["val2017-0001.jpg"]}
    found = read_all(imported)
    assert found["train2017-0001.jpg"].boxes == (PixelBox(1, 0, 0, 2, 2),)
    assert found["train2017-0001.jpg"].tags == (0,)
    assert found["val2017-0001.jpg"].empty


def test_images_may_be_elsewhere_and_beside_the_file(tmp_path: Path) -> None:
    put_image(tmp_path / "pictures" / "0001.jpg", HEIGHT, WIDTH)
    path = put_json(tmp_path / "labels" / "coco.json", document({"category_id": 3}))
    with pytest.raises(DatasetError, match=r"images\[0\]: there is no file '0001.jpg'"):
        read_coco(path)
    assert read_all(read_coco(path, images=tmp_path / "pictures"))["0001"].tags == (0,)
    put_image(tmp_path / "train" / "0001.jpg", HEIGHT, WIDTH)
    put_json(tmp_path / "train" / "_annotations.coco.json", document({"category_id": 3}))
    assert read_coco(tmp_path).splits == {"train": ["0001"]}


@pytest.mark.parametrize("name", ["../0001.jpg", "/etc/passwd", "a/../../0001.jpg", "..\\0001.jpg"])
def test_names_of_images_must_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    put_image(tmp_path / "0001.jpg", HEIGHT, WIDTH)
    (tmp_path / "data").mkdir()
    content = document()
    content["images"][0]["file_name"] = name
    path = put_json(tmp_path / "data" / "x.json", content)
    with pytest.raises(DatasetError, match=r"x\.json: images\[0\]: .* folder") as caught:
        read_coco(path)
    assert caught.value.fix == "correct the name"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"annotations": [{"image_id": 1, "category_id": 3}]}, r"annotations\[0\]: unknown image 1"),
        ({"annotations": [{"image_id": 397133, "category_id": 4}]}, r"annotations\[0\]: unknown category 4"),
        ({"annotations": [{"category_id": 4}]}, r'annotations\[0\]: "image_id" is missing'),
        ({"annotations": [7]}, r"annotations\[0\]: is 7, not a JSON object"),
        ({"annotations": {}}, r'"annotations" is {}; expected a list'),
        ({"annotations": [{"image_id": 397133, "category_id": 3, "bbox": [1, 2, 3]}]}, "expected 4 numbers"),
        (
            {"annotations": [{"image_id": 397133, "category_id": 3, "bbox": [1, 2, 0, 3]}]},
            "inverted or empty",
        ),
        ({"annotations": [{"image_id": 397133, "category_id": 3, "keypoints": [99, 2, 1]}]}, "is outside"),
        ({"annotations": [{"image_id": 397133, "category_id": 3, "keypoints": [9, 2]}]}, "x, y, visibility"),
        ({"categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}]}, "is there twice"),
        (
            {"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]},
            r"categories\[1\]: category 1 is 'b'",
        ),
        ({"categories": [{"id": 1, "name": ""}]}, r"categories\[0\]: bad class name ''"),
        (
            {"categories": [{"id": 1, "name": "a", "color": [1, 2, 300]}]},
            r"categories\[0\]: class 'a' has color",
        ),
        ({"categories": []}, "0 classes"),
        (
            {"images": [{"id": 1, "file_name": "0001.jpg", "width": 9, "height": 9}]},
            r"images\[0\]: tells of height 9",
        ),
        (
            {"images": [{"id": 1, "file_name": "0001.jpg"}, {"id": 1, "file_name": "0001.jpg"}]},
            r"images\[1\]: another image has the id 1",
        ),
        ({"images": [{"id": 1, "file_name": 3}]}, r'images\[0\]: "file_name" is 3'),
    ],
)
def test_errors_name_file_record_and_fix(tmp_path: Path, changes: dict[str, Any], wanted: str) -> None:
    with pytest.raises(DatasetError, match=wanted) as caught:
        import_one(tmp_path, **changes)
    assert caught.value.path.name == "instances_train2017.json"
    assert caught.value.fix


def test_folders_without_coco_files_are_refused(tmp_path: Path) -> None:
    put_json(tmp_path / "other.json", [1, 2])
    with pytest.raises(DatasetError, match="there is no COCO file"):
        read_coco(tmp_path)


def test_all_kinds_come_back(tmp_path: Path) -> None:
    write_coco(tmp_path / "out", CLASSES, mixed_samples(), SPLITS)
    imported = read_coco(tmp_path / "out")
    assert imported.classes == CLASSES
    assert imported.splits == SPLITS
    assert_same(imported, mixed_samples())
    assert {path.name for path in (tmp_path / "out" / "annotations").iterdir()} == {
        *("instances_train.json", "instances_validation.json", "instances_default.json", "labels_train.json"),
        *("labels_default.json", "person_keypoints_train.json"),
    }


def test_pycocotools_reads_what_is_written(tmp_path: Path) -> None:
    write_coco(tmp_path / "out", CLASSES, mixed_samples())
    coco = open_coco(tmp_path / "out" / "annotations" / "instances_default.json")
    ids = {image["file_name"]: number for number, image in coco.imgs.items()}
    found = coco.loadAnns(coco.getAnnIds(imgIds=ids["objects.png"]))
    assert [(one["category_id"], one["iscrowd"], one["area"]) for one in found] == [
        (1, 0, 19),
        (2, 0, 6),
        (2, 0, 9),
    ]
    assert [one["bbox"] for one in found] == [[0, 3, 8, 3], [1, 1, 2, 3], [5, 1, 3, 3]]
    whole = np.zeros((6, 8), dtype=int)
    for one in found:
        whole[decode_by_coco(coco.annToRLE(one))] = one["category_id"]
    np.testing.assert_array_equal(whole, mixed_samples()[2].annotation.mask)
    boxes = coco.loadAnns(coco.getAnnIds(imgIds=ids["weak.png"]))
    assert [one["bbox"] for one in boxes] == [[1, 2, 3, 3], [0, 0, 7, 3], [2.5, 1.25, 4.25, 3.25]]
    seeds = open_coco(tmp_path / "out" / "annotations" / "person_keypoints_default.json")
    assert [one["keypoints"] for one in seeds.anns.values()] == [[2, 3, 2], [6, 0, 2]]
    assert [category["name"] for category in coco.loadCats(coco.getCatIds())] == list(CLASSES.names)


def test_panoptic_pictures_come_back(tmp_path: Path) -> None:
    masked = [sample for sample in mixed_samples() if sample.name in ("masked", "none", "objects")]
    write_panoptic(tmp_path / "out", CLASSES, masked, {"train": ["masked", "objects"]})
    imported = read_coco(tmp_path / "out")
    assert imported.classes == CLASSES
    assert_same(imported, masked)
    with pytest.raises(DatasetError, match="tagged: has tags, which"):
        write_panoptic(tmp_path / "lossy", CLASSES, mixed_samples())
    write_panoptic(tmp_path / "lossy", CLASSES, mixed_samples(), lossy=True)
    content = json.loads((tmp_path / "out" / "annotations" / "panoptic_train.json").read_text())
    picture = np.asarray(Image.open(tmp_path / "out" / "annotations" / "panoptic_train" / "objects.png"))
    ids = picture.astype(int) @ [1, 256, 65536]
    told = content["annotations"][1]["segments_info"]
    assert [one["area"] for one in told] == [int((ids == one["id"]).sum()) for one in told]


def test_predictions_are_results_that_pycocotools_loads(tmp_path: Path) -> None:
    write_coco(tmp_path / "out", CLASSES, mixed_samples())
    coco = open_coco(tmp_path / "out" / "annotations" / "instances_default.json")
    scores = np.where(nested_mask() == 2, 0.25, 0.75)
    path = put_json(tmp_path / "results.json", coco_results(nested_mask(), image_id=1, scores=scores))
    with contextlib.redirect_stdout(io.StringIO()):
        results = coco.loadRes(str(path))
    found = results.loadAnns(results.getAnnIds(imgIds=1))
    assert [(one["category_id"], one["score"]) for one in found] == [(1, 0.75), (2, 0.25), (3, 0.75)]
    for one in found:
        np.testing.assert_array_equal(
            decode_by_coco(one["segmentation"]), nested_mask() == one["category_id"]
        )


def test_predictions_are_one_file_beside_images(tmp_path: Path) -> None:
    put_image(tmp_path / "photo.jpg", 9, 11)
    predictions = [NewSample("photo", tmp_path / "photo.jpg", PixelAnnotation(nested_mask()))]
    write_coco_file(tmp_path / "predictions.json", CLASSES, predictions)
    found = read_all(read_coco(tmp_path / "predictions.json"))["photo"]
    assert found.mask is not None
    np.testing.assert_array_equal(found.mask, nested_mask())
    coco = open_coco(tmp_path / "predictions.json")
    assert coco.imgs[1] == {"id": 1, "file_name": "photo.jpg", "height": 9, "width": 11}


def test_nothing_is_left_of_what_cannot_be_written(tmp_path: Path) -> None:
    bad = NewSample("bad", mixed_samples()[0].image, PixelAnnotation(tags=(9,)))
    with pytest.raises(DatasetError, match="has label 9"):
        write_coco(tmp_path / "out", CLASSES, [*mixed_samples(), bad])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(DatasetError, match="there is something already"):
        write_coco(tmp_path / "out", CLASSES, mixed_samples())
