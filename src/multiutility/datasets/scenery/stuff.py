"""Pictures of stuff: sky, mountains and the kinds of ground, each as large as the view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.scenery.light import Light, View, chosen, color, mixed
from multiutility.datasets.scenery.noise import Field, curve, fields, piece

Picture: TypeAlias = NDArray[np.float32]
Palette: TypeAlias = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Ground:
    """One look of a class: two colors in patches, and textures with their size and strength.

    Textures lie on the ground, but for ``standing`` ones. ``specks`` are small spots of other colors.
    """

    colors: Palette
    textures: tuple[tuple[str, float, float], ...]
    standing: tuple[str, float] = ("grain", 0.05)
    specks: Palette = ()


# Classes overlap: dry grass is like sand, sand like a dirt road, and an old pond like a meadow.
GRASS = (
    Ground(
        ((0.30, 0.44, 0.14), (0.22, 0.38, 0.13), (0.26, 0.42, 0.22)),
        (("leaves", 1.0, 0.1),),
        ("blades", 0.14),
    ),
    Ground(((0.34, 0.50, 0.20), (0.28, 0.46, 0.18)), (("rough", 1.5, 0.06),), ("grain", 0.05)),
    Ground(
        ((0.60, 0.53, 0.30), (0.50, 0.45, 0.24), (0.44, 0.44, 0.20)), (("rough", 1.0, 0.1),), ("blades", 0.18)
    ),
    Ground(
        ((0.28, 0.42, 0.16), (0.36, 0.44, 0.20)),
        (("leaves", 1.0, 0.1),),
        ("blades", 0.1),
        ((0.85, 0.80, 0.25), (0.85, 0.85, 0.85), (0.70, 0.30, 0.50), (0.62, 0.36, 0.14)),
    ),
    Ground(((0.55, 0.58, 0.52), (0.46, 0.50, 0.42)), (("rough", 1.0, 0.1),), ("blades", 0.12)),
)
SAND = (
    Ground(((0.76, 0.66, 0.48), (0.84, 0.77, 0.62)), (("waves", 0.7, 0.06), ("rough", 2.0, 0.06))),
    Ground(((0.66, 0.52, 0.36), (0.58, 0.46, 0.33)), (("rough", 1.0, 0.09),), ("grain", 0.08)),
    Ground(((0.72, 0.42, 0.26), (0.64, 0.36, 0.24)), (("waves", 1.0, 0.08), ("rough", 2.0, 0.06))),
    Ground(((0.56, 0.54, 0.50), (0.46, 0.44, 0.42)), (("leaves", 0.8, 0.16),), ("grain", 0.06)),
    Ground(((0.34, 0.32, 0.31), (0.42, 0.39, 0.36)), (("rough", 1.5, 0.1),), ("grain", 0.08)),
)
ROAD = (
    Ground(((0.40, 0.40, 0.41), (0.28, 0.28, 0.30)), (("rough", 3.0, 0.07),), ("grain", 0.08)),
    Ground(((0.62, 0.60, 0.57), (0.54, 0.52, 0.50)), (("tiles", 6.0, 0.05), ("rough", 3.0, 0.05))),
    Ground(((0.44, 0.42, 0.41), (0.50, 0.44, 0.40)), (("tiles", 1.0, 0.12),), ("grain", 0.06)),
    Ground(((0.54, 0.42, 0.30), (0.46, 0.37, 0.28)), (("rough", 1.5, 0.1),), ("grain", 0.07)),
    Ground(((0.50, 0.30, 0.24), (0.56, 0.36, 0.28)), (("tiles", 1.5, 0.1),), ("grain", 0.05)),
)
# Colors, how high the waves are, and how much of the sky they mirror.
WATER: tuple[tuple[Palette, float, float], ...] = (
    (((0.14, 0.30, 0.40), (0.10, 0.24, 0.34)), 0.8, 0.6),
    (((0.10, 0.22, 0.30), (0.16, 0.26, 0.30)), 0.15, 0.9),
    (((0.20, 0.30, 0.18), (0.26, 0.32, 0.16)), 0.3, 0.25),
    (((0.16, 0.48, 0.52), (0.20, 0.52, 0.50)), 0.6, 0.35),
    (((0.36, 0.32, 0.24), (0.30, 0.30, 0.24)), 0.6, 0.35),
)
ROCK: Palette = (
    (0.40, 0.40, 0.44),
    (0.44, 0.38, 0.32),
    (0.20, 0.30, 0.18),
    (0.36, 0.40, 0.50),
    (0.58, 0.36, 0.26),
    (0.62, 0.60, 0.56),
)


def sky(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Gradient from the zenith to the horizon, with clouds."""
    rows = np.arange(view.shape[0], dtype=np.float32)[:, np.newaxis]
    down = np.clip(rows / max(view.horizon, 1.0), 0.0, 1.0) ** 0.8
    clear = mixed(light.zenith, light.horizon, np.broadcast_to(down, view.shape))
    density = piece(rng, fields().clouds, view.shape) + 0.2 * piece(rng, fields().rough, view.shape)
    cover = np.clip(0.8 * (density + light.cloudiness - 0.3), 0.0, 0.95)
    shade = 1.02 - (0.06 + 0.15 * light.contrast) * np.clip(density, 0.0, 1.5)
    white = mixed(color((0.97, 0.97, 0.98)), light.horizon, 0.3) * (0.4 + 0.6 * np.clip(light.tint, 0.4, 1.0))
    return mixed(clear, white * shade[..., np.newaxis], cover)


