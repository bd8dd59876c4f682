"""DINOv2 as an ONNX network, made from the weights that Meta's code saves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

# Antialiasing, as of the embeddings of places, came with version 18.
OPSET, IR_VERSION = 18, 8
HEAD = 64  # channels of a head of attention, in all sizes of DINOv2
EPSILON = 1e-6


def is_dinov2(weights: Mapping[str, NDArray[Any]]) -> bool:
    """Whether these are weights of a DINOv2, with registers or without."""
    return {"patch_embed.proj.weight", "cls_token", "pos_embed", "blocks.0.ls1.gamma"} <= weights.keys()


def build(weights: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
    """Return the network; its outputs are the tokens at the end, and after three quarters of the blocks.

    Its input ``image`` is float32 [1, 3, H, W], normalized as for ImageNet, with H and W multiples of the
    side of patches. Tokens are [1, 1 + R + N, C]: for the class, the registers, and the patches. Those of
    block n are the value ``blockn``, counted from 0.
    """
    n_blocks = 1 + max(int(found[1]) for name in weights if (found := re.match(r"blocks\.(\d+)\.", name)))
    layers = Layers(weights)
    value = layers.embedded()
    for n in range(n_blocks):
        value = layers.block(value, n)
    layers.norm(value, "norm", "tokens")
    return layers.model(["tokens", f"block{math.ceil(0.75 * n_blocks) - 1}"])


class Layers:
    """Nodes and constants of a network, added layer by layer."""

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._width = weights["cls_token"].shape[-1]

    def embedded(self) -> str:
        """Add what makes tokens of the image, with their places."""
        kernel = self._weight("patch_embed.proj.weight")
        side = self._weights["patch_embed.proj.weight"].shape[-1]
        bias = self._weight("patch_embed.proj.bias")
        patches = self._add("Conv", "patches", "image", kernel, bias, strides=[side, side])
        places = self._weights["pos_embed"]
        grid = math.isqrt(places.shape[1] - 1)
        square = places[:, 1:].reshape(1, grid, grid, self._width).transpose(0, 3, 1, 2)
        # As PyTorch does with antialiasing: Keys' cubic of -0.5, of what is inside only.
        size = self._add("Shape", "size", patches)
        how = {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5, "exclude_outside": 1}
        resized = self._add("Resize", "places", self._constant("square", square), "", "", size, **how)
        placed = self._add("Add", "placed", patches, resized)
        flat = self._add("Reshape", "flat", placed, self._constant("flat_shape", [1, self._width, -1]))
        tokens = self._add("Transpose", "patch_tokens", flat, perm=[0, 2, 1])
        first = [self._weights["cls_token"] + places[:, :1]]
        if "register_tokens" in self._weights:
            first.append(self._weights["register_tokens"])
        leading = self._constant("leading", np.concatenate(first, axis=1))
        return self._add("Concat", "embedded", leading, tokens, axis=1)

    def block(self, value: str, n: int) -> str:
        """Add a block: attention, and a perceptron of each token, each scaled and added to what came in."""
        name = f"blocks.{n}"
        inner = self.attention(self.norm(value, f"{name}.norm1"), f"{name}.attn")
        value = self._residual(value, inner, f"{name}.ls1", f"{name}.attended")
        inner = self.linear(self.norm(value, f"{name}.norm2"), f"{name}.mlp.fc1")
        inner = self.linear(self.gelu(inner), f"{name}.mlp.fc2")
        return self._residual(value, inner, f"{name}.ls2", f"block{n}")

    def attention(self, value: str, name: str) -> str:
        """Add attention of several heads."""
        n_heads = self._width // HEAD
        all_three = self.linear(value, f"{name}.qkv")
        shape = self._constant("heads_shape", [1, -1, 3, n_heads, HEAD])
        heads = self._add("Reshape", f"{name}.heads", all_three, shape)
        turned = self._add("Transpose", f"{name}.turned", heads, perm=[2, 0, 3, 1, 4])
        query, key, content = (
            self._add("Gather", f"{name}.{part}", turned, self._constant(f"index{n}", n), axis=0)
            for n, part in enumerate(("query", "key", "content"))
        )
        scaled = self._add("Mul", f"{name}.scaled", query, self._constant("scale", np.float32(HEAD**-0.5)))
        turned_key = self._add("Transpose", f"{name}.turned_key", key, perm=[0, 1, 3, 2])
        scores = self._add("MatMul", f"{name}.scores", scaled, turned_key)
        shares = self._add("Softmax", f"{name}.shares", scores, axis=-1)
        mixed = self._add("MatMul", f"{name}.mixed", shares, content)
        back = self._add("Transpose", f"{name}.back", mixed, perm=[0, 2, 1, 3])
        joined = self._add(
            "Reshape", f"{name}.joined", back, self._constant("token_shape", [1, -1, self._width])
        )
        return self.linear(joined, f"{name}.proj")

    def linear(self, value: str, name: str) -> str:
        """Add a product with weights, and a bias."""
        turned = self._constant(f"{name}.weight", self._weights[f"{name}.weight"].T)
        product = self._add("MatMul", f"{name}.product", value, turned)
        return self._add("Add", name, product, self._weight(f"{name}.bias"))

    def norm(self, value: str, name: str, output: str = "") -> str:
        """Add a normalization of each token."""
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._add("LayerNormalization", output or name, value, scale, shift, epsilon=EPSILON)

    def gelu(self, value: str) -> str:
        """Add ``x (1 + erf(x / sqrt 2)) / 2``."""
        root = self._constant("root", np.float32(math.sqrt(2)))
        error = self._add("Erf", f"{value}.erf", self._add("Div", f"{value}.over", value, root))
        more = self._add("Add", f"{value}.more", error, self._constant("one", np.float32(1)))
        product = self._add("Mul", f"{value}.twice", value, more)
        return self._add("Mul", f"{value}.gelu", product, self._constant("half", np.float32(0.5)))

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        """Return the network."""
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])
        ends = [
            helper.make_tensor_value_info(one, TensorProto.FLOAT, [1, None, self._width]) for one in outputs
        ]
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "dinov2", [image], ends, constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _residual(self, value: str, inner: str, scale: str, name: str) -> str:
        scaled = self._add("Mul", scale, inner, self._weight(f"{scale}.gamma"))
        return self._add("Add", name, value, scaled)

    def _add(self, operation: str, name: str, *inputs: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operation, inputs, [name], name=name, **attributes))
        return name

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value)
        shaped = array.reshape(np.shape(value))  # of numbers, too
        self._constants.setdefault(name, numpy_helper.from_array(shaped, name))
        return name
