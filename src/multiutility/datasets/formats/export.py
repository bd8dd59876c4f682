"""What the writers of all formats share: where files go, and what must be right before."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility import files
from multiutility.arrays import BoolArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import visible
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import image_size
from multiutility.datasets.tables import write_text
from multiutility.datasets.writing import (
    NewSample,
    check_earlier,
    check_name,
    check_sample,
    write_sample_image,
    write_split,
)
from multiutility.kinds import KINDS, Kind, PixelAnnotation
from multiutility.kinds.boxes import BOXES
from multiutility.kinds.mask import MASK
from multiutility.kinds.seeds import SEEDS
from multiutility.kinds.tags import TAGS, is_open

# Kinds that most formats have.
USUAL = (MASK, TAGS, BOXES, SEEDS)


@contextmanager
def filling(out: str | Path) -> Iterator[Path]:
    """Folder to write into: what is in it appears in the folder ``out`` when the block ends, or never."""
    out = Path(out)
    replaced = earlier_export(out)
    with files.filling(out, replaced=replaced) as folder:
        yield folder


def earlier_export(out: Path) -> list[Path]:
    """Return what is there already and may be replaced; raise if there is something that may not."""
    if out.exists() and not out.is_dir():
        raise DatasetError(out, None, "is not a folder", "choose a new folder")
    check_earlier(out, visible(out), "there is something already")
    return visible(out)


@dataclass(frozen=True, eq=False)
class Placed:
    """A sample whose image is in its place, under the name ``file``."""

    name: str
    file: str
    height: int
    width: int
    annotation: PixelAnnotation


def place_samples(
    folder: Path,
    classes: Classes,
    samples: Iterable[NewSample],
    kept: Collection[Kind] = USUAL,
    *,
    loose: bool = False,
) -> Iterator[Placed]:
    """Check samples and put their images into a folder, one by one; raise if kinds are not ``kept``.

    Loose boxes are kept if ``loose``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, None] = {}
    for sample in samples:
        check_name(folder, sample.name, taken)
        check_sample(folder, sample, classes)
        check_loss(sample, kept, loose=loose)
        taken[sample.name] = None
        write_sample_image(folder, sample)
        image = sample.image
        ending = ".png" if isinstance(image, np.ndarray) else image.resolve().suffix.lower()
        file = f"{sample.name}{ending}"
        height, width = image_size(folder / file)
        yield Placed(sample.name, file, height, width, sample.annotation)


@dataclass(frozen=True, eq=False)
class Segment:
    """The area of an object, of a class of stuff, or of objects that are not told apart (a crowd)."""

    label: int
    area: BoolArray
    crowd: bool = False
    is_object: bool = False


def segments(annotation: PixelAnnotation, classes: Classes) -> Iterator[Segment]:
    """Areas of a mask, label by label: stuff whole, and things object by object if there is a map of them."""
    mask = annotation.mask
    if mask is None:
        return
    instances: NDArray[np.integer] = np.zeros(mask.shape, dtype=np.int32)
    if annotation.instances is not None:
        instances = annotation.instances
    for value in np.unique(mask[mask > 0]).tolist():
        area, label = mask == value, value - 1
        if classes[label].kind == "stuff":
            yield Segment(label, area)
            continue
        for number in np.unique(instances[area]).tolist():
            yield Segment(label, area & (instances == number), crowd=not number, is_object=bool(number))


def check_loss(sample: NewSample, kept: Collection[Kind], *, loose: bool) -> None:
    """Raise if a format would lose annotations: of kinds that it does not keep, loose boxes, open tags."""
    there = [kind for kind in KINDS if kind.there(sample.annotation.value(kind))]
    lost = [kind.words.plural for kind in there if kind not in kept]
    if BOXES in kept and not loose and any(not box.tight for box in sample.annotation.boxes):
        lost.append("loose boxes")
    if TAGS in kept and is_open(sample.annotation.tags):
        lost.append("open tags")
    if lost:
        file = sample.name if isinstance(sample.image, np.ndarray) else sample.image
        what = f"has {' and '.join(lost)}, which this format cannot keep"
        raise DatasetError(file, None, what, "choose another format, or let them be lost (--lossy)")


def without_others(
    samples: Iterable[NewSample], kept: Collection[Kind], *, loose: bool = False
) -> Iterator[NewSample]:
    """Samples with annotations of the kinds that a format keeps, and no others; loose boxes if ``loose``.

    No format can say that tags are open.
    """
    for sample in samples:
        values = {kind.name: sample.annotation.value(kind) for kind in kept}
        if BOXES in kept and not loose:
            # As tight ones, they would say what is not true.
            values[BOXES.name] = tuple(box for box in sample.annotation.boxes if box.tight)
        if TAGS in kept and is_open(sample.annotation.tags):
            values[TAGS.name] = ()
        yield replace(sample, annotation=PixelAnnotation(**values, instances=sample.annotation.instances))


def write_splits(folder: Path, splits: Mapping[str, Sequence[str]]) -> None:
    """Write a list of images for each split."""
    for name, members in splits.items():
        check_name(folder, name, {})
        folder.mkdir(exist_ok=True)
        write_split(folder / f"{name}.txt", members)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, at once."""
    write_text(path, json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
