"""Pictures of things, each in a random build, pose and color."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from multiutility.datasets.scenery.light import Color, Light, chosen, color, varied
from multiutility.datasets.scenery.noise import fields, piece
from multiutility.datasets.scenery.sprite import Pen, Point, Sprite

# From randomness, the height in pixels and the light to a picture.
Thing: TypeAlias = Callable[[np.random.Generator, float, Light], Sprite]

FUR = ((0.20, 0.14, 0.10), (0.45, 0.28, 0.16), (0.62, 0.45, 0.28), (0.10, 0.10, 0.11), (0.80, 0.76, 0.70))
WOOL = ((0.86, 0.83, 0.76), (0.74, 0.70, 0.62), (0.62, 0.58, 0.54), (0.90, 0.89, 0.86), (0.30, 0.26, 0.24))
LEAVES = ((0.18, 0.32, 0.12), (0.26, 0.38, 0.14), (0.12, 0.24, 0.13), (0.38, 0.42, 0.15), (0.62, 0.38, 0.14))
BARK = ((0.30, 0.23, 0.17), (0.40, 0.34, 0.28), (0.22, 0.18, 0.15))
WALL = ((0.86, 0.82, 0.74), (0.70, 0.40, 0.30), (0.78, 0.68, 0.50), (0.60, 0.62, 0.66), (0.90, 0.90, 0.88))
ROOF = ((0.58, 0.24, 0.17), (0.32, 0.30, 0.32), (0.42, 0.28, 0.20), (0.48, 0.44, 0.42))
PAINT = (
    (0.75, 0.12, 0.12),
    (0.14, 0.26, 0.55),
    (0.88, 0.88, 0.88),
    (0.12, 0.12, 0.13),
    (0.55, 0.57, 0.60),
    (0.82, 0.62, 0.14),
    (0.14, 0.38, 0.28),
    (0.50, 0.20, 0.40),
)
SKIN = ((0.92, 0.74, 0.62), (0.78, 0.57, 0.43), (0.48, 0.32, 0.24), (0.33, 0.22, 0.17))
STONE = ((0.45, 0.44, 0.42), (0.36, 0.33, 0.30), (0.58, 0.55, 0.50))
GLASS = color((0.16, 0.20, 0.25))
RUBBER = color((0.08, 0.08, 0.09))


def cow(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """From the side, grazing or not, plain or with patches."""
    coat, length = chosen(rng, FUR), rng.uniform(0.85, 1.15)
    left, right, belly = 0.45, 0.45 + length, rng.uniform(0.58, 0.66)
    pen = Pen(pixels, right + 0.2, coat)
    legs(rng, pen, (left + 0.1, right - 0.1), belly - 0.1, 0.085, coat * 0.8)
    pen.ellipse((left + right) / 2, 0.40, length / 2 + 0.02, 0.24, coat)
    pen.rectangle(left + 0.06, 0.17, right - 0.12, belly - 0.06, coat)
    pen.ellipse(right - 0.14, 0.36, 0.17, 0.20, coat)
    pen.limb([(right, 0.25), (right + 0.07, 0.4), (right + 0.05, 0.62)], 0.03, coat * 0.7)
    head(rng, pen, (left + 0.06, 0.30), coat)
    sprite = pen.sprite()
    if rng.random() < 0.5:
        patches = piece(rng, fields().clouds, sprite.shape, step=max(40.0 / pixels, 0.5))
        spotted = np.where(patches[..., np.newaxis] > rng.uniform(-0.4, 0.5), chosen(rng, FUR), sprite.color)
        sprite = Sprite(spotted.astype(np.float32), sprite.cover)
    fur = 1.0 + 0.07 * piece(rng, fields().grain, sprite.shape)
    return turned(rng, sprite.toned(fur)).lit(light)


def head(rng: np.random.Generator, pen: Pen, neck: Point, coat: Color) -> None:
    """Neck, head, ear and muzzle of a cow, up or down."""
    x, y = neck
    down = rng.uniform(0.0, 0.08) if rng.random() < 0.6 else rng.uniform(0.35, 0.5)
    face = (x - rng.uniform(0.16, 0.24), y - 0.10 + down)
    pen.limb([neck, face], 0.20, coat * 0.95)
    nose = (face[0] - 0.12, face[1] + 0.11)
    pen.limb([face, nose], 0.15, coat)
    pen.ellipse(nose[0], nose[1], 0.05, 0.06, varied(rng, (0.75, 0.6, 0.55)))
    pen.limb([(face[0] + 0.03, face[1] - 0.05), (face[0] + 0.12, face[1] - 0.08)], 0.05, coat * 0.7)


def legs(rng: np.random.Generator, pen: Pen, ends: Point, top: float, width: float, paint: Color) -> None:
    """Two pairs of legs, each with a stride of its own; those behind are darker."""
    for x in ends:
        stride = rng.uniform(-0.07, 0.07)
        for side, shade in ((-1.0, 0.65), (1.0, 1.0)):
            foot = x + side * (0.05 + stride)
            knee = ((x + foot) / 2 + rng.uniform(-0.02, 0.02), (top + 1.0) / 2)
            pen.limb([(x + side * 0.03, top), knee, (foot, 1.0 - width / 2)], width, paint * shade)


def sheep(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """A bumpy fleece on short legs, the head light or dark."""
    wool, face = chosen(rng, WOOL), chosen(rng, WOOL) * rng.choice([0.3, 0.9])
    length = rng.uniform(0.9, 1.15)
    middle, pen = 0.35 + length / 2, Pen(pixels, length + 0.55, wool)
    legs(rng, pen, (middle - 0.3 * length, middle + 0.3 * length), 0.6, 0.08, face)
    for angle in np.linspace(0, 2 * np.pi, 18, endpoint=False):
        x, y = middle + 0.42 * length * np.cos(angle), 0.42 + 0.24 * np.sin(angle)
        width, height = rng.uniform(0.11, 0.16, 2).tolist()
        pen.ellipse(x, y, width, height, wool * rng.uniform(0.92, 1.03))
    pen.ellipse(middle, 0.42, 0.42 * length, 0.26, wool)
    low = rng.uniform(0.2, 0.35) if rng.random() < 0.6 else rng.uniform(0.5, 0.75)
    pen.limb([(middle - 0.45 * length, 0.38), (middle - 0.56 * length, low)], 0.18, wool * 0.95)
    pen.limb([(middle - 0.55 * length, low), (middle - 0.66 * length, low + 0.1)], 0.14, face)
    sprite = pen.sprite()
    curls = 1.0 + 0.13 * piece(rng, fields().leaves, sprite.shape, step=1.5)
    return turned(rng, sprite.toned(curls)).lit(light)


def person(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """Standing or walking, in clothes of any color."""
    shirt, trousers, skin = chosen(rng, PAINT), chosen(rng, PAINT) * 0.8, chosen(rng, SKIN)
    pen, x, stride = Pen(pixels, 0.56, shirt), 0.28, rng.uniform(0.01, 0.12)
    for side, shade in ((-1.0, 0.75), (1.0, 1.0)):
        knee = (x + side * (0.04 + 0.7 * stride), 0.74)
        pen.limb([(x + side * 0.04, 0.5), knee, (x + side * (0.04 + stride), 0.97)], 0.085, trousers * shade)
    pen.polygon([(x - 0.11, 0.20), (x + 0.11, 0.20), (x + 0.085, 0.54), (x - 0.085, 0.54)], shirt)
    for side in (-1.0, 1.0):
        elbow = (x + side * rng.uniform(0.12, 0.17), rng.uniform(0.34, 0.40))
        hand = (elbow[0] + side * rng.uniform(-0.06, 0.05), elbow[1] + rng.uniform(-0.08, 0.14))
        pen.limb([(x + side * 0.10, 0.22), elbow, hand], 0.06, shirt * 0.9)
        pen.ellipse(*hand, 0.03, 0.03, skin)
    pen.ellipse(x, 0.085, 0.058, 0.072, skin)
    pen.ellipse(x, 0.06, 0.062, 0.055, chosen(rng, FUR) * 0.8)
    sprite = pen.sprite()
    return sprite.toned(1.0 + 0.05 * piece(rng, fields().rough, sprite.shape)).lit(light)


def car(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """From the side: saloon, estate or van."""
    paint, length = chosen(rng, PAINT), rng.uniform(2.5, 3.1)
    pen, deck = Pen(pixels, length, paint), rng.uniform(0.38, 0.5)
    front, back = rng.uniform(0.22, 0.34) * length, rng.uniform(0.72, 0.96) * length
    slope = rng.uniform(0.12, 0.4)
    cabin = [(front, deck), (front + slope, 0.03), (back - 0.5 * slope, 0.03), (back, deck)]
    pen.polygon(cabin, paint * 0.95)
    pen.polygon(
        [(0.03, 0.56), (0.12, deck), (length - 0.08, deck), (length - 0.02, 0.82), (0.03, 0.82)], paint
    )
    middle = rng.uniform(0.45, 0.6) * (front + back)
    panes = (
        (front + 0.06, front + slope + 0.03, middle - 0.05),
        (middle + 0.03, middle + 0.03, back - slope),
    )
    for low, high, end in panes:
        pen.polygon([(low, deck), (high, 0.10), (end, 0.10), (end + 0.02, deck)], GLASS)
    pen.rectangle(0.05, 0.70, length - 0.03, 0.80, paint * 0.6)
    for x in (0.2 * length, 0.8 * length):
        pen.ellipse(x, 0.79, 0.20, 0.20, RUBBER)
        pen.ellipse(x, 0.79, 0.10, 0.10, varied(rng, (0.6, 0.6, 0.62)))
    pen.ellipse(0.07, 0.60, 0.04, 0.04, color((0.9, 0.88, 0.7)))
    return turned(rng, pen.sprite()).lit(light, 0.7)


def boat(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """A rowing boat, a cutter with a cabin, or under sail."""
    kind = rng.integers(3)
    paint, length = (
        chosen(rng, PAINT),
        (rng.uniform(2.2, 3.0), rng.uniform(1.5, 2.2), rng.uniform(0.7, 0.9))[kind],
    )
    pen, deck = (
        Pen(pixels, length, paint),
        (rng.uniform(0.3, 0.5), rng.uniform(0.5, 0.62), rng.uniform(0.78, 0.86))[kind],
    )
    if kind == 2:
        sails(rng, pen, rng.uniform(0.4, 0.55) * length, deck, length)
    if kind == 1:
        left, right = rng.uniform(0.25, 0.4) * length, rng.uniform(0.55, 0.75) * length
        pen.rectangle(left, 0.12, right, deck, chosen(rng, WALL))
        pen.rectangle(left + 0.06, 0.2, right - 0.06, 0.34, GLASS)
        pen.limb([(left + 0.1, 0.12), (left + 0.1, 0.02)], 0.03, color((0.3, 0.3, 0.3)))
    if kind == 0:
        for x in rng.uniform(0.3, 0.7, size=rng.integers(1, 3)) * length:
            pen.ellipse(x, deck - 0.05, 0.13, 0.22, chosen(rng, PAINT))
            pen.ellipse(x, deck - 0.34, 0.08, 0.10, chosen(rng, SKIN))
    bow = rng.uniform(0.05, 0.12) * length
    pen.polygon([(0.0, deck - 0.04), (length, deck), (length - bow, 1.0), (1.5 * bow, 1.0)], paint)
    pen.polygon(
        [(0.0, deck - 0.04), (length, deck), (length - 0.02, deck + 0.06), (0.03, deck + 0.05)], paint * 1.3
    )
    return turned(rng, pen.sprite()).lit(light, 0.7)


def sails(rng: np.random.Generator, pen: Pen, mast: float, deck: float, length: float) -> None:
    """Mast, mainsail and jib."""
    cloth = varied(rng, (0.93, 0.92, 0.88)) if rng.random() < 0.6 else chosen(rng, PAINT)
    pen.limb([(mast, deck), (mast, 0.02)], 0.018, color((0.35, 0.28, 0.2)))
    boom = min(mast + rng.uniform(0.25, 0.4), length - 0.02)
    pen.polygon([(mast + 0.01, 0.04), (boom, deck - 0.06), (mast + 0.01, deck - 0.06)], cloth)
    if rng.random() < 0.7:
        pen.polygon([(mast - 0.01, 0.10), (mast - 0.01, deck - 0.06), (0.04, deck - 0.04)], cloth * 0.9)


def house(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """Front with windows and a door; the roof with a gable or from the side; bricks, boards or plaster."""
    wall, roof, width = chosen(rng, WALL), chosen(rng, ROOF), rng.uniform(0.9, 1.7)
    eaves, pen = rng.uniform(0.34, 0.48), Pen(pixels, width + 0.16, wall)
    left, right = 0.08, width + 0.08
    pen.rectangle(left, eaves - 0.01, right, 1.0, wall)
    if rng.random() < 0.6:
        chimney = rng.uniform(left + 0.15, right - 0.25)
        pen.rectangle(chimney, 0.02, chimney + 0.09, eaves, roof * 0.7)
    ridge = rng.uniform(0.05, 0.14)
    inset = width / 2 if rng.random() < 0.4 else rng.uniform(0.02, 0.3)
    pen.polygon([(0.0, eaves), (left + inset, ridge), (right - inset, ridge), (width + 0.16, eaves)], roof)
    openings(rng, pen, (left, right), eaves)
    sprite = pen.sprite()
    return sprite.toned(courses(rng, sprite.shape)).lit(light, 0.8)


def openings(rng: np.random.Generator, pen: Pen, ends: Point, eaves: float) -> None:
    """Windows in a row or two, and a door."""
    left, right = ends
    frame, number = varied(rng, (0.85, 0.85, 0.82)), int(rng.integers(2, 5))
    half = 0.22 * (right - left) / number
    door = int(rng.integers(number))
    rows = (
        [eaves + 0.2 * (1 - eaves), eaves + 0.62 * (1 - eaves)]
        if eaves < 0.42
        else [eaves + 0.4 * (1 - eaves)]
    )
    for n in range(number):
        x = left + (right - left) * (n + 0.5) / number
        for y in rows:
            high = 0.13 * (1 - eaves)
            pen.rectangle(x - half - 0.015, y - high - 0.015, x + half + 0.015, y + high + 0.015, frame)
            pen.rectangle(x - half, y - high, x + half, y + high, varied(rng, GLASS, 0.4))
        if n == door:
            pen.rectangle(x - half, 1 - 0.38 * (1 - eaves), x + half, 1.0, chosen(rng, PAINT) * 0.7)


def courses(
    rng: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Tone of walls and roofs: lines of bricks or boards, some dirt."""
    height, width = shape
    dirt = 1.0 + 0.06 * piece(rng, fields().rough, (height, width))
    step, depth = int(rng.integers(3, 6)), rng.choice([0.0, 0.12, 0.2])
    lines = np.ones((height, width), np.float32)
    if rng.random() < 0.7:
        lines[::step] -= depth
    else:
        lines[:, ::step] -= depth
    return np.asarray(dirt * lines, dtype=np.float32)


