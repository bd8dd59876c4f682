"""Open Images, against tables as they are published."""

from __future__ import annotations

from pathlib import Path

import pytest

from format_cases import put_image, read_all
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.openimages import read_openimages
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import write_dataset
from multiutility.kinds.tags import OpenTag

TABLE = "oidv7-train-annotations-human-imagelabels.csv"
HEADER = "ImageID,Source,LabelName,Confidence"
ROWS = [
    "000026e7ee790996,verification,/m/04hgtk,0",
    "000026e7ee790996,verification,/m/07j7r,1",
    "000026e7ee790996,crowdsource-verification,/m/07j7r,1",
    "000026e7ee790996,machine,/m/0cgh4,0.7",
    "000062a39995e348,verification,/m/015p6,1",
    "000062a39995e348,verification,/m/07j7r,0",
    "ffffffffffffffff,verification,/m/01f5gx,1",
]
NAMES = ["/m/04hgtk,Human head", "/m/07j7r,Tree", '/m/015p6,"Bird, any"', "/m/0zzz,Never seen"]


def put_table(folder: Path, rows: list[str], name: str = TABLE) -> Path:
    """A table beside three images, of which it tells of two."""
    for image in ("000026e7ee790996", "000062a39995e348", "0001eeaf4aed83f9"):
        put_image(folder / "images" / f"{image}.jpg", 4, 6)
    (folder / name).write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return folder / name


def put_names(folder: Path, lines: list[str], name: str = "oidv7-class-descriptions.csv") -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_verified_labels_are_open_tags_of_the_images_that_are_there(tmp_path: Path) -> None:
    put_table(tmp_path, ROWS)
    imported = read_openimages(tmp_path)
    assert imported.classes.names == ("/m/015p6", "/m/04hgtk", "/m/07j7r")
    assert {name: one.tags for name, one in read_all(imported).items()} == {
        "000026e7ee790996": (OpenTag(1, present=False), OpenTag(2)),
        "000062a39995e348": (OpenTag(0), OpenTag(2, present=False)),
        "0001eeaf4aed83f9": (),
    }
    assert imported.splits == {"train": ["000026e7ee790996", "000062a39995e348"]}


@pytest.mark.parametrize("header", [[], ["LabelName,DisplayName"]])
def test_descriptions_name_the_classes_and_choose_them(tmp_path: Path, header: list[str]) -> None:
    table = put_table(tmp_path, ROWS)
    put_names(tmp_path, [*header, *NAMES])
    assert read_openimages(table).classes.names == ("Bird, any", "Human head", "Tree")
    put_names(tmp_path, [*header, *NAMES[:2]])
    found = read_openimages(table)
    assert found.classes.names == ("Human head", "Tree")
    assert read_all(found)["000062a39995e348"].tags == (OpenTag(1, present=False),)


def test_a_dataset_folder_is_made_and_is_sound(tmp_path: Path) -> None:
    put_table(tmp_path / "in", ROWS[:4])
    put_table(tmp_path / "in", ROWS[4:], "validation-annotations-human-imagelabels.csv")
    put_names(tmp_path / "in", NAMES)
    found = FORMATS["openimages"].read(tmp_path / "in")
    write_dataset(tmp_path / "out", found.classes, found.samples, found.splits)
    assert validate(tmp_path / "out") == []
    back = DatasetFolder(tmp_path / "out")
    assert back["000062a39995e348"].annotation().tags == (OpenTag(0), OpenTag(2, present=False))
    assert back.split("validation").names == ("000062a39995e348",)
    assert back.split("train").names == ("000026e7ee790996",)


def test_too_many_labels_are_refused_with_what_to_do(tmp_path: Path) -> None:
    put_table(tmp_path, [f"000026e7ee790996,verification,/m/{k},1" for k in range(300)])
    with pytest.raises(DatasetError, match=r"300 labels.*255 classes; in class-descriptions\.csv beside"):
        read_openimages(tmp_path)
    put_names(tmp_path, NAMES + [f"/m/{k},class {k}" for k in range(255)])
    assert len(read_openimages(tmp_path).classes) == 255


def test_images_may_be_elsewhere(tmp_path: Path) -> None:
    put_table(tmp_path / "in", ROWS)
    (tmp_path / "in" / "images").rename(tmp_path / "photos")
    assert len(read_openimages(tmp_path / "in", images=tmp_path / "photos").samples) == 3
    with pytest.raises(DatasetError, match="no row is about any of the 0 images"):
        read_openimages(tmp_path / "in")


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ("000062a39995e348,verification,/m/07j7r,0.6", "Confidence is '0.6': neither 1 nor 0"),
        ("000062a39995e348,verification,/m/07j7r,", "Confidence is '': neither 1 nor 0"),
        ("000062a39995e348,verification,,1", "LabelName: bad class name ''"),
        ("000062a39995e348,verification,1", "has 3 fields: the header has 4"),
        ("000026e7ee790996,verification,/m/07j7r,0", "'/m/07j7r' is 0, and 1 in row 3"),
    ],
)
def test_errors_name_file_row_and_fix(tmp_path: Path, row: str, wanted: str) -> None:
    table = put_table(tmp_path, [*ROWS[:2], row])
    with pytest.raises(DatasetError, match=wanted) as caught:
        read_all(read_openimages(table))
    assert (caught.value.path, caught.value.row) == (table, 4)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("/m/07j7r", "has 1 fields"), ('/m/07j7r,"Tree', "bad CSV"), ("/m/07j7r,", "bad class name")],
)
def test_bad_descriptions_are_refused(tmp_path: Path, line: str, wanted: str) -> None:
    put_table(tmp_path, ROWS)
    put_names(tmp_path, [NAMES[0], line])
    with pytest.raises(DatasetError, match=wanted) as caught:
        read_openimages(tmp_path)
    assert (caught.value.path.name, caught.value.row) == ("oidv7-class-descriptions.csv", 2)


def test_tables_without_the_columns_are_refused(tmp_path: Path) -> None:
    table = put_table(tmp_path, ROWS)
    table.write_text("ImageID,LabelName\nx,y\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="no column source, confidence"):
        read_openimages(table)
