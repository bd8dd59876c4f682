"""Networks of users on their way in: looked into, tried on an image, and installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from skimage.data import chelsea

from multiutility.vision.features.names import BUILT_IN
from multiutility.vision.features.networks.backbone import (
    Backbone,
    Size,
    content_digest,
    external_files,
    open_network,
)
from multiutility.vision.features.networks.inspection import TOKENS, Inspected, inspect
from multiutility.vision.features.networks.installed import PACKAGED, InstalledNetwork, check_new, plain
from multiutility.vision.features.networks.kept_maps import Cells
from multiutility.vision.features.networks.normalization import normalization
from multiutility.vision.regions.boundary import Image
from multiutility.vision.render import gallery

# How much images are enlarged, and the longest side of inputs: small things are seen, and it takes a second.
# The cost of transformers grows faster than the number of their patches.
SCALE = 2.0
MAX_INPUT = {"maps": 640, TOKENS: 448}

DEFAULT_NORMALIZE = "imagenet"


@dataclass(frozen=True)
class Wishes:
    """What the user says of a network; all else is found."""

    outputs: tuple[str, ...] = ()
    normalize: str | None = None
    size: int | None = None
    scale: float = SCALE
    max_input: int | None = None


def looked_into(name: str, path: Path, wishes: Wishes, source: str) -> tuple[InstalledNetwork, Inspected]:
    """Return how a network is used, and all that was found; ``source`` tells where it came from."""
    if name in BUILT_IN:
        raise ValueError(f"{name!r}: there are features of this name in the package; give another name")
    check_new(name)
    known = PACKAGED.get(name)
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; correct the path")
    colors = None if wishes.normalize is None else normalization(wishes.normalize)
    digest = content_digest(path.read_bytes())
    if known is not None and digest != known[0].digest:
        raise ValueError(f"{path}: is not the network {name!r} of the package {known[1]}; give another name")
    packaged = next((one for one, *_ in PACKAGED.values() if one.digest == digest), None)
    outputs = wishes.outputs or (() if packaged is None else packaged.outputs)
    found = inspect(path, outputs, None if wishes.size is None else (wishes.size, wishes.size))
    if colors is None and found.normalizes:
        fix = "say what it takes by --normalize: unit for 0 to 1, or 0,1 for 0 to 255"
        raise ValueError(f"{path}: changes colors before all else, so it may not want them normalized; {fix}")
    mean, std = colors or normalization(DEFAULT_NORMALIZE)
    beside = external_files(path.read_bytes())
    if not plain(beside):
        raise ValueError(f"{path}: has weights in {beside}; export it anew, with weights in the same folder")
    names = tuple(one.name for one in found.outputs)
    facts = InstalledNetwork(
        name=name,
        digest=open_network(str(path), names, found.size is None).digest,
        outputs=names,
        mean=mean,
        std=std,
        scale=wishes.scale,
        multiple=found.multiple,
        max_input=wishes.max_input or MAX_INPUT[found.kind],
        size=found.size,
        kind=found.kind,
        leading=found.outputs[0].leading,
        channels=sum(one.channels for one in found.outputs),
        normalize=wishes.normalize or DEFAULT_NORMALIZE,
        source=source,
        beside=tuple(beside),
    )
    return facts, found


def backbone_of(facts: InstalledNetwork, path: Path) -> Backbone:
    """Return the network in a file, ready to run."""
    how = (facts.outputs, facts.mean, facts.std, facts.scale, facts.multiple, facts.max_input)
    return Backbone(str(path), *how, digest=facts.digest, inner=True, size=facts.size)


def tried(backbone: Backbone, image: Image) -> list[Cells]:
    """Run a network on an image; raise if what it gives says nothing of places."""
    found = backbone.computed(image)
    for name, (cells, grid) in zip(backbone.outputs, found, strict=True):
        if not np.isfinite(cells).all():
            fix = "check --normalize, or export it in float32"
            raise ValueError(f"{backbone.path}: {name} is not finite on a test image; {fix}")
        if not (cells.std(axis=0) > 0).any():
            what = f"{name} is the same everywhere in a test image, {grid[0]} x {grid[1]}"
            raise ValueError(f"{backbone.path}: {what}; give another --output")
    return found


def drawn_cells(cells: NDArray[np.float32], grid: Size) -> Image:
    """Return the three strongest components of a map as colors, uint8 [h, w, 3].

    What belongs together has the same color, and borders are where they are in the image: if not, the output,
    the normalization or the size of patches is wrong.
    """
    spread = cells - cells.mean(axis=0)
    # Signs of components are free: the largest weight is positive, so that pictures can be compared.
    _, _, axes = np.linalg.svd(spread, full_matrices=False)
    axes = axes[:3] * np.sign(np.take_along_axis(axes[:3], np.abs(axes[:3]).argmax(axis=1)[:, None], axis=1))
    parts = spread @ axes.T
    low, high = np.percentile(parts, (2, 98), axis=0)
    colors = np.clip((parts - low) / np.maximum(high - low, 1e-12), 0, 1)
    drawn = np.zeros((len(cells), 3))
    drawn[:, : colors.shape[1]] = colors
    return np.asarray(np.rint(255 * drawn), np.uint8).reshape(*grid, 3)


def map_picture(image: Image, found: Sequence[Cells], names: Sequence[str]) -> Image:
    """Return the image and the maps side by side."""
    height, width = image.shape[:2]
    maps = [
        np.asarray(cv2.resize(drawn_cells(*one), (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)
        for one in found
    ]
    return gallery([[image, *maps]], ["image", *(name[-24:] for name in names)])


def sample_photo() -> Image:
    """Return a photograph of a cat, which comes with scikit-image."""
    return np.asarray(chelsea(), np.uint8)
