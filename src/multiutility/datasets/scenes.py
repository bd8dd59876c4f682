"""The embedded dataset: generated scenes with the difficulties of photographs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.datasets.scenery import stuff, things
from multiutility.datasets.scenery.canvas import VOID, Canvas, borders
from multiutility.datasets.scenery.light import View, make_light
from multiutility.datasets.scenery.noise import curve, fields, piece
from multiutility.datasets.scenery.sprite import Sprite
from multiutility.files import scratch
from multiutility.kinds import PixelAnnotation

CLASSES = Classes(
    [
        LabelClass("sky", (134, 182, 230), "stuff"),
        LabelClass("mountain", (130, 95, 165), "stuff"),
        LabelClass("grass", (120, 190, 80), "stuff"),
        LabelClass("water", (35, 95, 170), "stuff"),
        LabelClass("road", (85, 85, 92), "stuff"),
        LabelClass("sand", (230, 205, 140), "stuff"),
        LabelClass("tree", (20, 100, 45), "either"),
        LabelClass("house", (190, 75, 55), "either"),
        LabelClass("cow", (140, 80, 30), "thing"),
        LabelClass("sheep", (245, 240, 225), "thing"),
        LabelClass("person", (255, 150, 170), "thing"),
        LabelClass("car", (235, 45, 120), "thing"),
        LabelClass("boat", (250, 140, 20), "thing"),
        LabelClass("balloon", (150, 60, 210), "thing"),
    ]
)
SKY, MOUNTAIN, GRASS, WATER, ROAD, SAND, TREE, HOUSE, COW, SHEEP, PERSON, CAR, BOAT, BALLOON = range(14)

GROUNDS = {GRASS: stuff.grass, WATER: stuff.water, ROAD: stuff.road, SAND: stuff.sand}

# What is smaller (in parts of the picture) cannot be told by anyone, and is left unlabeled.
LEAST = 0.0008


@dataclass(frozen=True)
class Recipe:
    """How a thing is drawn, its height in meters and at most in parts of the picture, what it stands on."""

    draw: things.Thing
    meters: tuple[float, float]
    largest: float
    grounds: tuple[int, ...]


# Rocks belong to no class.
RECIPES = {
    TREE: Recipe(things.tree, (2.0, 7.0), 0.9, (GRASS,)),
    HOUSE: Recipe(things.house, (3.5, 6.0), 0.7, (GRASS,)),
    COW: Recipe(things.cow, (1.3, 1.6), 0.55, (GRASS,)),
    SHEEP: Recipe(things.sheep, (0.8, 1.1), 0.5, (GRASS,)),
    PERSON: Recipe(things.person, (1.5, 1.9), 0.75, (ROAD, SAND, GRASS)),
    CAR: Recipe(things.car, (1.3, 1.9), 0.38, (ROAD,)),
    BOAT: Recipe(things.boat, (1.0, 3.5), 0.45, (WATER,)),
    VOID: Recipe(things.rock, (0.3, 0.8), 0.3, (GRASS, SAND)),
}


@dataclass(frozen=True)
class Place:
    """How the ground of a place is laid, and for each thing: its chance, and how many there are at most."""

    lay: Callable[[np.random.Generator, Canvas], None]
    things: Mapping[int, tuple[float, int]]


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture uint8 [H, W, 3], its mask (0 unlabeled, or label + 1) and objects (0 none): uint8 [H, W]."""

    image: NDArray[np.uint8]
    mask: NDArray[np.uint8]
    instances: NDArray[np.uint8]


def make_scenes(
    path: str | Path,
    n_train: int,
    n_validation: int,
    random_state: int = 0,
    size: tuple[int, int] = (240, 320),
    progress: Callable[[int, int], None] | None = None,
) -> DatasetFolder:
    """Write a dataset folder of scenes with full masks, and splits ``train`` and ``validation``.

    A scene depends on its split, its number and ``random_state`` only: a larger dataset begins with the
    scenes of a smaller one. ``progress`` is told how many of how many are done.
    """
    numbers = {"train": range(n_train), "validation": range(n_validation)}
    splits = {split: [f"{split}-{n:04}" for n in range_] for split, range_ in numbers.items()}
    folder = Path(path)
    with scratch(folder) as photographs:
        samples = new_samples(photographs, splits, random_state, size)
        write_dataset(folder, CLASSES, counted(samples, n_train + n_validation, progress), splits)
    return DatasetFolder(folder)


