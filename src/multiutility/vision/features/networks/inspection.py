"""What a network in an ONNX file takes and gives, found by looking into it and by running it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from multiutility.vision.features.networks.backbone import Size, new_session
from multiutility.vision.features.networks.graph import (
    first_operation,
    image_input,
    part,
    patch_of,
    trunk,
    values,
)

# A height that patches of 7, 8, 14, 16, 28 and 32 pixels, and all usual strides, divide.
SIDE = 224
# Sizes of square images that networks for one size only are made for.
SQUARES = (224, 256, 384, 448, 512, 518, 336, 196, 128, 96, 64, 32)
# Outputs with fewer channels are answers, such as a map of depth, and not features.
MIN_CHANNELS = 16
# Tokens before those of patches: one for the class, and some registers.
MAX_LEADING = 16
# Coarser maps hold little of where things are.
MAX_STRIDE = 32
N_LEVELS = 2

MAPS, TOKENS = "maps", "tokens"

Shapes: TypeAlias = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Dense:
    """A value of a network that says something of each place of the image, in cells of ``stride`` pixels."""

    name: str
    kind: str
    stride: int
    channels: int
    leading: int = 0


@dataclass(frozen=True)
class Inspected:
    """What was found: the outputs to use, others that could be, and the size of the input, if it is fixed."""

    outputs: tuple[Dense, ...]
    others: tuple[Dense, ...]
    size: Size | None
    normalizes: bool

    @property
    def kind(self) -> str:
        """Whether outputs are maps or tokens."""
        return self.outputs[0].kind

    @property
    def multiple(self) -> int:
        """What sides of the input must be multiples of."""
        if self.kind == TOKENS:
            return self.outputs[0].stride
        return max(MAX_STRIDE, *(one.stride for one in self.outputs))


def inspect(path: Path, outputs: Sequence[str] = (), size: Size | None = None) -> Inspected:
    """Look into an ONNX file; raise an error that names it, and what to do, if it cannot be used.

    ``outputs`` and ``size`` are found if they are not given: of the outputs that the file declares, those
    that are dense, or else values of the trunk of the network; tokens before maps, and of maps the last ones
    of the two coarsest resolutions.
    """
    try:
        model = onnx.load_model(str(path))
    except FileNotFoundError as error:
        lost = error.filename or path
        raise ValueError(
            f"{lost}: there is no such file, which {path.name} needs; correct the path"
        ) from None
    except Exception as error:  # protobuf's errors have no name that could be imported
        raise ValueError(f"{path}: is no ONNX file ({error}); export the network to ONNX") from error
    try:
        return inspected(model, outputs, size)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def inspected(model: onnx.ModelProto, outputs: Sequence[str], size: Size | None) -> Inspected:
    """Look into a network."""
    check_input(model)
    declared = [one.name for one in model.graph.output]
    inner = [name for name in trunk(model) if name not in declared]
    if unknown := [name for name in outputs if name not in values(model)]:
        near = get_close_matches(unknown[0], values(model), n=1, cutoff=0.3) or declared
        raise ValueError(f"has no value {unknown[0]!r}; did you mean --output {near[0]}?")
    asked = list(outputs) or declared
    runs = run_shapes(model, sorted({*asked, *inner, *declared}), size)
    shapes, fixed = runs[0][1], (runs[0][0] if len(runs) == 1 else None)
    found = {one.name: one for one in dense_values(runs)}
    usable = [found[name] for name in (*inner, *declared) if name in found]
    if outputs:
        chosen = [found[name] for name in outputs if name in found]
        if len(chosen) < len(outputs):
            bad = next(name for name in outputs if name not in found)
            raise ValueError(
                f"{bad!r} is no map or grid of tokens: {shape_text(shapes[bad])}; {advice(usable)}"
            )
        if len({(one.kind, one.stride if one.kind == TOKENS else 0) for one in chosen}) > 1:
            raise ValueError(
                "the outputs are maps and tokens, or tokens of several sizes; give those of one kind"
            )
    else:
        chosen = selected([one for one in usable if one.name in declared]) or selected(usable)
    if not chosen:
        texts = ", ".join(f"{name} {shape_text(shapes[name])}" for name in declared)
        raise ValueError(f"no map or grid of tokens was found: it has {texts}; {advice(usable)}")
    others = tuple(one for one in usable if one not in chosen)
    return Inspected(tuple(chosen), others, fixed, first_operation(model) in ("Sub", "Add", "Div", "Mul"))


def check_input(model: onnx.ModelProto) -> None:
    """Raise unless the network takes images as float32 [1, 3, H, W]."""
    kind = image_input(model).type.tensor_type
    shape = [one.dim_value or one.dim_param or "?" for one in kind.shape.dim]
    if kind.elem_type != onnx.TensorProto.FLOAT:
        name = onnx.TensorProto.DataType.Name(kind.elem_type)
        raise ValueError(f"its input is of {name}; export the network in float32")
    if len(shape) != 4 or (isinstance(shape[1], int) and shape[1] != 3):
        raise ValueError(f"its input is {shape}: expected [1, 3, H, W]; export it so, for RGB images")
    if isinstance(shape[0], int) and shape[0] != 1:
        raise ValueError(f"its input is a batch of {shape[0]} images; export it for one, or for any number")


def run_shapes(model: onnx.ModelProto, names: Sequence[str], size: Size | None) -> list[tuple[Size, Shapes]]:
    """Shapes of values for images of two sizes, or of one if the network takes no other.

    A size that the file declares is not believed before others have failed: many that are exported for one
    size work with all.
    """
    if size is not None:
        return [(size, shapes_at(runner(model, names, free=True), names, size))]
    patch = patch_of(model)
    side = SIDE if patch is None or SIDE % patch == 0 else 16 * patch
    free = runner(model, names, free=True)
    try:
        return [(one, shapes_at(free, names, one)) for one in ((side, side), (side, 2 * side))]
    except RunError as error:
        problem = error
    for square in declared_sizes(model) or [(one, one) for one in SQUARES]:
        try:
            return [(square, shapes_at(free, names, square))]
        except RunError as error:
            problem = error
    raise ValueError(f"cannot be run ({problem}); give the --size of images that it was exported for")


def declared_sizes(model: onnx.ModelProto) -> list[Size]:
    """Height and width of the input, if the file has both."""
    _, _, height, width = image_input(model).type.tensor_type.shape.dim
    return [(height.dim_value, width.dim_value)] if height.dim_value and width.dim_value else []


class RunError(ValueError):
    """A network does not run at some size."""


Runner: TypeAlias = Callable[[NDArray[np.float32]], list[Any]]


def runner(model: onnx.ModelProto, names: Sequence[str], free: bool) -> Runner:
    """Return what runs the network up to some values."""
    try:
        session = new_session(part(model, names, free).SerializeToString())
    except Exception as error:  # onnxruntime's errors have nothing else in common
        raise ValueError(f"cannot be loaded ({error}); export it anew") from error
    (source,) = session.get_inputs()
    return lambda image: list(session.run(list(names), {source.name: image}))


def shapes_at(run: Runner, names: Sequence[str], size: Size) -> Shapes:
    """Return the shapes of values for an image of the size."""
    image = np.random.default_rng(0).normal(size=(1, 3, *size)).astype(np.float32)
    try:
        found = run(image)
    except Exception as error:  # see above
        lines = str(error).splitlines()
        raise RunError(lines[0] if lines else type(error).__name__) from error
    floats = {name: one for name, one in zip(names, found, strict=True) if isinstance(one, np.ndarray)}
    return {name: one.shape if one.dtype == np.float32 else () for name, one in floats.items()}


def dense_values(runs: Sequence[tuple[Size, Shapes]]) -> Iterable[Dense]:
    """Yield what is dense of the values with these shapes: for two sizes, or for the only one."""
    size, shapes = runs[0]
    for name, shape in shapes.items():
        one = (
            dense_at(name, shape, size)
            if len(runs) == 1
            else dense_of(name, shape, runs[1][1][name], size[0])
        )
        if one is not None:
            yield one


def dense_of(name: str, shape: tuple[int, ...], wide: tuple[int, ...], side: int) -> Dense | None:
    """Return what a value is by its shapes for a square image, and for one that is twice as wide.

    >>> dense_of("y", (1, 64, 28, 28), (1, 64, 28, 56), 224)
    Dense(name='y', kind='maps', stride=8, channels=64, leading=0)
    >>> dense_of("y", (1, 261, 384), (1, 517, 384), 224)
    Dense(name='y', kind='tokens', stride=14, channels=384, leading=5)
    >>> dense_of("y", (1, 1000), (1, 1000), 224)
    """
    if len(shape) != len(wide) or 0 in shape or shape[:1] != (1,):
        return None
    if len(shape) == 4 and shape[1] == wide[1] and shape[2] > 1:
        if abs(wide[3] - 2 * shape[3]) > 2 or wide[2] != shape[2] or shape[2] != shape[3]:
            return None
        return Dense(name, MAPS, round(side / shape[2]), shape[1])
    if len(shape) == 3 and shape[2] == wide[2] and wide[1] > shape[1]:
        rows = math.isqrt(wide[1] - shape[1])
        leading = shape[1] - rows * rows
        if rows < 2 or rows * rows != wide[1] - shape[1] or not 0 <= leading <= MAX_LEADING or side % rows:
            return None
        return Dense(name, TOKENS, side // rows, shape[2], leading)
    return None


def dense_at(name: str, shape: tuple[int, ...], size: Size) -> Dense | None:
    """Return what a value is by its shape for an image of one size.

    >>> dense_at("y", (1, 197, 768), (224, 224))
    Dense(name='y', kind='tokens', stride=16, channels=768, leading=1)
    """
    height, width = size
    if len(shape) == 4 and shape[0] == 1 and min(shape[2:]) > 1:
        stride = round(height / shape[2])
        return Dense(name, MAPS, stride, shape[1]) if abs(width / stride - shape[3]) <= 1 else None
    if len(shape) != 3 or shape[0] != 1:
        return None
    common = math.gcd(height, width)
    for stride in (one for one in range(4, common + 1) if common % one == 0):
        leading = shape[1] - (height // stride) * (width // stride)
        if 0 <= leading <= MAX_LEADING and shape[1] > 4:
            return Dense(name, TOKENS, stride, shape[2], leading)
    return None


def selected(found: Sequence[Dense]) -> list[Dense]:
    """Return the values to use, of those in the order of the network."""
    rich = [one for one in found if one.channels >= MIN_CHANNELS]
    tokens = [one for one in rich if one.kind == TOKENS]
    if tokens:
        return tokens[-1:]
    last = {one.stride: one for one in rich}  # later ones take the place of earlier ones
    strides = sorted(stride for stride in last if stride <= MAX_STRIDE) or sorted(last)[:1]
    return [last[stride] for stride in strides[-N_LEVELS:]]


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape in brackets."""
    return str(list(shape))


def advice(usable: Sequence[Dense]) -> str:
    """Say which outputs could be used."""
    if not usable:
        return "give one of the values inside it by --output"
    return "could be --output " + ", ".join(one.name for one in usable[-5:])
