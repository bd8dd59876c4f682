"""Colors of classes that nobody has chosen."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from multiutility.datasets.class_table import read_classes
from multiutility.datasets.classes import Classes, unused_color
from multiutility.datasets.palette import Color, Colors, colors_for, natural_color

UNKNOWN = [f"class {n}" for n in range(12)]
USUAL = ["sky", "grass", "tree", "road", "building", "car", "person", "water", "cow", "soil", "other"]
FACADE = ["sky", "window", "door", "facade", "balcony", "roof", "shop", "tree"]
# Vienot, Brettel and Mollon (1999), by which other programs than ours show what others see.
VIENOT = {
    "usual": np.eye(3),
    "without red": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "without green": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}


def seen(color: Color, sight: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """CIELAB of a color as somebody sees it, by Little CMS."""
    linear = (np.array(color) / 255) ** 2.2
    shown = np.clip(VIENOT[sight] @ linear, 0, 1) ** (1 / 2.2)
    pixel = Image.new("RGB", (1, 1), tuple(np.round(255 * shown).astype(int).tolist()))
    rgb, lab = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    found = ImageCms.profileToProfile(pixel, rgb, lab, outputMode="LAB")
    assert found is not None
    light, a, b = (float(part) for part in found.tobytes())
    signed = [part - 256 if part > 127 else part for part in (a, b)]
    return np.array([100 * light / 255, *signed])


@pytest.mark.parametrize("sight", VIENOT)
@pytest.mark.parametrize("names", [UNKNOWN, USUAL, FACADE])
def test_all_people_tell_them_apart(sight: str, names: list[str]) -> None:
    looks = {name: seen(color, sight) for name, color in zip(names, colors_for(names), strict=True)}
    near = {pair: float(np.linalg.norm(looks[pair[0]] - looks[pair[1]])) for pair in combinations(names, 2)}
    assert min(near.values()) > 6, min(near, key=near.__getitem__)


@pytest.mark.parametrize("names", [UNKNOWN, USUAL, FACADE])
def test_they_are_seen_on_white_and_on_black(names: list[str]) -> None:
    lightness = [seen(color, "usual")[0] for color in colors_for(names)]
    assert min(lightness) > 28
    assert max(lightness) < 92


def test_well_known_names_have_their_colors() -> None:
    red, green, blue = natural_color("sky") or (0, 0, 0)
    assert blue > green > red
    red, green, blue = natural_color("Wet grass") or (0, 0, 0)
    assert green > red > blue
    assert max(natural_color("roads") or (0, 99, 255)) - min(natural_color("roads") or (0, 99, 255)) < 20
    assert natural_color("Skylight") is None
    # A natural color that looks like one that is used is lighter or darker, and not another one.
    colors = dict(zip(FACADE, colors_for(FACADE), strict=True))
    red, green, blue = colors["tree"]
    assert green > red
    assert green > blue
    red, green, blue = colors["roof"]
    assert red > max(green, blue)
    # Of two that would look alike, the second has another.
    assert len(set(colors_for(["sky", "sky above", "sea", "ocean"]))) == 4


def test_a_table_without_colors(tmp_path: Path) -> None:
    (tmp_path / "classes.csv").write_text("name,color\nroad,\nsky,#010203\nsky,\ngrass,\n")
    classes, _ = read_classes(tmp_path / "classes.csv")
    assert classes is not None
    assert classes[0].color == natural_color("road")
    assert classes[1].color == (1, 2, 3)
    assert classes[3].color == natural_color("grass")
    (tmp_path / "classes.csv").write_text("name,color\nroad,\nsky,#010203\n")
    fewer, _ = read_classes(tmp_path / "classes.csv")
    assert fewer is not None
    assert fewer[:] == classes[:2]


def test_as_many_as_masks_have_room_for() -> None:
    assert len(set(colors_for(map(str, range(255))))) == 255
    classes = Classes.from_names(["sky", "grass"])
    assert unused_color("sky", classes) not in {one.color for one in classes}
    assert Colors([(86, 180, 233)]).choose("sky") != (86, 180, 233)
