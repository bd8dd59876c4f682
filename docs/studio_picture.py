"""Takes the picture of the studio's page, with generated scenes that have annotations of all kinds.

Run it to take it anew, into the folder ``pictures``. It needs Playwright and Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from multiutility.datasets import DatasetFolder
from multiutility.datasets.scenes import make_scenes
from multiutility.demo.run import Mix, write_mix

PICTURE = Path(__file__).with_name("pictures") / "studio.png"
SIZE = (1200, 720)
ADDRESS = re.compile(r"http://\S+")


def scenes(folder: Path) -> DatasetFolder:
    """Write a dataset of scenes with a mix of annotations."""
    full = make_scenes(folder / "full", 12, 0, size=(360, 480))
    return write_mix(full, folder / "lake", Mix(masks=2, boxes=5, seeds=2), random_state=0)


def address(studio: subprocess.Popen[str]) -> str:
    """Return where a studio is that has just been started."""
    assert studio.stderr is not None
    for line in studio.stderr:
        if found := ADDRESS.search(line):
            return found[0]
    raise RuntimeError("the studio has ended")


def take(place: str, name: str) -> None:
    """Take the picture of an image with its boxes."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=120_000)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.set_default_timeout(120_000)
        page.goto(place)
        page.goto(f"{place.partition('?')[0]}#/annotate/{name}/boxes")
        page.wait_for_selector("canvas.picture")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(3000)
        content = page.screenshot()
        browser.close()
    # A palette: the picture takes a third of the room.
    Image.open(BytesIO(content)).convert("RGB").quantize(256).save(PICTURE, optimize=True)


def main() -> None:
    """Take it."""
    with tempfile.TemporaryDirectory() as place:
        dataset = scenes(Path(place))
        boxed = next(sample.name for sample in dataset if sample.marks.boxes)
        command = [sys.executable, "-m", "multiutility.cli", "studio", str(dataset.path), "--no-browser"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
            take(address(studio), boxed)
            studio.terminate()


if __name__ == "__main__":
    main()
