"""Classes are changed in all files at once, whatever kinds of annotation there are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multiutility.datasets.class_changes import NewClass, change_classes
from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.datasets.images import read_mask, read_note, write_mask
from multiutility.datasets.validate import validate
from multiutility.kinds import INDEX_IMAGES, KINDS, TABLES, PixelAnnotation, PixelArea, PixelBox, PixelSeed
from multiutility.kinds.tags import OpenTag
from multiutility.transactions import undo

OLD = Classes(
    [
        LabelClass("grass", (120, 190, 80)),
        LabelClass("Sky", (1, 2, 3)),
        LabelClass("sky", (134, 182, 230), rare=True),
        LabelClass("cow", (140, 80, 30), "thing"),
    ]
)
SIZE = (6, 8)


def mask(*values: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    pixels = np.zeros(SIZE, np.uint8)
    for n, value in enumerate(values):
        pixels[n] = value
    return pixels


ANNOTATIONS = {
    "a": PixelAnnotation(mask=mask(1, 2, 3, 4)),
    "b": PixelAnnotation(
        tags=(1, 2, 3),
        boxes=(PixelBox(3, 0, 0, 4, 4), PixelBox(2, 1, 1, 5, 5)),
        seeds=(PixelSeed(1, 0, 0),),
        areas=(PixelArea(1, 0.25), PixelArea(2, 0.5), PixelArea(3, 0.1)),
    ),
    "c": PixelAnnotation(tags=(OpenTag(1, present=False), OpenTag(2)), scribbles=mask(0, 4, 2)),
    "d": PixelAnnotation(tags=(0, 2)),
    "e": PixelAnnotation(scribbles=mask(4)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    image = np.zeros((*SIZE, 3), np.uint8)
    samples = [NewSample(name, image, one) for name, one in ANNOTATIONS.items()]
    write_dataset(tmp_path / "data", OLD, samples, {"train": ["a", "b"]})
    assert {kind.name for one in ANNOTATIONS.values() for kind in KINDS if kind.there(one.value(kind))} == {
        kind.name for kind in KINDS
    }
    return tmp_path / "data"


def as_they_are(*names: str) -> list[NewClass]:
    return [NewClass(OLD[OLD.label(name)], (name,)) for name in names]


def named(folder: Path, name: str) -> dict[str, Any]:
    """What is annotated, with names in the place of labels."""
    dataset = DatasetFolder(folder)
    found: dict[str, Any] = {}
    annotation = dataset[name].annotation()
    for kind, table in TABLES.items():
        entries = annotation.value(next(one for one in KINDS if one.name == kind))
        found[kind] = [(dataset.classes[table.label(e)].name, table.values(e)) for e in entries]
    for kind in INDEX_IMAGES:
        pixels = getattr(annotation, kind)
        names = ("", *dataset.classes.names)
        found[kind] = None if pixels is None else [[names[v] for v in row] for row in pixels.tolist()]
    return found


def test_another_order_says_the_same(folder: Path) -> None:
    before = {name: named(folder, name) for name in ANNOTATIONS}
    changed = change_classes(folder, as_they_are("cow", "sky", "grass", "Sky"))
    assert DatasetFolder(folder).classes.names == ("cow", "sky", "grass", "Sky")
    assert {name: named(folder, name) for name in ANNOTATIONS} == before
    assert set(changed) == {"classes.csv", "masks/a.png", "scribbles/c.png", "scribbles/e.png"}
    assert validate(folder) == []


def test_a_new_name_and_color_are_in_tables_and_leave_masks(folder: Path) -> None:
    wanted = as_they_are(*OLD.names)
    wanted[3] = NewClass(replace(OLD[3], name="cattle", color=(9, 9, 9)), ("cow",))
    changed = change_classes(folder, wanted)
    assert set(changed) == {"classes.csv", "tags.csv", "boxes.csv", "areas.csv"}
    dataset = DatasetFolder(folder)
    assert (dataset.classes.names[3], dataset.classes[3].color) == ("cattle", (9, 9, 9))
    for name, old in ANNOTATIONS.items():
        new = dataset[name].annotation()
        for kind in TABLES:
            assert getattr(new, kind) == getattr(old, kind)


def test_classes_that_are_one(folder: Path) -> None:
    wanted = [*as_they_are("grass"), NewClass(OLD[2], ("Sky", "sky")), *as_they_are("cow")]
    change_classes(folder, wanted)
    dataset = DatasetFolder(folder)
    assert dataset.classes.names == ("grass", "sky", "cow")
    assert dataset.classes[1].rare
    assert dataset["a"].mask() is not None
    assert np.array_equal(dataset["a"].mask(), mask(1, 2, 2, 3))  # type: ignore[arg-type]
    b = dataset["b"].annotation()
    assert b.tags == (1, 2)
    assert [(box.label, box.left) for box in b.boxes] == [(2, 0), (1, 1)]
    assert b.seeds == (PixelSeed(1, 0, 0),)
    assert b.areas == (PixelArea(1, 0.75), PixelArea(2, 0.1))
    c = dataset["c"].annotation()
    assert c.tags == (OpenTag(1),)
    assert np.array_equal(c.scribbles, mask(0, 3, 2))  # type: ignore[arg-type]
    assert validate(folder) == []


def test_what_was_tagged_with_a_deleted_class_may_have_others(folder: Path) -> None:
    change_classes(folder, as_they_are("grass", "Sky", "sky"))
    dataset = DatasetFolder(folder)
    assert np.array_equal(dataset["a"].mask(), mask(1, 2, 3, 0))  # type: ignore[arg-type]
    # Something is in b that has no name any more: its tags are not all that is there.
    assert dataset["b"].annotation().tags == (OpenTag(1), OpenTag(2))
    assert dataset["b"].annotation().areas == (PixelArea(1, 0.25), PixelArea(2, 0.5))
    assert dataset["d"].annotation().tags == (0, 2)
    assert "scribbles" not in dataset["e"].kinds
    assert not (folder / "scribbles" / "e.png").exists()
    assert validate(folder) == []


@pytest.mark.parametrize("looked", [False, True])
def test_a_class_that_is_added_later_is_not_said_to_be_absent(folder: Path, looked: bool) -> None:
    wanted = [*as_they_are(*OLD.names), NewClass(LabelClass("road", (7, 7, 7)))]
    change_classes(folder, wanted, looked=looked)
    dataset, road = DatasetFolder(folder), 4
    for name in ("b", "d"):
        before = ANNOTATIONS[name].partition(4)
        after = dataset[name].annotation().partition(5)
        assert (road in after.unknown, road in after.absent) == (not looked, looked)
        # Of all others the same is said as before.
        assert set(after.absent) - {road} == set(before.absent)
        assert (after.boxed, after.seeded, after.tagged) == (before.boxed, before.seeded, before.tagged)
    assert validate(folder) == []


def test_what_is_not_ours_stays(folder: Path) -> None:
    head = "\ufeffobserver;Image;LABEL;left;top;right;bottom\r\n"
    rows = "Ann;b.png;cow;0;0;4.0;4\r\n\r\nBob;b;Sky;1;1;5;5\r\n"
    (folder / "boxes.csv").write_bytes((head + rows).encode())
    (folder / "classes.csv").write_text("id,name,color\n7,grass,#010203\n8,Sky,\n\n9,sky,\n5,cow,\n")
    write_mask(folder / "masks" / "a.png", mask(1, 2, 3, 4), OLD.palette, note="accepted")
    old = DatasetFolder(folder).classes
    wanted = [
        NewClass(replace(old[3], name="ox"), ("cow",)),
        NewClass(old[1], ("Sky", "sky")),
        NewClass(old[0], ("grass",)),
    ]
    change_classes(folder, wanted)
    assert (folder / "boxes.csv").read_bytes().decode() == head + rows.replace("cow", "ox")
    assert [line.split(",")[:2] for line in (folder / "classes.csv").read_text().splitlines()] == [
        ["id", "name"],
        ["5", "ox"],
        ["8", "Sky"],
        ["7", "grass"],
    ]
    assert read_note(folder / "masks" / "a.png") == "accepted"


def test_rows_and_masks_of_photos_that_are_gone_change_too(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / "images" / f"{name}.png").rename(folder.parent / f"{name}.png")
    change_classes(
        folder, [NewClass(replace(OLD[3], name="ox"), ("cow",)), *as_they_are("sky", "Sky", "grass")]
    )
    for name in ("a", "b"):
        (folder.parent / f"{name}.png").rename(folder / "images" / f"{name}.png")
    dataset = DatasetFolder(folder)
    assert np.array_equal(dataset["a"].mask(), mask(4, 3, 2, 1))  # type: ignore[arg-type]
    assert set(dataset["b"].marks.tags) == {0, 1, 2}


def test_nothing_changes_if_one_mask_cannot_be_read(folder: Path) -> None:
    (folder / "scribbles" / "e.png").write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(DatasetError, match=r"e\.png"):
        change_classes(folder, as_they_are("cow", "grass"))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([NewClass(OLD[0], ("gras",))], "no class 'gras'"),
        ([NewClass(OLD[0], ("cow",)), NewClass(OLD[1], ("cow",))], "would become two"),
        ([NewClass(OLD[0], ("cow",)), NewClass(OLD[0], ("sky",))], "is there twice"),
        ([], "0 classes"),
    ],
)
def test_bad_changes_are_refused(folder: Path, wanted: list[NewClass], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        change_classes(folder, wanted)


KILLED = """
import os, sys
from pathlib import Path
from multiutility.datasets.class_changes import NewClass, change_classes
from multiutility.datasets.folder import DatasetFolder
folder, count, replace = Path(sys.argv[1]), int(sys.argv[2]), os.replace
def dying(*args):
    global count
    count -= 1
    if count < 0:
        os._exit(9)
    replace(*args)