def new_samples(
    folder: Path, splits: Mapping[str, list[str]], random_state: int, size: tuple[int, int]
) -> Iterator[NewSample]:
    """Paint scenes one by one, their pictures as JPEG in a folder."""
    for order, names in enumerate(splits.values()):
        for number, name in enumerate(names):
            scene = make_scene(np.random.default_rng([random_state, order, number]), size)
            file = folder / f"{name}.jpg"
            Image.fromarray(scene.image).save(file, quality=92)
            yield NewSample(name, file, PixelAnnotation(mask=scene.mask, instances=scene.instances))


def counted(
    samples: Iterable[NewSample], total: int, progress: Callable[[int, int], None] | None
) -> Iterator[NewSample]:
    """Pass the samples on, and tell how many there have been."""
    for done, sample in enumerate(samples, 1):
        yield sample
        if progress is not None:
            progress(done, total)


def make_scene(rng: np.random.Generator, size: tuple[int, int] = (240, 320)) -> Scene:
    """Paint one scene.

    >>> scene = make_scene(np.random.default_rng(0), size=(120, 160))
    >>> scene.image.shape, scene.mask.shape, int(scene.mask.max()) <= len(CLASSES)
    ((120, 160, 3), (120, 160), True)
    """
    place = PLACES[rng.choice(len(PLACES), p=CHANCES)]
    canvas = Canvas(make_view(rng, size), make_light(rng))
    paint_background(rng, canvas)
    place.lay(rng, canvas)
    paint_things(rng, canvas, place)
    forget_scraps(canvas)
    void = borders(canvas.labels)
    wide = piece(rng, fields().clouds, size) > 0.3
    void |= borders(np.where(void, 1, 0).astype(np.int16)) & wide
    mask = np.where(void, 0, canvas.labels + 1).astype(np.uint8)
    return Scene(canvas.photograph(rng), mask, canvas.objects)


def make_view(rng: np.random.Generator, size: tuple[int, int]) -> View:
    """Look at the horizon mostly, and sometimes down on the ground."""
    if rng.random() < 0.8:
        return View(size, round(rng.uniform(0.25, 0.6) * size[0]), rng.uniform(1.5, 3.0))
    return View(size, round(rng.uniform(-0.7, -0.2) * size[0]), rng.uniform(4.0, 8.0))


def paint_background(rng: np.random.Generator, canvas: Canvas) -> None:
    """Sky, and before it mountains or woods."""
    view, light = canvas.view, canvas.light
    if view.horizon <= 0:
        return
    above = View((view.horizon, view.shape[1]), view.horizon, view.height)
    canvas.fill(~view.ground, SKY, stuff.sky(rng, above, light))
    if rng.random() < 0.4:
        top = stuff.ridge(rng, view, rng.uniform(0.3, 0.8) * view.horizon, rough=rng.random() < 0.7)
        rising = ~view.ground & (np.arange(view.shape[0])[:, np.newaxis] >= top)
        canvas.fill(rising, MOUNTAIN, stuff.mountain(rng, above, light))
    if rng.random() < 0.35:
        paint_woods(rng, canvas)


def paint_woods(rng: np.random.Generator, canvas: Canvas) -> None:
    """Far trees on the horizon, all one object."""
    height, width = canvas.view.shape
    tall = rng.uniform(0.05, 0.12) * height
    trees = [things.tree(rng, tall * rng.uniform(0.7, 1.1), canvas.light) for _ in range(6)]
    for x in np.arange(rng.uniform(0, tall), width, 0.4 * tall):
        sprite = hazy(trees[rng.integers(len(trees))], canvas, 0.0)
        canvas.stamp(sprite, x, canvas.view.horizon + 1, TREE, 1)


