"""The Stanford background dataset as it was published (iccv09Data).

``labels/NAME.regions.txt`` has a class for each pixel, negative if unknown; ``labels/NAME.layers.txt`` has
a number for each region, which tells foreground objects apart; ``horizons.txt`` has name, width, height and
horizon of all images.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, Kind, LabelClass, standard_color
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.imported import Imported, Samples
from multiutility.datasets.formats.source import by_stem, image_files, need_folder, need_size
from multiutility.datasets.images import image_size
from multiutility.datasets.tables import read_lines, read_text
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.problems import shown

NAMES = ("sky", "tree", "road", "grass", "water", "building", "mountain", "foreground")
KIND: dict[str, Kind] = {"foreground": "thing"}
CLASSES = Classes(
    LabelClass(name, standard_color(k), KIND.get(name, "stuff")) for k, name in enumerate(NAMES, start=1)
)


def read_stanford(source: str | Path) -> Imported:
    """Read the folder with ``images``, ``labels`` and ``horizons.txt``; there are no splits."""
    home = need_folder(source, "Stanford background")
    folder = home.root
    images = by_stem(image_files(home, folder / "images"))
    if not images:
        raise DatasetError(folder / "images", None, "there are no images", "give the folder iccv09Data")
    horizons = home.file(folder / "horizons.txt")
    if horizons is not None:
        check_horizons(horizons, images)
    names = sorted(images)

    def read(k: int) -> NewSample:
        path = images[names[k]]
        annotation = read_annotation(home, names[k], image_size(path))
        return NewSample(names[k], path, annotation)

    return Imported(CLASSES, Samples(names, read))


def check_horizons(path: Path, images: dict[str, Path]) -> None:
    """Raise if the list tells of other sizes; horizons are not used."""
    for row, line in read_lines(path):
        fields = line.split()
        if len(fields) != 4 or not all(field.isdecimal() and len(field) < 10 for field in fields[1:3]):
            raise DatasetError(path, row, f"bad line {shown(line)}", "write name, width, height, horizon")
        name, width, height = fields[0], int(fields[1]), int(fields[2])
        if name in images and image_size(images[name]) != (height, width):
            what = f"tells that {name} has width {width} and height {height}; it has not"
            raise DatasetError(path, row, what, "give the images as they were published")


def read_annotation(home: Enclosed, name: str, size: tuple[int, int]) -> PixelAnnotation:
    """Mask of an image, and a map of its foreground objects."""
    regions, layers = (
        home.file(home.root / "labels" / f"{name}.{part}.txt") for part in ("regions", "layers")
    )
    if regions is None:
        return PixelAnnotation()
    labels = read_matrix(regions, size)
    if labels.max() >= len(CLASSES):
        what = f"has the class {labels.max()}"
        raise DatasetError(regions, None, what, f"classes are 0..{len(CLASSES) - 1}, negative if unknown")
    mask = (np.maximum(labels, -1) + 1).astype(np.uint8)
    if layers is None:
        return PixelAnnotation(mask)
    objects = np.where(labels == CLASSES.label("foreground"), read_matrix(layers, size), -1)
    found, place = np.unique(objects, return_inverse=True)
    numbers = np.cumsum(found >= 0) * (found >= 0)
    instances = numbers[place].reshape(objects.shape).astype(np.int32)
    return PixelAnnotation(mask, instances=instances if instances.any() else None)


def read_matrix(path: Path, size: tuple[int, int]) -> NDArray[np.int64]:
    """Matrix of whole numbers, of the size of the image."""
    lines = read_text(path).splitlines()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of empty files
            matrix = np.loadtxt(lines, dtype=np.int64, ndmin=2, comments=None)
    except (ValueError, UserWarning) as error:
        raise DatasetError(path, None, f"is not a matrix of whole numbers: {error}", "get it anew") from None
    need_size(path, matrix, size)
    return matrix
