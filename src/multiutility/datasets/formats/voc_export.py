"""Pascal VOC's layout from samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, color_text, standard_color
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.files import replacing
from multiutility.datasets.formats.export import Placed, filling, place_samples
from multiutility.datasets.formats.imported import NO_SPLIT, find_in_splits
from multiutility.datasets.formats.voc import (
    BACKGROUND,
    IMAGES,
    LABEL_MAP,
    MAIN,
    MASKS,
    OBJECTS,
    SEED,
    SEGMENTATION,
    VOID,
    VOID_COLOR,
    XML,
)
from multiutility.datasets.images import write_mask
from multiutility.datasets.tables import write_text
from multiutility.datasets.writing import NewSample, check_name
from multiutility.kinds.kind import number_text

VOID_NAME = "ignored"


def write_voc(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write samples in the layout of Pascal VOC, with a label map of their classes.

    A class named ``background`` has the index 0 in masks, others follow; void is 255.
    """
    indices, palette = mask_indices(Path(out) / LABEL_MAP, classes)
    split_of = find_in_splits(splits or {})
    lists: dict[Path, list[str]] = {}
    with filling(out) as folder:
        for part in (XML, MASKS, OBJECTS, MAIN, SEGMENTATION):
            (folder / part).mkdir(parents=True)
        for sample in place_samples(folder / IMAGES, classes, samples):
            write_items(folder / XML / f"{sample.name}.xml", sample, classes)
            write_pictures(folder, sample, indices, palette)
            for split in split_of.get(sample.name, [NO_SPLIT]):
                add_to_lists(lists, sample, split, classes)
        for path, lines in lists.items():
            write_text(folder / path, "".join(f"{line}\n" for line in lines))
        # Other programs want a name for void, too.
        rows = [(one.name, one.color) for one in classes] + [(VOID_NAME, VOID_COLOR)]
        label_map = "".join(f"{name}:{','.join(map(str, color))}::\n" for name, color in rows)
        write_text(folder / LABEL_MAP, f"# label:color_rgb:parts:actions\n{label_map}")


def mask_indices(file: Path, classes: Classes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Index in VOC's masks of each value in ours [K + 1], and colors of indices [256, 3]."""
    colors = [one.color for one in classes]
    black = [one.name for one in classes if one.color == (0, 0, 0) and one.name != BACKGROUND]
    if len({*colors, VOID_COLOR}) <= len(colors) or black:
        fix = f"in classes.csv, give each class a color of its own, not {color_text(VOID_COLOR)} nor #000000"
        raise DatasetError(file, None, "classes have the same color, or that of void", fix)
    bad = [one.name for one in classes if ":" in one.name or one.name[0] == "#" or one.name == VOID_NAME]
    if bad:
        raise DatasetError(
            file,
            None,
            f"the class {bad[0]!r} cannot be in it",
            f"rename it, without : and #, and not {VOID_NAME}",
        )
    if len(classes) > 254:
        raise DatasetError(file, None, f"{len(classes)} classes: VOC has room for 254", "join some")
    others = [label for label, one in enumerate(classes) if one.name != BACKGROUND]
    indices = np.zeros(len(classes) + 1, dtype=np.uint8)
    indices[0] = VOID
    indices[np.array(others, dtype=np.intp) + 1] = np.arange(1, len(others) + 1)
    palette = np.array([standard_color(k) for k in range(256)], dtype=np.uint8)
    palette[indices[1:]] = np.array(colors, dtype=np.uint8)
    palette[VOID] = VOID_COLOR
    return indices, palette


def write_items(path: Path, sample: Placed, classes: Classes) -> None:
    """Write the XML file of an image."""
    root = ElementTree.Element("annotation")
    add_texts(root, {"folder": IMAGES, "filename": sample.file})
    size = {"width": str(sample.width), "height": str(sample.height), "depth": "3"}
    add_texts(ElementTree.SubElement(root, "size"), size)
    add_texts(root, {"segmented": str(int(sample.annotation.mask is not None))})
    for box in sample.annotation.boxes:
        sides = {"xmin": box.left + 1, "ymin": box.top + 1, "xmax": box.right, "ymax": box.bottom}
        element = add_item(root, classes[box.label].name)
        texts = {side: number_text(value) for side, value in sides.items()}
        add_texts(ElementTree.SubElement(element, "bndbox"), texts)
    for seed in sample.annotation.seeds:
        # Not <object>, since other programs want boxes of all of them.
        element = ElementTree.SubElement(root, SEED)
        add_texts(element, {"name": classes[seed.label].name})
        texts = {"x": str(seed.x + 1), "y": str(seed.y + 1)}
        add_texts(ElementTree.SubElement(element, "point"), texts)
    ElementTree.indent(root)
    with replacing(path) as file:
        file.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def add_item(root: ElementTree.Element, name: str) -> ElementTree.Element:
    """Add an object, with what VOC tells of each."""
    element = ElementTree.SubElement(root, "object")
    add_texts(element, {"name": name, "pose": "Unspecified", "truncated": "0", "difficult": "0"})
    return element


def add_texts(parent: ElementTree.Element, texts: Mapping[str, str]) -> None:
    """Add elements with text."""
    for tag, text in texts.items():
        ElementTree.SubElement(parent, tag).text = text


def write_pictures(
    folder: Path, sample: Placed, indices: NDArray[np.uint8], palette: NDArray[np.uint8]
) -> None:
    """Write mask and map of objects of an image."""
    annotation = sample.annotation
    if annotation.mask is not None:
        write_mask(folder / MASKS / f"{sample.name}.png", indices[annotation.mask], palette)
    if annotation.instances is not None and annotation.instances.any():
        found, ids = np.unique(annotation.instances, return_inverse=True)
        if found[-1] >= VOID:  # too large as they are: count anew
            ids = ids.reshape(annotation.instances.shape) + (found[0] != 0)
        else:
            ids = annotation.instances
        if ids.max() >= VOID:
            what = f"{sample.name} has {len(found)} objects: VOC has room for 254"
            raise DatasetError(folder / OBJECTS, None, what, "remove its map of objects")
        colors = np.array([*map(standard_color, range(VOID)), VOID_COLOR], dtype=np.uint8)
        write_mask(folder / OBJECTS / f"{sample.name}.png", ids.astype(np.uint8), colors)


def add_to_lists(lists: dict[Path, list[str]], sample: Placed, split: str, classes: Classes) -> None:
    """Add an image to the lists of a split, and of tags in it."""
    lists.setdefault(MAIN / f"{split}.txt", []).append(sample.name)
    if sample.annotation.mask is not None:
        lists.setdefault(SEGMENTATION / f"{split}.txt", []).append(sample.name)
    for label, one in enumerate(classes) if sample.annotation.tags else ():
        check_name(MAIN, one.name, {})
        line = f"{sample.name} {1 if label in sample.annotation.tags else -1:>2}"
        lists.setdefault(MAIN / f"{one.name}_{split}.txt", []).append(line)
