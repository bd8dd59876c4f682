"""Images that are gone: what was annotated in them is set aside, put back, or follows a new name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets.accepted import accepted_images
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.datasets.missing import images_aside, put_back, rename_image, set_aside
from multiutility.datasets.validate import validate
from multiutility.kinds import PixelAnnotation, PixelArea, PixelBox, PixelSeed
from multiutility.kinds.tags import OpenTag
from multiutility.transactions import undo

SIZE = (6, 8)
MASK = np.ones(SIZE, np.uint8)
ANNOTATIONS = {
    "a": PixelAnnotation(
        tags=(0, 1),
        boxes=(PixelBox(1, 0, 0, 4, 4),),
        seeds=(PixelSeed(0, 1, 1),),
        areas=(PixelArea(0, 0.5, 0.1),),
        scribbles=MASK,
    ),
    "b": PixelAnnotation(tags=(OpenTag(1), OpenTag(0, present=False)), boxes=(PixelBox(0, 1, 1, 3, 3),)),
    "c": PixelAnnotation(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    image = np.zeros((*SIZE, 3), np.uint8)
    samples = [NewSample(name, image, one) for name, one in ANNOTATIONS.items()]
    write_dataset(tmp_path / "data", Classes.from_names(["sky", "cow"]), samples, {"train": ["b", "a"]})
    return tmp_path / "data"


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def gone(folder: Path, *names: str) -> None:
    for name in names:
        (folder / "images" / f"{name}.png").rename(folder.parent / f"{name}.png")


def back(folder: Path, *names: str) -> None:
    for name in names:
        (folder.parent / f"{name}.png").rename(folder / "images" / f"{name}.png")


def said(folder: Path, name: str) -> PixelAnnotation:
    return DatasetFolder(folder)[name].marks


def test_rows_go_aside_and_come_back(folder: Path) -> None:
    before = {name: said(folder, name) for name in ANNOTATIONS}
    gone(folder, "a", "b")
    assert len(validate(folder)) > 1
    missing = DatasetFolder(folder, lenient=True).missing
    assert missing["a"] == {
        "tags.csv": 2,
        "boxes.csv": 1,
        "seeds.csv": 1,
        "areas.csv": 1,
        "splits/train.txt": 1,
    }
    set_aside(folder, ["a"])
    set_aside(folder, ["b"])  # beside the others
    assert images_aside(folder) == missing
    assert DatasetFolder(folder).names == ("c",)
    assert list(DatasetFolder(folder).split("train")) == []
    back(folder, "a", "b")
    put_back(folder, ["b", "a"])
    for name, one in before.items():
        now = said(folder, name)
        assert (now.tags, now.boxes, now.seeds, now.areas) == (one.tags, one.boxes, one.seeds, one.areas)
    assert set(DatasetFolder(folder).split("train").names) == {"a", "b"}
    assert validate(folder) == []
    assert images_aside(folder) == {}
    assert not [name for name in content(folder) if name.startswith("aside")]


def test_it_can_be_undone(folder: Path, tmp_path: Path) -> None:
    gone(folder, "a")
    before = content(folder)
    set_aside(folder, ["a"], tmp_path / "kept")
    assert content(folder) != before
    undo(folder, tmp_path / "kept")
    assert content(folder) == before


def test_what_is_not_ours_stays(folder: Path) -> None:
    (folder / "seeds.csv").write_bytes(b"x;y;who;image;label\r\n1;1;Ann;a.png;sky\r\n2;2;Bob;b;cow\r\n")
    gone(folder, "a", "b")
    set_aside(folder, ["a"])
    assert (folder / "seeds.csv").read_bytes() == b"x;y;who;image;label\r\n2;2;Bob;b;cow\r\n"
    (folder / "aside" / "seeds.csv").write_text("image,label,x,y\na,sky,1,1\n")
    set_aside(folder, ["b"])
    assert (folder / "aside" / "seeds.csv").read_text() == "image,label,x,y,who\na,sky,1,1,\nb,cow,2,2,Bob\n"


def test_a_photo_that_has_another_name_now(folder: Path) -> None:
    before = said(folder, "a")
    (folder / "images" / "a.png").rename(folder / "images" / "z.png")
    with pytest.raises(ValueError, match="nothing annotated"):
        rename_image(folder, "a", "b")
    rename_image(folder, "a", "z")
    now = DatasetFolder(folder)["z"]
    assert (now.marks.tags, now.marks.areas) == (before.tags, before.areas)
    assert now.kinds == {"tags", "boxes", "seeds", "areas", "scribbles"}
    assert DatasetFolder(folder).split("train").names == ("b", "z")
    assert validate(folder) == []


def test_nothing_is_lost_by_haste(folder: Path) -> None:
    before = content(folder)
    with pytest.raises(ValueError, match="'a' is there"):
        set_aside(folder, ["a"])
    assert content(folder) == before
    gone(folder, "a")
    set_aside(folder, ["a"])
    back(folder, "a")
    (folder / "areas.csv").write_text("image,label,share\na,sky,0.2\n")
    with pytest.raises(ValueError, match="annotated anew"):
        put_back(folder, ["a"])


def test_an_accepted_mask_stays_one_by_another_name(folder: Path) -> None:
    table = folder / "studio" / "accepted.csv"
    table.parent.mkdir()
    table.write_text("image,who\na,Ann\nb,Bob\nz,nobody any more\n")
    (folder / "images" / "a.png").rename(folder / "images" / "z.png")
    rename_image(folder, "a", "z", folder / "studio" / "undo")
    assert table.read_text() == "image,who\nz,Ann\nb,Bob\n"
    assert accepted_images(folder) == {"z", "b"}
    undo(folder, folder / "studio" / "undo")
    assert table.read_text() == "image,who\na,Ann\nb,Bob\nz,nobody any more\n"
    # What was said of the new name is of a mask that is no more.
    table.write_text("image\nz\n")
    rename_image(folder, "a", "z")
    assert accepted_images(folder) == set()
