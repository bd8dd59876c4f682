"""Pascal VOC: boxes in XML, masks as palette pictures, lists of images and tags.

Pixels count from 1, and the last one of a box is in it: ``xmin`` 1 and ``xmax`` 1 are the first column.
Other programs often write corners that count from 0 with the last exclusive; see ``one_based``. In masks, 0
is the class ``background`` and 255 is void. Tags are in ``ImageSets/Main/CLASS_SET.txt``; seeds are the
points of objects that have no box, or are ``<seed>`` in our own files. Images are found by the names of XML
files, never by names in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, Kind, LabelClass, standard_color
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.colors import color_codes, distinct, places_in, read_color_mask
from multiutility.datasets.formats.imported import NO_SPLIT, Imported, Samples, name_classes
from multiutility.datasets.formats.source import by_stem, image_files, need_folder, need_size, read_xml
from multiutility.datasets.images import MASK_FORMATS, image_size, opened, read_image, read_mask
from multiutility.datasets.limits import class_name_problem, objects_problem
from multiutility.datasets.palette import Color
from multiutility.datasets.tables import read_lines
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import box_problem
from multiutility.kinds.problems import Problem, shown
from multiutility.kinds.seeds import seed_problem

IMAGES, XML, MASKS, OBJECTS = "JPEGImages", "Annotations", "SegmentationClass", "SegmentationObject"
MAIN, SEGMENTATION = Path("ImageSets/Main"), Path("ImageSets/Segmentation")
LABEL_MAP = "labelmap.txt"
SEED = "seed"
BACKGROUND = "background"
VOID, VOID_COLOR = 255, (224, 224, 192)
VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable"),
    *("dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)


@dataclass(frozen=True)
class Item:
    """An object of an XML file."""

    file: Path
    number: int
    name: str
    element: ElementTree.Element

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Raise an error of this object."""
        raise DatasetError(self.file, None, f"object {self.number} ({self.name}): {what}", fix)

    def check(self, problem: Problem | None) -> None:
        """Raise if there is a problem."""
        if problem:
            self.refuse(*problem)

    def number_of(self, path: str) -> float:
        """Return the number in an element."""
        text = (self.element.findtext(path) or "").strip()
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not abs(value) < 1e9:
            self.refuse(f"<{path}> is {text!r}", "write a number there")
        return value


def read_voc(source: str | Path, *, one_based: bool = True) -> Imported:
    """Read a folder in the layout of Pascal VOC; images and XML files may also be side by side.

    Without ``one_based``, corners of boxes count from 0, with the last exclusive, as many other programs have
    it. Classes are those of ``labelmap.txt`` if it is there (``name:red,green,blue::``), and then masks tell
    them by color; else VOC's own.
    """
    home = need_folder(source, "VOC")
    folder = home.root
    images = find_images(home)
    items = read_all_items(home, images)
    tags, splits = read_sets(home, images)
    used = {item.name for found in items.values() for item in found}
    used |= {tag for found in tags.values() for tag in found}
    classes = find_classes(home, used)
    masks = read_colors(home, classes)
    names = sorted(images)

    def read(k: int) -> NewSample:
        name, path = names[k], images[names[k]]
        height, width = image_size(path)
        placed = [place(item, classes, height, width, one_based=one_based) for item in items.get(name, ())]
        mask_path, objects_path = (home.file(folder / part / f"{name}.png") for part in (MASKS, OBJECTS))
        mask = None if mask_path is None else read_voc_mask(mask_path, masks, (height, width))
        instances = None if objects_path is None else read_objects(objects_path, (height, width))
        boxes = tuple(box for box, _ in placed if box)
        seeds = tuple(seed for _, seed in placed if seed)
        # Tags of what boxes and masks tell already say nothing new.
        known = {box.label for box in boxes} | {seed.label for seed in seeds}
        known |= set() if mask is None else set((np.unique(mask).astype(int) - 1).tolist())
        labels = tuple(label for label in map(classes.label, tags.get(name, ())) if label not in known)
        return NewSample(name, path, PixelAnnotation(mask, labels, boxes, seeds, instances=instances))

    return Imported(classes, Samples(names, read), splits)


def find_images(home: Enclosed) -> dict[str, Path]:
    """Images by name, from the first of the usual folders that has any."""
    folder = home.root
    for place in (folder / IMAGES, folder / "images", folder):
        images = by_stem(image_files(home, place))
        if images:
            return images
    raise DatasetError(folder / IMAGES, None, "there are no images", "put images there")


