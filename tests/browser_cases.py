"""The studio in a real browser, for tests: windows, and what people do in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import read_mask
from studio_cases import TOKEN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Route

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync"]
# Milliseconds; machines that do much else at the same time are slow at times.
PATIENCE, TRAINING = 60_000, 240_000
HEIGHT, WIDTH = 96, 128
BARE = "train-0003"


@dataclass
class Studio:
    """The studio of a dataset in the browser; what goes wrong in its pages is noted."""

    folder: Path
    origin: str
    browser: Browser
    troubles: list[str] = field(default_factory=list)

    def note(self, said: ConsoleMessage) -> None:
        """Take note of errors in the console; refused requests are among them, and may be as they should."""
        if said.type == "error" and "the server responded with a status" not in said.text:
            self.troubles.append(said.text)

    def window(self, size: tuple[int, int] = (1280, 800), token: str = TOKEN, touch: bool = False) -> Page:
        """Open the studio in a window of its own, as another person would."""
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, has_touch=touch)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self.note)
        page.goto(f"{self.origin}/?token={token}")
        return page

    def open(self, name: str, tool: str = "tags") -> Page:
        """Open an image with a tool."""
        page = self.window()
        page.goto(f"{self.origin}/#/annotate/{name}/{tool}")
        page.wait_for_selector("canvas.picture")
        return page


def saved(page: Page) -> None:
    """Wait until everything is."""
    page.wait_for_selector("#save-state:text-is('All saved')")


def center(page: Page) -> Callable[[float, float], tuple[float, float]]:
    """Return what turns pixels of the image into places of the window."""
    box = page.locator("canvas.picture").bounding_box()
    assert box is not None
    scale = min((box["width"] - 24) / WIDTH, (box["height"] - 24) / HEIGHT)
    left, top = box["x"] + (box["width"] - scale * WIDTH) / 2, box["y"] + (box["height"] - scale * HEIGHT) / 2
    return lambda x, y: (left + scale * x, top + scale * y)


def drawn(page: Page) -> str:
    """Return the picture as it is drawn, to be compared."""
    return str(page.evaluate("document.querySelector('canvas.picture').toDataURL()"))


def redrawn(page: Page, before: str) -> None:
    """Wait until the picture looks different."""
    becomes(page, lambda: drawn(page) != before, True)


def becomes(page: Page, read: Callable[[], object], expected: object) -> None:
    """Wait until what is read is as expected: pages are drawn a little after what caused it."""
    end = time.monotonic() + PATIENCE / 1000
    while (found := read()) != expected and time.monotonic() < end:
        page.wait_for_timeout(20)
    assert found == expected


def holding(page: Page, path: str) -> list[Route]:
    """Requests of a page that get no answer until somebody lets them go on."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(path, hold)
    return held


def drag(page: Page, *places: tuple[float, float]) -> None:
    """Press at the first place, and go by the others to the last."""
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def strokes(studio: Studio) -> NDArray[np.uint8]:
    """Return the scribbles of the image that had nothing."""
    return read_mask(studio.folder / "scribbles" / f"{BARE}.png")


def fingers(page: Page, *steps: list[tuple[float, float]]) -> None:
    """Put fingers on the screen, move them from step to step, and lift them."""
    client = page.context.new_cdp_session(page)
    for n, places in enumerate(steps):
        points = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)]
        kind = "touchMove" if n and len(places) == len(steps[n - 1]) else "touchStart"
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