def tree(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """A crown of many clumps, a conifer, or a bush."""
    kind, paint, bark = rng.random(), chosen(rng, LEAVES), chosen(rng, BARK)
    if kind < 0.25:
        sprite = conifer(rng, pixels, paint, bark)
    elif kind < 0.4:
        sprite = crown(rng, pixels, rng.uniform(1.1, 2.0), 0.0, light, paint, bark)
    else:
        sprite = crown(rng, pixels, rng.uniform(0.55, 1.0), rng.uniform(0.12, 0.4), light, paint, bark)
    foliage = 1.0 + 0.22 * piece(rng, fields().leaves, sprite.shape, step=2.0)
    return sprite.toned(np.clip(foliage, 0.4, 1.6)).lit(light)


def crown(
    rng: np.random.Generator,
    pixels: float,
    width: float,
    stem: float,
    light: Light,
    paint: Color,
    bark: Color,
) -> Sprite:
    """Clumps of leaves around a stem, brighter to the sun."""
    pen, bottom = Pen(pixels, width + 0.1, paint), 1.0 - stem
    x = width / 2 + 0.05
    thick, lean = rng.uniform(0.04, 0.10), rng.uniform(-0.06, 0.06)
    pen.limb([(x + lean, 0.97), (x, bottom - 0.15), (x - 0.1 * width, 0.45 * bottom)], thick, bark)
    pen.limb([(x, bottom - 0.1), (x + 0.15 * width, 0.4 * bottom)], 0.6 * thick, bark)
    n = int(np.clip(1.2 * pixels, 12, 180))
    radius = rng.uniform(0.6, 0.8) * min(width, bottom) / np.sqrt(n)
    angle, far = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0.0, 1.0, n))
    across, down = far * np.cos(angle), far * np.sin(angle)
    for k in np.argsort(light.side * across - down):
        tone = 0.95 + 0.2 * (light.side * across[k] - down[k]) + rng.uniform(-0.12, 0.12)
        place = (x + across[k] * (width / 2 - radius), bottom / 2 + down[k] * (bottom / 2 - radius))
        size = radius * rng.uniform(0.8, 1.35)
        pen.ellipse(*place, size, size * rng.uniform(0.75, 1.0), paint * tone)
    return pen.sprite()


