"""Links in folders of strangers: those that lead out are refused by every reader, for every file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from format_cases import CLASSES, SPLITS, mixed_samples, put_image
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.imported import Imported
from multiutility.datasets.formats.siftflow import NAMES
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import write_dataset
from originals import names_cell, put_msrc, put_siftflow, put_stanford

NATIVE = "native"


def put_native(folder: Path) -> None:
    write_dataset(folder, CLASSES, mixed_samples(), SPLITS)


def put_msrc_with_list(folder: Path) -> None:
    put_msrc(folder, np.zeros((3, 4, 3), np.uint8))
    (folder / "Train.txt").write_text("1_1_s.bmp\n")


def put_siftflow_with_list(folder: Path) -> None:
    put_siftflow(folder, "a", np.ones((4, 5)), names=names_cell(NAMES))
    (folder / "TestSet1.txt").write_text("a.jpg\n")


def put_stanford_with_horizons(folder: Path) -> None:
    put_stanford(folder, "0 5 7\n-1 7 7\n", "3 4 9\n0 9 2\n")
    name = next((folder / "images").iterdir()).stem
    (folder / "horizons.txt").write_text(f"{name} 3 2 1\n")


def put_openimages(folder: Path) -> None:
    for name in ("0a", "0b"):
        put_image(folder / "images" / f"{name}.jpg", 2, 3)
    rows = "ImageID,Source,LabelName,Confidence\n0a,verification,/m/07j7r,1\n"
    (folder / "train-annotations-human-imagelabels.csv").write_text(rows)
    (folder / "class-descriptions.csv").write_text("/m/07j7r,Tree\n")


PUT: dict[str, Callable[[Path], None]] = {
    NATIVE: put_native,
    "msrc": put_msrc_with_list,
    "siftflow": put_siftflow_with_list,
    "stanford": put_stanford_with_horizons,
    "openimages": put_openimages,
}
# The others are read as voc and masks are.
READERS = [NATIVE, *(name for name in FORMATS if name not in {"voc-corners", "masks-255", "scribbles"})]


def put(name: str, folder: Path) -> None:
    """Make a folder of a format."""
    if name in PUT:
        PUT[name](folder)
        return
    one = FORMATS[name]
    kept = ("masked", "objects") if one.masks_only else tuple(sample.name for sample in mixed_samples())
    splits = {split: [image for image in images if image in kept] for split, images in SPLITS.items()}
    assert one.write is not None
    one.write(folder, CLASSES, [sample for sample in mixed_samples() if sample.name in kept], splits)


def read(name: str, folder: Path) -> list[str]:
    """Read all samples of a folder; return what they are called."""
    imported = Imported.from_folder(DatasetFolder(folder)) if name == NATIVE else FORMATS[name].read(folder)
    return [sample.name for sample in imported.samples]


def linked(path: Path, place: Path) -> None:
    """Move a file or folder, and put a link where it was."""
    place.parent.mkdir(exist_ok=True)
    path.rename(place)
    path.symlink_to(os.path.relpath(place, path.parent))


def restored(path: Path) -> None:
    """Put what a link leads to where the link is."""
    place = path.resolve()
    path.unlink()
    place.rename(path)


@pytest.mark.parametrize("name", READERS)
def test_no_link_leads_out(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "data"
    put(name, folder)
    wanted = read(name, folder)
    parts = sorted(folder.rglob("*"))
    assert len(parts) > 4
    for path in parts:
        linked(path, tmp_path / "elsewhere" / path.name)
        with pytest.raises(DatasetError, match="leads out of the folder") as caught:
            read(name, folder)
        assert caught.value.path.is_relative_to(folder)
        restored(path)
    assert read(name, folder) == wanted


@pytest.mark.parametrize("name", READERS)
def test_links_in_the_folder_are_followed(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "data"
    put(name, folder)
    wanted = read(name, folder)
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        linked(path, folder / ".kept" / path.name)
        assert read(name, folder) == wanted
        restored(path)


def test_linked_folders_in_the_folder_are_followed(tmp_path: Path) -> None:
    for name, part in ((NATIVE, "masks"), (NATIVE, "images"), ("voc", "JPEGImages"), ("coco", "images")):
        folder = tmp_path / name / part
        put(name, folder)
        linked(folder / part, folder / ".kept" / part)
        assert len(read(name, folder)) == 5


@pytest.mark.parametrize("name", READERS)
def test_the_folder_itself_may_be_a_link(tmp_path: Path, name: str) -> None:
    put(name, tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert read(name, tmp_path / "link") == read(name, tmp_path / "data")


def test_all_links_of_a_dataset_are_found_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    put(NATIVE, folder)
    for part in ("images/none.png", "images/weak.png", "masks/masked.png", "splits/train.txt"):
        linked(folder / part, tmp_path / "elsewhere" / Path(part).name)
    out = [finding.file for finding in validate(folder) if "leads out" in finding.what]
    assert out == ["images/none.png", "images/weak.png", "masks/masked.png", "splits/train.txt"]
    for part in ("masks", "boxes.csv"):
        linked(folder / part, tmp_path / "elsewhere" / part)
    found = [finding.file for finding in validate(folder)]
    assert found == ["boxes.csv", "masks"]


@pytest.mark.parametrize("name", ["labelme", "labelstudio", "siftflow"])
def test_linked_folders_of_deep_ones_are_refused(tmp_path: Path, name: str) -> None:
    """They would not be followed; that their images are missing would go unnoticed."""
    folder = tmp_path / "data"
    put(name, folder)
    put_image(tmp_path / "elsewhere" / "x.png", 2, 3)
    (folder / "Images").mkdir(exist_ok=True)
    (folder / "Images" / "more").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match="more: leads out of the folder"):
        read(name, folder)


def test_folders_of_images_that_are_named_may_be_anywhere(tmp_path: Path) -> None:
    for name, image in (("coco", "photos"), ("labelstudio", "photos"), ("masks", "photos")):
        folder, images = tmp_path / name / "data", tmp_path / name / image
        put(name, folder)
        (folder / "images").rename(images)
        found = FORMATS[name].read(folder, images=images)
        assert [sample.name for sample in found.samples]
        first = sorted(images.iterdir())[0]
        linked(first, tmp_path / name / "elsewhere" / first.name)
        with pytest.raises(DatasetError, match="leads out of the folder"):
            FORMATS[name].read(folder, images=images)


@pytest.mark.parametrize(
    "name",
    [
        "../x.jpg",
        "a/../../x.jpg",
        "..\\x.jpg",
        "a\\..\\..\\x.jpg",
        "/etc/passwd",
        "\\\\server\\share\\x.jpg",
        "C:\\x.jpg",
        "c:x.jpg",
        "",
        "x\0.jpg",
    ],
)
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="folder"):
        Enclosed(tmp_path).find(name, [tmp_path])


@given(parts=st.lists(st.sampled_from(["..", "a", "b", ".", "c.jpg", "\\"]), min_size=1, max_size=6))
def test_whatever_is_found_is_inside(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    top = tmp_path_factory.getbasetemp() / "names"
    for folder in (".", "a", "b", "root", "root/a", "root/b", "root/a/b"):
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / "c.jpg").touch()
    name = "/".join(parts)
    path = os.path.join(top, "root", "a", name.replace("\\", "/"))
    plain = Path(os.path.normpath(path))
    try:
        found = Enclosed(top / "root").find(name, [top / "root" / "a"])
    except ValueError:
        assert not plain.is_relative_to(top / "root") or name.startswith("\\")
        return
    assert plain.is_relative_to(top / "root")
    assert found == (plain.resolve() if os.path.isfile(path) else None)


def test_names_may_lead_up_and_down_in_the_folder(tmp_path: Path) -> None:
    path = put_image(tmp_path / "images" / "x.jpg", 2, 3)
    (tmp_path / "labels").mkdir()
    found = Enclosed(tmp_path).find("..\\images\\x.jpg", [tmp_path / "images", tmp_path / "labels"])
    assert found == path.resolve()


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.jpg").touch()
    (tmp_path / "root" / "x.jpg").symlink_to(tmp_path / "secret.jpg")
    with pytest.raises(ValueError, match="leads out"):
        Enclosed(tmp_path / "root").find("x.jpg", [tmp_path / "root"])


def test_real_paths_of_folders_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Following all links of a path takes as long as reading the head of an image."""
    calls: list[str] = []
    real = os.path.realpath
    (tmp_path / "images").mkdir()
    enclosed = Enclosed(tmp_path)

    def counted(path: str) -> str:
        calls.append(path)
        return real(path)

    monkeypatch.setattr(os.path, "realpath", counted)
    for k in range(1000):
        enclosed.find(f"images/{k}.jpg", [tmp_path])
        enclosed.find(f"{k}.jpg", [tmp_path / "images", tmp_path])
    assert len(calls) == 2
