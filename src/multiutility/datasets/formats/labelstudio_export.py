"""Tasks for Label Studio from samples: annotations, or predictions to start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np

from multiutility.arrays import BoolArray
from multiutility.datasets.classes import Classes, color_text
from multiutility.datasets.formats import rle_pack
from multiutility.datasets.formats.export import (
    USUAL,
    Placed,
    filling,
    place_samples,
    segments,
    write_json,
)
from multiutility.datasets.formats.imported import find_in_splits
from multiutility.datasets.formats.labelstudio import CONFIG
from multiutility.datasets.tables import write_text
from multiutility.datasets.writing import NewSample
from multiutility.kinds.objects import labels_of
from multiutility.kinds.scribbles import SCRIBBLES
from multiutility.kinds.tags import TAGS

Json = dict[str, Any]

IMAGES, TASKS = "images", "tasks.json"
# Controls of the labeling configuration: their names, and what they and their results are called.
# The names of the two brushes tell what their strokes are, see ``labelstudio_brush``.
CONTROLS = {
    "box": "RectangleLabels",
    "seed": "KeyPointLabels",
    "scribbles": "BrushLabels",
    "mask": "BrushLabels",
}
# Of a keypoint, in percent of the width; it only says how large it is drawn.
POINT_SIZE = 0.5


def write_labelstudio(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
    *,
    predictions: bool = False,
) -> None:
    """Write samples for Label Studio: ``images``, ``tasks.json``, and ``config.xml`` to set up a project.

    Tasks look for images in local storage: serve the folder as such. Masks are brush strokes, one for each
    object or class, and so are scribbles, by another control. With ``predictions``, all are proposals to
    correct instead of finished annotations.
    """
    split_of = find_in_splits(splits or {})
    tasks = []
    with filling(out) as folder:
        placed = place_samples(folder / IMAGES, classes, samples, kept=(*USUAL, SCRIBBLES))
        for number, sample in enumerate(placed, start=1):
            data: Json = {"image": f"/data/local-files/?d={IMAGES}/{quote(sample.file)}"}
            if sample.name in split_of:
                data["split"] = split_of[sample.name]
            results = list(task_results(sample, classes))
            key = "predictions" if predictions else "annotations"
            tasks.append({"id": number, "data": data, key: [{"result": results}] if results else []})
        write_json(folder / TASKS, tasks)
        write_text(folder / CONFIG, configuration(classes))


def task_results(sample: Placed, classes: Classes) -> Iterator[Json]:
    """Results of a task, with ids."""
    parts = [*results(sample, classes)]
    for number, (name, kind, value) in enumerate(parts, start=1):
        control: Json = {"id": f"r{number}", "from_name": name, "to_name": "image", "type": kind}
        size = {"original_width": sample.width, "original_height": sample.height, "image_rotation": 0}
        yield control | (size if name in CONTROLS else {}) | {"value": value}


def results(sample: Placed, classes: Classes) -> Iterator[tuple[str, str, Json]]:
    """Name of the control, type and value of each result."""
    annotation, (height, width) = sample.annotation, (sample.height, sample.width)
    if annotation.tags:
        names = [classes[label].name for label in TAGS.labels(annotation.tags)]
        yield "tags", "choices", {"choices": names}
    for segment in segments(annotation, classes):
        yield region("mask", classes[segment.label].name, strokes(segment.area))
    if annotation.scribbles is not None:
        for label in labels_of(annotation.scribbles):
            yield region("scribbles", classes[label].name, strokes(annotation.scribbles == label + 1))
    for box in annotation.boxes:
        place = {"x": 100 * box.left / width, "y": 100 * box.top / height, "rotation": 0}
        size = {
            "width": 100 * (box.right - box.left) / width,
            "height": 100 * (box.bottom - box.top) / height,
        }
        yield region("box", classes[box.label].name, place | size)
    for seed in annotation.seeds:
        place = {"x": 100 * (seed.x + 0.5) / width, "y": 100 * (seed.y + 0.5) / height, "width": POINT_SIZE}
        yield region("seed", classes[seed.label].name, place)


def strokes(area: BoolArray) -> Json:
    """Return an area as painted: four values for each pixel, all opaque or none."""
    words = np.repeat(area.ravel().astype(np.uint8) * 255, 4)
    return {"format": "rle", "rle": rle_pack.encode(words)}


def region(name: str, label: str, value: Json) -> tuple[str, str, Json]:
    """Result of a control that labels regions."""
    kind = CONTROLS[name].lower()
    return name, kind, value | {kind: [label]}


def configuration(classes: Classes) -> str:
    """Labeling configuration in which all kinds of annotations can be made."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Image", name="image", value="$image", zoom="true")
    tags = ElementTree.SubElement(view, "Choices", name="tags", toName="image", choice="multiple")
    for one in classes:
        ElementTree.SubElement(tags, "Choice", value=one.name)
    for name, control in CONTROLS.items():
        # The two brushes would look the same.
        ElementTree.SubElement(view, "Header", value=name.capitalize(), size="5")
        labels = ElementTree.SubElement(view, control, name=name, toName="image")
        for one in classes:
            ElementTree.SubElement(labels, "Label", value=one.name, background=color_text(one.color))
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"
