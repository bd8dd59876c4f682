"""LabelMe: one JSON file for each image, with polygons, rectangles and points.

Polygons, disks and masks make the mask, the later over the earlier, and each shape is an object (those with
one ``group_id`` and label are one); what is labeled ``__ignore__`` is void. Rectangles are boxes, points
are seeds, and flags of the image that are set are tags. Corners lie in the plane, not on pixels: a
rectangle from (0, 0) to (2, 1) has two pixels. (LabelMe's own scripts also fill the pixels that the outline
touches.)
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import SPLITS
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.export import Placed, filling, place_samples, write_json, write_splits
from multiutility.datasets.formats.imported import Imported, Samples, name_classes
from multiutility.datasets.formats.regions import Canvas, fill_disk, fill_polygon, outlines
from multiutility.datasets.formats.source import (
    JsonObject,
    need_folder,
    read_json,
    read_splits,
    unique_names,
)
from multiutility.datasets.images import FORMATS, image_size, read_image, read_mask
from multiutility.datasets.limits import objects_problem
from multiutility.datasets.tables import read_lines, write_text
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import box_problem
from multiutility.kinds.problems import extent
from multiutility.kinds.seeds import seed_problem
from multiutility.kinds.tags import TAGS

# With images inside; the largest that we read has 240 MB.
MAX_BYTES = 1 << 28
LABELS = "labels.txt"
IGNORE, BACKGROUND = "__ignore__", "_background_"
# Shapes by the number of their points.
N_POINTS = {"rectangle": 2, "circle": 2, "point": 1, "mask": 2, "oriented_rectangle": 4}
VERSION = "5.0.0"


def read_labelme(source: str | Path) -> Imported:
    """Read a folder of LabelMe's JSON files, and those in its folders.

    Classes are those of ``labels.txt``, if there is one, and all others that occur, by name. Images are where
    ``imagePath`` says, but must be in the folder; else they are taken from ``imageData``. Splits are lists in
    ``splits``.
    """
    home = need_folder(source, "LabelMe")
    folder, paths = home.root, home.files(home.root, [".json"], deep=True)
    found = {path: used for path in paths if (used := read_names(path)) is not None}
    if not found:
        raise DatasetError(folder, None, "there are no JSON files of LabelMe", "give the folder with them")
    classes = find_classes(home, found.values())
    files = dict(sorted(zip(unique_names(list(found)), found, strict=True)))
    names = list(files)

    def read(k: int) -> NewSample:
        record = open_file(files[names[k]])
        image = find_image(record, home)
        height, width = image.shape[:2] if isinstance(image, np.ndarray) else image_size(image)
        return NewSample(names[k], image, read_annotation(record, classes, height, width))

    splits = read_splits(home.files(folder / SPLITS, [".txt"]), files)
    return Imported(classes, Samples(names, read), splits)


def open_file(path: Path) -> JsonObject:
    """Contents of a file."""
    return JsonObject.of(read_json(path, MAX_BYTES), path, "")


def read_names(path: Path) -> dict[str, bool] | None:
    """Names of classes in a file, and whether they are of things there; None if it is not of LabelMe.

    Classes with a rectangle, a point or a group of shapes are things.
    """
    content = read_json(path, MAX_BYTES)
    if not isinstance(content, dict) or not {"shapes", "imagePath"} <= content.keys():
        return None
    record = JsonObject(path, "", content)
    names = dict.fromkeys(true_flags(record), False)
    for shape in record.records("shapes"):
        is_thing = shape_type(shape) in {"rectangle", "point"} or shape.has("group_id")
        names[label_name(shape)] = names.get(label_name(shape), False) or is_thing
    return names


def find_classes(home: Enclosed, found: Iterable[Mapping[str, bool]]) -> Classes:
    """All classes, in the order of the list, if there is one, and then by name."""
    used: dict[str, bool] = {}
    for one in found:
        used |= {name: used.get(name, False) or is_thing for name, is_thing in one.items()}
    listed = home.file(home.root / LABELS)
    first = {} if listed is None else dict.fromkeys(line for _, line in read_lines(listed))
    names = [*first, *sorted(used.keys() - first.keys())]
    # LabelMe's own lists begin with these two, the first for void, the second for all that is not labeled.
    kept = [name for name in names if name != IGNORE and (name != BACKGROUND or name in used)]
    return name_classes(home.root, kept, {name for name, is_thing in used.items() if is_thing})


def true_flags(record: JsonObject) -> list[str]:
    """Flags of an image that are set."""
    if not record.has("flags"):
        return []
    flags = record.record("flags")
    names = [flags.checked_class(name) for name, value in flags.fields.items() if value is True]
    if IGNORE in names:
        raise flags.error(f"{IGNORE} is no class", "draw what is to be void, or remove the flag")
    return names


def label_name(shape: JsonObject) -> str:
    """Label of a shape."""
    return shape.class_name("label")


def group_id(shape: JsonObject) -> int | str:
    """Group of a shape: a number; some programs write text."""
    value = shape.fields["group_id"]
    return value if isinstance(value, str) else shape.integer("group_id")


def shape_type(shape: JsonObject) -> str:
    """Type of a shape; in old files, polygons have none."""
    return shape.text("shape_type") if shape.has("shape_type") else "polygon"


def find_image(record: JsonObject, home: Enclosed) -> Path | NDArray[np.uint8]:
    """Path of the image, or the one in the file."""
    name = record.text("imagePath")
    try:
        path = home.find(name, [record.file.parent])
    except ValueError as error:
        raise record.error(f'"imagePath" {error}', "put the image into the folder, and correct it") from None
    if path is not None and path.suffix.lower() in FORMATS:  # Some files name themselves.
        return path
    if record.has("imageData"):
        return read_embedded(record, "imageData", read_image)
    raise record.error(
        f"there is no image {name!r}", "put it there, or save the JSON file with the image in it"
    )


def read_embedded(
    record: JsonObject, key: str, read: Callable[[Path], NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """Read an image that is in a file as text in base64."""
    text = record.text(key)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise record.error(f'"{key}" is not base64', "save the file anew in LabelMe") from None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "embedded"
        path.write_bytes(data)
        try:
            return read(path)
        except DatasetError as error:
            raise record.error(f'"{key}" {error.what}', error.fix) from None


def read_annotation(record: JsonObject, classes: Classes, height: int, width: int) -> PixelAnnotation:
    """Annotation of an image."""
    check_size(record, height, width)
    canvas = Canvas(height, width)
    boxes, seeds = [], []
    objects: dict[object, int] = {}
    for number, shape in enumerate(record.records("shapes")):
        kind, name, points = shape_type(shape), label_name(shape), shape.points("points")
        if len(points) != N_POINTS.get(kind, len(points)):
            raise shape.error(f"a {kind} has {len(points)} points", f"expected {N_POINTS[kind]}")
        label = -1 if name == IGNORE else classes.label(name)
        if kind == "rectangle" and label >= 0:
            boxes.append(read_box(shape, label, points, height, width))
        elif kind == "point" and label >= 0:
            seed = PixelSeed(label, int(points[0][0] // 1), int(points[0][1] // 1))
            shape.check(seed_problem(seed, height, width))
            seeds.append(seed)
        else:
            group = (name, group_id(shape)) if shape.has("group_id") else number
            instance = 0 if label < 0 else objects.setdefault(group, len(objects) + 1)
            shape.check(objects_problem(instance))
            canvas.paint(fill_shape(shape, kind, points, height, width), label, instance)
    tags = tuple(dict.fromkeys(map(classes.label, true_flags(record))))
    return PixelAnnotation(canvas.mask, tags, tuple(boxes), tuple(seeds), instances=canvas.instances)


def check_size(record: JsonObject, height: int, width: int) -> None:
    """Raise if the file tells of another size."""
    for key, size in (("imageHeight", height), ("imageWidth", width)):
        if record.has(key) and record.integer(key) != size:
            what = f'"{key}" is {record.integer(key)}: {extent(height, width)}'
            raise record.error(what, "give the very image that was annotated")


def read_box(
    shape: JsonObject, label: int, points: Sequence[tuple[float, float]], height: int, width: int
) -> PixelBox:
    """Box of a rectangle between any two opposite corners."""
    (x0, y0), (x1, y1) = points
    box = PixelBox(label, min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    shape.check(box_problem(box, height, width))
    return box


def fill_shape(
    shape: JsonObject, kind: str, points: Sequence[tuple[float, float]], height: int, width: int
) -> BoolArray:
    """Pixels of a shape with an area."""
    if kind in {"polygon", "oriented_rectangle"}:
        if len(points) < 3:
            raise shape.error(f"a polygon has {len(points)} points", "expected at least 3; draw it anew")
        return fill_polygon(points, height, width)
    if kind == "rectangle":  # of void
        (x0, y0), (x1, y1) = points
        return fill_polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], height, width)
    if kind == "circle":
        (x, y), (x1, y1) = points
        return fill_disk(x, y, float(np.hypot(x1 - x, y1 - y)), height, width)
    if kind == "mask":
        return place_mask(shape, points, height, width)
    raise shape.error(f"a shape of type {kind!r} has no area", "draw it as polygon, or remove it")


def place_mask(
    shape: JsonObject, points: Sequence[tuple[float, float]], height: int, width: int
) -> BoolArray:
    """Pixels of a picture in the file, of which the first point is the first pixel."""
    picture = read_embedded(shape, "mask", read_mask) > 0
    left, top = round(points[0][0]), round(points[0][1])
    rows, columns = (np.arange(n) + first for n, first in zip(picture.shape, (top, left), strict=True))
    seen_rows, seen_columns = (rows >= 0) & (rows < height), (columns >= 0) & (columns < width)
    area = np.zeros((height, width), dtype=np.bool_)
    area[np.ix_(rows[seen_rows], columns[seen_columns])] = picture[np.ix_(seen_rows, seen_columns)]
    return area


def write_labelme(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write samples for LabelMe: images with JSON files beside them, and ``labels.txt``.

    Masks are polygons along the borders of pixels, which give the very same mask when they are filled in
    their order; with a map of objects, ids are in ``group_id``. Splits are lists in ``splits``: LabelMe has
    none.
    """
    with filling(out) as folder:
        for sample in place_samples(folder, classes, samples):
            write_json(folder / f"{sample.name}.json", file_content(sample, classes))
        write_splits(folder / SPLITS, splits or {})
        write_text(folder / LABELS, "".join(f"{name}\n" for name in (IGNORE, *classes.names)))


