"""Label Studio: tasks with regions in percent of the image.

Choices for the whole image are tags, rectangles are boxes, keypoints are seeds; polygons make the mask, the
later over the earlier, and each is an object. Brush strokes are scribbles, or paint the mask, too: see
``labelstudio_brush``. Of several annotations of a task, the last that was not cancelled counts, or of those
marked as ground truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from multiutility.arrays import BoolArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import rle_pack
from multiutility.datasets.formats.imported import Imported, Samples, name_classes
from multiutility.datasets.formats.labelstudio_brush import NAMED, Brush, Painting
from multiutility.datasets.formats.regions import fill_polygon
from multiutility.datasets.formats.source import JsonObject, image_files, read_json, read_xml, unique_names
from multiutility.datasets.images import FORMATS, image_size
from multiutility.datasets.limits import file_name_problem, objects_problem
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import box_problem
from multiutility.kinds.problems import extent
from multiutility.kinds.seeds import seed_problem

# Where regions have their labels, by the tag in the labeling configuration.
LABEL_KEYS = ("rectanglelabels", "keypointlabels", "polygonlabels", "brushlabels", "ellipselabels", "labels")
# Uploaded files get this in front of their names.
UPLOAD_PREFIX = re.compile("^[0-9a-f]{8}-")
CONFIG = "config.xml"


@dataclass(frozen=True)
class Region:
    """A part of an annotation: its measures and its labels."""

    record: JsonObject
    value: JsonObject
    names: list[str]

    @property
    def is_box(self) -> bool:
        """Whether it is a rectangle."""
        return self.value.has("width") and self.value.has("height")

    @property
    def is_area(self) -> bool:
        """Whether it is painted: a polygon, or brush strokes."""
        return self.value.has("rle") or self.value.has("points")

    def use(self, brush: Brush) -> Brush:
        """Return what an area is: polygons a mask, strokes what is asked for, or what their control says."""
        if self.value.has("points"):
            return "mask"
        return NAMED.get(str(self.record.fields.get("from_name")), "auto") if brush == "auto" else brush


class Files:
    """Images of a folder, by path as seen from it, and by file name."""

    def __init__(self, place: Enclosed) -> None:
        self.by_path: dict[str, Path] = {}
        self.by_name: dict[str, list[Path]] = {}
        for path in image_files(place, place.root, deep=True):
            self.by_path[path.relative_to(place.root).as_posix()] = path
            self.by_name.setdefault(path.name, []).append(path)


def read_labelstudio(
    source: str | Path,
    *,
    images: str | Path | None = None,
    predictions: bool = False,
    brush: Brush = "auto",
) -> Imported:
    """Read tasks that Label Studio exported as JSON: a file, or all in a folder; images are found by name.

    ``images`` is the folder of images, by default that of the tasks, with all in it. ``predictions`` count
    where there is no annotation if asked for. ``brush`` says what brush strokes are; by ``auto``, they are
    scribbles unless they cover the image, or there are polygons beside them. The order of classes is that of
    ``config.xml``, if it is there.
    """
    path = Path(source)
    home = Enclosed(path if path.is_dir() else path.parent)
    tasks = read_tasks(home, path)
    place = home if images is None else Enclosed(images)
    files = Files(place)
    found: dict[Path, JsonObject] = {}
    for task in tasks:
        image = find_image(task, files)
        if image in found:
            raise task.error(f"{image.name} is the image of {found[image].where}, too", "remove one of them")
        found[image] = task
    annotations = {image: choose_annotation(task, predictions=predictions) for image, task in found.items()}
    classes = find_classes(home, [one for one in annotations.values() if one])
    paths = list(found)
    names = dict(zip(paths, unique_names(paths), strict=True))
    order = sorted(paths, key=lambda image: names[image])

    def read(k: int) -> NewSample:
        annotation = annotations[order[k]]
        height, width = image_size(order[k])
        told = PixelAnnotation()
        if annotation:
            told = read_annotation(annotation, classes, height, width, brush)
        return NewSample(names[order[k]], order[k], told)

    splits: dict[str, list[str]] = {}
    for image, task in found.items():
        for split in read_splits(task):
            splits.setdefault(split, []).append(names[image])
    return Imported(classes, Samples([names[image] for image in order], read), splits)


def read_tasks(home: Enclosed, path: Path) -> list[JsonObject]:
    """Tasks of a file, or of all files of a folder."""
    tasks = []
    for file in home.files(path, [".json"]) if path.is_dir() else [path]:
        content = read_json(file)
        listed = content if isinstance(content, list) else [content]
        tasks += [JsonObject.of(task, file, f"task {k}") for k, task in enumerate(listed, start=1)]
    if not tasks:
        raise DatasetError(path, None, "there are no tasks", "export the project of Label Studio as JSON")
    return tasks


def find_image(task: JsonObject, files: Files) -> Path:
    """Image of a task, among the files that there are; paths are never made of what a task says."""
    data = task.record("data")
    texts = [one for one in (data.fields.get("image"), *data.fields.values()) if isinstance(one, str)]
    names = [name for text in texts for name in (file_name(text), text) if is_image_name(name)]
    if not names:
        raise task.error('"data" names no image', f"expected a name that ends in one of {', '.join(FORMATS)}")
    for name in names:
        found = match_file(task, PurePosixPath(name), files)
        if found:
            return found
    raise task.error(f"there is no image {names[0]!r}", "put it beside the tasks, or into a folder there")


def is_image_name(name: str) -> bool:
    """Whether a name is that of an image."""
    return PurePosixPath(name).suffix.lower() in FORMATS


def match_file(task: JsonObject, name: PurePosixPath, files: Files) -> Path | None:
    """Image that has as many of the last parts of a name as possible, or differs by what an upload adds."""
    if ".." in name.parts:
        raise task.error(f"{str(name)!r} leads out of the folder", "correct the name")
    for first in range(len(name.parts)):
        if "/".join(name.parts[first:]) in files.by_path:
            return files.by_path["/".join(name.parts[first:])]
    for last in (name.name, UPLOAD_PREFIX.sub("", name.name)):
        same = files.by_name.get(last, [])
        if len(same) == 1:
            return same[0]
        if same:
            raise task.error(f"there are {len(same)} images {last!r}", "give the folder with those meant")
    return None


def file_name(text: str) -> str:
    """Path of a file that a URL or a path tells of.

    >>> file_name("/data/local-files/?d=photos/a%20b.jpg"), file_name("s3://bucket/x/c.png")
    ('photos/a b.jpg', '/x/c.png')
    """
    try:
        url = urlsplit(text.replace("\\", "/"))
    except ValueError:
        return ""
    local = parse_qs(url.query).get("d")
    return local[0] if local else unquote(url.path)


def choose_annotation(task: JsonObject, *, predictions: bool) -> JsonObject | None:
    """Annotation of a task that counts, if there is one."""
    key = "completions" if task.has("completions") else "annotations"
    done = [one for one in task.records(key) if one.fields.get("was_cancelled") is not True]
    truth = [one for one in done if one.fields.get("ground_truth") is True]
    guesses = list(task.records("predictions")) if predictions else []
    return next((group[-1] for group in (truth, done, guesses) if group), None)


def read_splits(task: JsonObject) -> list[str]:
    """Splits of a task, as our own files have them."""
    told = task.record("data").fields.get("split")
    names = [one for one in (told if isinstance(told, list) else [told]) if isinstance(one, str)]
    problem = next(filter(None, map(file_name_problem, names)), None)
    if problem:
        raise task.error(f'"split": {problem[0]}', problem[1])
    return names


def regions(annotation: JsonObject) -> Iterator[Region]:
    """Regions with labels; relations, texts and others that label no pixels are passed over."""
    for record in annotation.records("result"):
        if not record.has("value"):
            continue
        value = record.record("value")
        names = [name for key in LABEL_KEYS if value.has(key) for name in value.class_names(key)]
        if names:
            yield Region(record, value, list(dict.fromkeys(names)))


def read_choices(annotation: JsonObject) -> Iterator[str]:
    """Choices for the whole image; those for regions have places."""
    for record in annotation.records("result"):
        if record.has("value") and record.record("value").has("choices"):
            value = record.record("value")
            if not any(value.has(key) for key in ("x", "points", "rle")):
                yield from value.class_names("choices")


def find_classes(home: Enclosed, annotations: list[JsonObject]) -> Classes:
    """All classes; those with a rectangle or a keypoint are things."""
    config = home.file(home.root / CONFIG)
    names: dict[str, None] = {}
    if config is not None:
        labels = (one.get("value", "") for one in read_xml(config).iter() if one.tag in {"Label", "Choice"})
        names = dict.fromkeys(name.strip() for name in labels if name.strip())
    found = {name for one in annotations for name in read_choices(one)}
    things: set[str] = set()
    for annotation in annotations:
        for region in regions(annotation):
            found |= set(region.names)
            things |= set() if region.is_area else set(region.names)
    return name_classes(home.root, [*names, *sorted(found - names.keys())], things)


def read_annotation(
    annotation: JsonObject, classes: Classes, height: int, width: int, brush: Brush
) -> PixelAnnotation:
    """Annotation of an image."""
    uses = {region.use(brush) for region in regions(annotation) if region.is_area}
    painting = Painting(height, width, uses)
    boxes, seeds = [], []
    for number, region in enumerate(regions(annotation), start=1):
        check_region(region, height, width)
        for label in map(classes.label, region.names):
            if region.is_area:
                region.record.check(objects_problem(number))
                painting.paint(read_area(region, height, width), label, number, region.use(brush))
            elif region.is_box:
                boxes.append(read_box(region, label, height, width))
            else:
                seeds.append(read_seed(region, label, height, width))
    tags = tuple(dict.fromkeys(map(classes.label, read_choices(annotation))))
    mask, instances, scribbles = painting.finish()
    return PixelAnnotation(mask, tags, tuple(boxes), tuple(seeds), scribbles, instances=instances)


def check_region(region: Region, height: int, width: int) -> None:
    """Raise for what cannot be placed in the image."""
    record = region.record
    for key, size in (("original_height", height), ("original_width", width)):
        if record.has(key) and record.integer(key) != size:
            what = f'"{key}" is {record.integer(key)}: {extent(height, width)}'
            raise record.error(what, "give the very image that was annotated")
    if record.fields.get("image_rotation") or region.value.fields.get("rotation"):
        raise record.error("the image or the region is turned", "draw it upright, or as polygon")
    if region.value.has("radiusX"):
        raise record.error("it is an ellipse", "draw it as polygon or with the brush")


def read_box(region: Region, label: int, height: int, width: int) -> PixelBox:
    """Box of a rectangle."""
    left, top, part_width, part_height = (region.value.number(key) for key in ("x", "y", "width", "height"))
    box = PixelBox(
        label,
        pixels(left, width),
        pixels(top, height),
        pixels(left + part_width, width),
        pixels(top + part_height, height),
    )
    region.record.check(box_problem(box, height, width))
    return box


def read_seed(region: Region, label: int, height: int, width: int) -> PixelSeed:
    """Seed of a keypoint; one on the last border belongs to the last pixel."""
    x, y = region.value.number("x"), region.value.number("y")
    places = [int(pixels(part, size) // 1) - (part == 100) for part, size in ((x, width), (y, height))]
    seed = PixelSeed(label, *places)
    region.record.check(seed_problem(seed, height, width))
    return seed


def pixels(percent: float, size: int) -> float:
    """Place of a percentage; whole numbers are met exactly, though percentages are rounded.

    >>> pixels(100 / 3, 6), pixels(100 * 7 / 213, 213), pixels(12.5, 2)
    (2.0, 7.0, 0.25)
    """
    place = percent * size / 100
    return float(round(place)) if abs(place - round(place)) < 1e-6 else place


def read_area(region: Region, height: int, width: int) -> BoolArray:
    """Pixels of a polygon or of brush strokes."""
    value = region.value
    if value.has("points"):
        points = [(pixels(x, width), pixels(y, height)) for x, y in value.points("points")]
        if len(points) < 3:
            raise region.record.error(f"a polygon has {len(points)} points", "draw it anew, or remove it")
        return fill_polygon(points, height, width)
    n_words, data = 4 * height * width, [int(byte) for byte in value.numbers("rle")]
    try:
        words = rle_pack.decode(data, n_words)
        if len(words) != n_words:
            raise ValueError(f"has {len(words)} values, expected 4 for each pixel")
    except ValueError as error:
        raise region.record.error(f'"rle" {error}', "draw it anew, or remove it") from None
    # Only how opaque strokes are counts; their borders are smoothed, and some programs paint thinly.
    opacity = words.reshape(height, width, 4)[:, :, 3]
    return np.asarray(opacity > opacity.max() // 2)
