"""Pictures for people: masks over images, annotations, galleries, confusion matrices and curves.

Images are uint8 [H, W, 3], masks uint8 [H, W] with 0 for void and label + 1; palettes [K + 1, 3] are the
colors of mask values. Everything is returned as an image, and nothing that is passed in is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from multiutility.arrays import strips
from multiutility.datasets.classes import Classes
from multiutility.kinds import KINDS, PixelAnnotation
from multiutility.kinds.drawing import (
    BLACK,
    WHITE,
    Picture,
    Sketch,
    check_sizes,
    draw_name,
    name_width,
    overlay,
    text_font,
    text_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RED = (214, 39, 40)
# Titles for rows of ``compare``.
COMPARED = ("image", "truth", "prediction", "errors")


def errors(image: Picture, truth: Picture, predicted: Picture) -> Picture:
    """What is wrong in red, over the gray image; void is white."""
    check_sizes(image, truth, predicted)
    drawn = np.empty_like(image)
    for rows in strips(0, *truth.shape):
        part = slice(rows.start, rows.stop)
        gray = np.repeat(image[part].mean(axis=2, keepdims=True), 3, axis=2) * 0.5 + 60
        wrong = (truth[part] > 0) & (truth[part] != predicted[part])
        gray[wrong] = 0.3 * gray[wrong] + 0.7 * np.array(RED)
        gray[truth[part] == 0] = WHITE
        drawn[part] = np.rint(gray)
    return drawn


def compare(image: Picture, truth: Picture, predicted: Picture, palette: Picture) -> list[Picture]:
    """A row for a gallery: the image, the true and the predicted mask over it, and the errors."""
    masks = [overlay(image, mask, palette) for mask in (truth, predicted)]
    return [image, *masks, errors(image, truth, predicted)]


def draw_annotation(image: Picture, annotation: PixelAnnotation, classes: Classes) -> Picture:
    """The image with its mask, boxes and seeds drawn on it, and the names of its tags in the corner.

    Each class is named once, at its largest box or first seed: where things are many, names would hide them.
    """
    sketch = Sketch(image, classes.names, classes.palette)
    for kind in KINDS:
        value = annotation.value(kind)
        if kind.there(value):
            kind.draw(sketch, value)
    return sketch.finish()


def gallery(
    rows: Sequence[Sequence[Picture]],
    titles: Sequence[str] = (),
    captions: Sequence[str] = (),
    cell: tuple[int, int] = (240, 320),
    gap: int = 6,
) -> Picture:
    """Rows of images on white, each fitted into a cell (H, W), with titles of columns and captions of rows.

    >>> gallery([[np.zeros((24, 32, 3), dtype=np.uint8)] * 2], cell=(48, 64), gap=2).shape
    (52, 134, 3)
    """
    if captions and len(captions) != len(rows):
        raise ValueError(f"{len(captions)} captions for {len(rows)} rows")
    fitted = [[fit(image, cell) for image in row] for row in rows]
    heights = [max((image.height for image in row), default=0) for row in fitted]
    lefts = [gap + column * (cell[1] + gap) for column in range(max([len(titles), 1, *map(len, rows)]))]
    font = text_font(14)
    line = text_height(font) + 4
    header, above = line if titles else 0, line if captions else 0
    height = gap + header + sum(heights) + (gap + above) * len(rows)
    canvas = Image.new("RGB", (lefts[-1] + cell[1] + gap, height), WHITE)
    draw = ImageDraw.Draw(canvas)
    for left, title in zip(lefts, titles, strict=False):
        draw.text((left, gap), title, fill=BLACK, font=font)
    top = gap + header
    for n, row in enumerate(fitted):
        if captions:
            draw.text((gap, top), captions[n], fill=BLACK, font=font)
        for left, image in zip(lefts, row, strict=False):
            canvas.paste(image, (left, top + above))
        top += above + heights[n] + gap
    return np.asarray(canvas)


def fit(image: Picture, cell: tuple[int, int]) -> Image.Image:
    """The image, scaled to fill the cell (H, W) without being cut or stretched."""
    scale = min(cell[0] / image.shape[0], cell[1] / image.shape[1])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    # Magnified pixels stay visible as such; larger images are smoothed.
    method = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.BICUBIC
    return Image.fromarray(np.ascontiguousarray(image)).resize(size, method)


def legend(classes: Classes, width: int = 660, labels: Sequence[int] | None = None) -> Picture:
    """Names of the classes on their colors, in lines; of some labels only, if these are given.

    >>> legend(Classes.from_names(["grass", "sky"]), width=200).shape[1]
    200
    """
    font, shown = text_font(14), range(len(classes)) if labels is None else labels
    line, left, top = text_height(font) + 3, 4, 4
    places = []
    for label in shown:
        step = name_width(classes[label].name, font)
        if left > 4 and left + step > width:
            left, top = 4, top + line + 4
        places.append((left, top))
        left += step + 4
    canvas = Image.new("RGB", (width, top + line + 4), WHITE)
    for label, place in zip(shown, places, strict=True):
        draw_name(canvas, place, classes[label].name, classes[label].color, font)
    return np.asarray(canvas)


def stack(pictures: Sequence[Picture]) -> Picture:
    """Pictures above each other, on white.

    >>> stack([np.zeros((2, 3, 3), dtype=np.uint8), np.zeros((1, 5, 3), dtype=np.uint8)]).shape
    (3, 5, 3)
    """
    if not pictures:
        raise ValueError("there is nothing to stack")
    height, width = sum(len(one) for one in pictures), max(one.shape[1] for one in pictures)
    canvas = np.full((height, width, 3), 255, dtype=np.uint8)
    top = 0
    for one in pictures:
        canvas[top : top + len(one), : one.shape[1]] = one
        top += len(one)
    return canvas


def captioned(image: Picture, text: str, size: int = 14) -> Picture:
    """The image with a line of text above."""
    font = text_font(size)
    canvas = Image.new("RGB", (image.shape[1], text_height(font) + 4), WHITE)
    ImageDraw.Draw(canvas).text((0, 0), text, fill=BLACK, font=font)
    return stack([np.asarray(canvas), image])


def samples_picture(
    samples: Sequence[tuple[str, Picture, PixelAnnotation]],
    classes: Classes,
    n_columns: int = 4,
    cell: tuple[int, int] = (240, 320),
) -> Picture:
    """Images with their names and annotations (name, image, annotation), in rows, and a legend below."""
    drawn = []
    for name, image, annotation in samples:
        small = np.asarray(fit(draw_annotation(image, annotation, classes), cell))
        drawn.append(captioned(small, name))
    rows = [drawn[n : n + n_columns] for n in range(0, len(drawn), n_columns)]
    tallest = max((len(image) for image in drawn), default=cell[0])
    picture = gallery(rows, cell=(tallest, cell[1]))
    return stack([picture, legend(classes, width=picture.shape[1])])


def confusion_picture(matrix: ArrayLike, names: Sequence[str]) -> Picture:
    """Confusion matrix [K, K]: what part of each true class (row) was called what (column), in percent.

    Classes that have no pixels, and that nothing was called, are left out; rows without pixels are empty.
    """
    counts = np.asarray(matrix, dtype=np.float64)
    if counts.shape != (len(names), len(names)):
        raise ValueError(f"matrix has shape {counts.shape}: there are {len(names)} names")
    used = np.flatnonzero(counts.any(axis=0) | counts.any(axis=1))
    if not len(used):
        used = np.arange(len(names))
    shown = counts[np.ix_(used, used)]
    totals = counts[used].sum(axis=1, keepdims=True)
    shares = np.divide(100 * shown, totals, out=np.full(shown.shape, np.nan), where=totals > 0)
    side = 2.2 + 0.36 * len(used)
    figure, axes = new_figure(side + 0.8, side)
    heat = axes.imshow(shares, vmin=0, vmax=100, cmap="Blues")
    for (row, column), share in np.ndenumerate(shares):
        if share >= 1:
            color = "white" if share > 55 else "black"
            text = axes.text(column, row, f"{share:.0f}", color=color, ha="center", va="center", fontsize=7)
            # They are inside anyway; measuring hundreds of them takes seconds.
            text.set_in_layout(False)
    labels = [names[k] for k in used.tolist()]
    axes.set_xticks(range(len(used)), labels, rotation=90)
    axes.set_yticks(range(len(used)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    figure.colorbar(heat, label="percent of the true class", fraction=0.046, pad=0.03)
    return pixels_of(figure)


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty chart, in inches, that no window belongs to."""
    # Takes half a second, which commands that draw no charts should not wait for.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    return figure, figure.subplots()


def pixels_of(figure: Figure) -> Picture:
    """The chart as an image."""
    file = BytesIO()
    # The layout is not exact: without this, names at the edges may be cut.
    figure.savefig(file, format="png", bbox_inches="tight")
    return np.asarray(Image.open(file).convert("RGB"))