def lay(rng: np.random.Generator, canvas: Canvas, where: NDArray[np.bool_], label: int) -> None:
    """Cover a part of the picture with a kind of ground."""
    top = int(where.any(axis=1).argmax())
    picture = GROUNDS[label](rng, canvas.view.beginning(top), canvas.light)
    canvas.fill(where, label, picture, top)


def lay_all(rng: np.random.Generator, canvas: Canvas, label: int) -> None:
    """Cover everything under the horizon."""
    lay(rng, canvas, canvas.view.ground, label)


def lay_strip(rng: np.random.Generator, canvas: Canvas, width: tuple[float, float], label: int) -> None:
    """A road or a river that winds to the horizon, its width given in meters."""
    view = canvas.view
    rows = np.arange(view.shape[0], dtype=np.float32)[:, np.newaxis]
    scale = np.maximum(rows - view.horizon, 0.0) / view.height
    wind = rng.uniform(-60, 60) * (1.0 - view.nearness) ** 2
    middle = view.shape[1] * rng.uniform(0.2, 0.8) + rng.uniform(-2, 2) * scale + wind
    half = (
        rng.uniform(*width)
        / 2
        * scale
        * (1.0 + 0.08 * curve(rng, fields().rough, view.shape[0])[:, np.newaxis])
    )
    columns = np.arange(view.shape[1], dtype=np.float32)
    lay(rng, canvas, np.asarray((np.abs(columns - middle) < half) & view.ground), label)


def lay_pond(rng: np.random.Generator, canvas: Canvas) -> None:
    """Water with an uneven bank."""
    view = canvas.view
    rows, columns = np.ogrid[: view.shape[0], : view.shape[1]]
    below = max(view.horizon, 0.0)
    row = below + rng.uniform(0.15, 0.8) * (view.shape[0] - below)
    tall, wide = rng.uniform(0.12, 0.3) * (view.shape[0] - below), rng.uniform(0.2, 0.5) * view.shape[1]
    inside = ((rows - row) / tall) ** 2 + ((columns - rng.uniform(0, view.shape[1])) / wide) ** 2
    uneven = 0.15 * piece(rng, fields().clouds, view.shape)
    lay(rng, canvas, np.asarray((inside + uneven < 1.0) & view.ground), WATER)


def lay_shore(rng: np.random.Generator, canvas: Canvas, near: int) -> None:
    """Water up to the horizon, and land before it."""
    lay_all(rng, canvas, WATER)
    view = canvas.view
    below = max(view.horizon, 0.0)
    height = view.shape[0] - below
    line = below + height * (rng.uniform(0.2, 0.8) + 0.12 * curve(rng, fields().clouds, view.shape[1]))
    slope = rng.uniform(-0.4, 0.4) * height * np.linspace(-0.5, 0.5, view.shape[1])
    rows = np.arange(view.shape[0])[:, np.newaxis]
    lay(rng, canvas, np.asarray(rows > line + slope) & view.ground, near)


def lay_meadow(rng: np.random.Generator, canvas: Canvas) -> None:
    """Grass, perhaps with a pond or a path."""
    lay_all(rng, canvas, GRASS)
    if rng.random() < 0.25:
        lay_pond(rng, canvas)
    if rng.random() < 0.3:
        lay_strip(rng, canvas, (2.0, 4.0), ROAD if rng.random() < 0.6 else SAND)


def lay_street(rng: np.random.Generator, canvas: Canvas) -> None:
    """A wide road between lawns."""
    lay_all(rng, canvas, GRASS)
    lay_strip(rng, canvas, (5.0, 12.0), ROAD)


def lay_beach(rng: np.random.Generator, canvas: Canvas) -> None:
    """Sand at the sea."""
    lay_shore(rng, canvas, SAND)


def lay_lake(rng: np.random.Generator, canvas: Canvas) -> None:
    """Grass at the water."""
    lay_shore(rng, canvas, GRASS)


