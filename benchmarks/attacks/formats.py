"""Damaged files of every format, and of dataset folders: samples, or an error of ours that names a file."""

from __future__ import annotations

import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import numpy as np

from attacks.runner import Attempt, Outcome, Part
from format_cases import CLASSES, SPLITS, mixed_samples
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.imported import Imported
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import write_dataset
from multiutility.memory import n_bytes
from mutations import damaged, junk, places, replaced
from originals import put_originals

DATASET = "dataset"
MEMORY = n_bytes("2GB")
"""Addresses that a reader may take beyond what there is; buffers alone are as long as files may be."""

SECONDS = 10.0
WORDS = ["", "-1", "1e999", "nan", "99999999999", "cow", "../../x", "x" * 140_000]
EXPORTS = [name for name, one in FORMATS.items() if one.write is not None]


def begin(folder: Path) -> Attempt:
    """Make a folder of each format."""
    originals = put_originals(folder / "originals")
    write_dataset(folder / "originals" / DATASET, CLASSES, mixed_samples(), SPLITS)
    originals[DATASET] = folder / "originals" / DATASET
    place = folder / "attempt"

    def attempt(rng: np.random.Generator) -> Outcome:
        shutil.rmtree(place, ignore_errors=True)
        random = Random(int(rng.integers(2**62)))
        name = random.choice([*sorted(originals), DATASET, DATASET])
        shutil.copytree(originals[name], place / "source")
        return attack(name, place, random)

    return attempt


def attack(name: str, place: Path, random: Random) -> Outcome:
    """Damage a file of a folder, and read it."""
    outcome, source, out = Outcome(), place / "source", place / "out"
    files = sorted(path for path in source.rglob("*") if path.is_file())
    tables = [path for path in files if path.suffix in (".json", ".xml", ".txt", ".csv", ".mat")]
    path = random.choice(random.choice([files, tables or files]))
    how = random.choice(ways(path))
    how(path, random)
    outside = os.path.realpath(path) if path.is_symlink() else None
    said = f"{name}: {path.relative_to(source)}, {how.__name__}"
    kind, begun = random.choice(EXPORTS), time.process_time()
    try:
        with bounded_memory():
            read_dataset(source, out, kind) if name == DATASET else import_folder(name, source, out)
        outcome.counts["read"] += 1
    except DatasetError as error:
        outcome.counts["refused"] += 1
        named = {source, out} & {error.path, *error.path.parents}
        told = bool(named and error.what and error.fix)
        outcome.check(told, f"{said}: names no file of the folder: {error}")
    except Exception as error:
        outcome.failures.append(f"{said}: {type(error).__name__}: {str(error)[:200]}")
    taken = time.process_time() - begun
    outcome.check(taken < SECONDS, f"{said}: took {taken:.0f} s")
    strange = {one.name for one in place.iterdir()} - {"source", "out", "outside"}
    outcome.check(not strange, f"{said}: left {strange} behind")
    if outside is not None and "images" in path.parent.name.lower() and out.exists():
        leaked = Path(outside).read_bytes() in contents(out)
        outcome.check(not leaked, f"{said}: what it leads to is in the output")
    return outcome


def contents(folder: Path) -> list[bytes]:
    """Return what is in the files of a folder."""
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let the process take only so much more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def import_folder(name: str, source: Path, out: Path) -> None:
    """Import a folder; the dataset that is made of it can be opened."""
    imported = FORMATS[name].read(source)
    write_dataset(out, imported.classes, imported.samples, imported.splits)
    try:
        read_all(out)
    except DatasetError as error:
        raise AssertionError(f"the dataset that was made of it cannot be read: {error}") from error


def read_all(folder: Path) -> DatasetFolder:
    """Read all of a dataset folder but the pixels of images, which imports take as they are."""
    dataset = DatasetFolder(folder)
    for name in dataset.splits:
        dataset.split(name)
    for sample in dataset:
        sample.annotation()
    return dataset


def read_dataset(folder: Path, out: Path, kind: str) -> None:
    """Read a dataset folder, and export it."""
    assert all(finding.what and finding.fix for finding in validate(folder))
    dataset, chosen = Imported.from_folder(read_all(folder)), FORMATS[kind]
    assert chosen.write is not None
    options = {"lossy": True} if chosen.masks_only else {}
    chosen.write(out, dataset.classes, dataset.samples, dataset.splits, **options)


def ways(path: Path) -> list[Callable[[Path, Random], None]]:
    """Return the ways to damage a file."""
    own = {".json": [json_part] * 4, ".xml": [xml_part] * 3}
    return [*([some_bytes] * 4), empty, vanish, link, folder_instead, *own.get(path.suffix, [])]


def some_bytes(path: Path, random: Random) -> None:
    """Change bytes."""
    rewrite(path, damaged(path.read_bytes(), random))


def rewrite(path: Path, content: bytes) -> None:
    """Write a file anew, as others may be linked to it."""
    path.unlink()
    path.write_bytes(content)


def json_part(path: Path, random: Random) -> None:
    """Put anything in place of a part."""
    value = json.loads(path.read_text())
    rewrite(path, json.dumps(replaced(value, random.choice([*places(value)]), junk(random))).encode())


def xml_part(path: Path, random: Random) -> None:
    """Change an element."""
    root = ElementTree.parse(path).getroot()
    element = random.choice([*root.iter()])
    if random.random() < 0.7:
        element.text = random.choice(WORDS)
    else:
        element.tag = random.choice(["object", "name", "bndbox", "size", "xmin", "b"])
    rewrite(path, ElementTree.tostring(root))


def empty(path: Path, _random: Random) -> None:
    """Leave nothing in it."""
    rewrite(path, b"")


def vanish(path: Path, _random: Random) -> None:
    """Remove it."""
    path.unlink()


def link(path: Path, random: Random) -> None:
    """Move it out of the folder, with a link to where it is then."""
    source = next(one for one in path.parents if one.name == "source")
    target = source.parent / "outside" / path.name
    target.parent.mkdir()
    path.rename(target)
    path.symlink_to(target if random.random() < 0.5 else os.path.relpath(target, path.parent))


def folder_instead(path: Path, _random: Random) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


PART = Part("formats", begin, share=0.15, short=50, patience=40)
