"""Small networks in ONNX of the kinds that users have: like a ResNet, and like a vision transformer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Nodes with random weights, added one by one."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape: int) -> str:
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.constant((self.rng.normal(size=shape) / np.sqrt(fan)).astype(np.float32))

    def add(self, operation: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [name], **attributes))
        return name

    def conv(self, value: str, n_in: int, n_out: int, size: int, stride: int = 1) -> str:
        pads = [0] * 4 if size == stride else [size // 2] * 4
        how: dict[str, Any] = {"kernel_shape": [size, size], "strides": [stride, stride], "pads": pads}
        return self.add("Conv", value, self.weights(n_out, n_in, size, size), **how)

    def save(self, path: Path, shape: list[Any], outputs: dict[str, int]) -> Path:
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank)
            for name, rank in outputs.items()
        ]
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "test", [image], ends, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())
        return path


def resnet(path: Path, shape: list[Any] | None = None, seed: int = 0) -> Path:
    """Bottlenecks whose second convolution shrinks the map, and an answer: ``block0`` ... ``block3``."""
    net = Builder(seed)
    value = net.add("Relu", net.conv("image", 3, 16, 7, 2))
    value = net.add("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    width = 16
    for block in range(4):
        stride, wide = 1 if block == 0 else 2, 16 * (block + 1)
        inner = net.add("Relu", net.conv(value, width, 8, 1))
        inner = net.add("Relu", net.conv(inner, 8, 8, 3, stride))
        inner = net.conv(inner, 8, wide, 1)
        around = net.conv(value, width, wide, 1 if stride == 1 else 3, stride)
        value, width = net.add("Relu", net.add("Add", inner, around), name=f"block{block}"), wide
    flat = net.add("Flatten", net.add("GlobalAveragePool", value))
    net.add("MatMul", flat, net.weights(width, 10), name="logits")
    return net.save(path, shape or ["batch", 3, "height", "width"], {"logits": 2})


def transformer(
    path: Path,
    patch: int = 14,
    shape: list[Any] | None = None,
    positions: int | None = None,
    dense: bool = False,
    seed: int = 0,
) -> Path:
    """Patches behind a class token and four registers, one block, a norm, and an answer of the first token.

    With ``positions``, there are so many for patches, and the network takes one size of images only. With
    ``dense``, the tokens after the norm are an output, too.
    """
    net, width = Builder(seed), 32
    value = net.conv("image", 3, width, patch, patch)
    value = net.add("Reshape", value, net.constant(np.array([1, width, -1])))
    value = net.add("Transpose", value, perm=[0, 2, 1])
    if positions is not None:
        value = net.add("Add", value, net.weights(1, positions, width))
    value = net.add("Concat", net.weights(1, 5, width), value, axis=1)
    value = net.add("Add", value, attention(net, norm(net, value, width), width), name="attended")
    inner = net.add("Relu", net.add("MatMul", norm(net, value, width), net.weights(width, 64)))
    value = net.add("Add", value, net.add("MatMul", inner, net.weights(64, width)), name="block")
    value = norm(net, value, width, "tokens")
    first = net.add("Gather", value, net.constant(np.array(0)), axis=1)
    net.add("MatMul", first, net.weights(width, 10), name="logits")
    outputs = {"logits": 2, **({"tokens": 3} if dense else {})}
    return net.save(path, shape or [1, 3, "height", "width"], outputs)


def norm(net: Builder, value: str, width: int, name: str = "") -> str:
    scale, shift = net.constant(np.ones(width, np.float32)), net.constant(np.zeros(width, np.float32))
    return net.add("LayerNormalization", value, scale, shift, name=name)


def attention(net: Builder, value: str, width: int) -> str:
    queries, keys, values = (net.add("MatMul", value, net.weights(width, width)) for _ in range(3))
    scores = net.add("MatMul", queries, net.add("Transpose", keys, perm=[0, 2, 1]))
    shares = net.add("Softmax", net.add("Mul", scores, net.constant(np.float32(width**-0.5))), axis=-1)
    return net.add("MatMul", net.add("MatMul", shares, values), net.weights(width, width))
