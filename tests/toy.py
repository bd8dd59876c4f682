"""Small drawn pictures and features that take no time, for tests of everything around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.kinds import PixelAnnotation
from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.weaken import weak_annotation

CLASSES = Classes(
    [
        LabelClass("sky", (90, 150, 230), "stuff"),
        LabelClass("grass", (60, 160, 60), "stuff"),
        LabelClass("cow", (130, 70, 30), "thing"),
        LabelClass("boat", (220, 40, 40), "thing", rare=True),
    ]
)
SKY, GRASS, COW, BOAT = range(4)


@dataclass(frozen=True)
class MeanColor:
    """Mean color of each region, its height in the picture, and 1; standardized on training pictures."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        del rng
        values = np.concatenate([self.values(picture) for picture in pictures])
        return {"mean": values.mean(axis=0), "scale": values.std(axis=0) + 1e-3}

    def describe(self, picture: Picture, state: State) -> Features:
        values = (self.values(picture) - state["mean"]) / state["scale"]
        return np.hstack([values, np.ones((len(values), 1))]).astype(np.float32)

    def values(self, picture: Picture) -> NDArray[np.float64]:
        height = np.arange(picture.shape[0])[:, np.newaxis, np.newaxis] / picture.shape[0]
        place = np.broadcast_to(height, (*picture.shape, 1))
        return np.asarray(picture.pool_mean(np.concatenate([picture.image / 255, place], axis=2)), np.float64)


def toy_preset() -> Preset:
    """Superpixels and features of no cost."""
    return Preset("toy", Slic(60), (MeanColor(),), (Boundary(),), weighted=True)


def toy_picture(
    rng: np.random.Generator, thing: int = COW, shape: tuple[int, int] = (36, 48)
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A thing on grass under the sky, with noise, and its mask; the last column is void."""
    height, width = shape
    mask = np.full(shape, GRASS + 1, dtype=np.uint8)
    mask[: int(rng.integers(height // 3, height // 2))] = SKY + 1
    top, left = int(rng.integers(height // 2, 2 * height // 3)), int(rng.integers(2, width // 2))
    mask[top : top + height // 4, left : left + width // 3] = thing + 1
    image = CLASSES.palette[mask] + rng.normal(0, 12, (*shape, 3))
    mask[:, -1] = 0
    return np.clip(image, 0, 255).astype(np.uint8), mask


def write_toy(path: Path, n_train: int = 12, n_validation: int = 6, random_state: int = 0) -> DatasetFolder:
    """A dataset with masks, and the splits ``train`` and ``validation``."""
    rng = np.random.default_rng(random_state)
    samples = []
    for n in range(n_train + n_validation):
        image, mask = toy_picture(rng, thing=BOAT if n % 3 == 2 else COW)
        samples.append(NewSample(f"picture{n:02d}", image, PixelAnnotation(mask=mask)))
    names = [sample.name for sample in samples]
    write_dataset(path, CLASSES, samples, {"train": names[:n_train], "validation": names[n_train:]})
    return DatasetFolder(path)


def mixed_annotations(masks: Sequence[NDArray[np.uint8]]) -> list[PixelAnnotation]:
    """Two masks, then tags, boxes and seeds in turn."""
    found = [PixelAnnotation(mask=mask) for mask in masks[:2]]
    for n, mask in enumerate(masks[2:]):
        found.append(weak_annotation(mask, CLASSES, boxes=n % 2 == 1, seeds=n % 4 > 1))
    return found


def write_mixed(path: Path, dataset: DatasetFolder) -> DatasetFolder:
    """The training images of a toy dataset with a mix of annotations."""
    train = list(dataset.split("train"))
    masks = [mask for sample in train if (mask := sample.mask()) is not None]
    pairs = zip(train, mixed_annotations(masks), strict=True)
    samples = [NewSample(sample.name, sample.path, annotation) for sample, annotation in pairs]
    write_dataset(path, CLASSES, samples, {"train": [sample.name for sample in train]})
    return DatasetFolder(path)
