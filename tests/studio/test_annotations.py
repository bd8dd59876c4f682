"""Annotations in files: what is written is read, nothing else changes, and nobody's work is lost."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import ImageNames, Labels, read_entries
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask, write_mask
from multiutility.datasets.validate import validate
from multiutility.kinds import TABLES, PixelBox, PixelSeed
from multiutility.studio.annotations import Annotations, StaleWriteError, UnknownImageError
from multiutility.studio.lock import only_studio
from multiutility.studio.table_rows import write_rows
from studio_cases import COW, NAMES, SIZE, horizon, marks, scribbled

EXCEL = "\ufeffImage,Label,left,top,right,bottom,observer\r\n"


def version(annotations: Annotations, name: str) -> str:
    return str(annotations.marks(name)["version"])


def test_what_is_written_is_what_the_package_reads(folder: Path) -> None:
    annotations = Annotations(folder)
    wanted = marks(["sky", "grass"], [COW, {**COW, "right": 63.5}], [{"label": "cow", "x": 3, "y": 47}])
    written = annotations.write_marks("drei ü", wanted, version(annotations, "drei ü"))
    assert {key: written[key] for key in wanted} == wanted
    sample = DatasetFolder(folder)["drei ü"]
    assert sample.marks.tags == (1, 0)
    assert sample.annotation().boxes == (PixelBox(2, 4, 5, 20, 30), PixelBox(2, 4, 5, 63.5, 30))
    assert sample.annotation().seeds == (PixelSeed(2, 3, 47),)
    assert validate(folder) == []
    assert annotations.marks("one") == Annotations(folder).marks("one")
    assert annotations.marks("one")["boxes"] == [COW]


def test_stale_writes_change_nothing(folder: Path) -> None:
    annotations = Annotations(folder)
    old = version(annotations, "one")
    annotations.write_marks("one", marks(["sky"]), old)
    before = (folder / "tags.csv").read_bytes()
    with pytest.raises(StaleWriteError):
        annotations.write_marks("one", marks(["cow"]), old)
    assert (folder / "tags.csv").read_bytes() == before
    with pytest.raises(StaleWriteError):
        annotations.write_pixels("two", "mask", horizon(), "none")
    assert np.array_equal(read_mask(folder / "masks" / "two.png"), horizon())


def test_no_write_is_lost_among_threads(folder: Path) -> None:
    annotations = Annotations(folder)

    def add(x: int) -> None:
        while True:
            now = annotations.marks("one")
            wanted = marks(now["tags"], now["boxes"], [*now["seeds"], {"label": "cow", "x": x, "y": 0}])
            try:
                annotations.write_marks("one", wanted, now["version"])
                return
            except StaleWriteError:
                continue

    threads = [threading.Thread(target=add, args=(x,)) for x in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seed.x for seed in DatasetFolder(folder)["one"].marks.seeds) == list(range(8))


def test_what_others_write_is_seen_and_kept(folder: Path) -> None:
    annotations = Annotations(folder)
    old = version(annotations, "one")
    with (folder / "tags.csv").open("a", encoding="utf-8") as file:
        file.write("one,sky\ntwo,grass\n")
    assert annotations.marks("one")["tags"] == ["grass", "sky"]
    with pytest.raises(StaleWriteError):
        annotations.write_marks("one", marks(), old)
    annotations.write_marks("drei ü", marks(["cow"]), version(annotations, "drei ü"))
    assert DatasetFolder(folder)["two"].marks.tags == (0,)


def test_a_table_that_somebody_broke_is_left_alone(folder: Path) -> None:
    annotations = Annotations(folder)
    old = version(annotations, "one")
    broken = (folder / "tags.csv").read_text() + "one,gras\n"
    (folder / "tags.csv").write_text(broken)
    with pytest.raises(DatasetError, match="row 3: unknown label 'gras'"):
        annotations.write_marks("one", marks(["sky"]), old)
    assert (folder / "tags.csv").read_text() == broken
    (folder / "tags.csv").write_text(broken.replace("gras\n", "grass\n"))
    assert annotations.marks("one")["tags"] == ["grass"]


def test_foreign_columns_marks_and_line_ends_stay(folder: Path) -> None:
    rows = ["two,sky,0,0,9,9,Ann", "one.png,cow,4,5,20,30,Ben", "one,grass,1,2,3,4,Cem"]
    (folder / "boxes.csv").write_text(EXCEL + "".join(f"{row}\r\n" for row in rows), "utf-8", newline="")
    annotations = Annotations(folder)
    moved = [{**COW, "left": 6.0}, {"label": "grass", "left": 1, "top": 2, "right": 3, "bottom": 4}]
    annotations.write_marks("one", marks(["grass"], [*moved, COW | {"top": 0}]), version(annotations, "one"))
    lines = (folder / "boxes.csv").read_bytes().decode("utf-8").split("\r\n")
    expected = [rows[0], "one.png,cow,6,5,20,30,Ben", rows[2], "one,cow,4,0,20,30,", ""]
    assert lines == [EXCEL.strip("\r\n"), *expected]
    annotations.write_marks("one", marks(["grass"], [moved[1]]), version(annotations, "one"))
    assert (folder / "boxes.csv").read_bytes().decode("utf-8").split("\r\n")[1:] == [rows[0], rows[2], ""]


def test_loose_boxes_stay_loose_when_they_are_moved(folder: Path) -> None:
    header, rows = (
        "tight,image,label,left,top,right,bottom\n",
        ["0,one,cow,4,5,20,30\n", "1,two,sky,0,0,9,9\n"],
    )
    (folder / "boxes.csv").write_text(header + "".join(rows))
    annotations = Annotations(folder)
    (box,) = annotations.marks("one")["boxes"]
    assert box == {**COW, "tight": 0.0}
    assert "tight" not in annotations.marks("two")["boxes"][0]
    new = marks(["grass"], [{**box, "left": 6.0}, COW])
    annotations.write_marks("one", new, version(annotations, "one"))
    moved = ["0,one,cow,6,5,20,30\n", ",one,cow,4,5,20,30\n"]
    assert (folder / "boxes.csv").read_text() == "".join([header, *moved, rows[1]])


def test_the_column_of_loose_boxes_comes_with_the_first_of_them(folder: Path) -> None:
    header, row = "image,label,left,top,right,bottom", "two,sky,0,0,9,9"
    (folder / "boxes.csv").write_text(f"{header}\n{row}\n")
    annotations = Annotations(folder)
    annotations.write_marks("one", marks([], [COW]), version(annotations, "one"))
    assert (folder / "boxes.csv").read_text() == f"{header}\n{row}\none,cow,4,5,20,30\n"
    loose = marks([], [{**COW, "tight": 0}])
    annotations.write_marks("one", loose, version(annotations, "one"))
    expected = f"{header},tight\n{row},\none,cow,4,5,20,30,0\n"
    assert (folder / "boxes.csv").read_text() == expected
    (folder / "boxes.csv").unlink()
    annotations.write_marks("one", loose, version(annotations, "one"))
    assert (folder / "boxes.csv").read_text() == f"{header},tight\none,cow,4,5,20,30,0\n"
    with pytest.raises(ValueError, match="tight is 2: neither 1 nor 0"):
        annotations.write_marks("one", marks([], [{**COW, "tight": 2}]), version(annotations, "one"))


@pytest.mark.parametrize(
    "wrong",
    [
        marks(["gras"]),
        marks([0]),
        marks(boxes=[{**COW, "right": 4}]),
        marks(boxes=[{**COW, "left": 99, "right": 100}]),
        marks(boxes=[{**COW, "left": float("nan")}]),
        marks(boxes=[{**COW, "left": True}]),
        marks(boxes=[{"label": "cow"}]),
        marks(seeds=[{"label": "cow", "x": 64, "y": 0}]),
        marks(seeds=[{"label": "cow", "x": 0.5, "y": 0}]),
        marks(["sky"] * 10_001),
        {"tags": []},
        {**marks(), "tags": "sky"},
        [],
        None,
    ],
)
def test_nonsense_is_refused(folder: Path, wrong: object) -> None:
    annotations = Annotations(folder)
    before = {path: path.read_bytes() for path in folder.glob("*.csv")}
    with pytest.raises(ValueError, match=r".+"):
        annotations.write_marks("one", wrong, version(annotations, "one"))
    assert {path: path.read_bytes() for path in folder.glob("*.csv")} == before


def test_masks(folder: Path) -> None:
    annotations = Annotations(folder)
    assert annotations.pixels("drei ü", "mask") == (None, "none")
    mask = np.zeros(SIZE, np.uint8)
    mask[3:5, 7:9] = 3
    new = annotations.write_pixels("drei ü", "mask", mask, "none")
    found, now = annotations.pixels("drei ü", "mask")
    assert found is not None
    assert now == new
    assert np.array_equal(found, mask)
    assert annotations.pixel_state("drei ü", "mask").labels == {2}
    assert np.array_equal(read_mask(folder / "masks" / "drei ü.png"), mask)
    assert annotations.write_pixels("drei ü", "mask", np.zeros(SIZE, np.uint8), new) == "none"
    assert not (folder / "masks" / "drei ü.png").exists()
    for wrong in (np.full(SIZE, 4, np.uint8), np.ones((48, 65), np.uint8)):
        with pytest.raises(ValueError, match=r"classes|width"):
            annotations.write_pixels("drei ü", "mask", wrong, "none")


def test_scribbles_stand_beside_all_else(folder: Path) -> None:
    annotations = Annotations(folder)
    before, strokes = annotations.marks("one"), scribbled()
    new = annotations.write_pixels("one", "scribbles", strokes, "none")
    state = annotations.pixel_state("one", "scribbles")
    assert (state.version, state.count) == (new, 3)
    assert state.labels == {0, 2}
    sample = DatasetFolder(folder)["one"]
    assert np.array_equal(read_mask(folder / "scribbles" / "one.png"), strokes)
    assert sample.kinds == {"tags", "boxes", "scribbles"}
    assert annotations.marks("one") == before
    assert annotations.pixel_state("one", "mask").version == "none"
    assert validate(folder) == []
    with pytest.raises(StaleWriteError):
        annotations.write_pixels("one", "scribbles", np.zeros(SIZE, np.uint8), "none")
    assert np.array_equal(read_mask(folder / "scribbles" / "one.png"), strokes)
    assert annotations.write_pixels("one", "scribbles", np.zeros(SIZE, np.uint8), new) == "none"
    assert not (folder / "scribbles" / "one.png").exists()


def test_scribbles_that_somebody_else_made_are_not_overwritten(folder: Path) -> None:
    annotations = Annotations(folder)
    assert annotations.pixels("one", "scribbles") == (None, "none")
    (folder / "scribbles").mkdir()
    write_mask(folder / "scribbles" / "one.png", scribbled(), annotations.dataset().classes.palette)
    with pytest.raises(StaleWriteError):
        annotations.write_pixels("one", "scribbles", np.ones(SIZE, np.uint8), "none")
    found, _ = annotations.pixels("one", "scribbles")
    assert found is not None
    assert np.array_equal(found, scribbled())


@pytest.mark.parametrize("wrong", [np.full(SIZE, 4, np.uint8), np.ones((48, 65), np.uint8)])
def test_scribbles_that_do_not_fit_are_refused(folder: Path, wrong: NDArray[np.uint8]) -> None:
    with pytest.raises(ValueError, match=r"classes|width"):
        Annotations(folder).write_pixels("one", "scribbles", wrong, "none")
    assert not (folder / "scribbles").exists()


def test_files_change_as_a_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    annotations = Annotations(folder)
    old, before = version(annotations, "one"), (folder / "tags.csv").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            annotations.write_marks("one", marks(["sky"], [COW]), old)
        with pytest.raises(OSError, match="No space"):
            annotations.write_pixels("one", "mask", horizon(), "none")
        with pytest.raises(OSError, match="No space"):
            annotations.write_pixels("one", "scribbles", scribbled(), "none")
    assert (folder / "tags.csv").read_bytes() == before
    assert sorted(path.name for path in (folder / "masks").iterdir()) == ["two.png"]
    assert list((folder / "scribbles").iterdir()) == []
    assert annotations.write_marks("one", marks(["sky"], [COW]), old)["tags"] == ["sky"]


@pytest.mark.parametrize("name", ["../one", "one.png", "", "masks/two", "One"])
def test_unknown_images(folder: Path, name: str) -> None:
    with pytest.raises(UnknownImageError):
        Annotations(folder).marks(name)


def test_one_studio_for_each_folder(folder: Path) -> None:
    with only_studio(folder / "studio"), pytest.raises(ValueError, match="another studio is open"):  # noqa: SIM117
        with only_studio(folder / "studio"):
            pass
    with only_studio(folder / "studio"):
        pass


SMALL = Classes.from_names(["a", "b, c", 'd"e'])
LABELS = st.integers(0, 2)
SEEDS = st.lists(st.builds(PixelSeed, LABELS, st.integers(0, 3), st.integers(0, 3)), max_size=5)
SIDES = st.sampled_from([0.0, 0.1, 1.0, 2.5])
BOXES = st.lists(st.builds(lambda k, x, y: PixelBox(k, x, y, x + 1, y + 2), LABELS, SIDES, SIDES), max_size=4)


@settings(max_examples=60)
@given(changes=st.lists(st.tuples(st.sampled_from(NAMES), st.sets(LABELS), BOXES, SEEDS), max_size=6))
def test_tables_hold_what_was_written_last(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, set[int], list[PixelBox], list[PixelSeed]]],
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    expected: dict[str, tuple[set[int], list[PixelBox], list[PixelSeed]]] = {}
    for name, tags, boxes, seeds in changes:
        place = (folder, name)
        write_rows(TABLES["tags"], *place, sorted(tags), NAMES, SMALL)
        write_rows(TABLES["boxes"], *place, boxes, NAMES, SMALL)
        write_rows(TABLES["seeds"], *place, seeds, NAMES, SMALL)
        expected[name] = tags, boxes, seeds
    problems: list[DatasetError] = []
    names, labels = ImageNames(NAMES), Labels(SMALL)
    tags_read, boxes_read, seeds_read = (
        read_entries(folder / TABLES[kind].file, TABLES[kind], names, labels, problems)
        for kind in ("tags", "boxes", "seeds")
    )
    assert problems == []
    for name, (tags, boxes, seeds) in expected.items():
        assert {tag for _, tag in tags_read.get(name, [])} == tags
        assert sorted(map(repr, (box for _, box in boxes_read.get(name, [])))) == sorted(map(repr, boxes))
        assert sorted(map(repr, (seed for _, seed in seeds_read.get(name, [])))) == sorted(map(repr, seeds))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_of_other_spreadsheets_stay_as_they_are(folder: Path, separator: str) -> None:
    path = folder / "tags.csv"
    path.write_text(f"image{separator}label{separator}observer\none{separator}grass{separator}Ann, Bo\n")
    annotations = Annotations(folder)
    annotations.write_marks("one", marks(["grass", "sky"], [COW]), version(annotations, "one"))
    header, first, second = path.read_text().splitlines()
    assert header.split(separator) == ["image", "label", "observer"]
    assert first.split(separator) == ["one", "grass", "Ann, Bo"]
    assert second.split(separator) == ["one", "sky", ""]
    assert DatasetFolder(folder)["one"].marks.tags == (0, 1)


def test_a_new_class_comes_last(folder: Path) -> None:
    (folder / "classes.csv").write_text("note;name\r\ngreen;grass\r\n;sky\r\n;cow\r\n", newline="")
    annotations = Annotations(folder)
    before = annotations.dataset().classes
    annotations.add_class({"name": " Big, dog ", "kind": "thing"})
    after = DatasetFolder(folder).classes
    assert after[:3] == before[:]
    assert (after[3].name, after[3].kind) == ("Big, dog", "thing")
    assert after[3].color not in {one.color for one in before}
    assert b"green;grass" in (folder / "classes.csv").read_bytes()
    assert validate(folder) == []
    annotations.write_marks("one", marks(["Big, dog"]), version(annotations, "one"))
    assert DatasetFolder(folder)["one"].marks.tags == (3,)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "Cow", "kind": "thing"}, "'cow' already"),
        ({"name": "", "kind": "thing"}, "name"),
        ({"name": "dog\n", "kind": "cat"}, "kind"),
        ({"name": "a\nb", "kind": "stuff"}, "printable"),
        ({"name": "x" * 201, "kind": "stuff"}, "at most 200"),
        ({"name": "x" * 140_000, "kind": "stuff"}, "at most 200"),
        ({"name": "dog"}, "kind"),
        (["dog"], "expected"),
    ],
)
def test_bad_classes_are_refused(folder: Path, data: object, message: str) -> None:
    before = (folder / "classes.csv").read_bytes()
    with pytest.raises(ValueError, match=message):
        Annotations(folder).add_class(data)
    assert (folder / "classes.csv").read_bytes() == before
