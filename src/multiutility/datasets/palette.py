"""Colors of classes that nobody has chosen: natural for well-known names, and such as all people tell apart.

About one man in twelve sees red and green alike. Colors are compared in CIELAB, as they look to people of
usual sight and to those without red or green cones, and are neither too dark nor too light to be seen on a
page of either theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import numpy as np

from multiutility.arrays import FloatArray

Color: TypeAlias = tuple[int, int, int]

# What things look like, by the names that people give to them.
NATURAL: dict[str, Color] = {
    name: color
    for names, color in {
        "sky heaven": (86, 180, 233),
        "cloud": (196, 208, 220),
        "water sea ocean river lake pond": (0, 92, 175),
        "grass lawn meadow field pasture": (152, 205, 70),
        "tree forest wood woods canopy": (0, 88, 48),
        "plant vegetation bush shrub leaf leaves crop foliage hedge": (60, 158, 90),
        "weed": (190, 200, 40),
        "soil earth ground dirt mud": (142, 94, 58),
        "sand beach desert": (226, 196, 124),
        "rock stone cliff gravel": (156, 146, 138),
        "mountain hill": (126, 104, 150),
        "snow ice": (188, 220, 240),
        "road street asphalt highway": (98, 100, 108),
        "path pavement sidewalk trail": (178, 166, 150),
        "building house facade": (208, 98, 62),
        "roof": (150, 52, 44),
        "window": (70, 120, 200),
        "door": (112, 66, 30),
        "fence pole post": (160, 150, 60),
        "person people pedestrian man woman child face skin": (240, 150, 130),
        "cow cattle ox": (116, 62, 22),
        "sheep": (228, 214, 186),
        "horse": (96, 58, 40),
        "boat ship": (230, 159, 0),
        "flower blossom": (204, 121, 167),
        "fruit apple": (204, 44, 52),
        "fire flame": (236, 84, 20),
        "smoke": (164, 164, 170),
        "foreground": (230, 159, 0),
        "background": (148, 152, 160),
        "other rest": (122, 122, 126),
    }.items()
    for name in names.split()
}
# Okabe and Ito's colors, for which there is nothing to be learned, but for black.
FIRST: tuple[Color, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (204, 121, 167),
    (0, 114, 178),
    (213, 94, 0),
    (240, 228, 66),
)
# Colors that differ less are not told apart at a glance.
NEAR = 8.0
# Lightness, 0..100, of colors that are seen on white, and on black.
LIGHTNESS = (32.0, 88.0)
# Linear light as it looks to people without red or green cones (Machado, Oliveira and Fernandes, 2009).
PROTANOPIA = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
SIGHTS = np.array([np.eye(3), PROTANOPIA, DEUTERANOPIA])
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def natural_color(name: str) -> Color | None:
    """Return the color of what is well known.

    >>> natural_color("Sky"), natural_color("oak trees"), natural_color("xylophone")
    ((86, 180, 233), (0, 88, 48), None)
    """
    words = re.findall("[a-z]+", name.lower())
    plain = (
        form for word in reversed(words) for form in (word, word.removesuffix("s"), word.removesuffix("es"))
    )
    return next((NATURAL[word] for word in plain if word in NATURAL), None)


def color_for(name: str, used: Iterable[Color]) -> Color:
    """Return a color for a class of this name that looks like none that is used, as far as may be."""
    return Colors(used).choose(name)


def colors_for(names: Iterable[str]) -> list[Color]:
    """Return colors for classes, in their order.

    >>> colors_for(["sky", "grass"])
    [(86, 180, 233), (152, 205, 70)]
    """
    colors = Colors()
    return [colors.choose(name) for name in names]


def shades(color: Color) -> list[Color]:
    """Return a color, and lighter and darker ones of it that are seen on any page.

    >>> shades((0, 88, 48))[:2]
    [(0, 88, 48), (51, 121, 89)]
    """
    mixed = [color]
    for part, base in ((0.2, 255), (0.4, 255), (0.2, 0), (0.55, 255), (0.35, 0)):
        red, green, blue = (round((1 - part) * value + part * base) for value in color)
        lightness = float(looks(np.array([(red, green, blue)]))[0, 0, 0])
        if LIGHTNESS[0] <= lightness <= LIGHTNESS[1]:
            mixed.append((red, green, blue))
    return mixed


class Colors:
    """Colors that are used, and how much all others differ from them."""

    def __init__(self, used: Iterable[Color] = ()) -> None:
        self._used: set[Color] = set()
        self._seen = np.empty((len(SIGHTS), 0, 3))
        self._apart = np.full(len(candidates()[0]), np.inf)
        for color in used:
            self.use(color)

    def use(self, color: Color) -> None:
        """Use a color."""
        self._used.add(color)
        seen = looks(np.array([color]))
        self._seen = np.concatenate([self._seen, seen], axis=1)
        self._apart = np.minimum(self._apart, distances(candidates()[1], seen))

    def choose(self, name: str) -> Color:
        """Return a color for a class of this name, and use it."""
        natural = natural_color(name)
        wanted = [*(shades(natural) if natural else []), *FIRST]
        free = [color for color in wanted if self._is_apart(color)]
        chosen = free[0] if free else self._farthest()
        self.use(chosen)
        return chosen

    def _is_apart(self, color: Color) -> bool:
        return bool((distances(self._seen, looks(np.array([color]))) >= NEAR).all())

    def _farthest(self) -> Color:
        colors = candidates()[0]
        free = np.array([color not in self._used for color in colors])
        return colors[int(np.argmax(np.where(free, self._apart, -1.0)))]


def distances(seen: FloatArray, other: FloatArray) -> FloatArray:
    """Return how much looks [3, N, 3] differ from another one [3, 1, 3], where they differ least, [N]."""
    apart = np.linalg.norm(seen - other, axis=-1)
    return np.asarray(apart.min(axis=0), dtype=np.float64)


@cache
def candidates() -> tuple[list[Color], FloatArray]:
    """Return colors on a grid that are seen on any page, and how they look."""
    steps = np.arange(0, 256, 15)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    seen = looks(grid)
    fit = (seen[0, :, 0] >= LIGHTNESS[0]) & (seen[0, :, 0] <= LIGHTNESS[1])
    return [(int(r), int(g), int(b)) for r, g, b in grid[fit]], seen[:, fit]


def looks(colors: np.ndarray[tuple[int, ...], np.dtype[np.integer]]) -> FloatArray:
    """Return colors [N, 3] as they look to people [3, N, 3], in CIELAB."""
    parts = colors / 255.0
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.einsum("sij,nj->sni", SIGHTS, light), 0.0, 1.0)
    xyz = seen @ XYZ.T / XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