def mountain(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Slopes in light and shadow, some with woods and some with snow."""
    relief = piece(rng, fields().rough, view.shape)
    slope = np.gradient(relief, axis=1).astype(np.float32) * -light.side
    tone = 1.0 + rng.uniform(0.1, 1.0) * (0.3 + light.contrast) * slope + 0.10 * relief
    if rng.random() < 0.3:
        tone = tone + 0.2 * piece(rng, fields().leaves, view.shape)
    picture = chosen(rng, ROCK) * tone[..., np.newaxis]
    if rng.random() < 0.4:
        line = view.horizon * rng.uniform(0.35, 0.8)
        rows = np.arange(view.shape[0], dtype=np.float32)[:, np.newaxis]
        snow = np.clip((line - rows) / 6.0 + relief, 0.0, 1.0)
        picture = mixed(picture, color((0.9, 0.92, 0.96)) * (1.0 + 0.3 * slope)[..., np.newaxis], snow)
    return mixed(picture * light.tint, light.horizon, rng.uniform(0.1, 0.4) + 0.5 * light.haze)


def grass(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Lawn, meadow with or without flowers, dry or frosty grass."""
    return ground(rng, view, light, GRASS)


def sand(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Light, wet or red sand, shingle, or black sand."""
    return ground(rng, view, light, SAND)


def road(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Asphalt, slabs, cobbles, dirt or bricks."""
    return ground(rng, view, light, ROAD)


def ground(rng: np.random.Generator, view: View, light: Light, looks: tuple[Ground, ...]) -> Picture:
    """One of the looks, in the light of the hour, hazy far away."""
    look = looks[rng.integers(len(looks))]
    patches = view.on_ground(rng, fields().rough, 2.0)
    picture = mixed(chosen(rng, look.colors), chosen(rng, look.colors), np.clip(0.5 + 0.3 * patches, 0, 1))
    name, strength = look.standing
    tone = 1.0 + strength * rng.uniform(0.6, 1.6) * standing(rng, view, getattr(fields(), name))
    for name, size, strength in look.textures:
        tone += strength * rng.uniform(0.6, 1.6) * view.on_ground(rng, getattr(fields(), name), size)
    if look.specks:
        spots = view.on_ground(rng, fields().leaves, 1.0) > rng.uniform(1.2, 2.0)
        picture = mixed(picture, chosen(rng, look.specks), 0.9 * spots)
    far = np.broadcast_to((1.0 - view.nearness) ** 3, view.shape)
    return mixed(picture * tone[..., np.newaxis] * light.tint, light.horizon, light.haze * far)


def water(rng: np.random.Generator, view: View, light: Light) -> Picture:
    """Waves that mirror the sky, more of it the farther they are: sea, calm lake, pond, lagoon or river."""
    colors, height, mirror = WATER[rng.integers(len(WATER))]
    waves = view.on_ground(rng, fields().waves, rng.uniform(0.6, 1.6)) * height * rng.uniform(0.5, 1.3)
    far = np.broadcast_to(1.0 - 0.6 * view.nearness, view.shape)
    share = np.clip(mirror * far + 0.12 * waves, 0.0, 1.0)
    picture = mixed(chosen(rng, colors) * light.tint, mixed(light.horizon, light.zenith, 0.3), share)
    glints = np.clip(waves - 2.0 + light.contrast, 0.0, 1.0)
    return mixed(picture * (1.0 + 0.08 * waves)[..., np.newaxis], np.clip(light.tint, 0, 1), glints)


def standing(rng: np.random.Generator, view: View, source: Field) -> Field:
    """Field in the plane of the picture, fading towards the horizon."""
    return np.asarray(piece(rng, source, view.shape) * np.clip(1.5 * view.nearness, 0.2, 1.0))


def ridge(rng: np.random.Generator, view: View, height: float, rough: bool) -> Field:
    """Row [W] of the upper edge of something that rises ``height`` above the horizon, unevenly."""
    source = fields().rough if rough else fields().clouds
    return np.asarray(view.horizon - height * (0.6 + 0.4 * curve(rng, source, view.shape[1])))