old = DatasetFolder(folder).classes
os.replace = dying
change_classes(folder, [NewClass(old[k], (old[k].name,)) for k in (3, 2, 1, 0)])
"""


def test_killed_in_between_tables_and_masks_agree(folder: Path) -> None:
    before = {name: named(folder, name) for name in ANNOTATIONS}
    orders = set()
    for count in range(20):
        done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(count)], check=False)
        assert {name: named(folder, name) for name in ANNOTATIONS} == before
        orders.add(DatasetFolder(folder).classes.names)
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert orders == {OLD.names, OLD.names[::-1]}


@st.composite
def changes(draw: st.DrawFn) -> list[NewClass]:
    """Any order, any of them together, any of them gone."""
    names = draw(st.permutations(OLD.names))
    kept = list(names[: draw(st.integers(1, len(names)))])
    groups: list[list[str]] = []
    for name in kept:
        joins: bool = draw(st.booleans())
        if groups and joins:
            groups[-1].append(name)
        else:
            groups.append([name])
    return [NewClass(OLD[OLD.label(group[0])], tuple(group)) for group in groups]


@given(wanted=changes())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_change_gives_a_dataset_and_can_be_undone(
    folder: Path, tmp_path: Path, wanted: Sequence[NewClass]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = change_classes(folder, wanted, keep=tmp_path / "kept")
    assert validate(folder) == []
    dataset, becomes = DatasetFolder(folder), {name: k for k, one in enumerate(wanted) for name in one.of}
    for name, old in ANNOTATIONS.items():
        here = [becomes[OLD[k].name] for k in old.labels if OLD[k].name in becomes]
        assert dataset[name].annotation().labels == set(here)
        if old.mask is not None:
            new = dataset[name].mask()
            expected = np.array(
                [[becomes.get(OLD[v - 1].name, -1) + 1 if v else 0 for v in row] for row in old.mask]
            )
            assert np.array_equal(np.zeros(SIZE) if new is None else new, expected)
    if changed:
        undo(folder, tmp_path / "kept")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert np.array_equal(read_mask(folder / "masks" / "a.png"), mask(1, 2, 3, 4))