def read_all_items(home: Enclosed, images: Mapping[str, Path]) -> dict[str, list[Item]]:
    """Objects of all XML files, by image."""
    items = {}
    place = home.root / XML
    for file in home.files(place if place.is_dir() else home.root, [".xml"]):
        if file.stem not in images:
            raise DatasetError(
                file, None, f"there is no image named {file.stem!r}", "add it, or remove the file"
            )
        items[file.stem] = read_items(file, images[file.stem])
    return items


def read_items(file: Path, image: Path) -> list[Item]:
    """Objects of an XML file, which must be of an image of this size."""
    root = read_xml(file)
    if root.tag != "annotation":
        raise DatasetError(file, None, f"is <{root.tag}>, not <annotation>", "remove it, or export it anew")
    size = Item(file, 0, "size", root)
    if root.find("size") is not None:
        told = (size.number_of("size/height"), size.number_of("size/width"))
        if told != image_size(image) and all(told):
            what = f"tells of height {told[0]:g} and width {told[1]:g}: {image.name} has {image_size(image)}"
            raise DatasetError(file, None, what, "give the very image that was annotated")
    items = []
    elements = (element for element in root if element.tag in {"object", SEED})
    for number, element in enumerate(elements, start=1):
        name = (element.findtext("name") or "").strip()
        if not name:
            raise DatasetError(file, None, f"object {number} has no name", "name its class, or remove it")
        problem = class_name_problem(name)
        if problem:
            raise DatasetError(file, None, f"object {number}: {problem[0]}", problem[1])
        items.append(Item(file, number, name, element))
    return items


