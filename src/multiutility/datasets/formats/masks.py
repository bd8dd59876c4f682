"""Plain folders of images and masks, by indices or by colors.

Masks are named as their images, with one of some endings before the extension: ``1.jpg`` has ``1.png`` or
``1_mask.png``. Classes are in ``classes.csv`` (as in the dataset folder) or ``classes.txt`` (one name a
line).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.datasets.class_table import read_classes, write_classes
from multiutility.datasets.classes import Classes, LabelClass, color_text
from multiutility.datasets.contents import CLASSES, IMAGES, SPLITS
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.colors import code_color, color_codes, distinct, read_color_mask
from multiutility.datasets.formats.export import filling, place_samples, without_others, write_splits
from multiutility.datasets.formats.imported import Imported, Samples, name_classes
from multiutility.datasets.formats.source import by_stem, image_files, need_folder, need_size, read_splits
from multiutility.datasets.images import (
    FORMATS,
    MASK_FORMATS,
    image_size,
    opened,
    read_image,
    read_mask,
    save,
    write_mask,
)
from multiutility.datasets.limits import MAX_CLASSES
from multiutility.datasets.palette import Color
from multiutility.datasets.tables import read_lines
from multiutility.datasets.writing import NewSample
from multiutility.kinds import Kind, PixelAnnotation
from multiutility.kinds.mask import FOLDER as MASKS
from multiutility.kinds.mask import MASK
from multiutility.kinds.scribbles import SCRIBBLES

IMAGE_FOLDERS = (IMAGES, "image", "imgs", "JPEGImages")
MASK_FOLDERS = (MASKS, "mask", "labels", "annotations", "SegmentationClass")
STROKE_FOLDERS = (SCRIBBLES.name, "labels", *MASK_FOLDERS)
ENDINGS = ("", "_mask", "_GT", "_gt", "_L", "_label", "_labels", "_seg")
NAMES = "classes.txt"
BLACK: Color = (0, 0, 0)

# Reads a mask of a file.
Reader: TypeAlias = Callable[[Path], NDArray[np.uint8]]


def read_scribbles(
    source: str | Path, *, images: str | Path | None = None, masks: str | Path | None = None
) -> Imported:
    """Read a folder with images and label images, which say nothing where they are 0; see ``read_masks``."""
    return read_masks(source, images=images, masks=masks, kind=SCRIBBLES)


def read_masks(
    source: str | Path,
    *,
    images: str | Path | None = None,
    masks: str | Path | None = None,
    void: int = 0,
    kind: Kind = MASK,
) -> Imported:
    """Read a folder with images and masks, each in a folder in it, or wherever it is named.

    Masks have indices, with ``void`` for unlabeled pixels: the classes are the other indices in their
    order, from 0. Or masks have colors: those of ``classes.csv``, with black for void unless a class has
    it. Without a list of classes, all indices or colors that occur make one each. Splits are lists in
    ``splits``. The ``kind`` is what is read: masks, or scribbles.
    """
    home = need_folder(source, "image and mask")
    paths = by_stem(image_files(*pick_folder(home, images, IMAGE_FOLDERS)))
    enclosed, place = pick_folder(home, masks, MASK_FOLDERS if kind is MASK else STROKE_FOLDERS)
    there = by_stem(
        path for path in image_files(enclosed, place) if FORMATS[path.suffix.lower()] in MASK_FORMATS
    )
    found = {name: there[name + end] for name in paths for end in reversed(ENDINGS) if name + end in there}
    if not found:
        raise DatasetError(place, None, "there is no mask of any image", "name masks as their images")
    files = list(found.values())
    if has_colors(files[0]):
        classes, read_one = prepare_colors(files, given_classes(home))
    else:
        classes, read_one = prepare_indices(files, given_classes(home), void)
    names = sorted(paths)

    def read(k: int) -> NewSample:
        image, path = paths[names[k]], found.get(names[k])
        if path is None:
            return NewSample(names[k], image)
        mask = read_one(path)
        need_size(path, mask, image_size(image))
        values: dict[str, Any] = {kind.name: mask}
        return NewSample(names[k], image, PixelAnnotation(**values))

    splits = read_splits(home.files(home.root / SPLITS, [".txt"]), paths)
    return Imported(classes, Samples(names, read), splits)


def pick_folder(home: Enclosed, name: str | Path | None, usual: Sequence[str]) -> tuple[Enclosed, Path]:
    """Return the folder of this name, which may be anywhere, or the first of the usual ones that exists."""
    names, folder = [str(name)] if name else usual, home.root
    found = next((folder / one for one in names if (folder / one).is_dir()), None)
    if found is None:
        raise DatasetError(folder, None, f"there is no folder {' or '.join(names)}", "rename yours to one")
    return (Enclosed(found) if name else home), found


def has_colors(path: Path) -> bool:
    """Whether a mask has colors instead of indices."""
    with opened(path, MASK_FORMATS) as image:
        return image.mode in {"RGB", "RGBA"}


def given_classes(home: Enclosed) -> Classes | None:
    """Classes of a list, if there is one."""
    table, names = home.file(home.root / CLASSES), home.file(home.root / NAMES)
    if table is not None:
        classes, problems = read_classes(table)
        if problems:
            raise problems[0]
        return classes
    return None if names is None else name_classes(names, (line for _, line in read_lines(names)), ())


def prepare_indices(files: Sequence[Path], given: Classes | None, void: int) -> tuple[Classes, Reader]:
    """Classes, and how masks with indices are read."""
    if given is None:
        highest = max(int(indices[indices != void].max(initial=0)) for indices in map(read_mask, files))
        given = name_classes(files[0].parent, (f"class {k}" for k in range(highest + 1) if k != void), ())
    classes = given
    values = np.full(256, len(classes) + 1, dtype=np.uint16)
    values[[k for k in range(256) if k != void][: len(classes)]] = np.arange(1, len(classes) + 1)
    values[void] = 0

    def read(path: Path) -> NDArray[np.uint8]:
        indices = read_mask(path)
        mask = values[indices]
        if mask.max() > len(classes):
            what = f"has the index {indices[mask > len(classes)].min()}: there are {len(classes)} classes"
            fix = f"and {void} for void; add classes to {NAMES}, or if 255 is void, read them as 'masks-255'"
            raise DatasetError(path, None, what, fix)
        return mask.astype(np.uint8)

    return classes, read


def prepare_colors(files: Sequence[Path], given: Classes | None) -> tuple[Classes, Reader]:
    """Classes, and how masks with colors are read."""
    if given is None:
        codes = sorted(
            {code for file in files for code in distinct(color_codes(read_image(file))).tolist()} - {0}
        )
        if not 1 <= len(codes) <= MAX_CLASSES:
            what = f"masks have {len(codes)} colors: expected 1 to {MAX_CLASSES}, and black"
            raise DatasetError(files[0].parent, None, what, f"write {CLASSES} with name,color")
        given = Classes(LabelClass(color_text(code_color(code)), code_color(code)) for code in codes)
    classes = given
    values = {BLACK: 0} | {one.color: label + 1 for label, one in enumerate(classes)}
    return classes, lambda path: read_color_mask(path, values)


def write_masks(
    out: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
    *,
    colors: bool = False,
    lossy: bool = False,
) -> None:
    """Write ``images``, ``masks``, ``classes.csv`` and ``splits``: masks with indices, or with ``colors``.

    Other annotations than masks are an error unless ``lossy``.
    """
    if colors and len({BLACK, *(one.color for one in classes)}) <= len(classes):
        fix = "in classes.csv, give each class a color of its own, not #000000"
        raise DatasetError(out, None, "classes have the same color, or that of void", fix)
    with filling(out) as folder:
        (folder / MASKS).mkdir()
        given = without_others(samples, (MASK,)) if lossy else samples
        for sample in place_samples(folder / IMAGES, classes, given, kept=(MASK,)):
            annotation, path = sample.annotation, folder / MASKS / f"{sample.name}.png"
            if annotation.mask is not None and colors:
                save(path, Image.fromarray(classes.palette[annotation.mask]), "PNG")
            elif annotation.mask is not None:
                write_mask(path, annotation.mask, classes.palette)
        write_splits(folder / SPLITS, splits or {})
        write_classes(folder / CLASSES, classes)