def conifer(rng: np.random.Generator, pixels: float, paint: Color, bark: Color) -> Sprite:
    """Layers of branches that widen downwards."""
    half = rng.uniform(0.2, 0.32)
    pen, x, layers = Pen(pixels, 2 * half + 0.04, paint * 0.7), half + 0.02, int(rng.integers(4, 8))
    pen.limb([(x, 0.98), (x, 0.6)], 0.06, bark)
    bottoms = np.linspace(0.92, 0.2, layers)
    for n, bottom in enumerate(bottoms):
        wide = half * (bottom + 0.1) * rng.uniform(0.85, 1.1)
        droop = rng.uniform(0.0, 0.05)
        tip = max(bottom - 0.34, 0.0)
        points = [(x, tip), (x + wide, bottom + droop), (x, bottom - 0.03), (x - wide, bottom + droop)]
        pen.polygon(points, paint * (0.62 + 0.3 * n / layers))
    return pen.sprite()


def balloon(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """Hot-air balloon with stripes and a basket."""
    first, second = chosen(rng, PAINT), chosen(rng, PAINT)
    pen, x, wide = Pen(pixels, 0.84, first), 0.42, rng.uniform(0.34, 0.41)
    pen.polygon([(x - 0.8 * wide, 0.58), (x + 0.8 * wide, 0.58), (x + 0.09, 0.84), (x - 0.09, 0.84)], first)
    pen.ellipse(x, 0.4, wide, 0.39, first)
    for n, part in enumerate(np.linspace(0.8, 0.15, int(rng.integers(2, 6)))):
        pen.ellipse(x, 0.4, wide * part, 0.385, second if n % 2 == 0 else first)
    for side in (-1.0, 1.0):
        pen.limb([(x + side * 0.085, 0.83), (x + side * 0.06, 0.92)], 0.012, color((0.3, 0.25, 0.2)))
    pen.rectangle(x - 0.07, 0.91, x + 0.07, 1.0, chosen(rng, BARK))
    return pen.sprite().lit(light, 1.2)


def rock(rng: np.random.Generator, pixels: float, light: Light) -> Sprite:
    """A boulder."""
    paint, width = chosen(rng, STONE), rng.uniform(1.2, 2.2)
    pen, angles = Pen(pixels, width, paint), np.sort(rng.uniform(0, np.pi, 7))
    top = [(width / 2 * (1 - np.cos(a)), 1.0 - rng.uniform(0.75, 1.0) * np.sin(a)) for a in angles]
    pen.polygon([(0.0, 1.0), *top, (width, 1.0)], paint)
    sprite = pen.sprite()
    return sprite.toned(1.0 + 0.15 * piece(rng, fields().rough, sprite.shape)).lit(light, 1.3)


def turned(rng: np.random.Generator, sprite: Sprite) -> Sprite:
    """Look left or right."""
    return sprite if rng.random() < 0.5 else sprite.mirrored()