def read_sets(
    home: Enclosed, images: Mapping[str, Path]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Names of tags by image, and splits, from the lists of images."""
    main = {path.stem: path for path in home.files(home.root / MAIN, [".txt"])}
    tags: dict[str, list[str]] = {}
    splits: dict[str, list[str]] = {}
    for stem, path in main.items():
        name = tagged_class(path, main)
        if name:
            for image in read_set(path, images, tagged=True):
                tags.setdefault(image, []).append(name)
        elif stem != NO_SPLIT:
            splits[stem] = read_set(path, images)
    for path in home.files(home.root / SEGMENTATION, [".txt"]):
        found = read_set(path, images)
        if path.stem not in splits:
            splits |= {path.stem: found} if path.stem != NO_SPLIT else {}
        elif found != splits[path.stem]:
            splits[f"{path.stem}-segmentation"] = found
    return {image: list(dict.fromkeys(found)) for image, found in tags.items()}, splits


def tagged_class(path: Path, sets: Collection[str]) -> str:
    """Class whose tags a list tells, CLASS_SET.txt with 1, 0 or -1 in each line; empty for plain lists."""
    lines = [line.split() for _, line in read_lines(path)]
    stems = (path.stem.removesuffix(f"_{one}") for one in sets if path.stem.endswith(f"_{one}"))
    # The shortest class: names of sets may have underscores, too.
    is_tagged = {words[-1] for words in lines} <= {"1", "0", "-1"}
    # Images of a plain list may be named by numbers.
    is_plain = bool(lines) and all(len(words) == 1 for words in lines)
    return min(stems, key=len, default="") if is_tagged and not is_plain else ""


def read_set(path: Path, images: Mapping[str, Path], *, tagged: bool = False) -> list[str]:
    """Images of a list; of one that tells whether they have a tag, those that have it."""
    names = []
    for row, line in read_lines(path):
        name, *value = line.rsplit(maxsplit=1) if tagged else [line, "1"]
        if not value:
            fix = "write the name of an image, and 1, 0 or -1"
            raise DatasetError(path, row, f"bad line {shown(line)}", fix)
        if name not in images:
            what = f"there is no image named {shown(name)}"
            raise DatasetError(path, row, what, "add it, or remove the line")
        names += [name] if value == ["1"] else []
    return names


def find_classes(home: Enclosed, used: set[str]) -> Classes:
    """Classes of the label map, or VOC's own, or, where there are no masks, those that are used."""
    folder, has_masks = home.root, bool(home.files(home.root / MASKS, [".png"]))
    label_map = home.file(folder / LABEL_MAP)
    if label_map is not None:
        return read_label_map(label_map, used)
    if used <= set(VOC_CLASSES):
        things = [LabelClass(name, standard_color(k), "thing") for k, name in enumerate(VOC_CLASSES, start=1)]
        background = [LabelClass(BACKGROUND, standard_color(0))] if has_masks else []
        return Classes([*background, *things])
    if has_masks:
        other = sorted(used - set(VOC_CLASSES))[0]
        what = f"there are masks, and {other!r} is not a class of VOC"
        raise DatasetError(folder / LABEL_MAP, None, what, "write it: one line name:red,green,blue:: a class")
    return name_classes(folder, sorted(used), used)


def read_label_map(path: Path, used: set[str]) -> Classes:
    """Classes of lines name:red,green,blue:parts:actions; colors that are missing are VOC's.

    What has the color of void is no class.
    """
    classes: list[LabelClass] = []
    for row, line in read_lines(path):
        if line.startswith("#"):
            continue
        name, color, *_ = [*line.split(":"), ""]
        parts = color.split(",") if color.strip() else map(str, standard_color(len(classes)))
        try:
            red, green, blue = (int(part) for part in parts)
            kind: Kind = "stuff" if name.strip() == BACKGROUND else "thing"
            one = LabelClass(name.strip(), (red, green, blue), kind)
        except ValueError as error:
            what = f"bad line {shown(line)} ({error})"
            raise DatasetError(path, row, what, "write name:red,green,blue::") from None
        classes += [one] if one.color != VOID_COLOR else []
    missing = sorted(used - {one.name for one in classes})
    if missing:
        raise DatasetError(path, None, f"the class {missing[0]!r} is missing", "add a line for it")
    try:
        return Classes(classes)
    except ValueError as error:
        raise DatasetError(path, None, str(error), "correct the lines") from None


def read_colors(home: Enclosed, classes: Classes) -> dict[Color, int] | None:
    """Values of colors in masks; None if masks have VOC's indices."""
    if home.file(home.root / LABEL_MAP) is None:
        return None
    # What has no color of a class is void: black where there is no background, and the color of borders.
    void: dict[Color, int] = {(0, 0, 0): 0, VOID_COLOR: 0}
    return void | {one.color: label + 1 for label, one in enumerate(classes)}


def read_voc_mask(path: Path, colors: Mapping[Color, int] | None, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Mask of an image."""
    if colors is None:
        indices = read_mask(path)
        if ((indices > len(VOC_CLASSES)) & (indices != VOID)).any():
            what = f"has the index {indices[indices != VOID].max()}: VOC has {len(VOC_CLASSES)} classes"
            raise DatasetError(path, None, what, f"write {LABEL_MAP} with your classes and their colors")
        # The highest of 8 bits, and so what is 1 more is 0.
        mask = indices + np.uint8(1)
    else:
        mask = read_color_mask(path, colors)
    need_size(path, mask, size)
    return mask


def read_objects(path: Path, size: tuple[int, int]) -> NDArray[np.int32] | None:
    """Map of objects, if there are any: by indices, or by colors."""
    with opened(path, MASK_FORMATS) as image:
        indexed = image.mode in {"P", "L"}
    if indexed:
        ids = read_mask(path).astype(np.int32)
        ids[ids == VOID] = 0
    else:
        codes = color_codes(read_image(path))
        codes[codes == color_codes(np.array(VOID_COLOR))] = 0
        found = distinct(codes)
        first = int(found[0] != 0)
        problem = objects_problem(len(found) - 1 + first)
        if problem:
            raise DatasetError(path, None, *problem)
        ids = places_in(found, codes)
        ids += first
    need_size(path, ids, size)
    return ids if ids.any() else None


def place(
    item: Item, classes: Classes, height: int, width: int, *, one_based: bool
) -> tuple[PixelBox | None, PixelSeed | None]:
    """Box of an object, or a seed if it has a point only."""
    label = classes.label(item.name)
    if item.element.find("bndbox") is not None:
        sides = [item.number_of(f"bndbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax")]
        if one_based and min(sides[:2]) < 1:
            fix = "correct it; or if corners count from 0 in these files, read them as 'voc-corners'"
            item.refuse(f"begins at {min(sides[:2]):g}, but pixels of VOC count from 1", fix)
        box = PixelBox(label, sides[0] - one_based, sides[1] - one_based, sides[2], sides[3])
        item.check(box_problem(box, height, width))
        return box, None
    if item.element.find("point") is None:
        item.refuse("has neither <bndbox> nor <point>", "add one of them, or remove it")
    x, y = (item.number_of(f"point/{axis}") - one_based for axis in "xy")
    seed = PixelSeed(label, int(x // 1), int(y // 1))
    item.check(seed_problem(seed, height, width))
    return None, seed
