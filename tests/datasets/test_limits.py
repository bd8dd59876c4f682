"""Limits of names and counts: the same at every door, and nothing comes in that cannot be read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from format_cases import noise, put_image, put_json
from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.limits import MAX_CLASS_NAME, MAX_OBJECTS, class_name_problem, file_name_problem
from multiutility.datasets.tables import read_table
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import PixelAnnotation

# Longer than a field of a table may be, than a name may be, and of characters that no name may have.
BAD_NAMES = ["x" * 140_000, "x" * (MAX_CLASS_NAME + 1), "grass\nsky", "a\tb", "\x1b[31m", "a\u202eb"]
BAD_IDS = ["huge", "long", "line", "tab", "escape", "reversed"]
SQUARE = [[0, 0], [3, 0], [3, 2], [0, 2]]


def put_coco(folder: Path, name: str) -> None:
    put_image(folder / "a.png", 3, 4)
    images = [{"id": 1, "file_name": "a.png"}]
    put_json(
        folder / "a.json", {"images": images, "annotations": [], "categories": [{"id": 1, "name": name}]}
    )


def put_labelme(folder: Path, name: str) -> None:
    put_image(folder / "a.png", 3, 4)
    shapes = [{"label": name, "shape_type": "polygon", "points": SQUARE}]
    put_json(folder / "a.json", {"imagePath": "a.png", "shapes": shapes})


def put_labelme_flag(folder: Path, name: str) -> None:
    put_image(folder / "a.png", 3, 4)
    put_json(folder / "a.json", {"imagePath": "a.png", "shapes": [], "flags": {name: True}})


def put_labelstudio(folder: Path, name: str) -> None:
    put_image(folder / "a.png", 3, 4)
    value = {"polygonlabels": [name], "points": SQUARE}
    put_json(
        folder / "a.json", [{"data": {"image": "a.png"}, "annotations": [{"result": [{"value": value}]}]}]
    )


def put_labelstudio_choice(folder: Path, name: str) -> None:
    put_image(folder / "a.png", 3, 4)
    result = [{"value": {"choices": [name]}}]
    put_json(folder / "a.json", [{"data": {"image": "a.png"}, "annotations": [{"result": result}]}])


def put_voc(folder: Path, name: str) -> None:
    put_image(folder / "JPEGImages" / "a.png", 3, 4)
    (folder / "Annotations").mkdir()
    text = name if name.isprintable() else f"{name!r} \U0010ffff"
    (folder / "Annotations" / "a.xml").write_text(
        f"<annotation><object><name>{text}</name></object></annotation>"
    )


def put_label_map(folder: Path, name: str) -> None:
    put_image(folder / "JPEGImages" / "a.png", 3, 4)
    (folder / "labelmap.txt").write_text(f"{name.replace(chr(10), chr(9))}:1,2,3::\n")


def put_class_table(folder: Path, name: str) -> None:
    put_image(folder / "images" / "a.png", 3, 4)
    (folder / "masks").mkdir()
    Image.fromarray(np.ones((3, 4), dtype=np.uint8)).save(folder / "masks" / "a.png")
    (folder / "classes.csv").write_text(f'name\n"{name}"\n')


def put_class_list(folder: Path, name: str) -> None:
    put_class_table(folder, "x")
    (folder / "classes.csv").unlink()
    (folder / "classes.txt").write_text(f"{name.replace(chr(10), chr(9))}\n")


DOORS: dict[str, tuple[str, Callable[[Path, str], None]]] = {
    "coco": ("coco", put_coco),
    "labelme": ("labelme", put_labelme),
    "labelme flag": ("labelme", put_labelme_flag),
    "labelstudio": ("labelstudio", put_labelstudio),
    "labelstudio choice": ("labelstudio", put_labelstudio_choice),
    "voc": ("voc", put_voc),
    "voc label map": ("voc", put_label_map),
    "masks": ("masks", put_class_table),
    "masks by a list": ("masks", put_class_list),
}


@pytest.mark.parametrize("name", BAD_NAMES, ids=BAD_IDS)
def test_classes_cannot_be_called_so(name: str) -> None:
    assert class_name_problem(name)
    with pytest.raises(ValueError, match="class name") as caught:
        LabelClass(name, (1, 2, 3))
    assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="class name"):
        Classes.from_names(["grass", name])


@pytest.mark.parametrize("name", BAD_NAMES, ids=BAD_IDS)
@pytest.mark.parametrize("door", DOORS)
def test_no_format_brings_such_names(tmp_path: Path, door: str, name: str) -> None:
    format_, put = DOORS[door]
    put(tmp_path, name)
    with pytest.raises(DatasetError, match=r"class name|more than 131,072") as caught:
        FORMATS[format_].read(tmp_path)
    assert caught.value.path.is_file()
    assert caught.value.fix
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("door", DOORS)
def test_the_longest_names_come_in_and_can_be_read_again(tmp_path: Path, door: str) -> None:
    format_, put = DOORS[door]
    name = "\u00e4" * MAX_CLASS_NAME
    (tmp_path / "in").mkdir()
    put(tmp_path / "in", name)
    if door == "voc":
        content = (tmp_path / "in" / "Annotations" / "a.xml").read_text()
        box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox>"
        (tmp_path / "in" / "Annotations" / "a.xml").write_text(
            content.replace("</object>", f"{box}</object>")
        )
    imported = FORMATS[format_].read(tmp_path / "in")
    write_dataset(tmp_path / "out", imported.classes, imported.samples)
    assert DatasetFolder(tmp_path / "out").classes.names == (name,)


def test_fields_that_are_too_long_are_told_by_file_and_row(tmp_path: Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text("image,label,note\na,sky,\nb,sky," + "x" * 140_000 + "\n")
    problems: list[DatasetError] = []
    assert len(list(read_table(path, ("image", "label"), (), problems))) == 1
    (problem,) = problems
    assert (problem.path, problem.row) == (path, 3)
    assert "131,072" in problem.what
    assert "shorten" in problem.fix


@pytest.mark.parametrize("name", ["x" * 201, "\u00e4" * 101, " a", "a ", ".a", "a/b", "a\\b", "", "a\nb"])
def test_images_cannot_be_called_so(tmp_path: Path, name: str) -> None:
    assert file_name_problem(name)
    with pytest.raises(DatasetError, match="name"):
        write_dataset(tmp_path / "out", Classes.from_names(["x"]), [NewSample(name, noise(2, 3))])


@pytest.mark.parametrize("format_", ["coco", "voc", "labelme", "labelstudio", "masks"])
def test_no_format_brings_long_names_of_images(tmp_path: Path, format_: str) -> None:
    stem = "x" * 201
    classes, image = Classes.from_names(["x"]), noise(2, 3)
    writer = FORMATS[format_].write
    assert writer is not None
    writer(tmp_path / "in", classes, [NewSample("a", image, PixelAnnotation(np.ones((2, 3), np.uint8)))], {})
    for path in sorted((tmp_path / "in").rglob("*")):
        if path.suffix in {".json", ".txt"}:
            path.write_text(path.read_text().replace("a.png", f"{stem}.png"))
        if path.stem == "a":
            path.rename(path.with_stem(stem))
    with pytest.raises(DatasetError, match="long name") as caught:
        FORMATS[format_].read(tmp_path / "in")
    assert caught.value.path.stem == stem


def test_splits_of_tasks_have_names_of_files(tmp_path: Path) -> None:
    put_labelstudio(tmp_path, "x")
    tasks = json.loads((tmp_path / "a.json").read_text())
    tasks[0]["data"]["split"] = ["train", "../x"]
    put_json(tmp_path / "a.json", tasks)
    with pytest.raises(DatasetError, match=r"a\.json: task 1: \"split\": bad name '\.\./x'"):
        FORMATS["labelstudio"].read(tmp_path)


def test_too_many_objects_are_an_error_of_the_image(tmp_path: Path) -> None:
    ids = np.arange(MAX_OBJECTS + 2, dtype=np.int32).reshape(1, -1)
    mask = np.ones(ids.shape, dtype=np.uint8)
    classes, image = Classes.from_names(["x"]), put_image(tmp_path / "a.png", *ids.shape)
    write_dataset(
        tmp_path / "most", classes, [NewSample("a", image, PixelAnnotation(mask, instances=ids % 65536))]
    )
    found = DatasetFolder(tmp_path / "most")["a"].instances()
    assert found is not None
    assert len(np.unique(found)) == MAX_OBJECTS + 1
    for writer in (write_dataset, FORMATS["voc"].write):
        assert writer is not None
        with pytest.raises(DatasetError, match=r"a\.png: there are 65,536 objects"):
            writer(
                tmp_path / "out", classes, [NewSample("a", image, PixelAnnotation(mask, instances=ids))], {}
            )


def test_too_many_objects_are_an_error_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiutility.datasets.limits.MAX_OBJECTS", 1)
    put_image(tmp_path / "a.png", 3, 4)
    square = [x for point in SQUARE for x in point]
    marks = [{"image_id": 1, "category_id": 1, "segmentation": [square]}] * 2
    images, categories = [{"id": 1, "file_name": "a.png"}], [{"id": 1, "name": "x"}]
    put_json(tmp_path / "a.json", {"images": images, "categories": categories, "annotations": marks})
    with pytest.raises(DatasetError, match=r"a\.json: annotations\[1\]: there are 2 objects"):
        FORMATS["coco"].read(tmp_path).samples.read(0)
    shapes = [{"label": "x", "shape_type": "polygon", "points": SQUARE}] * 2
    put_json(tmp_path / "a.json", {"imagePath": "a.png", "shapes": shapes})
    with pytest.raises(DatasetError, match=r"a\.json: shapes\[1\]: there are 2 objects"):
        FORMATS["labelme"].read(tmp_path).samples.read(0)
    result = [{"value": {"polygonlabels": ["x"], "points": SQUARE}}] * 2
    put_json(tmp_path / "a.json", [{"data": {"image": "a.png"}, "annotations": [{"result": result}]}])
    with pytest.raises(
        DatasetError, match=r"a\.json: task 1, annotations\[0\], result\[1\]: there are 2 objects"
    ):
        FORMATS["labelstudio"].read(tmp_path).samples.read(0)
