"""Files with a part replaced by anything: readers give samples or say what is wrong, and nothing else."""

from __future__ import annotations

import base64
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from format_cases import BRUSH, CLASSES, mixed_samples, put_image, put_json
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.writing import write_dataset
from multiutility.kinds import PixelAnnotation
from mutations import JUNK, places, replaced

QUIET = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = {
    "coco": "annotations/instances_default.json",
    "coco-panoptic": "annotations/panoptic_default.json",
    "labelme": "weak.json",
    "labelstudio": "tasks.json",
}


@pytest.fixture(scope="module", params=FILES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A format, and a folder in it."""
    folder = tmp_path_factory.mktemp("hostile") / "data"
    writer = FORMATS[request.param].write
    assert writer is not None
    masks_only = request.param == "coco-panoptic"
    writer(
        folder,
        CLASSES,
        [one for one in mixed_samples() if not masks_only or one.name in ("masked", "objects")],
        {},
    )
    return request.param, folder


def read_everything(name: str, folder: Path, out: Path) -> None:
    """Read a folder into a dataset folder; what is wrong must be told with file and fix."""
    found: list[DatasetError] = []
    try:
        imported = FORMATS[name].read(folder)
        write_dataset(out, imported.classes, imported.samples, imported.splits)
    except DatasetError as error:
        found.append(error)
    for one in found:
        assert one.what
        assert one.fix
        assert {folder, out} & {one.path, *one.path.parents}
    assert not list(folder.parent.glob("x.jpg"))


@QUIET
@given(data=st.data())
def test_any_part_of_a_file_may_be_wrong(
    written: tuple[str, Path], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name, folder = written
    path = folder / FILES[name]
    text = path.read_text()
    value = json.loads(text)
    place = data.draw(st.sampled_from(list(places(value))))
    changed = replaced(value, place, data.draw(JUNK))
    try:
        path.write_text(json.dumps(changed))
        read_everything(name, folder, tmp_path_factory.mktemp("out") / "dataset")
    finally:
        path.write_text(text)


@QUIET
@given(data=st.data())
def test_any_element_of_voc_may_be_wrong(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    writer = FORMATS["voc"].write
    assert writer is not None
    writer(folder, CLASSES, mixed_samples()[-1:], {})
    path = folder / "Annotations" / "weak.xml"
    root = ElementTree.parse(path).getroot()
    element = data.draw(st.sampled_from(list(root.iter())))
    if data.draw(st.booleans()):
        element.text = data.draw(
            st.sampled_from(["", "-1", "1e999", "nan", "0x3", "99999999999", "\u0663", "cow", "../../x"])
        )
    else:
        element.tag = data.draw(st.sampled_from(["object", "name", "bndbox", "size", "xmin", "b"]))
    path.write_bytes(ElementTree.tostring(root))
    read_everything("voc", folder, tmp_path_factory.mktemp("out") / "dataset")


# What a value may be replaced by: something of every type, empty ones, numbers at all ends, odd texts.
TYPES: dict[str, Any] = {
    "null": None,
    "yes": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "large": 10**16,
    "huge": 10**400,
    "infinite": 1e308,
    "nan": float("nan"),
    "no text": "",
    "text": "x",
    "long text": "x" * 300,
    "half a character": "\ud800",
    "no list": [],
    "list": [1],
    "texts": ["x"],
    "lists": [[1, 2]],
    "objects": [{"x": 1}],
    "no object": {},
    "object": {"x": [1]},
}
# Of lists of many numbers, the first is replaced.
NUMBERS = {"segmentation", "points", "rle", "bbox", "keypoints", "counts", "size", "color"}
SQUARE = [[1, 1], [4, 1], [4, 3], [1, 3]]
FLAT = [1, 1, 4, 1, 4, 3, 1, 3]


def picture_text(height: int, width: int) -> str:
    """A mask as LabelMe has it in its files."""
    file = io.BytesIO()
    Image.fromarray(np.ones((height, width), dtype=np.uint8)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def shape(kind: str, points: list[list[int]], **more: Any) -> dict[str, Any]:
    """A shape of LabelMe."""
    return {"label": kind, "shape_type": kind, "points": points, "group_id": None, "flags": {}, **more}


def region(value: dict[str, Any]) -> dict[str, Any]:
    """A region of Label Studio, in an image of 5 x 7 pixels."""
    sizes = {"original_width": 7, "original_height": 5, "image_rotation": 0}
    return {"id": "r", "type": "t", "from_name": "a", "to_name": "image", **sizes, "value": value}


# Everything that is read of a format, once.
DOCUMENTS: dict[str, Any] = {
    "coco": {
        "images": [{"id": 1, "file_name": "a.png", "height": 5, "width": 7}],
        "categories": [
            {"id": 1, "name": "cow", "supercategory": "thing", "isthing": 1, "color": [1, 2, 3], "rare": True}
        ],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "segmentation": [FLAT]},
            {
                "image_id": 1,
                "category_id": 1,
                "iscrowd": 1,
                "segmentation": {"size": [5, 7], "counts": [5, 30]},
            },
            {"image_id": 1, "category_id": 1, "segmentation": {"size": [5, 7], "counts": "5n0"}},
            {"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2]},
            {"image_id": 1, "category_id": 1, "keypoints": [1, 1, 2]},
        ],
    },
    "coco-panoptic": {
        "images": [{"id": 1, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "cow", "isthing": 1}],
        "annotations": [
            {
                "image_id": 1,
                "file_name": "ids.png",
                "segments_info": [{"id": 1, "category_id": 1, "iscrowd": 0}],
            }
        ],
    },
    "labelme": {
        "version": "5.0.0",
        "flags": {"sunny": True, "dark": False},
        "imagePath": "a.png",
        "imageData": None,
        "imageHeight": 5,
        "imageWidth": 7,
        "shapes": [
            shape("polygon", SQUARE, group_id=3),
            shape("rectangle", SQUARE[::2]),
            shape("point", SQUARE[:1]),
            shape("circle", SQUARE[:2]),
            shape("mask", SQUARE[::2], mask=picture_text(3, 4)),
        ],
    },
    "labelstudio": [
        {
            "id": 1,
            "data": {"image": "/data/upload/a.png", "split": ["train"]},
            "annotations": [
                {
                    "was_cancelled": False,
                    "ground_truth": True,
                    "result": [
                        region({"choices": ["sunny"]}),
                        region({"rectanglelabels": ["cow"], "x": 1, "y": 1, "width": 50, "height": 50}),
                        region({"keypointlabels": ["cow"], "x": 1, "y": 1, "width": 1}),
                        region({"polygonlabels": ["cow"], "points": [[1, 1], [90, 1], [50, 90]]}),
                        region({"brushlabels": ["cow"], "format": "rle", "rle": BRUSH}),
                    ],
                }
            ],
            "predictions": [],
        }
    ],
}


@pytest.fixture(scope="module", params=DOCUMENTS)
def documented(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A format, and the folder of an image and its file."""
    folder = tmp_path_factory.mktemp("typed")
    put_image(folder / "a.png", 5, 7)
    colors = np.zeros((5, 7, 3), dtype=np.uint8)
    colors[:, :, 0] = 1
    Image.fromarray(colors).save(folder / "ids.png")
    return request.param, folder


def read_or_refuse(name: str, folder: Path) -> list[PixelAnnotation] | DatasetError:
    """Annotations of all samples, or what is wrong."""
    try:
        return [sample.annotation for sample in FORMATS[name].read(folder).samples]
    except DatasetError as error:
        return error


def test_documents_are_right(documented: tuple[str, Path]) -> None:
    name, folder = documented
    put_json(folder / "a.json", DOCUMENTS[name])
    found = read_or_refuse(name, folder)
    assert not isinstance(found, DatasetError)
    assert found[0].mask is not None
    assert found[0].instances is not None
    assert bool(found[0].boxes) == bool(found[0].seeds) == (name != "coco-panoptic")


@pytest.mark.parametrize("kind", TYPES)
def test_any_value_may_be_of_any_type(documented: tuple[str, Path], kind: str) -> None:
    """Each value of a document is replaced: there are annotations, or an error of the file and the record."""
    name, folder = documented
    path, document = folder / "a.json", json.loads(json.dumps(DOCUMENTS[name]))  # No parts that are shared.
    for place in places(document):
        if any(key in NUMBERS and later != 0 for key, later in pairwise(place)):
            continue
        put_json(path, replaced(document, place, TYPES[kind]))
        found = read_or_refuse(name, folder)
        if isinstance(found, DatasetError):
            assert found.path in {path, folder, folder / "a.png", folder / "ids.png"}, (place, found)
            assert found.what
            assert found.fix
            # In a record of a list: which one.
            if found.path == path and isinstance(document, dict) and len(place) > 2 and kind != "nan":
                entry = next(f"[{key}]" for key in place if isinstance(key, int))
                assert entry in found.what, (place, found)


@pytest.mark.parametrize("depth", [10, 900, 960])
def test_values_may_be_nested_deeply(documented: tuple[str, Path], depth: int) -> None:
    name, folder = documented
    text = json.dumps(DOCUMENTS[name])
    (folder / "a.json").write_text(text.replace('"a.png"', "[" * depth + "]" * depth))
    assert isinstance(read_or_refuse(name, folder), DatasetError) or name == "labelstudio"


TEXTS = ["", "x", "-1", "1.5", "1e999", "nan", "[]", "9" * 400, "\u0663", "../../x", "x" * 300]


@pytest.mark.parametrize("text", TEXTS, ids=[text[:8] for text in TEXTS])
def test_any_element_of_voc_may_have_any_text(tmp_path: Path, text: str) -> None:
    writer = FORMATS["voc"].write
    assert writer is not None
    writer(tmp_path / "data", CLASSES, mixed_samples()[-1:], {})
    path = tmp_path / "data" / "Annotations" / "weak.xml"
    whole = path.read_bytes()
    for place, _ in enumerate(ElementTree.fromstring(whole).iter()):
        for change in ("text", "empty"):
            root = ElementTree.fromstring(whole)
            element = list(root.iter())[place]
            if change == "empty":
                element.clear()
            element.text = text
            path.write_bytes(ElementTree.tostring(root))
            found = read_or_refuse("voc", tmp_path / "data")
            if isinstance(found, DatasetError):
                assert found.path == path or found.path.name == "labelmap.txt", (place, found)


@pytest.mark.parametrize("line", ["weak", "1", "weak 2 1", "nobody 1", "weak x"])
def test_bad_lines_of_sets_are_told_by_file_and_row(tmp_path: Path, line: str) -> None:
    writer = FORMATS["voc"].write
    assert writer is not None
    writer(tmp_path, CLASSES, mixed_samples()[-1:], {})
    path = tmp_path / "ImageSets" / "Main" / "cow_train.txt"
    (path.parent / "train.txt").write_text("weak\n")
    path.write_text(f"weak -1\n{line}\n")
    found = read_or_refuse("voc", tmp_path)
    assert isinstance(found, DatasetError)
    assert found.path == path
    assert found.row in {1, 2}


def test_plain_lists_of_images_that_are_numbers(tmp_path: Path) -> None:
    for name in ("0", "1"):
        put_image(tmp_path / "JPEGImages" / f"{name}.png", 2, 3)
    (tmp_path / "ImageSets" / "Main").mkdir(parents=True)
    for name in ("train", "my_train"):
        (tmp_path / "ImageSets" / "Main" / f"{name}.txt").write_text("0\n1\n")
    assert FORMATS["voc"].read(tmp_path).splits["my_train"] == ["0", "1"]
