"""Validation: every problem, at once."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from multiutility.datasets import DatasetError, DatasetFolder, Finding, tables, validate
from multiutility.datasets.contents import MAX_SUGGESTIONS

Change = Callable[[Path], object]


def append(file: str, text: str) -> Change:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes() + text.encode())


def replace(file: str, data: str | bytes) -> Change:
    return lambda folder: (folder / file).write_bytes(data if isinstance(data, bytes) else data.encode())


def remove(file: str) -> Change:
    return lambda folder: (folder / file).unlink()


def picture(file: str, height: int, width: int, value: int = 0) -> Change:
    pixels = np.full((height, width), value, dtype=np.uint8)
    return lambda folder: Image.fromarray(pixels).save(folder / file)


def truncate(file: str) -> Change:
    def change(folder: Path) -> None:
        data = (folder / file).read_bytes()
        (folder / file).write_bytes(data[: len(data) // 2])

    return change


LONG = "x" * 140_000

# What is done to a good folder; then file, row, what and fix of the only finding.
CASES: list[tuple[Change, str, int | None, str, str]] = [
    (append("tags.csv", "a,gras\n"), "tags.csv", 4, "unknown label 'gras'", "mean 'grass'"),
    (append("boxes.csv", "a,Cow,0,0,1,1\n"), "boxes.csv", 4, "label 'Cow'", "mean 'cow'"),
    (append("seeds.csv", "a,zzz,0,0\n"), "seeds.csv", 4, "label 'zzz'", "expected one of"),
    (append("tags.csv", "a,\n"), "tags.csv", 4, "unknown label ''", "expected one of 'grass'"),
    (append("tags.csv", "aa,sky\n"), "tags.csv", 4, "unknown image 'aa'", "'a'"),
    (append("tags.csv", ",sky\n"), "tags.csv", 4, "no image is named", "write the name"),
    (append("tags.csv", "../../etc/a,sky\n"), "tags.csv", 4, "is a path", "without folders"),
    (append("tags.csv", "C:\\a.png,sky\n"), "tags.csv", 4, "is a path", "without folders"),
    (append("seeds.csv", "/a.png,cow,0,0\n"), "seeds.csv", 4, "is a path", "folders"),
    (append("boxes.csv", "a,cow,2,1,8,3\n"), "boxes.csv", 4, "2 pixels beyond", "cut it"),
    (append("boxes.csv", "a,cow,6,1,8,3\n"), "boxes.csv", 4, "no pixel is in", "remove"),
    (append("boxes.csv", "a,cow,0,-9,3,0\n"), "boxes.csv", 4, "no pixel is in", "remove"),
    (append("boxes.csv", "a,cow,1.6,0,2.4,3\n"), "boxes.csv", 4, "no pixel is in", "remove"),
    (append("boxes.csv", "a,cow,4,1,2,3\n"), "boxes.csv", 4, "inverted or empty", "less than"),
    (append("boxes.csv", "a,cow,1,3,2,2\n"), "boxes.csv", 4, "inverted or empty", "less than"),
    (append("boxes.csv", "a,cow,1,2,1,3\n"), "boxes.csv", 4, "inverted or empty", "less than"),
    (append("seeds.csv", "a,cow,6,0\n"), "seeds.csv", 4, "outside", "counted from 0"),
    (append("seeds.csv", "a,cow,0,4\n"), "seeds.csv", 4, "outside", "counted from 0"),
    (append("seeds.csv", "a,cow,-1,0\n"), "seeds.csv", 4, "outside", "counted from 0"),
    (append("seeds.csv", "a,cow,1.5,0\n"), "seeds.csv", 4, "not a pixel", "whole numbers"),
    (picture("masks/a.png", 6, 4), "masks/a.png", None, "has width 4 and height 6", "same size"),
    (picture("masks/a.png", 4, 6, 4), "masks/a.png", None, "index 4", "1 for the first"),
    (replace("masks/a.png", "x"), "masks/a.png", None, "not an image", "save it anew"),
    (truncate("masks/a.png"), "masks/a.png", None, "", "save it anew"),
    (picture("masks/d.png", 4, 6), "masks/d.png", None, "no image of this name", "rename"),
    (picture("instances/a.png", 1, 1), "instances/a.png", None, "has width 1", "same size"),
    (picture("instances/d.png", 4, 6), "instances/d.png", None, "no image of this", "rename"),
    (replace("images/c.tif", "x"), "images/c.tif", None, "not an image", "save it anew"),
    (replace("images/c.tif", ""), "images/c.tif", None, "not an image", "save it anew"),
    (truncate("images/c.tif"), "images/c.tif", None, "", "save it anew"),
    (remove("images/c.tif"), "splits/validation.txt", 1, "unknown image 'c'", "expected one"),
    (picture("images/a.jpg", 4, 6), "images/a.png", None, "same name as a.jpg", "rename"),
    (replace("images/notes.txt", ""), "images/notes.txt", None, "is not used", ".png"),
    (lambda folder: (folder / "images/d").mkdir(), "images/d", None, "is not used", "directly in"),
    (lambda folder: (folder / "images/d.png").symlink_to("x"), "images/d.png", None, "no such", "put"),
    (lambda folder: (folder / "images/d.png").mkdir(), "images/d.png", None, "not a file", ""),
    (append("classes.csv", "sea,blue,stuff,0\n"), "classes.csv", 5, "bad color 'blue'", "#rrggbb"),
    (append("classes.csv", "sky,#000001,stuff,0\n"), "classes.csv", 5, "'sky' is there", "rename"),
    (append("classes.csv", "sea,#000001,stuf,0\n"), "classes.csv", 5, "bad kind 'stuf'", "thing, stuff"),
    (append("classes.csv", "sea,#000001,stuff,yes\n"), "classes.csv", 5, "value 'yes' of rare", "0 or 1"),
    (append("classes.csv", ",#000001,stuff,0\n"), "classes.csv", 5, "bad class name ''", "printable"),
    (append("classes.csv", f"{'x' * 201},#000001\n"), "classes.csv", 5, "2 fields", "quotes"),
    (
        append("classes.csv", f"{'x' * 201},#000001,stuff,0\n"),
        "classes.csv",
        5,
        "201 characters",
        "at most 200",
    ),
    (
        append("classes.csv", "a\tb,#000001,stuff,0\n"),
        "classes.csv",
        5,
        "bad class name 'a\\tb'",
        "printable",
    ),
    (
        append("classes.csv", f"{LONG},,,\n"),
        "classes.csv",
        5,
        "a field has more than 131,072 char",
        "shorten",
    ),
    (remove("classes.csv"), "classes.csv", None, "there is no such file", "make it"),
    (replace("classes.csv", "name,color\n"), "classes.csv", None, "no classes", "one row"),
    (replace("classes.csv", ""), "classes.csv", 1, "no column name", "make the first row name,color"),
    (replace("tags.csv", "image,lable\na,sky\n"), "tags.csv", 1, "no column label", "image,label"),
    (replace("boxes.csv", "image,left\n"), "boxes.csv", 1, "no column label, top, right", "bottom"),
    (replace("tags.csv", "image,label,label\n"), "tags.csv", 1, "two columns label", "first row"),
    (replace("tags.csv", "image;label\na;sky;1\n"), "tags.csv", 2, "3 fields", "contain semicolons"),
    (replace("tags.csv", "image\tlabel\na,sky\n"), "tags.csv", 2, "1 fields", "contain tabs"),
    (replace("tags.csv", "image|label\na|sky\n"), "tags.csv", 1, "no column image, label", "image,label"),
    (append("tags.csv", "a,sky,cow\n"), "tags.csv", 4, "3 fields: the header has 2", "double quotes"),
    (append("boxes.csv", "a,cow,1,2\n"), "boxes.csv", 4, "4 fields: the header has 6", "quotes"),
    (append("boxes.csv", "a,cow,1,two,3,4\n"), "boxes.csv", 4, "top is 'two': not a number", "digits"),
    (append("boxes.csv", "a,cow,,2,3,4\n"), "boxes.csv", 4, "left is '': not a number", "digits"),
    (append("seeds.csv", 'a,cow,"1,0",2\n'), "seeds.csv", 4, "x is '1,0'", "a point before"),
    (append("boxes.csv", "a,cow,nan,2,3,4\n"), "boxes.csv", 4, "left is 'nan'", "digits"),
    (append("seeds.csv", "a,cow,1,inf\n"), "seeds.csv", 4, "y is 'inf'", "digits"),
    (append("seeds.csv", "a,cow,1,1e999\n"), "seeds.csv", 4, "y is '1e999'", "digits"),
    (append("seeds.csv", "a,cow,1,0_1\n"), "seeds.csv", 4, "y is '0_1'", "digits"),
    (replace("tags.csv", b"image,label\na,sky\na,K\xfche\n"), "tags.csv", 3, "UTF-8", "CSV UTF-8"),
    (replace("tags.csv", "image,label\n".encode("utf-16")), "tags.csv", 1, "UTF-8", "CSV UTF-8"),
    (append("tags.csv", 'a,"sky\na,sky\n'), "tags.csv", 5, "bad CSV", "quotes"),
    (append("tags.csv", f"a,{LONG}\n"), "tags.csv", 4, "a field has more than 131,072 char", "quotes"),
    (picture(f"images/{'x' * 201}.png", 4, 6), f"images/{'x' * 201}.png", None, "long name", "rename it"),
    (picture("images/a .png", 4, 6), "images/a .png", None, "bad name 'a '", "rename it"),
    (append("splits/train.txt", "d\n"), "splits/train.txt", 3, "unknown image 'd'", "one of"),
    (append("splits/train.txt", "a\n"), "splits/train.txt", 3, "twice, also in row 2", "one"),
    (append("splits/train.txt", "../a\n"), "splits/train.txt", 3, "is a path", "folders"),
    (replace("splits/train.txt", b"\xff"), "splits/train.txt", 1, "UTF-8", "save"),
]


@pytest.mark.parametrize(("change", "file", "row", "what", "fix"), CASES)
def test_each_problem_is_found(
    folder: Path, change: Change, file: str, row: int | None, what: str, fix: str
) -> None:
    change(folder)
    (finding,) = validate(folder)
    assert (finding.file, finding.row) == (file, row)
    assert what in finding.what
    assert fix in finding.fix


def test_a_good_folder_has_no_problem(folder: Path) -> None:
    assert validate(folder) == []
    assert validate(str(folder)) == []


def test_all_problems_are_found_at_once(folder: Path) -> None:
    # All that add rows or files, so that they do not undo each other; rows follow in their order.
    for change in (
        append("classes.csv", "sea,blue,stuf,0\n"),
        append("tags.csv", "a,gras\nd,gras\n"),
        append("boxes.csv", "a,cow,4,1,2,3\na,cow,9,9,10,10\na,cow,x,y,3,4\n"),
        append("seeds.csv", "a,cow,6,0\na\n"),
        append("splits/train.txt", "d\na\n"),
        picture("masks/a.png", 2, 2, 9),
        replace("images/b.bmp", ""),
        picture("images/c.png", 4, 6),
    ):
        change(folder)
    found = [(one.file, one.row) for one in validate(folder)]
    assert found == [
        ("classes.csv", 5),
        ("classes.csv", 5),
        ("boxes.csv", 4),
        ("boxes.csv", 5),
        ("boxes.csv", 6),
        ("boxes.csv", 6),
        ("seeds.csv", 4),
        ("seeds.csv", 5),
        ("tags.csv", 4),
        ("tags.csv", 5),
        ("tags.csv", 5),
        ("images/b.bmp", None),
        ("images/c.tif", None),
        ("masks/a.png", None),
        ("masks/a.png", None),
        ("splits/train.txt", 3),
        ("splits/train.txt", 4),
    ]


def test_boxes_may_reach_a_pixel_beyond(folder: Path) -> None:
    append("boxes.csv", "a,cow,-1,-0.5,7,5\n")(folder)
    assert validate(folder) == []


def test_broken_classes_do_not_hide_other_problems(folder: Path) -> None:
    replace("classes.csv", "label\n")(folder)
    append("seeds.csv", "a,cow,6,0\n")(folder)
    assert [one.file for one in validate(folder)] == ["classes.csv", "seeds.csv"]


def test_too_many_classes(folder: Path) -> None:
    append("classes.csv", "".join(f"class{k},,,\n" for k in range(253)))(folder)
    (finding,) = validate(folder)
    assert finding.what == "256 classes: masks have room for 255"


def test_large_tables_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_BYTES", 2**20)
    append("tags.csv", "a,sky\n" * 200_000)(folder)
    (finding,) = validate(folder)
    assert (finding.file, finding.what) == ("tags.csv", "has more than 1 MB")


def test_pipes_are_refused(folder: Path) -> None:
    (folder / "tags.csv").unlink()
    os.mkfifo(folder / "tags.csv")
    (finding,) = validate(folder)
    assert finding.file == "tags.csv"


def test_many_unknown_names_are_found_fast(folder: Path) -> None:
    append("tags.csv", "".join(f"{k}-unknown,sky\n" for k in range(20_000)))(folder)
    *findings, last = validate(folder)
    assert len(findings) == tables.MAX_PROBLEMS < 20_000
    assert last.what == "comes after 10,000 problems"
    assert sum(one.fix != "correct the name" for one in findings) == MAX_SUGGESTIONS


def test_file_names_need_not_be_text(folder: Path) -> None:
    bad = os.fsencode(folder / "images") + b"/caf\xe9.png"
    try:
        os.rename(folder / "images" / "c.tif", bad)
    except OSError:
        pytest.skip("the file system takes names in UTF-8 only")
    (folder / "splits" / "validation.txt").unlink()
    (finding,) = validate(folder)
    assert "bad name" in finding.what
    assert "printable characters" in finding.fix
    assert finding.file.encode() == b"images/caf\\udce9.png"


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    assert validate(tmp_path / "nowhere") == [
        Finding(".", None, "there is no such folder", "correct the path")
    ]
    assert [one.file for one in validate(tmp_path)] == ["classes.csv", "images"]


def test_progress_and_workers(folder: Path) -> None:
    replace("images/b.bmp", "")(folder)
    append("seeds.csv", "a,cow,6,0\n")(folder)
    calls: list[tuple[int, int]] = []
    findings = validate(folder, n_jobs=3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert findings == validate(folder)


def test_interruption_does_not_wait_for_the_rest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(100):
        os.link(folder / "images" / "a.png", folder / "images" / f"{k}.png")
    begun: list[str] = []

    def check_slowly(_folder: Path, _contents: object, name: str) -> list[DatasetError]:
        begun.append(name)
        time.sleep(0.01)
        return []

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    # The module by its name: the package has a function of the same.
    monkeypatch.setattr(sys.modules["multiutility.datasets.validate"], "check_image", check_slowly)
    with pytest.raises(KeyboardInterrupt):
        validate(folder, progress=interrupt)
    assert len(begun) < 100


TABLE = st.lists(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["image", "label", "a", "a.png", "../a", "cow", "sky", "0", "1", "4", "-1", "nan"]
            ),
            st.text(max_size=3),
        ),
        max_size=7,
    ),
    max_size=5,
)
HEADER = ["image", "label", "left", "top", "right", "bottom", "x", "y", "name", "color"]


def table_bytes(rows: list[list[str]]) -> bytes:
    return "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")


BYTES = st.one_of(
    st.binary(max_size=60), TABLE.map(table_bytes), TABLE.map(lambda rows: table_bytes([HEADER, *rows]))
)


@settings(max_examples=150)
@given(
    file=st.sampled_from(["classes.csv", "tags.csv", "boxes.csv", "seeds.csv", "splits/train.txt"]),
    data=BYTES,
)
def test_whatever_is_in_a_table_is_used_or_reported(file: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_small_folder(folder)
        (folder / file).write_bytes(data)
        findings = validate(folder)
        assert all(one.file and one.what and one.fix for one in findings)
        try:
            for sample in DatasetFolder(folder).split("train"):
                sample.annotation()
        except DatasetError:
            assert findings


def write_small_folder(folder: Path) -> None:
    (folder / "images").mkdir()
    (folder / "splits").mkdir()
    (folder / "classes.csv").write_text("name\nsky\ncow\n")
    (folder / "splits" / "train.txt").write_text("a\n")
    Image.fromarray(np.zeros((4, 6), dtype=np.uint8)).save(folder / "images" / "a.png")