def file_content(sample: Placed, classes: Classes) -> dict[str, Any]:
    """Contents of a JSON file."""
    annotation = sample.annotation
    shapes = []
    for one in outlines(annotation.mask, annotation.instances) if annotation.mask is not None else ():
        name = classes[one.value - 1].name if one.value else IGNORE
        shapes.append(shape_fields(name, "polygon", one.corners.tolist(), one.instance or None))
    for box in annotation.boxes:
        corners = [[box.left, box.top], [box.right, box.bottom]]
        shapes.append(shape_fields(classes[box.label].name, "rectangle", corners))
    for seed in annotation.seeds:
        shapes.append(shape_fields(classes[seed.label].name, "point", [[seed.x + 0.5, seed.y + 0.5]]))
    return {
        "version": VERSION,
        "flags": {classes[label].name: True for label in TAGS.labels(annotation.tags)},
        "shapes": shapes,
        "imagePath": sample.file,
        "imageData": None,
        "imageHeight": sample.height,
        "imageWidth": sample.width,
    }


def shape_fields(
    name: str, kind: str, points: Sequence[Sequence[float]], group: int | None = None
) -> dict[str, Any]:
    """Shape of a file."""
    fields: dict[str, Any] = {"label": name, "points": [[float(x), float(y)] for x, y in points]}
    return fields | {"group_id": group, "description": "", "shape_type": kind, "flags": {}, "mask": None}
