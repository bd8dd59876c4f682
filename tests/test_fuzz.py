"""Damaged and forged files of every kind that is read: a documented error, or a result, and nothing else."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from format_cases import CLASSES, SPLITS, mixed_samples, noise
from multiutility.array_file import ArrayFileError, Arrays, read_arrays, write_arrays
from multiutility.datasets.contents import read_contents
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.images import read_instances, read_mask, read_note, write_mask
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import write_dataset
from multiutility.learning.checkpoint.file import CheckpointError, read_checkpoint, write_checkpoint
from multiutility.vision import Segmenter, features
from multiutility.vision.features.preset import FittedPreset, Prepared
from multiutility.vision.fitted_presets import read_state
from multiutility.vision.model_file import KEY, ModelFileError, checksum, read_model
from multiutility.vision.store import StoreWarning, read_prepared, write_prepared
from mutations import JUNK, mutated, places, replaced
from originals import put_originals
from toy import CLASSES as TOY_CLASSES
from toy import mixed_annotations, toy_picture, toy_preset

BOUNDED = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def damage(data: st.DataObject, path: Path, read: Callable[[], Any], allowed: type[Exception]) -> None:
    """Read a file that is damaged, and mend it; errors must be of the kind that is documented."""
    whole = path.read_bytes()
    damaged = data.draw(mutated(whole))
    path.unlink()  # others may be linked to it
    path.write_bytes(damaged)
    try:
        with suppress(allowed):
            read()
    finally:
        path.write_bytes(whole)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "data"
    write_dataset(path, CLASSES, mixed_samples(), SPLITS)
    return path


def read_dataset(path: Path) -> None:
    """Read all that is in a dataset folder."""
    found = validate(path)
    assert all(finding.what and finding.fix for finding in found)
    contents = read_contents(path)
    assert len(contents.problems) <= len(found)
    dataset = DatasetFolder(path)
    for name in dataset.splits:
        dataset.split(name)
    for sample in dataset:
        sample.image()
        sample.annotation()


@settings(BOUNDED, max_examples=60)
@given(data=st.data())
def test_damaged_datasets(folder: Path, data: st.DataObject) -> None:
    images = folder / "images"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent != images)
    damage(data, data.draw(st.sampled_from(files)), lambda: read_dataset(folder), DatasetError)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each format."""
    return put_originals(tmp_path_factory.mktemp("formats"))


def test_all_formats_are_there(originals: dict[str, Path]) -> None:
    assert {name for name in FORMATS if name not in {"masks-255", "scribbles", "voc-corners"}} == set(
        originals
    )


@BOUNDED
@given(data=st.data())
def test_damaged_files_of_other_programs(originals: dict[str, Path], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(originals)))
    files = sorted(path for path in originals[name].rglob("*") if path.is_file())
    texts = [path for path in files if path.suffix in (".json", ".xml", ".txt", ".csv", ".mat")]
    path = data.draw(st.sampled_from(texts or files) | st.sampled_from(files))
    damage(data, path, lambda: [*FORMATS[name].read(originals[name]).samples], DatasetError)


