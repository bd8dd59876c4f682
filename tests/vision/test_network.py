"""Features of networks: against maps enlarged to all pixels, and networks whose answers are known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from multiutility.arrays import IndexArray
from multiutility.vision.features.descriptor import Features
from multiutility.vision.features.descriptors.joint import Joint
from multiutility.vision.features.networks.backbone import Backbone, file_stamp, new_network
from multiutility.vision.features.networks.network import EfficientNet, Onnx
from multiutility.vision.features.parameters import decode, encode
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import FittedPreset, Preset
from multiutility.vision.features.presets import preset
from multiutility.vision.fitted_presets import fit_key
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.store import preset_key

SMALL = EfficientNet(variant=0, strides=(8, 16), scale=1.0)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(cache))


def blocks(height: int, width: int, size: int) -> IndexArray:
    """Regions that are squares, numbered row by row."""
    rows, columns = np.arange(height) // size, np.arange(width) // size
    return np.asarray(rows[:, np.newaxis] * (columns[-1] + 1) + columns, dtype=np.int32)


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def picture(height: int = 70, width: int = 90, size: int = 13, seed: int = 0) -> Picture:
    return Picture(noise(height, width, seed), blocks(height, width, size))


def by_pixels(backbone: Backbone, image: Picture) -> Features:
    """Means of maps that OpenCV enlarges to all pixels, region by region."""
    height, width = image.shape
    found = []
    for cells, grid in backbone.maps(image.image):
        maps = np.ascontiguousarray(cells.reshape(*grid, -1))
        channels = [
            cv2.resize(one, (width, height), interpolation=cv2.INTER_LINEAR)
            for one in np.moveaxis(maps, 2, 0)
        ]
        large = np.stack(channels, axis=2)
        found.append([large[image.regions == region].mean(axis=0) for region in range(image.n_regions)])
    return np.concatenate(found, axis=1, dtype=np.float32)


@pytest.mark.parametrize("shape", [(70, 90), (33, 200), (5, 4), (1, 1)])
def test_means_are_those_of_maps_of_all_pixels(shape: tuple[int, int]) -> None:
    some = picture(*shape)
    found = SMALL.backbone().means(some)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_pixels(SMALL.backbone(), some), atol=1e-4)


def test_features_of_training_pictures_are_standardized() -> None:
    pictures = [picture(seed=seed) for seed in range(3)]
    state = SMALL.fit(pictures, np.random.default_rng(0))
    features = np.concatenate([SMALL.describe(one, state) for one in pictures])
    assert features.dtype == np.float32
    assert features.shape[1] == 40 + 80 + 112
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=1e-3)


@pytest.mark.parametrize(
    ("net", "channels"),
    [
        (EfficientNet(0, (4,)), 24),
        (EfficientNet(1, (8, 32)), 40 + 192 + 320),
        (EfficientNet(2, (8, 16, 32), 0.5), 48 + 88 + 120 + 208 + 352),
    ],
)
def test_channels_by_variant_and_strides(net: EfficientNet, channels: int) -> None:
    assert net.backbone().means(picture()).shape == (42, channels)


def test_threads_find_the_same() -> None:
    pictures = [picture(height=60 + seed, seed=seed) for seed in range(6)]
    backbone = SMALL.backbone()
    expected = [backbone.means(one) for one in pictures]
    with ThreadPoolExecutor(3) as pool:
        for found, wanted in zip(pool.map(backbone.means, pictures), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_bad_strides_are_named() -> None:
    for strides in ((), (8, 64)):
        with pytest.raises(ValueError, match="expected some of 2, 4, 8, 16, 32"):
            EfficientNet(strides=strides).backbone()


def network(
    path: Path, operations: Callable[[], list[onnx.NodeProto]], shape: list[Any], rank: int = 4, kind: int = 1
) -> str:
    """Write a network from ``x`` to ``y``; return its path."""
    ends = [
        helper.make_tensor_value_info("x", kind, shape),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank),
    ]
    graph = helper.make_graph(operations(), "test", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return str(path)


def squares(size: int) -> list[onnx.NodeProto]:
    """Means of squares of the input."""
    return [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[size, size], strides=[size, size])]


def tokens(size: int) -> list[onnx.NodeProto]:
    """The same as tokens, with one in front."""
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [1, 1, 3], [9.0] * 3)
    return [
        helper.make_node("AveragePool", ["x"], ["a"], kernel_shape=[size, size], strides=[size, size]),
        helper.make_node("Constant", [], ["shape"], value_ints=[1, 3, -1]),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 1]),
        helper.make_node("Constant", [], ["first"], value=zero),
        helper.make_node("Concat", ["first", "c"], ["y"], axis=1),
    ]


ZERO, ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def flat(height: int, width: int, color: tuple[int, int, int]) -> Picture:
    return Picture(np.full((height, width, 3), color, np.uint8), blocks(height, width, 4))


def test_input_is_rgb_scaled_as_told(tmp_path: Path) -> None:
    path = network(tmp_path / "a.onnx", lambda: squares(4), [1, 3, None, None])
    net = Onnx(path, ("y",), mean=(1.0, 2.0, 3.0), std=(2.0, 4.0, 8.0), multiple=4)
    found = net.backbone().means(flat(8, 12, (11, 22, 43)))
    np.testing.assert_allclose(found, np.tile([5.0, 5.0, 5.0], (6, 1)))


@pytest.mark.parametrize("scale", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("make", [squares, tokens])
def test_cells_lie_where_their_pixels_are(tmp_path: Path, scale: float, make: Any) -> None:
    # A ramp along each axis: linear interpolation gives it back, but for half a cell at the edges. Its values
    # are multiples of 4, so that what comes in between is whole.
    ramp = np.zeros((48, 64, 3), np.uint8)
    ramp[..., 0], ramp[..., 1] = 4 * np.arange(64), 4 * np.arange(48)[:, np.newaxis]
    regions = blocks(48, 64, 8)
    size = 4
    path = network(tmp_path / "a.onnx", lambda: make(size), [1, 3, "h", "w"], 4 if make is squares else 3)
    net = Onnx(path, ("y",), ZERO, ONE, scale=scale, multiple=size)
    found = net.backbone().means(Picture(ramp, regions)).reshape(6, 8, 3)
    inside = found[1:-1, 1:-1]
    np.testing.assert_allclose(inside[0, :, 0], np.arange(1, 7) * 32 + 14, atol=1e-3)
    np.testing.assert_allclose(inside[:, 0, 1], np.arange(1, 5) * 32 + 14, atol=1e-3)
    np.testing.assert_allclose(found[..., 2], 0)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((213, 320), (416, 640)),
        ((320, 213), (640, 416)),
        ((100, 90), (192, 192)),
        ((480, 640), (480, 640)),
        ((3000, 4000), (480, 640)),
        ((3, 1000), (32, 640)),
        ((1, 1), (32, 32)),
    ],
)
def test_inputs_are_no_larger_than_asked_for(shape: tuple[int, int], expected: tuple[int, int]) -> None:
    image = np.zeros((*shape, 3), np.uint8)
    net = EfficientNet(0, scale=2.0, max_input=640)
    assert net.backbone().input_size(image, (None, None)) == expected
    assert Onnx("a.onnx", ("y",), scale=2.0, max_input=640).backbone().input_size(image, (None, 8)) == (
        expected[0],
        8,
    )


def test_the_default_network_bounds_its_inputs_and_leaves_small_images_as_they_are() -> None:
    networks = [decode(part) for part in encode(preset("deep"))["nodes"][0]["base"]["parts"][:2]]
    for net in networks:
        free = replace(net, max_input=None).backbone()
        for shape in ((213, 320), (320, 320), (50, 1), (240, 320)):
            some = np.zeros((*shape, 3), np.uint8)
            assert net.backbone().input_size(some, (None, None)) == free.input_size(some, (None, None))
    assert [net.backbone().input_size(noise(480, 640), (None, None)) for net in networks] == [
        (480, 640),
        (352, 480),
    ]


def test_a_model_without_a_bound_keeps_none() -> None:
    data = encode(SMALL)
    del data["max_input"]
    assert decode(data) == SMALL
    assert encode(SMALL) != encode(replace(SMALL, max_input=640))


def test_a_network_may_ask_for_a_size(tmp_path: Path) -> None:
    path = network(tmp_path / "a.onnx", lambda: squares(8), [1, 3, 24, 16])
    cells, grid = Onnx(path, ("y",), ZERO, ONE).backbone().maps(noise(31, 77))[0]
    assert grid == (3, 2)
    assert cells.shape == (6, 3)


def test_another_network_in_its_place_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    net, some = Onnx(network(path, lambda: squares(4), [1, 3, None, None]), ("y",), ZERO, ONE), picture()
    state = net.fit([some], np.random.default_rng(0))
    kept = {name: np.asarray(array, np.float32) for name, array in state.items()}
    expected = net.describe(some, kept)
    network(path, lambda: squares(2), [1, 3, None, None])
    with pytest.raises(ValueError, match=r"a\.onnx: not the network that features were fitted with"):
        net.describe(some, kept)
    network(path, lambda: squares(4), [1, 3, None, None])
    np.testing.assert_array_equal(net.describe(some, kept), expected)


def test_features_are_named_by_the_network_that_made_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.onnx"
    net = Onnx(network(path, lambda: squares(4), [1, 3, None, None]), ("y",), ZERO, ONE)
    nested = FittedPreset(Preset("own", Slic(), (Joint((net, SMALL)),), ()), {})
    before = preset_key(nested), fit_key(nested.preset, ["image"], 0)
    assert (preset_key(nested), fit_key(nested.preset, ["image"], 0)) == before
    assert nested.sources()[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert nested.sources()[1] in SMALL.backbone().path
    network(path, lambda: squares(2), [1, 3, None, None])
    after = preset_key(nested), fit_key(nested.preset, ["image"], 0)
    assert not set(before) & set(after)
    monkeypatch.setattr(EfficientNet, "source_digest", lambda _self: "another")
    assert preset_key(nested) not in (before[0], after[0])


def test_a_network_that_changes_between_check_and_use_is_an_error(tmp_path: Path) -> None:
    path = Path(network(tmp_path / "a.onnx", lambda: squares(4), [1, 3, None, None]))
    backbone = Onnx(str(path), ("y",), ZERO, ONE).backbone()
    with pytest.raises(ValueError, match=r"a\.onnx: has changed while it was in use; start again"):
        replace(backbone, digest="00").maps(noise(20, 30))


def test_weights_beside_a_network_are_part_of_it(tmp_path: Path) -> None:
    kernel = np.full((3, 3, 1, 1), 0.5, np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "kernel"], ["y"])],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, None, None])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, None, None])],
        [numpy_helper.from_array(kernel, "kernel")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "a.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    net, some = Onnx(str(path), ("y",), ZERO, ONE), picture()
    state = net.fit([some], np.random.default_rng(0))
    state = {name: np.asarray(array, np.float32) for name, array in state.items()}
    net.describe(some, state)
    weights = bytearray((tmp_path / "weights.bin").read_bytes())
    weights[-2] ^= 8
    (tmp_path / "weights.bin").write_bytes(weights)
    new_network.cache_clear()
    with pytest.raises(ValueError, match="not the network that features were fitted with"):
        net.describe(some, state)


def test_networks_that_do_not_fit_are_named(tmp_path: Path) -> None:
    some, shape = noise(20, 30), [1, 3, None, None]
    path = tmp_path / "a.onnx"
    with pytest.raises(FileNotFoundError, match=r"a\.onnx: there is no network"):
        Onnx(str(path), ("y",)).backbone().maps(some)
    path.write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"a\.onnx: cannot be loaded"):
        Onnx(str(path), ("y",)).backbone().maps(some)
    network(path, lambda: squares(4), shape)
    with pytest.raises(ValueError, match=r"has the outputs \['y'\]"):
        Onnx(str(path), ("z",)).backbone().maps(some)
    network(path, lambda: squares(4), [1, 1, None, None])
    with pytest.raises(ValueError, match="has the inputs"):
        Onnx(str(path), ("y",)).backbone().maps(some)
    network(
        path,
        lambda: [
            helper.make_node("GlobalAveragePool", ["x"], ["a"]),
            helper.make_node("Squeeze", ["a"], ["y"]),
        ],
        shape,
        1,
    )
    with pytest.raises(ValueError, match=r"'y' has shape \[3\]"):
        Onnx(str(path), ("y",)).backbone().maps(some)


@pytest.mark.parametrize("descriptor", [SMALL, Onnx("a.onnx", ("y", "z"), scale=2.0, max_input=640)])
def test_descriptors_are_plain_data(descriptor: Any) -> None:
    assert decode(encode(descriptor)) == descriptor


def test_networks_that_models_of_strangers_may_name_are_looked_at_first(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="not a file"):
        file_stamp(Path("/dev/zero"))
    with pytest.raises(FileNotFoundError, match="not a file"):
        file_stamp(tmp_path)
    huge = Backbone("x.onnx", ("a",), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), scale=1e4, multiple=32)
    with pytest.raises(
        ValueError, match=r"x\.onnx: its input would have .* pixels: expected at most 25 million"
    ):
        huge.input_size(np.zeros((40, 50, 3), np.uint8), ("h", "w"))
