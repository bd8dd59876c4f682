"""Scribbles: strokes over parts of an image, whose pixels have the label; nothing is said of other pixels.

Index images uint8 [H, W] hold 0 where nothing is said, and label + 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations.scribbled import Scribbled, Stroke
from multiutility.annotations.term import Mark
from multiutility.arrays import BoolArray, IndexArray
from multiutility.kinds.drawing import Sketch, contrast
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import FromMask, IndexImages, Kind, Page, Seconds, Words, nearest
from multiutility.kinds.mask import label_histograms
from multiutility.kinds.medial import medial_path, thickened
from multiutility.kinds.objects import NEIGHBORS, Content, labels_of
from multiutility.kinds.problems import Problem, raise_problem, size_problem

# How much of a segment a stroke is, if it is made of a mask.
SHARE = 0.03


def scribbles_problem(scribbles: NDArray[Any], n_classes: int) -> Problem | None:
    """Return which index is beyond the classes."""
    if scribbles.size and scribbles.max() > n_classes:
        what = f"has the index {scribbles.max()}: there are {n_classes} classes"
        return what, "use 0 where nothing is said, 1 for the first class"
    return None


def count_strokes(scribbles: NDArray[np.uint8]) -> int:
    """Return the number of connected strokes.

    >>> count_strokes(np.array([[1, 1, 0, 1, 2]], dtype=np.uint8))
    3
    """
    # Who only reads datasets need not wait for it.
    from scipy import ndimage  # noqa: PLC0415

    # Each label only where it is: strokes are small, and the studio counts those of large photos, too.
    places = enumerate(ndimage.find_objects(scribbles), start=1)
    parts = (ndimage.label(scribbles[place] == value, NEIGHBORS)[1] for value, place in places if place)
    return sum(map(int, parts))


def resize_strokes(scribbles: NDArray[np.uint8], size: Sequence[int]) -> NDArray[np.uint8]:
    """Return the strokes at another size [H, W]: of a pixel that any of them touch, the one it has most of.

    >>> resize_strokes(np.array([[0, 0, 0, 2, 0, 0]], dtype=np.uint8), (1, 2))
    array([[0, 2]], dtype=uint8)
    """
    height, width = scribbles.shape
    if size[0] > height or size[1] > width:
        return nearest(scribbles, size)
    rows, columns = np.nonzero(scribbles)
    places = (rows * size[0] // height) * size[1] + columns * size[1] // width
    values, counts = np.unique(places * 256 + scribbles[rows, columns], return_counts=True)
    order = np.argsort(counts, kind="stable")
    small = np.zeros(size[0] * size[1], dtype=np.uint8)
    small[values[order] // 256] = values[order] % 256
    return small.reshape(size[0], size[1])


def scribbles_term(scribbles: NDArray[np.uint8], grid: Grid) -> Scribbled:
    """The superpixels that strokes run over, once for each label."""
    problem = size_problem(scribbles, *grid.regions.shape) or scribbles_problem(scribbles, grid.n_labels)
    raise_problem("scribbles", problem)
    counts = label_histograms(scribbles, grid.regions, grid.n_labels)
    parts = counts / scribbles.size
    found = np.argwhere(counts).tolist()
    return Scribbled([Stroke(node, label, float(parts[node, label])) for node, label in found])


def stroke_strength(scribbles: NDArray[np.uint8], grid: Grid, _s: int, stroke: Mark) -> tuple[float, ...]:
    """The more pixels, the surer; a seed has only one."""
    return 1, int(np.count_nonzero((grid.regions == stroke.node) & (scribbles == stroke.label + 1)))


def scribble(content: Content) -> NDArray[np.uint8] | None:
    """A stroke in each segment, along its middle."""
    scribbles = np.zeros(content.shape, dtype=np.uint8)
    for segment in content.segments:
        n_pixels = max(1, round(SHARE * np.count_nonzero(segment.pixels)))
        stroke = thickened(medial_path(segment.pixels), segment.pixels, n_pixels)
        scribbles[segment.rows, segment.columns][stroke] = segment.label + 1
    return scribbles if content.segments else None


def fill_strokes(scribbles: NDArray[np.uint8], regions: IndexArray) -> Iterator[tuple[BoolArray, int]]:
    """The superpixels of the strokes, and their own pixels above these."""
    strokes = [(scribbles == label + 1, label) for label in labels_of(scribbles)]
    yield from ((np.isin(regions, regions[pixels]), label) for pixels, label in strokes)
    yield from strokes


def draw_strokes(sketch: Sketch, scribbles: NDArray[np.uint8]) -> None:
    """Strokes in their colors, with a rim; each label has its name at its first pixel."""
    # Who only reads datasets need not wait for them.
    from PIL import Image  # noqa: PLC0415
    from scipy import ndimage  # noqa: PLC0415

    for label in labels_of(scribbles):
        pixels, color = scribbles == label + 1, sketch.color(label)
        rim = ndimage.binary_dilation(pixels, iterations=sketch.unit) & (scribbles == 0)
        sketch.canvas.paste(contrast(color), mask=Image.fromarray(rim))
        sketch.canvas.paste(color, mask=Image.fromarray(pixels))
        row, column = np.argwhere(pixels)[0].tolist()
        sketch.write_name(label, column + 3 * sketch.unit, row + 3 * sketch.unit)


SCRIBBLES = Kind(
    "scribbles",
    Words("scribble", "scribbles", "Scribbles", "A stroke over a part of each segment.", "scribbled"),
    Page("scribbles", "With scribbles", "with scribbles", "with scribbles"),
    Seconds(each=10.9, image=20.0, mark=10.9),  # Bearman, Russakovsky, Ferrari and Fei-Fei (2016)
    level=1,
    mended=0.7,  # it leaves open where the segment ends
    draw=draw_strokes,
    fill=fill_strokes,
    weaken=(
        FromMask(
            "scribbles",
            scribble,
            "Make a stroke in every segment, stuff too, and tags of all labels.",
            everywhere=True,
        ),
    ),
    says=Scribbled.says,
    term=scribbles_term,
    strength=stroke_strength,
    images=IndexImages("scribbles", scribbles_problem, count_strokes, resize_strokes),
)
