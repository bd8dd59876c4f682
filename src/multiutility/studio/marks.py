"""Tags, boxes and seeds of one image as the page sends them: names of labels, and numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import Sample
from multiutility.datasets.pixels import PixelAnnotation, PixelBox, PixelSeed
from multiutility.datasets.writing import annotation_problem

SIDES = ("left", "top", "right", "bottom")
# Nobody draws more; without a limit, one request might fill the disk.
MAX_MARKS = 10_000


@dataclass(frozen=True)
class Marks:
    """What is annotated of an image besides its mask; labels count from 0."""

    tags: tuple[int, ...] = ()
    boxes: tuple[PixelBox, ...] = ()
    seeds: tuple[PixelSeed, ...] = ()

    @classmethod
    def of(cls, sample: Sample) -> Marks:
        """Return those of a sample."""
        boxes = tuple(box for _, box in sample.box_rows)
        return cls(sample.tags, boxes, tuple(seed for _, seed in sample.seed_rows))

    @classmethod
    def from_json(cls, data: Any, classes: Classes, size: tuple[int, int]) -> Marks:
        """Return what a page sent for an image [H, W]; raises ``ValueError`` for anything else."""
        fields = mapping(data, ("tags", "boxes", "seeds"))
        tags = dict.fromkeys(label_of(name, classes) for name in listed(fields["tags"], "tags"))
        boxes = [box_of(one, classes) for one in listed(fields["boxes"], "boxes")]
        seeds = [seed_of(one, classes) for one in listed(fields["seeds"], "seeds")]
        marks = cls(tuple(tags), tuple(boxes), tuple(seeds))
        annotation = PixelAnnotation(tags=marks.tags, boxes=marks.boxes, seeds=marks.seeds)
        problem = annotation_problem(annotation, *size, len(classes))
        if problem:
            raise ValueError("; ".join(problem))
        return marks

    def to_json(self, classes: Classes) -> dict[str, Any]:
        """Return what a page gets, with the version."""
        content: dict[str, Any] = {
            "tags": [classes[label].name for label in self.tags],
            "boxes": [
                {"label": classes[box.label].name, **{side: getattr(box, side) for side in SIDES}}
                for box in self.boxes
            ],
            "seeds": [{"label": classes[s.label].name, "x": s.x, "y": s.y} for s in self.seeds],
        }
        # Of the content and not of a count: it also changes if somebody edits the table by hand.
        text = json.dumps(content, sort_keys=True).encode()
        return {"version": hashlib.sha256(text).hexdigest()[:20], **content}

    def labels(self) -> set[int]:
        """Return all labels that are named."""
        return {*self.tags, *(box.label for box in self.boxes), *(seed.label for seed in self.seeds)}


def mapping(data: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return an object of JSON that has these keys."""
    if not isinstance(data, dict) or any(key not in data for key in keys):
        raise ValueError(f"expected an object with {', '.join(keys)}")
    return data


def listed(data: Any, what: str) -> list[Any]:
    """Return a list of JSON that is not too long."""
    if not isinstance(data, list) or len(data) > MAX_MARKS:
        raise ValueError(f"{what}: expected a list of at most {MAX_MARKS}")
    return data


def label_of(name: Any, classes: Classes) -> int:
    """Return the label of a name."""
    if not isinstance(name, str) or name not in classes.names:
        raise ValueError(f"unknown label {name!r}")
    return classes.label(name)


def number_of(value: Any) -> float:
    """Return a finite number of JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def box_of(data: Any, classes: Classes) -> PixelBox:
    """Return a box."""
    fields = mapping(data, ("label", *SIDES))
    return PixelBox(label_of(fields["label"], classes), *(number_of(fields[side]) for side in SIDES))


def seed_of(data: Any, classes: Classes) -> PixelSeed:
    """Return a seed."""
    fields = mapping(data, ("label", "x", "y"))
    x, y = number_of(fields["x"]), number_of(fields["y"])
    if not (x.is_integer() and y.is_integer()):
        raise ValueError(f"x {x:g}, y {y:g} is not a pixel")
    return PixelSeed(label_of(fields["label"], classes), int(x), int(y))