@BOUNDED
@given(data=st.data())
@pytest.mark.parametrize("read", [read_mask, read_instances, read_note])
def test_damaged_masks(read: Callable[[Path], Any], tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "mask.png"
    write_mask(path, noise(5, 7)[:, :, 0] % 4, CLASSES.palette, "model abc")
    damage(data, path, lambda: read(path), DatasetError)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    pairs = [toy_picture(np.random.default_rng(seed)) for seed in range(4)]
    annotations = mixed_annotations([mask for _, mask in pairs])
    model = Segmenter(toy_preset(), C=1).fit([image for image, _ in pairs], annotations, classes=TOY_CLASSES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(features.KINDS, "MeanColor", "toy")
        model.save(path)
    return path


@pytest.fixture(autouse=True)
def _named_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")


@BOUNDED
@given(data=st.data())
def test_damaged_models(model: Path, data: st.DataObject) -> None:
    damage(data, model, lambda: read_model(model), ModelFileError)


@settings(BOUNDED, max_examples=60)
@given(data=st.data())
def test_forged_models(model: Path, tmp_path: Path, data: st.DataObject) -> None:
    """With a checksum that fits, a part of the header may be anything: models are refused, or of no use."""
    with model.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(json.loads(file.read(length))["__metadata__"][KEY])
    header.pop("checksum")
    tensors = load_file(model)
    place = data.draw(st.sampled_from(list(places(header))))
    forged = replaced(header, place, data.draw(JUNK))
    if isinstance(forged, dict):
        forged["checksum"] = checksum(forged, tensors)
    path = tmp_path / "forged.safetensors"
    save_file(tensors, path, {KEY: json.dumps(forged)})
    with suppress(ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arithmetic with numbers that somebody made up
        Segmenter.load(path).predict([toy_picture(np.random.default_rng(9))[0]])


@BOUNDED
@given(data=st.data())
def test_damaged_checkpoints(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "c"
    steps: list[Arrays] = [{"weights": np.arange(5.0), "records": np.zeros((2, 5))}, {"values": np.ones(2)}]
    write_checkpoint(path, "key", steps, {"run.counts": np.arange(5), "chain0.used": np.ones(3, dtype=bool)})
    assert len(read_checkpoint(path, "key")[0]) == 2
    damage(data, path, lambda: read_checkpoint(path, "key"), CheckpointError)


@cache
def prepared_noise() -> tuple[FittedPreset, Prepared]:
    fitted = toy_preset().fit([toy_picture(np.random.default_rng(0))[0]], 0)
    return fitted, fitted.prepare(noise(9, 12))


def test_every_array_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_prepared(path, prepared_noise()[1])
    whole = path.read_bytes()
    length = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:length])
    for name, entry in header.items():
        if name != "__metadata__":
            damaged = bytearray(whole)
            damaged[length + sum(entry["data_offsets"]) // 2] ^= 1
            path.write_bytes(damaged)
            with pytest.raises(ArrayFileError, match=f"{name} has changed"):
                read_arrays(path)


def test_every_bit_of_the_header_is_guarded(tmp_path: Path) -> None:
    """A header with another bit is refused, or means the same: names, dtypes, shapes and values."""
    path = tmp_path / "a.safetensors"
    expected: Arrays = {"b": np.arange(4, dtype=np.float32), "ab": np.arange(2, 6, dtype=np.int32)}
    write_arrays(path, expected)
    whole = path.read_bytes()
    for bit in range(8 * (8 + int.from_bytes(whole[:8], "little"))):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with suppress(ArrayFileError):
            found = read_arrays(path)
            assert found.keys() == expected.keys()
            for name, array in expected.items():
                assert found[name].dtype == array.dtype
                np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(("old", "new"), [(b'"F32"', b'"I32"'), (b'"shape":[3,4]', b'"shape":[4,3]')])
def test_what_the_values_are_is_guarded(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.arange(12, dtype=np.float32).reshape(3, 4)})
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(ArrayFileError, match="x has changed since it was written"):
        read_arrays(path)


def test_files_of_before_are_told_apart(tmp_path: Path) -> None:
    values = np.arange(3.0)
    path = tmp_path / "a.safetensors"
    save_file({"x": values}, path, {"checksums": json.dumps({"x": zlib.crc32(values.data)})})
    with pytest.raises(ArrayFileError, match="written by another version of multiutility"):
        read_arrays(path)
    with pytest.raises(CheckpointError, match=r"another version of multiutility.*remove it to begin anew"):
        read_checkpoint(path, "key")


def test_a_model_with_another_format_number_is_damaged(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    assert model.read_bytes().count(b'\\"format\\": 3') == 1
    path.write_bytes(model.read_bytes().replace(b'\\"format\\": 3', b'\\"format\\": 1'))
    with pytest.raises(ModelFileError, match="damaged"):
        read_model(path)


@BOUNDED
@given(data=st.data())
def test_damaged_features(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "a.safetensors"
    fitted, expected = prepared_noise()
    write_prepared(path, expected)

    def read() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoreWarning)
            found = read_prepared(path)
        if found is not None:
            assert np.array_equal(found.problem.node_features, expected.problem.node_features)
            assert np.array_equal(found.regions, expected.regions)

    damage(data, path, read, StopIteration)
    write_arrays(path, fitted.state)
    damage(data, path, lambda: read_state(path), StopIteration)


@BOUNDED
@given(data=st.data())
def test_forged_features(tmp_path: Path, data: st.DataObject) -> None:
    """With checksums that fit, arrays may be anything: they are used only if they go together."""
    path = tmp_path / "a.safetensors"
    write_prepared(path, prepared_noise()[1])
    arrays = read_arrays(path)
    name = data.draw(st.sampled_from(sorted(arrays)))
    shape = data.draw(st.lists(st.integers(0, 12), max_size=3))
    dtype = data.draw(st.sampled_from(["<f4", "<f8", "<i4", "<i8", "|b1", "|u1"]))
    value = data.draw(st.sampled_from([-1, 0, 1, 200, np.nan]))
    with np.errstate(invalid="ignore"):
        write_arrays(path, {**arrays, name: np.full(shape, value).astype(dtype)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        found = read_prepared(path)
    if found is not None:
        assert found.regions.shape == (9, 12)
        assert found.regions.max() < found.problem.n_nodes
