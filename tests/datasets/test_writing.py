"""Dataset folders, written and read again."""

from __future__ import annotations

import csv
import os
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility.datasets import (
    Classes,
    DatasetError,
    DatasetFolder,
    LabelClass,
    NewSample,
    PixelAnnotation,
    PixelBox,
    PixelSeed,
    validate,
    write_classes,
    write_dataset,
    write_entries,
    write_image,
    write_split,
)
from multiutility.datasets.class_changes import NewClass, change_classes
from multiutility.experiments.experiment import as_csv
from multiutility.kinds import TABLES
from multiutility.studio.table_rows import write_rows

CLASSES = Classes(
    [LabelClass("grass", (0, 128, 0)), LabelClass('a "cow", brown', (9, 8, 7), "thing", rare=True)]
)
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
EVERYTHING = PixelAnnotation(
    mask=np.array([[0, 1, 2, 0, 1, 2]] * 4, dtype=np.uint8),
    tags=(0,),
    boxes=(PixelBox(1, 0.1, 1, 4, 4), PixelBox(0, 0, 0, 6, 4)),
    seeds=(PixelSeed(1, 5, 3),),
    instances=np.full((4, 6), 300),
)


def same_pixels(one: NDArray[np.uint8] | None, other: NDArray[np.uint8] | None) -> bool:
    return (one is None) == (other is None) and (one is None or np.array_equal(one, np.asarray(other)))


def assert_same(one: PixelAnnotation, other: PixelAnnotation) -> None:
    assert (one.tags, one.boxes, one.seeds) == (other.tags, other.boxes, other.seeds)
    assert same_pixels(one.mask, other.mask)
    assert same_pixels(one.instances, other.instances)


def test_everything_is_read_again(tmp_path: Path) -> None:
    samples = [NewSample("b", IMAGE, EVERYTHING), NewSample("a, b", IMAGE)]
    write_dataset(tmp_path / "new" / "dataset", CLASSES, samples, {"train": ["b", "a, b"], "none": []})
    folder = tmp_path / "new" / "dataset"
    assert validate(folder) == []
    dataset = DatasetFolder(folder)
    assert dataset.classes == CLASSES
    assert dataset.names == ("a, b", "b")
    assert dataset.split("train").names == ("b", "a, b")
    assert len(dataset.split("none")) == 0
    assert_same(dataset["b"].annotation(), EVERYTHING)
    assert dataset["a, b"].annotation().empty
    np.testing.assert_array_equal(dataset["b"].image(), IMAGE)


def test_files_are_as_documented(tmp_path: Path) -> None:
    annotation = replace(EVERYTHING, instances=None)
    write_dataset(tmp_path, CLASSES, [NewSample("b", IMAGE, annotation)], {"train": ["b"]})
    assert (tmp_path / "classes.csv").read_text() == (
        'name,color,kind,rare\ngrass,#008000,stuff,0\n"a ""cow"", brown",#090807,thing,1\n'
    )
    assert (tmp_path / "tags.csv").read_text() == "image,label\nb,grass\n"
    assert (tmp_path / "boxes.csv").read_text() == (
        'image,label,left,top,right,bottom\nb,"a ""cow"", brown",0.1,1,4,4\nb,grass,0,0,6,4\n'
    )
    assert (tmp_path / "seeds.csv").read_text() == 'image,label,x,y\nb,"a ""cow"", brown",5,3\n'
    assert (tmp_path / "splits" / "train.txt").read_text() == "b\n"
    everything = ["boxes.csv", "classes.csv", "images", "masks", "seeds.csv", "splits", "tags.csv"]
    assert sorted(os.listdir(tmp_path)) == everything


def test_only_what_is_needed_is_written(tmp_path: Path) -> None:
    write_dataset(tmp_path, CLASSES, [NewSample("a", IMAGE)])
    assert sorted(os.listdir(tmp_path)) == ["classes.csv", "images"]


BOXES = st.builds(
    lambda label, left, top, width, height: PixelBox(label, left, top, left + width, top + height),
    st.integers(0, 1),
    st.floats(-2, 4.4),
    st.floats(-2, 2.4),
    st.floats(3.1, 4),
    st.floats(3.1, 4),
)
MASKS = st.lists(st.integers(0, 2), min_size=24, max_size=24).map(
    lambda values: np.array(values, dtype=np.uint8).reshape(4, 6)
)
ANNOTATIONS = st.builds(
    PixelAnnotation,
    mask=st.none() | MASKS,
    tags=st.lists(st.integers(0, 1), unique=True).map(tuple),
    boxes=st.lists(BOXES, max_size=3).map(tuple),
    seeds=st.lists(st.builds(PixelSeed, st.integers(0, 1), st.integers(0, 5), st.integers(0, 3))).map(tuple),
)