PLACES = (
    Place(lay_meadow, {COW: (0.6, 4), SHEEP: (0.5, 5), TREE: (0.5, 3), HOUSE: (0.25, 1), VOID: (0.2, 3)}),
    Place(lay_street, {CAR: (0.85, 3), HOUSE: (0.7, 3), PERSON: (0.5, 3), TREE: (0.5, 3), VOID: (0.1, 1)}),
    Place(lay_beach, {BOAT: (0.65, 3), PERSON: (0.65, 4), VOID: (0.3, 3)}),
    Place(
        lay_lake,
        {BOAT: (0.7, 3), TREE: (0.4, 3), COW: (0.2, 3), SHEEP: (0.2, 3), PERSON: (0.3, 2), HOUSE: (0.2, 1)},
    ),
)
CHANCES = (0.35, 0.25, 0.2, 0.2)


def paint_things(rng: np.random.Generator, canvas: Canvas, place: Place) -> None:
    """Things on the ground, those far away first, then balloons."""
    standing: list[tuple[int, int, float, int]] = []
    # Photographs are of something: try again if nothing is there.
    for _ in range(8):
        for label, (chance, most) in place.things.items():
            if rng.random() < chance:
                found = spots(rng, canvas, RECIPES[label], int(rng.integers(1, most + 1)))
                standing += [(*spot, label) for spot in found]
        if any(label != VOID for *_, label in standing):
            break
    objects = 1
    for bottom, x, meters, label in sorted(standing):
        objects += 1
        sprite = RECIPES[label].draw(rng, meters * canvas.view.scale(bottom), canvas.light)
        if label != BOAT:
            canvas.shade(sprite, x, bottom, tuple(GROUNDS))
        number = 0 if label == VOID else objects
        canvas.stamp(
            hazy(sprite, canvas, float(canvas.view.nearness[bottom, 0])), x, bottom + 1, label, number
        )
    if canvas.view.horizon > 40 and rng.random() < 0.22:
        for number in range(objects + 1, objects + 1 + int(rng.integers(1, 4))):
            paint_balloon(rng, canvas, number)


def spots(
    rng: np.random.Generator, canvas: Canvas, recipe: Recipe, number: int
) -> Iterator[tuple[int, int, float]]:
    """Places on the right ground where things are neither too small nor too large: row, column, meters."""
    view = canvas.view
    rows = np.arange(view.shape[0])[:, np.newaxis]
    for _ in range(number):
        meters = rng.uniform(*recipe.meters)
        pixels = meters * np.maximum(rows - view.horizon, 1.0) / view.height
        # Most of it is in the picture, too.
        fits = (pixels > 0.1 * view.shape[0]) & (
            pixels < np.minimum(recipe.largest * view.shape[0], 1.5 * rows)
        )
        places = np.flatnonzero(np.isin(canvas.labels, recipe.grounds) & fits)
        if len(places):
            row, column = divmod(int(rng.choice(places)), view.shape[1])
            yield row, column, meters


def paint_balloon(rng: np.random.Generator, canvas: Canvas, number: int) -> None:
    """A balloon in the sky, near or far."""
    pixels = canvas.view.horizon * rng.uniform(0.3, 0.8)
    sprite = things.balloon(rng, pixels, canvas.light)
    bottom = rng.uniform(0.7 * pixels, max(0.9 * canvas.view.horizon, 0.8 * pixels))
    near = pixels / canvas.view.shape[0] + 0.3
    canvas.stamp(hazy(sprite, canvas, near), rng.uniform(0, canvas.view.shape[1]), bottom, BALLOON, number)


def hazy(sprite: Sprite, canvas: Canvas, nearness: float) -> Sprite:
    """Return the sprite as seen through the air before it."""
    part = 0.8 * canvas.light.haze * (1.0 - nearness) ** 2
    return Sprite(sprite.color * (1 - part) + canvas.light.horizon * part, sprite.cover)


def forget_scraps(canvas: Canvas) -> None:
    """Leave unlabeled what is hidden or too small, be it a thing or all there is of a label."""
    least = LEAST * canvas.labels.size
    few = np.bincount(canvas.objects.ravel(), minlength=256) < least
    scraps = few[canvas.objects] & (canvas.objects > 0)
    canvas.labels[scraps], canvas.objects[scraps] = VOID, 0
    rare = np.bincount(canvas.labels.ravel() + 1, minlength=len(CLASSES) + 1) < least
    canvas.labels[rare[canvas.labels + 1]] = VOID
