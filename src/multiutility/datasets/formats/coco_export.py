"""COCO files from samples: annotations, predictions, panoptic pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.datasets.classes import Classes
from multiutility.datasets.formats.coco_areas import encode_runs
from multiutility.datasets.formats.export import (
    Placed,
    Segment,
    filling,
    place_samples,
    segments,
    without_others,
    write_json,
)
from multiutility.datasets.formats.imported import NO_SPLIT, find_in_splits
from multiutility.datasets.images import image_size, save
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.mask import MASK
from multiutility.kinds.tags import TAGS

Json = dict[str, Any]


class Document:
    """A COCO file that grows by images and annotations."""

    def __init__(self, classes: Classes, *, keypoints: bool = False) -> None:
        extra: Json = {"keypoints": ["seed"], "skeleton": []} if keypoints else {}
        self.categories = [category(classes, label) | extra for label in range(len(classes))]
        self.images: list[Json] = []
        self.annotations: list[Json] = []

    def add(self, image: Json, annotations: Iterable[Json]) -> None:
        """Add an image with its annotations, which get ids."""
        self.images.append(image)
        for one in annotations:
            self.annotations.append({"id": len(self.annotations) + 1, "image_id": image["id"], **one})

    def write(self, path: Path) -> None:
        """Write the file, at once."""
        parts = {"images": self.images, "annotations": self.annotations, "categories": self.categories}
        write_json(path, {"info": {"description": "written by multiutility"}, "licenses": [], **parts})


def category(classes: Classes, label: int) -> Json:
    """Category of a label; its id is the value of the label in masks."""
    one = classes[label]
    fields = {"id": label + 1, "name": one.name, "supercategory": one.kind, "color": list(one.color)}
    return fields | {"isthing": int(one.kind == "thing")} | ({"rare": True} if one.rare else {})


def write_coco(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write samples as a folder of COCO files: ``images``, and ``annotations`` with files for each split.

    ``instances_SPLIT.json`` has masks, as run lengths, and boxes; ``labels_SPLIT.json`` tags, as annotations
    with a category only; ``person_keypoints_SPLIT.json`` seeds. Images in no split are in ``default``. An
    object has an annotation of its own if there is a map of objects; other things are crowds.
    """
    parts: dict[str, Callable[[Placed], Iterable[Json]]] = {
        "instances": lambda sample: areas_and_boxes(sample.annotation, classes),
        "labels": lambda sample: (
            {"category_id": label + 1} for label in TAGS.labels(sample.annotation.tags)
        ),
        "person_keypoints": lambda sample: keypoints(sample.annotation),
    }
    documents: dict[str, Document] = {}
    split_of = find_in_splits(splits or {})
    with filling(out) as folder:
        placed = place_samples(folder / "images", classes, samples, loose=True)
        for number, sample in enumerate(placed, start=1):
            for part, annotations in parts.items():
                found = list(annotations(sample))
                for split in split_of.get(sample.name, [NO_SPLIT]):
                    file = f"{part}_{split}"
                    document = documents.setdefault(
                        file, Document(classes, keypoints=part == "person_keypoints")
                    )
                    document.add(image_fields(number, sample.file, sample.height, sample.width), found)
        write_documents(folder / "annotations", documents)


def write_documents(folder: Path, documents: Mapping[str, Document]) -> None:
    """Write files that have annotations, and all of objects, which tell of images."""
    folder.mkdir()
    for file, document in documents.items():
        if document.annotations or file.startswith("instances"):
            document.write(folder / f"{file}.json")


def write_coco_file(path: str | Path, classes: Classes, samples: Iterable[NewSample]) -> None:
    """Write masks and boxes of samples whose images are files, such as predictions, as one COCO file."""
    document = Document(classes)
    for number, sample in enumerate(samples, start=1):
        height, width = image_size(Path(str(sample.image)))
        image = image_fields(number, Path(str(sample.image)).name, height, width)
        document.add(image, areas_and_boxes(sample.annotation, classes))
    document.write(Path(path))