@settings(max_examples=40)
@given(annotations=st.lists(ANNOTATIONS, min_size=1, max_size=3))
def test_any_annotation_is_read_again(annotations: list[PixelAnnotation]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        samples = (NewSample(str(n), IMAGE, annotation) for n, annotation in enumerate(annotations))
        write_dataset(folder, CLASSES, samples)
        for sample, annotation in zip(DatasetFolder(folder), annotations, strict=True):
            assert_same(sample.annotation(), annotation)
        assert all("beyond" in finding.what for finding in validate(folder))


def test_image_files_are_kept_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "photo.JPG"
    write_image(source, IMAGE)
    (tmp_path / "link.jpg").symlink_to(source)
    samples = [NewSample("a", source), NewSample("b", tmp_path / "link.jpg")]
    write_dataset(tmp_path / "dataset", CLASSES, samples)
    for name in ("a.jpg", "b.jpg"):
        copy = tmp_path / "dataset" / "images" / name
        assert not copy.is_symlink()
        assert copy.read_bytes() == source.read_bytes()


def test_image_files_are_copied_where_they_cannot_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    write_image(tmp_path / "photo.png", IMAGE)
    write_dataset(tmp_path / "dataset", CLASSES, [NewSample("a", tmp_path / "photo.png")])
    assert (tmp_path / "dataset/images/a.png").read_bytes() == (tmp_path / "photo.png").read_bytes()
    assert (tmp_path / "photo.png").stat().st_nlink == 1


def test_names_of_equal_letters_are_the_same(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Kühe") for form in ("NFC", "NFD"))
    write_dataset(tmp_path / "one", CLASSES, [NewSample(decomposed, IMAGE)], {"train": [decomposed]})
    assert DatasetFolder(tmp_path / "one").split("train").names == (composed,)
    with pytest.raises(DatasetError, match="two images"):
        write_dataset(tmp_path / "two", CLASSES, [NewSample(decomposed, IMAGE), NewSample(composed, IMAGE)])


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".hidden", "../a", "a/b", "a\\b", "/a", " a", "a ", "a\nb", "a\0b", "\udce9", "x" * 201],
)
def test_names_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match=r"bad name|long name"):
        write_dataset(tmp_path / "dataset", CLASSES, [NewSample(name, IMAGE)])
    with pytest.raises(DatasetError, match=r"bad name|long name"):
        write_dataset(tmp_path / "dataset", CLASSES, [NewSample("a", IMAGE)], {name: ["a"]})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("annotation", "what"),
    [
        (PixelAnnotation(tags=(2,)), "has label 2"),
        (PixelAnnotation(tags=(-1,)), "has label -1"),
        (PixelAnnotation(boxes=(PixelBox(2, 0, 0, 1, 1),)), "has label 2"),
        (PixelAnnotation(boxes=(PixelBox(0, 1, 0, 1, 1),)), "inverted or empty box"),
        (PixelAnnotation(boxes=(PixelBox(0, 6, 0, 7, 1),)), "no pixel is in the box"),
        (PixelAnnotation(seeds=(PixelSeed(2, 0, 0),)), "has label 2"),
        (PixelAnnotation(seeds=(PixelSeed(0, 6, 0),)), "is outside"),
        (PixelAnnotation(mask=np.zeros((6, 4), dtype=np.uint8)), "has width 4"),
        (PixelAnnotation(mask=np.full((4, 6), 3, dtype=np.uint8)), "has the index 3"),
        (PixelAnnotation(instances=np.zeros((6, 4), dtype=np.uint8)), "has width 4"),
    ],
)
def test_nothing_is_written_that_cannot_be_read(
    tmp_path: Path, annotation: PixelAnnotation, what: str
) -> None:
    samples = [NewSample("a", IMAGE), NewSample("b", IMAGE, annotation)]
    with pytest.raises(DatasetError, match=what):
        write_dataset(tmp_path / "dataset", CLASSES, samples)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("members", "what"), [(["b"], "unknown image 'b'"), (["a", "a"], "twice")])
def test_splits_must_fit(tmp_path: Path, members: list[str], what: str) -> None:
    with pytest.raises(DatasetError, match=what):
        write_dataset(tmp_path / "dataset", CLASSES, [NewSample("a", IMAGE)], {"train": members})


