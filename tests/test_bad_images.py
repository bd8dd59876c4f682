"""Images of every kind: each is used, or left out with the reason; without leave, nothing runs."""

from __future__ import annotations

import io
import json
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from multiutility.cli import app
from multiutility.datasets import DatasetFolder, read_image
from multiutility.vision import features
from multiutility.vision.features import presets
from multiutility.vision.features.preset import FittedPreset
from toy import toy_picture, toy_preset, write_toy

pytestmark = pytest.mark.usefixtures("cheap_features")

PICTURE, MASK = toy_picture(np.random.default_rng(5))


def encoded(image: Image.Image, format_: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def black_png(side: int) -> bytes:
    """A PNG of one bit a pixel, which is small however large the picture."""
    packer = zlib.compressobj(1)
    row = bytes(1 + (side + 7) // 8)
    data = b"".join([*(packer.compress(row * 100) for _ in range(side // 100)), packer.flush()])
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    parts = (
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


RGB = Image.fromarray(PICTURE)
SIXTEEN = PICTURE[:, :, 0].astype(np.uint16) * 257
TURNED = Image.Exif()
TURNED[0x0112] = 6
PNG, JPEG = encoded(RGB, "PNG"), encoded(RGB, "JPEG", quality=95)

ODD: dict[str, bytes] = {
    "alpha.png": encoded(RGB.convert("RGBA"), "PNG"),
    "cmyk.jpg": encoded(RGB.convert("CMYK"), "JPEG", quality=95),
    "gray.png": encoded(RGB.convert("L"), "PNG"),
    "palette.png": encoded(RGB.convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
    "sixteen.png": encoded(Image.fromarray(SIXTEEN), "PNG"),
    "thin.png": encoded(RGB.crop((0, 0, 48, 1)), "PNG"),
    "tiny.png": encoded(RGB.crop((0, 0, 1, 1)), "PNG"),
    "turned.jpg": encoded(RGB, "JPEG", quality=95, exif=TURNED),
}
BAD: dict[str, tuple[bytes, str]] = {
    "bomb.png": (black_png(20_000), "is too large"),
    "cut2.jpg": (JPEG[: len(JPEG) // 2], "cannot be read"),
    "cut.png": (PNG[: len(PNG) // 2], "cannot be read"),
    "empty.png": (b"", "is empty, damaged, or not an image"),
    "float.tif": (encoded(Image.fromarray(np.ones((9, 9), np.float32)), "TIFF"), "cannot be read"),
    "text.jpg": (b"hello", "is empty, damaged, or not an image"),
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("clean") / "data", n_train=5, n_validation=2).path


@pytest.fixture(scope="module")
def mixed(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset in which odd and bad images have tags, and one has a mask that was cut off."""
    folder = tmp_path_factory.mktemp("mixed") / "data"
    shutil.copytree(clean, folder)
    for name, content in (ODD | {name: content for name, (content, _) in BAD.items()}).items():
        (folder / "images" / name).write_bytes(content)
    (folder / "images" / "halfmask.png").write_bytes(PNG)
    whole = sorted((folder / "masks").iterdir())[0].read_bytes()
    (folder / "masks" / "halfmask.png").write_bytes(whole[: len(whole) // 2])
    names = [Path(name).stem for name in (*ODD, *BAD)]
    (folder / "tags.csv").write_text("image,label\n" + "".join(f"{name},grass\n" for name in names))
    shutil.rmtree(folder / "splits")
    return folder


@pytest.fixture(scope="module")
def model(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model") / "m.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(presets.PRESETS, "deep", toy_preset)
        patch.setitem(features.KINDS, "MeanColor", "toy")
        assert run("train", clean, "--C", 1, "--out", out, "--store", out.parent / "store").exit_code == 0
    return out


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def check_skipped(done: Result, expected: set[str]) -> None:
    """The report names exactly these, with reasons, to programs and to people."""
    assert done.exit_code == 0, done.output
    told = {Path(one["image"]).stem: one["why"] for one in json.loads(done.stdout)["skipped"]}
    assert set(told) == expected
    for name, (_, why) in BAD.items():
        if Path(name).stem in expected:
            assert name in told[Path(name).stem]
            assert why in told[Path(name).stem]
            assert why in " ".join(done.stderr.split())


STEMS = {Path(name).stem for name in BAD}


def test_training_uses_what_it_can_and_tells_the_rest(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    done = run("train", mixed, "--C", 1, "--out", out, "--skip-bad", "--json")
    check_skipped(done, STEMS | {"halfmask"})
    assert json.loads(done.stdout)["n_images"] == 7 + len(ODD)
    assert out.is_file()
    prepared = run("prepare", mixed, "--store", tmp_path / "store", "--skip-bad", "--json")
    check_skipped(prepared, STEMS | {"halfmask"})
    # What was skipped has no influence: the same as if it were not there.
    for name in BAD:
        assert name not in {path.name for path in (tmp_path / "store").rglob("*")}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Count images whose features are computed."""
    calls: list[Any] = []
    prepare = FittedPreset.prepare

    def counted(self: FittedPreset, image: Any) -> Any:
        calls.append(image)
        return prepare(self, image)

    monkeypatch.setattr(FittedPreset, "prepare", counted)
    return calls


@pytest.mark.parametrize("name", ["bomb.png", "empty.png", "text.jpg", "halfmask.png"])
def test_without_leave_the_first_error_ends_it_before_any_work(
    name: str, mixed: Path, clean: Path, model: Path, tmp_path: Path, no_work: list[Any]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(clean, folder)
    shutil.copy(mixed / "images" / name, folder / "images")
    (folder / "tags.csv").write_text(f"image,label\n{Path(name).stem},grass\n")
    if name == "halfmask.png":
        shutil.copy(mixed / "masks" / name, folder / "masks")
    shutil.rmtree(folder / "splits")
    out = tmp_path / "m.safetensors"
    commands = [("train", folder, "--out", out), ("prepare", folder)]
    commands += [("predict", model, folder)] if name != "halfmask.png" else [("evaluate", model, folder)]
    for command in commands:
        done = run(
            *command, *(("--store", tmp_path / "store") if command[0] != "predict" else ("--out", out))
        )
        assert done.exit_code == 2
        assert name in done.stderr
        assert done.stdout == ""
    assert not no_work
    assert not out.exists()


@pytest.mark.parametrize("name", ["cut2.jpg", "cut.png"])
def test_an_image_that_ends_too_early_is_named_before_learning(
    name: str, mixed: Path, clean: Path, tmp_path: Path
) -> None:
    folder, out = tmp_path / "data", tmp_path / "m.safetensors"
    shutil.copytree(clean, folder)
    shutil.copy(mixed / "images" / name, folder / "images")
    (folder / "tags.csv").write_text(f"image,label\n{Path(name).stem},grass\n")
    shutil.rmtree(folder / "splits")
    done = run("train", folder, "--out", out, "--store", tmp_path / "store")
    assert done.exit_code == 2
    assert f"{name}: cannot be read" in " ".join(done.stderr.split())
    assert not out.exists()


def test_prediction_leaves_out_what_cannot_be_read(mixed: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("predict", model, mixed, "--out", out, "--skip-bad", "--coco", "--json")
    check_skipped(done, STEMS)
    for name in ODD:
        mask = read_image(out / f"{Path(name).stem}.png")
        assert mask.shape == read_image(mixed / "images" / name).shape
    assert read_image(out / "turned.png").shape == (48, 36, 3)
    assert not any((out / f"{name}.png").exists() for name in STEMS)
    listed = {Path(one["file_name"]).stem for one in json.loads((out / "coco.json").read_text())["images"]}
    assert listed == {*DatasetFolder(mixed).names} - STEMS
    # The same picture in another coat gives the same mask.
    plain, alpha = (read_image(out / f"{name}.png") for name in ("halfmask", "alpha"))
    assert np.array_equal(plain, alpha)
    again = run("predict", model, mixed, "--out", out, "--skip-bad", "--json", "--resume")
    check_skipped(again, STEMS)
    assert json.loads(again.stdout)["n_images"] == 0


def test_evaluation_leaves_out_what_cannot_be_read(mixed: Path, model: Path) -> None:
    done = run("evaluate", model, mixed, "--skip-bad", "--no-pictures", "--json")
    check_skipped(done, {"halfmask"})
    assert json.loads(done.stdout)["n_images"] == 7


def test_other_datasets_are_made_of_what_can_be_read(mixed: Path, tmp_path: Path) -> None:
    good = {*DatasetFolder(mixed).names} - STEMS - {"halfmask"}
    done = run("weaken", mixed, tmp_path / "weak", "--skip-bad", "--json")
    check_skipped(done, STEMS | {"halfmask"})
    assert {*DatasetFolder(tmp_path / "weak").names} == good
    done = run("convert", mixed, tmp_path / "coco", "--to", "coco", "--skip-bad", "--json")
    check_skipped(done, STEMS | {"halfmask"})
    (copied,) = (tmp_path / "coco").rglob("tiny.png")
    copied.unlink()  # it may be linked to the original
    shutil.copy(mixed / "images" / "cut.png", copied)
    done = run("convert", "coco", tmp_path / "coco", tmp_path / "back", "--skip-bad", "--json")
    check_skipped(done, {"tiny"})
    assert {*DatasetFolder(tmp_path / "back").names} == good - {"tiny"}
    for command in (
        ("weaken", mixed, tmp_path / "x"),
        ("convert", mixed, tmp_path / "x", "--to", "coco"),
    ):
        assert run(*command).exit_code == 2
        assert not (tmp_path / "x").exists()


def test_if_nothing_is_left_it_says_so(mixed: Path, clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "images").mkdir(parents=True)
    shutil.copy(clean / "classes.csv", folder)
    shutil.copy(mixed / "images" / "empty.png", folder / "images")
    (folder / "tags.csv").write_text("image,label\nempty,grass\n")
    done = run("train", folder, "--skip-bad", "--out", tmp_path / "m.safetensors")
    assert done.exit_code == 2
    assert "none of its annotated images can be used" in " ".join(done.stderr.split())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_told_with_the_image(
    value: float, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = FittedPreset.described
    spoiled = DatasetFolder(clean)["picture03"].image()

    def broken(self: FittedPreset, descriptors: Any, first: int, picture: Any, length: int) -> Any:
        found = described(self, descriptors, first, picture, length)
        if np.array_equal(picture.image, spoiled) and first == 0:
            found[1, 2] = value
        return found

    monkeypatch.setattr(FittedPreset, "described", broken)
    for store in (tmp_path / "store", tmp_path / "store"):
        done = run("train", clean, "--out", tmp_path / "m.safetensors", "--store", store, "--jobs", 2)
        assert done.exit_code == 2
        text = " ".join(done.stderr.split())
        assert "picture03: its features cannot be computed: node_features[1, 2] is" in text
    assert not (tmp_path / "m.safetensors").exists()