def coco_results(
    mask: NDArray[np.uint8], image_id: int, scores: NDArray[np.floating] | None = None
) -> list[Json]:
    """A predicted mask [H, W] in the form that COCO's evaluation takes: one entry for each label in it.

    The score of a label is the mean over its pixels of ``scores`` [H, W], or 1.

    >>> coco_results(np.array([[0, 2], [0, 2]], dtype=np.uint8), image_id=7)
    [{'image_id': 7, 'category_id': 2, 'segmentation': {'size': [2, 2], 'counts': '22'}, 'score': 1.0}]
    """
    entries = []
    for value in np.unique(mask[mask > 0]).tolist():
        area = mask == value
        score = 1.0 if scores is None else float(scores[area].mean())
        entry = {"image_id": image_id, "category_id": value, "segmentation": encode_runs(area)}
        entries.append(entry | {"score": score})
    return entries


def image_fields(number: int, file: str, height: int, width: int) -> Json:
    """Image of a file."""
    return {"id": number, "file_name": file, "height": height, "width": width}


def areas_and_boxes(annotation: PixelAnnotation, classes: Classes) -> list[Json]:
    """Annotations of areas, then of boxes."""
    found = [
        segment_fields(one) | {"segmentation": encode_runs(one.area)} for one in segments(annotation, classes)
    ]
    for box in annotation.boxes:
        width, height = box.right - box.left, box.bottom - box.top
        place = [box.left, box.top, width, height]
        fields = {"bbox": place, "area": width * height, "iscrowd": int(not box.tight)}
        found.append({"category_id": box.label + 1, "segmentation": [], **fields})
    return found


def segment_fields(segment: Segment) -> Json:
    """What COCO tells of every segment."""
    rows, columns = (np.flatnonzero(segment.area.any(axis=axis)) for axis in (1, 0))
    top, left = int(rows[0]), int(columns[0])
    box = [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]
    fields = {"category_id": segment.label + 1, "bbox": box, "area": int(segment.area.sum())}
    return fields | {"iscrowd": int(segment.crowd)}


def keypoints(annotation: PixelAnnotation) -> list[Json]:
    """Annotations of seeds."""
    return [
        {"category_id": seed.label + 1, "keypoints": [seed.x, seed.y, 2], "num_keypoints": 1}
        for seed in annotation.seeds
    ]


def write_panoptic(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
    *,
    lossy: bool = False,
) -> None:
    """Write masks of samples as COCO's panoptic pictures: ``annotations/panoptic_SPLIT.json``, and a folder.

    Images without a mask are listed, but have no picture. Other annotations are an error unless ``lossy``.
    """
    documents: dict[str, Document] = {}
    split_of = find_in_splits(splits or {})
    with filling(out) as folder:
        given = without_others(samples, (MASK,)) if lossy else samples
        placed = place_samples(folder / "images", classes, given, kept=(MASK,))
        for number, sample in enumerate(placed, start=1):
            parts = list(segments(sample.annotation, classes))
            for split in split_of.get(sample.name, [NO_SPLIT]):
                file = f"panoptic_{split}"
                entry = panoptic_fields(sample.name, parts) if sample.annotation.mask is not None else None
                image = image_fields(number, sample.file, sample.height, sample.width)
                documents.setdefault(file, Document(classes)).add(image, [entry] if entry else [])
                if entry:
                    write_picture(folder / "annotations" / file / entry["file_name"], sample, parts)
        (folder / "annotations").mkdir(exist_ok=True)
        for file, document in documents.items():
            document.write(folder / "annotations" / f"{file}.json")


def panoptic_fields(name: str, parts: Sequence[Segment]) -> Json:
    """Annotation of a panoptic picture."""
    told = [{"id": k} | segment_fields(one) for k, one in enumerate(parts, start=1)]
    return {"file_name": f"{name}.png", "segments_info": told}


def write_picture(path: Path, sample: Placed, parts: Sequence[Segment]) -> None:
    """Write ids of segments as colors: red + 256 green + 65536 blue."""
    ids = np.zeros((sample.height, sample.width), dtype=np.int32)
    for number, one in enumerate(parts, start=1):
        ids[one.area] = number
    colors = np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=2).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, Image.fromarray(colors), "PNG")
