"""No command writes over a file that it did not make, nor over one that it reads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from multiutility.cli import app
from multiutility.datasets import DatasetFolder
from multiutility.demo import run as demo
from multiutility.vision import features
from multiutility.vision.features import presets
from toy import toy_preset, write_toy

pytestmark = pytest.mark.usefixtures("cheap_features")

FAST = ("--set", "C=1", "--set", "tol=0.5", "--set", "max_iter=1", "--jobs", 1)


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def told(result: Result) -> str:
    return " ".join(result.stderr.split())


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shown(folder: Path) -> dict[str, bytes]:
    """All files of a folder but for hidden ones."""
    return {name: data for name, data in contents(folder).items() if "/." not in f"/{name}"}


@dataclass(frozen=True)
class Data:
    """What commands read."""

    dataset: Path
    model: Path
    coco: Path
    pages: Path


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(presets.PRESETS, "deep", toy_preset)
        patch.setitem(features.KINDS, "MeanColor", "toy")
        patch.setenv("MULTIUTILITY_CACHE", str(place / "cache"))
        write_toy(place / "dataset", n_train=6, n_validation=2)
        (place / "dataset" / "tags.csv").write_text("image,label\npicture00,cow\n")
        done = run("train", place / "dataset", "--C", 1, "--out", place / "model.safetensors")
        assert done.exit_code == 0, done.output
        assert run("convert", place / "dataset", place / "coco", "--to", "coco").exit_code == 0
        done = run(*experiment_arguments(place / "dataset", place / "pages"))
        assert done.exit_code == 0, done.output
    return place


@pytest.fixture
def data(originals: Path, tmp_path: Path) -> Data:
    shutil.copytree(originals, tmp_path / "data")
    names = ("dataset", "model.safetensors", "coco", "pages")
    return Data(*(tmp_path / "data" / name for name in names))


@pytest.fixture(autouse=True)
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"n_train": 8, "n_validation": 2, "mix": demo.Mix(2, 2, 2)}
    work = demo.run_demo

    def smaller(*args: Any, **kwargs: Any) -> Any:
        return work(*args, **{**settings, **kwargs})

    monkeypatch.setattr(demo, "run_demo", smaller)


def experiment_arguments(dataset: Path, out: Path) -> tuple[Any, ...]:
    where = ("--data", dataset, "--train", "train", "--test", "validation", "--out", out)
    return ("experiment", "table2", *where, "--quick", *FAST)


@dataclass(frozen=True)
class Command:
    """How a command is told to write to a place, and files that it writes there; none: the place itself."""

    arguments: Callable[[Data, Path], tuple[Any, ...]]
    files: tuple[str, ...]
    suffix: str = ""


COMMANDS = {
    "predict": Command(
        lambda d, out: ("predict", d.model, d.dataset, "--overlay", "--scores", "--coco", "--out", out),
        ("classes.csv", "picture03.png", "overlay/picture03.png", "scores/picture05.png", "coco.json"),
    ),
    "import": Command(
        lambda d, out: ("convert", "coco", d.coco, out),
        ("classes.csv", "images/picture03.png", "masks/picture03.png", "splits/train.txt"),
    ),
    "export": Command(
        lambda d, out: ("convert", d.dataset, out, "--to", "coco"),
        ("images/picture03.png", "annotations/instances_train.json"),
    ),
    "weaken": Command(
        lambda d, out: ("weaken", d.dataset, out, "--keep-masks", 2),
        ("classes.csv", "images/picture03.png", "tags.csv"),
    ),
    "evaluate": Command(
        lambda d, out: ("evaluate", d.model, d.dataset, "--split", "validation", "--out", out),
        ("confusion.png", "gallery.png"),
    ),
    "demo": Command(
        lambda _, out: ("demo", "--out", out, "--jobs", 1),
        ("report.html", "scenes/classes.csv", "mixed/tags.csv", "mixed/images/train-0001.jpg"),
    ),
    "experiment": Command(
        lambda d, out: experiment_arguments(d.dataset, out),
        ("table2.json", "table2.csv", "table2.md", "table2.png"),
    ),
    "results": Command(
        lambda d, out: ("experiment", "results", "--out", d.pages, "--page", out / "all.md"),
        ("all.md", "all/table2.png"),
    ),
    "tune": Command(
        lambda d, out: ("tune", d.dataset, "--folds", 2, "--grid", "C=1", "--out", out, *FAST),
        ("", ".md"),
        ".json",
    ),
    "train": Command(lambda d, out: ("train", d.dataset, "--C", 1, "--out", out), ("",), ".safetensors"),
    "summary": Command(lambda d, out: ("summary", d.dataset, "--picture", out), ("",), ".png"),
}


def place_of(command: Command, folder: Path) -> Path:
    return folder / f"out{command.suffix}"


def files_of(command: Command, out: Path) -> list[Path]:
    if command.suffix:
        return [out.with_suffix(end) if end else out for end in command.files]
    return [out / name for name in command.files]


@pytest.fixture(autouse=True)
def quick_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "N_SUPERPIXELS", 30)
    monkeypatch.setattr(demo, "SIZE", (45, 60))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_somebody_else_is_never_written_over(name: str, data: Data, tmp_path: Path) -> None:
    command = COMMANDS[name]
    out = place_of(command, tmp_path)
    for foreign in files_of(command, out):
        foreign.parent.mkdir(parents=True, exist_ok=True)
        foreign.write_bytes(b"a user's work")
        before = contents(tmp_path)
        done = run(*command.arguments(data, out))
        assert done.exit_code == 2, done.output
        assert str(foreign) in told(done)
        assert "--overwrite" in told(done)
        # Nothing else was made, either: it is decided before the work.
        assert contents(tmp_path) == before
        foreign.unlink()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_over_its_own_files_but_not_if_they_have_been_changed(
    name: str, data: Data, tmp_path: Path
) -> None:
    command = COMMANDS[name]
    out = place_of(command, tmp_path)
    first = run(*command.arguments(data, out))
    assert first.exit_code == 0, first.output
    before = shown(tmp_path)
    again = run(*command.arguments(data, out))
    assert again.exit_code == 0, again.output
    assert shown(tmp_path).keys() == before.keys()
    if name != "demo":  # whose report tells how long it took
        assert shown(tmp_path) == before
    for changed in reversed(files_of(command, out)):
        content = changed.read_bytes()
        changed.unlink()  # it may be a link to what was read
        changed.write_bytes(content + b"\n")
        edited = contents(tmp_path)
        done = run(*command.arguments(data, out))
        assert done.exit_code == 2, done.output
        assert f"{changed}: has been changed since" in told(done)
        assert contents(tmp_path) == edited
        # The last of them is replaced if that is asked for.
        if changed == files_of(command, out)[0]:
            forced = run(*command.arguments(data, out), "--overwrite")
            assert forced.exit_code == 0, forced.output
            assert shown(tmp_path).keys() == before.keys()
        if name != "tune" or changed.suffix != ".json":  # a record of trials is gone on with
            changed.write_bytes(content)


# Outputs that are inputs: arguments, given what is read.
INPUTS: dict[str, Callable[[Data], tuple[Any, ...]]] = {
    "predict, photos": lambda d: ("predict", d.model, d.dataset / "images", "--out", d.dataset / "images"),
    "predict, its dataset": lambda d: ("predict", d.model, d.dataset, "--out", d.dataset),
    "predict, images": lambda d: ("predict", d.model, d.dataset, "--out", d.dataset / "images"),
    "predict, masks": lambda d: ("predict", d.model, d.dataset, "--out", d.dataset / "masks"),
    "predict, one photo": lambda d: (
        *("predict", d.model, d.dataset / "images" / "picture01.png"),
        *("--out", d.dataset / "images"),
    ),
    "predict, overlays": lambda d: (
        *("predict", d.model, d.pages / "overlay", "--overlay"),
        *("--out", d.pages),
    ),
    "import": lambda d: ("convert", "coco", d.coco, d.coco),
    "import, images": lambda d: (
        *("convert", "masks", d.dataset / "masks", d.dataset),
        *("--images", d.dataset / "images"),
    ),
    "export": lambda d: ("convert", d.dataset, d.dataset, "--to", "coco"),
    "export, images": lambda d: ("convert", d.dataset, d.dataset / "images" / "new", "--to", "coco"),
    "weaken": lambda d: ("weaken", d.dataset, d.dataset),
    "weaken, masks": lambda d: ("weaken", d.dataset, d.dataset / "masks"),
    "evaluate": lambda d: ("evaluate", d.model, d.dataset, "--out", d.dataset / "images"),
    "experiment": lambda d: experiment_arguments(d.dataset, d.dataset / "images"),
    "results": lambda d: ("experiment", "results", "--out", d.pages, "--page", d.pages / "table2.md"),
    "tune": lambda d: ("tune", d.dataset, "--out", d.dataset / "classes.csv", *FAST),
    "tune, images": lambda d: ("tune", d.dataset, "--out", d.dataset / "images" / "t.json", *FAST),
    "train": lambda d: ("train", d.dataset, "--out", d.dataset / "images" / "picture00.png"),
    "train, new": lambda d: ("train", d.dataset, "--out", d.dataset / "boxes.csv"),
    "train, a table": lambda d: ("train", d.dataset, "--out", d.dataset / "tags.csv"),
    "summary": lambda d: ("summary", d.dataset, "--picture", d.dataset / "masks" / "picture00.png"),
    "prepare": lambda d: ("prepare", d.dataset, "--store", d.dataset / "images"),
    "train, store": lambda d: (
        *("train", d.dataset, "--store", d.dataset / "images"),
        *("--out", d.pages / "m.safetensors"),
    ),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", INPUTS)
def test_what_a_command_reads_it_never_writes(name: str, overwrite: bool, data: Data, tmp_path: Path) -> None:
    if name == "predict, overlays":
        shutil.copytree(data.dataset / "images", data.pages / "overlay")
    before = contents(tmp_path)
    arguments = INPUTS[name](data)
    takes = arguments[0] != "prepare" and overwrite
    done = run(*arguments, *(["--overwrite"] if takes else []))
    assert done.exit_code == 2, done.output
    assert contents(tmp_path) == before
    assert "is read" in told(done) or "are read" in told(done)


def relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


def linked(path: Path) -> Path:
    link = path.parent / "link"
    link.symlink_to(path, target_is_directory=True)
    return link


def round_about(path: Path) -> Path:
    return path / ".." / path.name


@pytest.mark.parametrize("way", [relative, linked, round_about])
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
def test_inputs_are_known_by_other_names(
    way: Callable[[Path], Path], overwrite: tuple[str, ...], data: Data, tmp_path: Path
) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(data.dataset / "images", photos)
    before = contents(photos)
    done = run("predict", data.model, photos, "--out", way(photos), *overwrite)
    assert done.exit_code == 2
    assert contents(photos) == before


@pytest.mark.parametrize("link", [os.link, os.symlink])
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
def test_links_to_inputs_are_inputs(
    link: Callable[[Path, Path], None], overwrite: tuple[str, ...], data: Data, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    link(data.dataset / "images" / "picture02.png", tmp_path / "out" / "picture02.png")
    before = contents(tmp_path)
    done = run("predict", data.model, data.dataset / "images", "--out", tmp_path / "out", *overwrite)
    assert done.exit_code == 2
    assert contents(tmp_path) == before
    (tmp_path / "weak").mkdir()
    link(data.dataset / "tags.csv", tmp_path / "weak" / "tags.csv")
    before = contents(tmp_path)
    done = run("weaken", data.dataset, tmp_path / "weak", *overwrite)
    assert done.exit_code == 2
    assert contents(tmp_path) == before


def test_jpeg_photos_do_not_get_masks_of_the_same_name(data: Data, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.fromarray(np.zeros((20, 30, 3), dtype=np.uint8)).save(photos / "one.jpg")
    for given in (photos, photos / "one.jpg"):
        done = run("predict", data.model, given, "--out", photos)
        assert done.exit_code == 2
        assert f"{photos}: images are read from there" in told(done)
        assert os.listdir(photos) == ["one.jpg"]
    done = run("predict", data.model, photos, "--out", photos / "results")
    assert done.exit_code == 0
    assert run("predict", data.model, photos, "--out", photos / "results").exit_code == 0


def test_each_command_has_files_of_its_own(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("convert", "coco", data.coco, out).exit_code == 0
    before = contents(out)
    for arguments in (
        ("weaken", data.dataset, out),
        ("predict", data.model, data.dataset / "images", "--out", out),
        ("predict", data.model, data.dataset / "images", "--out", out / "masks"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "multiutility" in told(done)
        assert contents(out) == before


def test_a_dataset_that_is_made_again_is_the_new_one_whole(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "studio").mkdir(parents=True)
    (out / "studio" / "notes.txt").write_text("mine")
    assert run("weaken", data.dataset, out, "--keep-masks", "all").exit_code == 0
    assert run("weaken", data.dataset, out, "--split", "validation", "--boxes", "--tags").exit_code == 0
    found = DatasetFolder(out)
    assert found.names == DatasetFolder(data.dataset).split("validation").names
    assert found.splits == ("validation",)
    assert not (out / "masks").exists()
    assert (out / "studio" / "notes.txt").read_text() == "mine"
    # An image that the user has put in would be lost, or be part of the new dataset.
    shutil.copy(data.dataset / "images" / "picture00.png", out / "images" / "mine.png")
    before = contents(out)
    for overwrite in ((), ("--overwrite",)):
        done = run("weaken", data.dataset, out, *overwrite)
        assert done.exit_code == 2
        assert "mine.png" in told(done)
        assert contents(out) == before


def test_nothing_is_written_through_a_link_that_takes_the_place_of_the_manifest(
    data: Data, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".multiutility.jsonl").symlink_to(precious)
    assert run("predict", data.model, data.dataset, "--out", tmp_path / "out").exit_code == 2
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", [b"mine", b"\x89PNG\r\n", b'{"by"', b"", None])
def test_nothing_is_added_to_another_file_in_the_place_of_the_manifest(
    data: Data, tmp_path: Path, content: bytes | None
) -> None:
    manifest = tmp_path / "out" / ".multiutility.jsonl"
    manifest.parent.mkdir()
    if content is None:
        manifest.mkdir()
    else:
        manifest.write_bytes(content)
    done = run("predict", data.model, data.dataset, "--out", tmp_path / "out", "--overwrite")
    if content is not None and b'{"by": '.startswith(content):  # one that was cut off
        assert done.exit_code == 0
        return
    assert done.exit_code == 2
    assert ".multiutility.jsonl: is no list of files" in told(done)
    assert os.listdir(manifest.parent) == [manifest.name]
    assert content is None or manifest.read_bytes() == content


def test_a_damaged_manifest_makes_commands_careful(data: Data, tmp_path: Path) -> None:
    arguments = ("predict", data.model, data.dataset, "--out", tmp_path / "out")
    assert run(*arguments).exit_code == 0
    manifest = tmp_path / "out" / ".multiutility.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    # Cut off by a kill: all but the last entry are known.
    manifest.write_bytes(b"".join(lines)[:-10])
    assert run(*arguments).exit_code == 2
    assert run(*arguments, "--overwrite").exit_code == 0
    assert run(*arguments).exit_code == 0
    for damage in (b"\xff\xfe\n[1, 2]\n{}\nnull\n", json.dumps({"by": 1, "file": [], "sha256": {}}).encode()):
        manifest.write_bytes(damage)
        assert run(*arguments).exit_code == 2
