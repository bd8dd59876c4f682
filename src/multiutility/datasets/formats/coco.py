"""COCO: objects and stuff by polygons and run lengths, boxes, keypoints; panoptic and stuff pictures.

Of each annotation, the strongest kind counts: a segmentation adds to the mask, else its box is a box (of a
crowd, a loose one), else its keypoints are seeds, else it is a tag. Where segmentations overlap, crowds are
below, then stuff, then larger objects below smaller ones. Boxes [x, y, width, height] and keypoints count
from 0, as ours do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from multiutility.arrays import BoolArray
from multiutility.datasets.classes import KINDS, Classes, Kind, LabelClass, standard_color
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.coco_areas import AreaError, decode_runs, fill_polygons
from multiutility.datasets.formats.colors import color_codes, distinct
from multiutility.datasets.formats.imported import NO_SPLIT, Imported, Samples
from multiutility.datasets.formats.regions import Canvas
from multiutility.datasets.formats.source import JsonObject, need_size, read_json, unique_names
from multiutility.datasets.images import MAX_PIXELS, image_size, read_image, read_mask
from multiutility.datasets.limits import objects_problem
from multiutility.datasets.palette import Color
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import box_problem
from multiutility.kinds.problems import extent
from multiutility.kinds.seeds import seed_problem

# What names of COCO's files begin with; what follows is the split.
PREFIXES = ("instances", "stuff", "panoptic", "person_keypoints", "keypoints", "labels", "image_info")
# Folders of stuff pictures, and what their pixels lack to category ids.
STUFF_MAPS = {"_pixelmaps": 0, "stuffthingmaps": 1}


@dataclass
class Picture:
    """All that the files tell of one image."""

    record: JsonObject
    path: Path
    annotations: list[JsonObject] = field(default_factory=list)
    panoptic: JsonObject | None = None


@dataclass(frozen=True)
class Categories:
    """Classes, and their labels by category id."""

    classes: Classes
    labels: dict[int, int]

    def label(self, record: JsonObject, key: str = "category_id") -> int:
        """Label of what a record tells of."""
        number = record.integer(key)
        if number not in self.labels:
            raise record.error(f"unknown category {number}", 'add it to "categories", or correct it')
        return self.labels[number]


def read_coco(
    source: str | Path, *, images: str | Path | None = None, maps: str | Path | None = None
) -> Imported:
    """Read COCO files: one JSON file, or a folder with them in it, or in ``annotations``.

    ``images`` is the folder of images (without it, those that are usual are tried), ``maps`` that of stuff
    pictures. Files such as ``instances_train2017.json`` and ``stuff_train2017.json`` tell of the same images,
    and make a split ``train2017``. Panoptic pictures are in a folder named as their JSON file.
    """
    path = Path(source)
    home = Enclosed(path if path.is_dir() else home_folder(path))
    documents = find_documents(home, path)
    place = home if images is None else Enclosed(images)
    categories = read_categories(documents)
    pictures: dict[Path, Picture] = {}
    members: dict[str, dict[Path, None]] = {}
    for document in documents:
        usual = usual_folders(document.file, home.root) if images is None else [place.root]
        found = add_pictures(document, place, usual, pictures)
        if split_name(document.file):
            members.setdefault(split_name(document.file), {}).update(dict.fromkeys(found))
    paths = list(pictures)
    names = dict(zip(paths, unique_names(paths), strict=True))
    stuff = find_stuff_maps(home if maps is None else Enclosed(maps), given=maps is not None)
    order = sorted(paths, key=lambda one: names[one])

    def read(k: int) -> NewSample:
        picture = pictures[order[k]]
        annotation = read_annotation(picture, categories, home, stuff.get(picture.path.stem))
        return NewSample(names[order[k]], picture.path, annotation)

    splits = {split: [names[one] for one in found] for split, found in members.items()}
    return Imported(categories.classes, Samples([names[one] for one in order], read), splits)


def home_folder(file: Path) -> Path:
    """Folder of the dataset that a JSON file belongs to."""
    return file.parent.parent if file.parent.name == "annotations" else file.parent


def find_documents(home: Enclosed, path: Path) -> list[JsonObject]:
    """Files of COCO annotations in a folder; others, such as captions, are passed over."""
    if not path.is_dir():
        return [JsonObject.of(read_json(path), path, "")]
    files = [*home.files(path, [".json"]), *home.files(path / "annotations", [".json"])]
    files += [file for file in path.glob("*/_annotations.coco.json") if home.file(file)]
    contents = ((read_json(file), file) for file in sorted(files))
    parts = {"images", "annotations", "categories"}
    documents = [
        JsonObject(file, "", it) for it, file in contents if isinstance(it, dict) and parts <= it.keys()
    ]
    if not documents:
        what = "there is no COCO file (JSON with images, annotations and categories)"
        raise DatasetError(path, None, what, "give the folder that has them, or that has annotations/")
    return documents


def split_name(file: Path) -> str:
    """Split that a file is of; empty if its name does not tell.

    >>> split_name(Path("annotations/stuff_val2017.json")), split_name(Path("test/_annotations.coco.json"))
    ('val2017', 'test')
    """
    stem = file.name.removesuffix(".json").removesuffix(".coco")
    if stem == "_annotations":
        return file.parent.name
    prefix = next((one for one in PREFIXES if stem == one or stem.startswith(f"{one}_")), None)
    if prefix is None:
        return "" if stem in {"annotations", "coco"} else stem
    split = stem.removeprefix(prefix).removeprefix("_")
    return "" if split == NO_SPLIT else split


def read_categories(documents: Sequence[JsonObject]) -> Categories:
    """Classes of all files, in the order of their ids."""
    rows: dict[int, tuple[JsonObject, LabelClass]] = {}
    for document in documents:
        stuff = document.file.name.startswith("stuff")
        for record in document.records("categories"):
            number = record.integer("id")
            one = read_category(record, len(rows) + 1, "stuff" if stuff else "thing")
            if number in rows and rows[number][1].name != one.name:
                where = f"{rows[number][0].file.name} calls it {rows[number][1].name!r}"
                raise record.error(f"category {number} is {one.name!r}: {where}", "give them different ids")
            rows.setdefault(number, (record, one))
    ids = sorted(rows)
    try:
        return Categories(Classes(rows[k][1] for k in ids), {number: k for k, number in enumerate(ids)})
    except ValueError as error:
        fix = 'correct "categories"; categories of one name must be one'
        raise DatasetError(documents[0].file, None, str(error), fix) from None


def read_category(record: JsonObject, n: int, kind: Kind) -> LabelClass:
    """Class of a category; panoptic files tell whether it is a thing, and its color."""
    if record.has("isthing"):
        kind = "thing" if record.integer("isthing") else "stuff"
    if record.fields.get("supercategory") in KINDS:  # as our own files have it
        kind = record.fields["supercategory"]
    color: Color = standard_color(n)
    if record.has("color"):
        red, green, blue = map(int, record.numbers("color", 3))
        color = red, green, blue
    name = record.class_name("name")
    try:
        return LabelClass(name, color, kind, rare=record.fields.get("rare") is True)
    except ValueError as error:
        raise record.error(str(error), "correct the category") from None


def usual_folders(file: Path, root: Path) -> list[Path]:
    """Folders that images of a JSON file may be in."""
    here, split = file.parent, split_name(file)
    usual = (here, root, root / "images", root / split, root / "images" / split, here / "images")
    return list(dict.fromkeys(usual))


def add_pictures(
    document: JsonObject, home: Enclosed, folders: Sequence[Path], pictures: dict[Path, Picture]
) -> list[Path]:
    """Add what a file tells of its images; return their paths."""
    by_id: dict[int, Picture] = {}
    for record in document.records("images"):
        path = find_file(record, home, folders, '"images"')
        number = record.integer("id")
        if number in by_id:
            raise record.error(f"another image has the id {number}", "give each image an id of its own")
        by_id[number] = pictures.setdefault(path, Picture(record, path))
    for record in document.records("annotations"):
        number = record.integer("image_id")
        if number not in by_id:
            raise record.error(f"unknown image {number}", 'add it to "images", or remove the annotation')
        if record.has("segments_info"):
            by_id[number].panoptic = record
        else:
            by_id[number].annotations.append(record)
    return [picture.path for picture in by_id.values()]


def find_file(record: JsonObject, home: Enclosed, folders: Iterable[Path], what: str) -> Path:
    """Real path of the file that a record names, in the first of the folders that has it."""
    name = record.text("file_name")
    try:
        found = home.find(name, folders)
    except ValueError as error:
        raise record.error(str(error), "correct the name") from None
    if found is None:
        fix = f"put it into {home.root}, or give the folder of {what}"
        raise record.error(f"there is no file {name!r}", fix)
    return found


def find_stuff_maps(home: Enclosed, *, given: bool) -> dict[str, tuple[Path, int]]:
    """Stuff pictures by the stem of the image, and what their pixels lack to category ids."""
    folders = [home.root] if given else [*home.root.glob("*"), *home.root.glob("annotations/*")]
    maps = {}
    for folder in folders:
        lacking = next(
            (n for name, n in STUFF_MAPS.items() if folder.name.endswith(name)), 0 if given else None
        )
        if lacking is not None:
            maps.update({path.stem: (path, lacking) for path in home.files(folder, [".png"], deep=True)})
    return maps


def read_annotation(
    picture: Picture, categories: Categories, home: Enclosed, stuff: tuple[Path, int] | None
) -> PixelAnnotation:
    """Annotation of an image."""
    height, width = check_size(picture)
    canvas = Canvas(height, width)
    if stuff is not None:
        paint_stuff(canvas, *stuff, categories, (height, width))
    if picture.panoptic is not None:
        paint_panoptic(canvas, picture.panoptic, categories, home, (height, width))
    boxes, seeds, tags = [], [], []
    n_objects = 0
    for record in picture.annotations:
        label = categories.label(record)
        crowd = record.fields.get("iscrowd") == 1
        if record.fields.get("segmentation"):
            # One by one, in whatever order: a file of a few kilobytes can have hundreds of large areas.
            area = read_segmentation(record, height, width)
            is_object = not crowd and categories.classes[label].kind != "stuff"
            n_objects += is_object
            record.check(objects_problem(n_objects))
            if picture.panoptic is None:
                rank = rank_of(area, crowd=crowd, is_object=is_object)
                canvas.paint(area, label, n_objects if is_object else 0, rank)
        elif record.has("bbox"):
            boxes.append(read_box(record, label, height, width, tight=not crowd))
        elif record.has("keypoints"):
            seeds += read_seeds(record, label, height, width)
        else:
            tags.append(label)
    return PixelAnnotation(
        canvas.mask, tuple(dict.fromkeys(tags)), tuple(boxes), tuple(seeds), instances=canvas.instances
    )


def check_size(picture: Picture) -> tuple[int, int]:
    """Height and width of the image, which the file must tell the same if it tells."""
    height, width = image_size(picture.path)
    record = picture.record
    if record.has("height") and (record.integer("height"), record.integer("width")) != (height, width):
        told = f"height {record.integer('height')} and width {record.integer('width')}"
        what = f"tells of {told}: {extent(height, width)}, turned as its EXIF data says"
        raise record.error(what, f"give the very image that was annotated instead of {picture.path}")
    return height, width


def rank_of(area: BoolArray, *, crowd: bool, is_object: bool) -> int:
    """How far up an area is, as the module tells; more than 0, which is what pictures of stuff have.

    >>> small, large = np.array([[True, False]]), np.array([[True, True]])
    >>> rank_of(large, crowd=False, is_object=True) < rank_of(small, crowd=False, is_object=True)
    True
    >>> rank_of(small, crowd=False, is_object=False) < rank_of(large, crowd=False, is_object=True)
    True
    """
    above = MAX_PIXELS + 1
    return (2 * (not crowd) + is_object + 1) * above - int(np.count_nonzero(area))


def read_segmentation(record: JsonObject, height: int, width: int) -> BoolArray:
    """Pixels of a segmentation: polygons, or run lengths, bool [H, W]."""
    value = record.fields["segmentation"]
    try:
        if isinstance(value, dict):
            runs = JsonObject(record.file, record.where, value)
            size, counts = runs.numbers("size", 2), value.get("counts")
            return decode_runs(
                size, counts if isinstance(counts, str) else runs.numbers("counts"), height, width
            )
        polygons = value if isinstance(value, list) else [value]
        where = f'{record.where}, "segmentation"'
        numbers = [
            JsonObject(record.file, where, {str(k): one}).numbers(str(k)) for k, one in enumerate(polygons)
        ]
        return fill_polygons(numbers, height, width)
    except AreaError as error:
        raise record.error(f'"segmentation": {error}', "draw it anew, or remove it") from None


def read_box(record: JsonObject, label: int, height: int, width: int, *, tight: bool) -> PixelBox:
    """Box of an annotation."""
    left, top, box_width, box_height = record.numbers("bbox", 4)
    box = PixelBox(label, left, top, left + box_width, top + box_height, tight)
    record.check(box_problem(box, height, width))
    return box


def read_seeds(record: JsonObject, label: int, height: int, width: int) -> list[PixelSeed]:
    """Keypoints that are labeled, as seeds."""
    numbers = record.numbers("keypoints")
    if len(numbers) % 3:
        raise record.error(f'"keypoints" has {len(numbers)} numbers', "expected x, y, visibility of each")
    triples = np.array(numbers).reshape(-1, 3)
    seeds = [PixelSeed(label, int(x // 1), int(y // 1)) for x, y, seen in triples.tolist() if seen > 0]
    for seed in seeds:
        record.check(seed_problem(seed, height, width))
    return seeds


def paint_stuff(
    canvas: Canvas, path: Path, lacking: int, categories: Categories, size: tuple[int, int]
) -> None:
    """Paint a picture whose pixels are category ids; 0 and 255 are void."""
    pixels = read_mask(path)
    need_size(path, pixels, size)
    for value in np.unique(pixels).tolist():
        number = value + lacking
        if value == 255 or number == 0:
            continue
        if number not in categories.labels:
            what = f"has pixels of the unknown category {number}"
            raise DatasetError(path, None, what, "give the JSON file with that category, too")
        canvas.paint(pixels == value, categories.labels[number])


def paint_panoptic(
    canvas: Canvas, record: JsonObject, categories: Categories, home: Enclosed, size: tuple[int, int]
) -> None:
    """Paint a panoptic picture, whose colors are ids of segments: red + 256 green + 65536 blue."""
    here, root, stem = record.file.parent, home.root, record.file.stem
    path = find_file(record, home, (here / stem, root / stem, here, root / "panoptic"), "panoptic pictures")
    # Ids begin with red, unlike codes.
    ids = color_codes(read_image(path)[:, :, ::-1])
    need_size(path, ids, size)
    there = set(distinct(ids).tolist()) - {0}
    n_objects = 0
    for segment in record.records("segments_info"):
        number, label = segment.integer("id"), categories.label(segment)
        if number not in there:
            raise segment.error(f"no pixel of {path.name} has the id {number}", "correct the picture, or it")
        is_object = categories.classes[label].kind != "stuff" and segment.fields.get("iscrowd") != 1
        n_objects += is_object
        segment.check(objects_problem(n_objects))
        canvas.paint(ids == number, label, n_objects if is_object else 0)
        there.discard(number)
    if there:
        what = f"{path.name} has pixels of the id {min(there)}, of which it does not tell"
        raise record.error(what, 'add it to "segments_info", or make the pixels black')