def test_images_must_be_images(tmp_path: Path) -> None:
    write_image(tmp_path / "photo.png", IMAGE)
    (tmp_path / "photo.png").rename(tmp_path / "photo.exe")
    (tmp_path / "text.png").write_text("text")
    for name, what in (
        ("photo.exe", "not named as an image"),
        ("text.png", "not an image"),
        ("no.png", "no such"),
    ):
        with pytest.raises(DatasetError, match=what):
            write_dataset(tmp_path / "dataset", CLASSES, [NewSample("a", tmp_path / name)])
    assert not (tmp_path / "dataset").exists()


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    write_dataset(tmp_path, CLASSES, [NewSample("a", IMAGE)])
    with pytest.raises(DatasetError, match="there is a dataset already; choose another folder"):
        write_dataset(tmp_path, CLASSES, [NewSample("b", IMAGE)])
    assert sorted(os.listdir(tmp_path)) == ["classes.csv", "images", "notes.txt"]
    assert os.listdir(tmp_path / "images") == ["a.png"]


def test_interruption_leaves_nothing(tmp_path: Path) -> None:
    def samples() -> Iterator[NewSample]:
        yield NewSample("a", IMAGE, EVERYTHING)
        raise KeyboardInterrupt

    (tmp_path / "notes.txt").write_text("notes")
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            write_dataset(folder, CLASSES, samples())
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_tables_alone(folder: Path) -> None:
    classes = DatasetFolder(folder).classes
    write_entries(folder / "tags.csv", TABLES["tags"], classes, {"c": (1, 0), "a": ()})
    write_entries(folder / "boxes.csv", TABLES["boxes"], classes, {"c": (PixelBox(2, 0, 0, 1, 1),)})
    write_entries(folder / "seeds.csv", TABLES["seeds"], classes, {"c": [PixelSeed(0, 1, 2)]})
    write_split(folder / "splits" / "train.txt", ["c", "b"])
    write_classes(folder / "classes.csv", classes.with_other())
    dataset = DatasetFolder(folder)
    assert dataset["c"].annotation().tags == (1, 0)
    assert dataset["c"].annotation().boxes == (PixelBox(2, 0, 0, 1, 1),)
    assert dataset["c"].annotation().seeds == (PixelSeed(0, 1, 2),)
    assert dataset["a"].kinds == {"mask"}
    assert dataset.split("train").names == ("c", "b")
    assert dataset.classes.other == 3
    assert validate(folder) == []


FORMULAS = ["=1+1", "+cow", "-background", "@grass", "'=sky", "''-tree", "'tis", "-1", "=cmd|' /C calc'!A0"]


def test_no_name_is_a_formula_in_a_spreadsheet_and_all_are_read_again(tmp_path: Path) -> None:
    classes = Classes.from_names(FORMULAS)
    image = np.zeros((8, 9, 3), dtype=np.uint8)
    annotation = PixelAnnotation(
        tags=(0, 4, 6), boxes=(PixelBox(1, 0, 0, 5, 4),), seeds=(PixelSeed(2, 1, 2), PixelSeed(7, 3, 3))
    )
    samples = [NewSample(name, image, annotation) for name in ("=image", "'-image", "plain")]
    write_dataset(tmp_path / "d", classes, samples)
    found = DatasetFolder(tmp_path / "d")
    assert found.classes == classes
    assert set(found.names) == {sample.name for sample in samples}
    for sample in found:
        read = sample.annotation()
        assert (read.tags, read.boxes, read.seeds) == (annotation.tags, annotation.boxes, annotation.seeds)
    write_rows(TABLES["tags"], tmp_path / "d", "=image", [5, 8], found.names, classes)
    wanted = [NewClass(one, (one.name,)) for one in found.classes]
    change_classes(tmp_path / "d", [*wanted, NewClass(LabelClass("=new", (1, 2, 3), "thing"))], looked=True)
    found = DatasetFolder(tmp_path / "d")
    assert found.classes.names == (*FORMULAS, "=new")
    assert set(found["=image"].annotation().tags) == {5, 8}
    for table in (tmp_path / "d").glob("*.csv"):
        with table.open(newline="") as file:
            fields = [field for row in csv.reader(file) for field in row]
        assert all(field[:1] not in {*"=+-@\t\r"} or field == "-1" for field in fields)


def test_names_that_people_write_as_they_are_stay(tmp_path: Path) -> None:
    write_dataset(
        tmp_path / "d", Classes.from_names(["=a", "'b"]), [NewSample("one", np.zeros((4, 4, 3), np.uint8))]
    )
    (tmp_path / "d" / "classes.csv").write_text("name\n=a\n'b\n")
    (tmp_path / "d" / "tags.csv").write_text("image,label\none,=a\none,'b\n")
    found = DatasetFolder(tmp_path / "d")
    assert found.classes.names == ("=a", "'b")
    assert found["one"].annotation().tags == (0, 1)


def test_tables_of_results_have_no_formulas() -> None:
    text = as_csv([{"method": "=ours", "gain": -0.5, "parameters": {"loss": "+x"}}])
    assert text == "method,gain,loss\n'=ours,-0.5,'+x\n"
