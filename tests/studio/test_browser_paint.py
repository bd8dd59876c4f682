"""Painting in a real browser: by brush, polygon and cutout, pixel by pixel, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from browser_cases import BARE, HEIGHT, WIDTH, Studio, becomes, center, drag, fingers, saved, strokes
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask

if TYPE_CHECKING:
    from playwright.sync_api import Page


def mask(studio: Studio) -> NDArray[np.uint8]:
    return read_mask(studio.folder / "masks" / f"{BARE}.png")


def thin_post(studio: Studio) -> NDArray[np.bool_]:
    """Put a picture with a disc and a post of two pixels in place of the one that has nothing."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    disc = (rows - 40) ** 2 + (columns - 60) ** 2 < 20**2
    rng = np.random.default_rng(0)
    image = np.where(disc[..., None], (200, 60, 40), (60, 140, 70)) + rng.integers(
        -20, 20, (HEIGHT, WIDTH, 3)
    )
    image[:, 110:112] = 250
    (old,) = (studio.folder / "images").glob(f"{BARE}.*")
    old.unlink()  # it may be of a format that loses colors
    Image.fromarray(image.astype(np.uint8)).save(old.with_suffix(".png"))
    return np.asarray(disc)


def overlap(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return float((found & truth).sum() / (found | truth).sum())


def test_a_mask_is_painted_pixel_by_pixel(studio: Studio) -> None:
    page = studio.open(BARE, "mask")
    page.get_by_role("radio", name="Brush").click()
    page.get_by_label("Size of the brush").fill("1")
    page.keyboard.press("9")  # cow
    place = center(page)
    drag(page, place(110.5, 5.5), place(110.5, 90.5))
    saved(page)
    expected = np.zeros((HEIGHT, WIDTH), np.uint8)
    expected[5:91, 110] = 9
    assert np.array_equal(mask(studio), expected)
    # From size to size by keys, and away with the right button.
    for _ in range(2):
        page.keyboard.press("]")
    becomes(page, lambda: page.get_by_label("Size of the brush").input_value(), "3")
    page.mouse.click(*place(110.5, 40.5), button="right")
    saved(page)
    assert not mask(studio)[39:42, 110].any()
    # Regions are one key away, and remembered for scribbles and for masks apart.
    page.keyboard.press("Shift+R")
    page.wait_for_selector("canvas[data-regions]")
    page.keyboard.press("s")
    becomes(page, lambda: page.get_by_role("radio", name="Brush").get_attribute("aria-checked"), "true")
    page.keyboard.press("m")
    becomes(page, lambda: page.get_by_role("radio", name="Regions").get_attribute("aria-checked"), "true")


def test_polygons_are_filled_by_the_centers_of_pixels(studio: Studio) -> None:
    page = studio.open(BARE, "scribbles")
    page.keyboard.press("Shift+P")
    page.keyboard.press("3")  # grass
    place = center(page)
    for corner in ((20, 10), (60, 10), (99, 50), (60, 50)):
        page.mouse.click(*place(*corner))
    page.keyboard.press("Control+z")  # the last corner
    page.mouse.click(*place(60, 60))
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    page.mouse.click(*place(20, 10))  # the first one again
    saved(page)
    corners = np.array([(20, 10), (60, 10), (99, 50), (60, 60)], float)
    assert overlap(strokes(studio) == 3, inside(corners)) > 0.97
    # Escape leaves one that is not finished, and then the picture.
    page.mouse.click(*place(100, 80))
    page.keyboard.press("Escape")
    page.mouse.click(*place(90, 80))
    page.mouse.click(*place(90, 90))
    page.mouse.click(*place(100, 90))
    page.mouse.click(*place(100, 90))  # the last one again
    saved(page)
    found = strokes(studio)
    assert found[82, 97] == 0
    assert found[88, 91] == 3
    page.keyboard.press("Control+z")
    saved(page)
    assert strokes(studio)[88, 91] == 0


def inside(corners: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether centers of pixels are within a polygon, by the angles at which its sides are seen."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    total = np.zeros((HEIGHT, WIDTH))
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        turn = np.arctan2(y1 - rows, x1 - columns) - np.arctan2(y0 - rows, x0 - columns)
        total += (turn + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(np.abs(total) > np.pi)


@pytest.mark.parametrize("kind", ["mask", "scribbles"])
def test_things_are_cut_out_by_a_box_and_by_a_click(studio: Studio, kind: str) -> None:
    disc = thin_post(studio)
    page = studio.open(BARE, kind)
    page.keyboard.press("Shift+C")
    page.keyboard.press("9")
    place = center(page)
    drag(page, place(36, 16), place(84, 64))
    path = studio.folder / {"mask": "masks", "scribbles": "scribbles"}[kind] / f"{BARE}.png"
    wait_for(page, path)
    assert overlap(read_mask(path) == 9, disc) > 0.97
    page.keyboard.press("Control+z")
    becomes(page, path.exists, False)
    page.mouse.click(*place(60, 40))
    wait_for(page, path)
    assert overlap(read_mask(path) == 9, disc) > 0.97


def wait_for(page: Page, path: Path) -> None:
    """Wait until the studio has written a file."""
    becomes(page, path.exists, True)
    saved(page)


def test_the_rest_is_filled_and_how_much_is_painted_is_told(studio: Studio) -> None:
    page = studio.open(BARE, "mask")
    told = page.locator(".painted")
    becomes(page, told.inner_text, "Nothing is painted yet.")
    page.keyboard.press("Shift+P")
    page.keyboard.press("1")
    place = center(page)
    for corner in ((0, 0), (WIDTH, 0), (WIDTH, HEIGHT * 3 / 4), (0, HEIGHT * 3 / 4), (0, 0)):
        page.mouse.click(*place(*corner))
    saved(page)
    page.wait_for_selector(".painted:has-text('75 % painted')")
    # Only what is not painted is hatched: light and dark lines, even over a picture of one color.
    becomes(page, lambda: stripes(page, place(64, 88)) > 30, True)
    page.keyboard.press("3")
    page.get_by_role("button", name="Fill the rest").click()
    saved(page)
    page.wait_for_selector(".painted:text-is('100 % painted.')")
    assert set(np.unique(mask(studio)[:71])) == {1}
    assert set(np.unique(mask(studio)[73:])) == {3}
    becomes(page, lambda: stripes(page, place(64, 88)) < 30, True)


def stripes(page: Page, place: tuple[float, float]) -> float:
    """How much the brightness changes along a short line of the picture as it is drawn."""
    page.get_by_label("Opacity").fill("1")
    page.wait_for_timeout(100)
    box = page.locator("canvas.picture").bounding_box()
    assert box is not None
    read = "([x, y]) => [...document.querySelector('canvas').getContext('2d').getImageData(x, y, 40, 1).data]"
    values = page.evaluate(read, [round(place[0] - box["x"]), round(place[1] - box["y"])])
    return float(np.std(np.array(values).reshape(-1, 4)[:, :3].mean(axis=1)))


def test_two_fingers_leave_no_corner_and_cut_nothing_out(studio: Studio) -> None:
    page = studio.window((1024, 1366), touch=True)
    page.goto(f"{studio.origin}/#/annotate/{BARE}/scribbles/cow")
    page.wait_for_selector("canvas.picture")
    place = center(page)
    for way in ("Polygon", "Cut out"):
        page.get_by_role("radio", name=way).tap()
        page.get_by_role("button", name="Fit").tap()
        page.wait_for_timeout(100)
        start = [place(20, 40), place(40, 40)]
        fingers(page, start[:1], [place(24, 40)], start, [place(10, 40), place(100, 40)])
        page.wait_for_timeout(300)
        saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    # One finger sets corners, of which none is left over.
    page.get_by_role("radio", name="Polygon").tap()
    page.get_by_role("button", name="Fit").tap()
    page.wait_for_timeout(100)
    for corner in ((30, 20), (90, 20), (90, 70), (30, 20)):
        fingers(page, [place(*corner)])
    saved(page)
    assert overlap(strokes(studio) == 9, inside(np.array([(30, 20), (90, 20), (90, 70)], float))) > 0.95


def test_classes_of_a_mask_are_in_the_picture(studio: Studio) -> None:
    page = studio.open("train-0000")
    painted = DatasetFolder(studio.folder)["train-0000"].mask()
    assert painted is not None
    for label, one in enumerate(DatasetFolder(studio.folder).classes):
        box = page.get_by_label(f"{one.name} is in the picture")
        assert box.is_checked() == bool((painted == label + 1).any())
    value, count = np.unique(painted[painted > 0], return_counts=True)
    most = DatasetFolder(studio.folder).classes[int(value[count.argmax()]) - 1].name
    told = page.locator(f".label-row:has-text('{most}') .count")
    share = f"{round(100 * count.max() / painted.size)} %"
    assert told.inner_text() == share
    assert told.get_attribute("title") == f"{share} of the picture is painted with it"
