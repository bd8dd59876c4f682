"""DINOv2 in ONNX: against the same in NumPy, and places against Pillow's way to resize."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.special import erf, softmax

from multiutility.vision.features.networks.dinov2 import build, is_dinov2
from multiutility.vision.features.networks.graph import part
from multiutility.vision.features.networks.inspection import inspect

WIDTH, PATCH, GRID, BLOCKS = 128, 14, 5, 4


def weights(registers: int = 4) -> dict[str, NDArray[np.float32]]:
    """Random weights of a small one."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "cls_token": (1, 1, WIDTH),
        "pos_embed": (1, 1 + GRID * GRID, WIDTH),
        "patch_embed.proj.weight": (WIDTH, 3, PATCH, PATCH),
        "patch_embed.proj.bias": (WIDTH,),
        "norm.weight": (WIDTH,),
        "norm.bias": (WIDTH,),
    }
    if registers:
        shapes["register_tokens"] = (1, registers, WIDTH)
    for n in range(BLOCKS):
        for name, inside, outside in (
            ("attn.qkv", WIDTH, 3 * WIDTH),
            ("attn.proj", WIDTH, WIDTH),
            ("mlp.fc1", WIDTH, 2 * WIDTH),
            ("mlp.fc2", 2 * WIDTH, WIDTH),
        ):
            shapes[f"blocks.{n}.{name}.weight"] = (outside, inside)
            shapes[f"blocks.{n}.{name}.bias"] = (outside,)
        for name in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "ls1.gamma", "ls2.gamma"):
            shapes[f"blocks.{n}.{name}"] = (WIDTH,)
    return {
        name: (rng.normal(size=shape) / math.sqrt(shape[-1] if len(shape) == 2 else 4)).astype(np.float32)
        for name, shape in shapes.items()
    }


def resized(places: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """Places [g, g, C] at another size, channel by channel."""
    channels = [
        Image.fromarray(np.ascontiguousarray(one)).resize((columns, rows), Image.Resampling.BICUBIC)
        for one in np.moveaxis(places, 2, 0)
    ]
    return np.stack([np.asarray(one) for one in channels], axis=2)


def normed(w: Any, name: str, x: NDArray[Any]) -> NDArray[Any]:
    spread = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt((spread**2).mean(axis=1, keepdims=True) + 1e-6)
    return np.asarray(spread / deviation * w[f"{name}.weight"] + w[f"{name}.bias"])


def linear(w: Any, name: str, x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])


def forward(w: Any, image: NDArray[Any]) -> list[NDArray[Any]]:
    """Tokens after each block, and at the end."""
    rows, columns = image.shape[1] // PATCH, image.shape[2] // PATCH
    cut = image.reshape(3, rows, PATCH, columns, PATCH).transpose(1, 3, 0, 2, 4).reshape(rows * columns, -1)
    patches = cut @ w["patch_embed.proj.weight"].reshape(WIDTH, -1).T + w["patch_embed.proj.bias"]
    patches = patches + resized(w["pos_embed"][0, 1:].reshape(GRID, GRID, WIDTH), rows, columns).reshape(
        -1, WIDTH
    )
    first = [w["cls_token"][0] + w["pos_embed"][0, :1]]
    first += [w["register_tokens"][0]] if "register_tokens" in w else []
    x = np.concatenate([*first, patches]).astype(np.float64)
    found = []
    for n in range(BLOCKS):
        name = f"blocks.{n}"
        three = linear(w, f"{name}.attn.qkv", normed(w, f"{name}.norm1", x))
        heads = []
        for head in range(WIDTH // 64):
            q, k, v = (three[:, s + 64 * head : s + 64 * (head + 1)] for s in (0, WIDTH, 2 * WIDTH))
            heads.append(softmax(q @ k.T / 8, axis=1) @ v)
        x = x + w[f"{name}.ls1.gamma"] * linear(w, f"{name}.attn.proj", np.concatenate(heads, axis=1))
        inner = linear(w, f"{name}.mlp.fc1", normed(w, f"{name}.norm2", x))
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        x = x + w[f"{name}.ls2.gamma"] * linear(w, f"{name}.mlp.fc2", inner)
        found.append(x)
    return [*found, normed(w, "norm", x)]


@pytest.mark.parametrize("registers", [4, 0])
@pytest.mark.parametrize("grid", [(5, 5), (3, 7), (8, 6)])
def test_tokens_are_those_of_plain_arithmetic(registers: int, grid: tuple[int, int]) -> None:
    w = weights(registers)
    image = np.random.default_rng(1).normal(size=(3, PATCH * grid[0], PATCH * grid[1])).astype(np.float32)
    names = [*(f"block{n}" for n in range(BLOCKS)), "tokens"]
    session = onnxruntime.InferenceSession(part(build(w), names).SerializeToString())
    for found, expected in zip(session.run(names, {"image": image[None]}), forward(w, image), strict=True):
        np.testing.assert_allclose(found[0], expected, atol=2e-3, rtol=1e-3)


def test_outputs_and_tokens_are_found(tmp_path: Path) -> None:
    w = weights()
    assert is_dinov2(w)
    assert not is_dinov2({"weight": np.zeros(1)})
    path = tmp_path / "a.onnx"
    path.write_bytes(build(w).SerializeToString())
    (found,) = inspect(path).outputs
    # After three of four blocks.
    assert (found.name, found.stride, found.leading, found.channels) == ("block2", PATCH, 5, WIDTH)
