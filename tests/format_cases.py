"""Datasets to send through formats, and how to compare what comes back."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pycocotools import mask as coco_mask

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.formats.imported import Imported
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed

CLASSES = Classes(
    [
        LabelClass("grass", (0, 128, 0), "stuff"),
        LabelClass("cow", (0, 0, 128), "thing"),
        LabelClass("tree top", (128, 128, 0), "either", rare=True),
    ]
)
SPLITS = {"train": ["masked", "weak"], "validation": ["objects"]}
# mask2rle of label-studio-converter 0.0.59, of 5 x 7 pixels: rows 1 to 3, columns 2 to 5, and two corners.
BRUSH = [
    0,
    0,
    0,
    140,
    57,
    27,
    252,
    127,
    248,
    124,
    2,
    255,
    253,
    176,
    11,
    255,
    246,
    192,
    47,
    255,
    225,
    176,
    8,
    255,
    192,
]


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """An image of random pixels."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def nested_mask() -> NDArray[np.uint8]:
    """A mask with a void hole in a ring in a ring, parts that touch at corners, and single pixels."""
    rows = [
        "11111111000",
        "12222221003",
        "12000021030",
        "12030021300",
        "12000021033",
        "12222221033",
        "11111111000",
        "00000000002",
        "30000000023",
    ]
    return np.array([[int(digit) for digit in row] for row in rows], dtype=np.uint8)


def mixed_samples() -> list[NewSample]:
    """Images with annotations of all kinds: a mask, a mask with objects, weak ones in a mix, and none."""
    mask = np.zeros((6, 8), dtype=np.uint8)
    mask[3:] = 1
    mask[1:4, 1:3] = mask[1:4, 5:8] = 2
    instances = np.zeros((6, 8), dtype=np.int32)
    instances[1:4, 1:3], instances[1:4, 5:8] = 1, 2
    boxes = (PixelBox(1, 1, 2, 4, 5), PixelBox(2, 0, 0, 7, 3), PixelBox(1, 2.5, 1.25, 6.75, 4.5))
    weak = PixelAnnotation(None, tags=(0,), boxes=boxes, seeds=(PixelSeed(1, 2, 3), PixelSeed(2, 6, 0)))
    return [
        NewSample("masked", noise(9, 11), PixelAnnotation(nested_mask())),
        NewSample("none", noise(3, 4, seed=1)),
        NewSample("objects", noise(6, 8, seed=2), PixelAnnotation(mask, instances=instances)),
        NewSample("tagged", noise(5, 7, seed=3), PixelAnnotation(tags=(2, 0))),
        NewSample("weak", noise(5, 7, seed=4), weak),
    ]


def with_kinds(names: Sequence[str]) -> Classes:
    """Our classes as formats without kinds give them back: things and the rest."""
    return Classes(
        LabelClass(one.name, one.color, "thing" if one.name in names else "stuff") for one in CLASSES
    )


def assert_same(imported: Imported, samples: Sequence[NewSample], *, objects: bool = True) -> None:
    """Compare samples by name: images by their pixels, annotations by all they say."""
    assert list(imported.samples.names) == [sample.name for sample in samples]
    assert len(imported.samples) == len(samples)
    for found, wanted in zip(imported.samples, samples, strict=True):
        assert found.name == wanted.name
        assert isinstance(found.image, Path)
        assert isinstance(wanted.image, np.ndarray)
        np.testing.assert_array_equal(np.asarray(Image.open(found.image)), wanted.image)
        assert_same_annotation(found.annotation, wanted.annotation, objects=objects)


def assert_same_annotation(found: PixelAnnotation, wanted: PixelAnnotation, *, objects: bool = True) -> None:
    """Compare annotations; the order of tags does not matter."""
    assert_same_array(found.mask, wanted.mask)
    assert sorted(found.tags) == sorted(wanted.tags)
    assert found.boxes == wanted.boxes
    assert found.seeds == wanted.seeds
    if objects:
        assert_same_array(found.instances, wanted.instances)


def assert_same_array(found: NDArray[np.generic] | None, wanted: NDArray[np.generic] | None) -> None:
    """Compare what may be missing."""
    assert (found is None) == (wanted is None)
    if found is not None and wanted is not None:
        np.testing.assert_array_equal(found, wanted)


def decode_by_coco(runs: object) -> NDArray[np.bool_]:
    """Area of run lengths, as pycocotools decodes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy, about pycocotools
        return np.asarray(coco_mask.decode(runs)) > 0


def fill_by_coco(corners: Sequence[float], height: int, width: int) -> NDArray[np.bool_]:
    """Area of a polygon [x, y, x, y, ...], as pycocotools fills it."""
    return decode_by_coco(coco_mask.frPyObjects([list(corners)], height, width))[:, :, 0]


def read_all(imported: Imported) -> dict[str, PixelAnnotation]:
    """All annotations, by name."""
    return {sample.name: sample.annotation for sample in imported.samples}


def put_image(path: Path, height: int, width: int) -> Path:
    """Save an image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(noise(height, width)).save(path)
    return path


def put_json(path: Path, value: object) -> Path:
    """Save a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
