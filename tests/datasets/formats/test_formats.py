"""All formats at once: through dataset folders, and back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from format_cases import CLASSES, SPLITS, assert_same, assert_same_annotation, mixed_samples
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.imported import Imported, Samples
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import NewSample, write_dataset

DATA = os.environ.get("MULTIUTILITY_DATA")
WRITERS = [name for name, one in FORMATS.items() if one.write is not None]
MASKS_ONLY = {"masks", "color-masks", "coco-panoptic"}


def samples_for(name: str) -> list[NewSample]:
    """What a format can keep."""
    masked = ("masked", "none", "objects")
    return [one for one in mixed_samples() if name not in MASKS_ONLY or one.name in masked]


def write(name: str, out: Path, imported: Imported, samples: Iterable[NewSample]) -> None:
    """Write samples in a format."""
    writer = FORMATS[name].write
    assert writer is not None
    writer(out, imported.classes, samples, imported.splits)


@pytest.mark.parametrize("name", WRITERS)
def test_from_folder_to_format_to_folder(tmp_path: Path, name: str) -> None:
    wanted = samples_for(name)
    names = [one.name for one in wanted]
    splits = {split: [one for one in found if one in names] for split, found in SPLITS.items()}
    splits["rest"] = [one for one in names if one not in (*splits["train"], *splits["validation"])]
    write_dataset(tmp_path / "first", CLASSES, wanted, splits)
    first = Imported.from_folder(DatasetFolder(tmp_path / "first"))
    write(name, tmp_path / "there", first, first.samples)
    back = FORMATS[name].read(tmp_path / "there")
    write_dataset(tmp_path / "second", back.classes, back.samples, back.splits)
    assert validate(tmp_path / "second") == []
    second = Imported.from_folder(DatasetFolder(tmp_path / "second"))
    assert second.classes.names == CLASSES.names
    assert_same(second, wanted, objects=name in {"coco", "coco-panoptic", "voc"})
    for split, members in splits.items():
        assert list(second.splits[split]) == members


@pytest.mark.parametrize("name", FORMATS)
def test_reading_nothing_is_an_error_with_a_fix(tmp_path: Path, name: str) -> None:
    for source in (tmp_path, tmp_path / "none"):
        with pytest.raises(DatasetError) as caught:
            FORMATS[name].read(source)
        assert caught.value.fix
        assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_writing_over_something_is_refused(tmp_path: Path, name: str) -> None:
    imported = Imported(CLASSES, Samples([], lambda _: mixed_samples()[0]))
    (tmp_path / "mine.txt").touch()
    with pytest.raises(DatasetError, match="there is something already"):
        write(name, tmp_path, imported, [])
    with pytest.raises(DatasetError, match="is not a folder"):
        write(name, tmp_path / "mine.txt", imported, [])


@pytest.mark.parametrize("name", WRITERS)
def test_bad_names_write_nothing_outside(tmp_path: Path, name: str) -> None:
    imported = Imported(CLASSES, Samples([], lambda _: mixed_samples()[0]))
    bad = NewSample("../x", mixed_samples()[0].image)
    with pytest.raises(DatasetError, match="bad name"):
        write(name, tmp_path / "out", imported, [bad])
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", WRITERS)
def test_writing_twice_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    imported = Imported(CLASSES, Samples([], lambda _: mixed_samples()[0]))
    for out in ("a", "b"):
        write(name, tmp_path / out, imported, samples_for(name))
    first, second = (
        {
            path.relative_to(tmp_path / out): path.read_bytes()
            for path in (tmp_path / out).rglob("*")
            if path.is_file()
        }
        for out in ("a", "b")
    )
    assert first == second
    assert len(first) > 4


def test_names_and_help_are_there_without_loading_anything_heavy() -> None:
    program = (
        "import sys, multiutility.datasets.formats as f; assert all(one.help for one in f.FORMATS.values());"
        "print([name for name in ('scipy', 'pycocotools', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(DATA is None, reason="MULTIUTILITY_DATA does not name the folder of real data")
@pytest.mark.parametrize("name", WRITERS)
def test_real_masks_come_back(tmp_path: Path, name: str) -> None:
    dataset = DatasetFolder(Path(str(DATA)) / "msrc")
    part = dataset.select(dataset.names[::100])
    wanted = {one.name: one.annotation() for one in part}
    first = Imported.from_folder(part)
    write(name, tmp_path / "there", Imported(first.classes, first.samples), first.samples)
    back = FORMATS[name].read(tmp_path / "there")
    assert back.classes.names == dataset.classes.names
    for sample in back.samples:
        assert_same_annotation(sample.annotation, wanted.pop(sample.name), objects=False)
        assert isinstance(sample.image, Path)
    assert not wanted
    assert len(back.samples) > 2
