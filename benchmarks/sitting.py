"""A sitting: somebody labels photographs in the studio, in a real browser, with live mode on.

    python benchmarks/sitting.py [--data FOLDER] [--photos N] [--others N] [--shots FOLDER]

By default of ``facade`` in $MULTIUTILITY_DATA; it needs Playwright and Chromium. Photographs are copied
without their masks, which only say where to click: all classes are made in the page, each photo gets tags,
things that can be counted boxes in every third, other photos a stroke of each class that is there. Live mode
is switched on when a quarter has tags.

Timed is each stroke, from the moment the button is let go to the frame with the new picture; scored is the
model that live mode has left, on others with masks, and after that the one of *Train*.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from playwright.sync_api import sync_playwright
from scipy import ndimage

from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, NewSample, Sample, write_dataset
from multiutility.kinds import PixelAnnotation

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 900.0
# Parts of an image that somebody would see, and the most boxes and strokes that anybody draws in one.
SEEN, MOST_BOXES = 0.005, 6
# Resolves with the milliseconds from the end of the next stroke to the first picture of live mode with it.
STROKE = """() => {
  const canvas = document.querySelector("canvas.picture");
  const old = canvas.dataset.live;
  window.stroke = new Promise((resolve) => {
    let up = null;
    addEventListener("pointerup", () => { up = performance.now(); }, { once: true, capture: true });
    new MutationObserver((_, observer) => {
      // The last picture of what was drawn before may come first.
      if (up === null || !canvas.dataset.live.endsWith("first") || canvas.dataset.live === old) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - up));
    }).observe(canvas, { attributes: true, attributeFilter: ["data-live"] });
  });
}"""


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """Start the command, and give its address."""
    command = [sys.executable, "-m", "multiutility.cli", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = ""
        while (found := re.search(r"http://\S+", said)) is None:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(said)
            said += line
        try:
            yield found.group()
        finally:
            process.terminate()


class Sitting:
    """One person with a mouse and a keyboard, and what the masks tell this person."""

    def __init__(self, page: Page, classes: Classes, shots: Path | None) -> None:
        self.page, self.classes, self.shots = page, classes, shots
        self.counts = dict.fromkeys(("tags", "boxes", "strokes"), 0)
        self.seconds: list[float] = []

    def begin(self) -> None:
        """Make all classes, the first one where the page says so."""
        for n, one in enumerate(self.classes):
            self.page.locator(".new-label, .guide button.primary").first.click()
            self.page.fill("#class-dialog input[name=name]", one.name)
            self.page.check(f"#class-dialog input[value={one.kind}]")
            self.page.click("#class-dialog button.primary")
            self.page.wait_for_selector("#class-dialog", state="hidden")
            if not n:
                self.page.locator(".guide a.primary").click()
                self.page.wait_for_selector("canvas.picture")

    def open(self, sample: Sample, tool: str) -> None:
        """Open a picture."""
        self.page.evaluate(f"location.hash = '#/annotate/{sample.name}/{tool}'")
        self.page.wait_for_selector(f"canvas[aria-label='Picture {sample.name}']")
        self.height, self.width = sample.size()

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a pixel of the picture is in the window."""
        box = self.page.locator("canvas.picture").bounding_box()
        assert box is not None
        scale = min((box["width"] - 24) / self.width, (box["height"] - 24) / self.height)
        left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        return left + scale * (x - self.width / 2), top + scale * (y - self.height / 2)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at a pixel, and let go at another."""
        self.page.mouse.move(*self.place(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.place(*end), steps=6)
        self.page.mouse.up()

    def key(self, label: int) -> None:
        """Press the key of a class."""
        self.page.keyboard.press("1234567890"[label])

    def saved(self) -> None:
        """Wait until everything is."""
        self.page.wait_for_selector("#save-state:text-is('All saved')")

    def tag(self, sample: Sample) -> None:
        """Tag what is seen in a picture: that is all."""
        self.open(sample, "tags")
        mask = mask_of(sample)
        for label in range(len(self.classes)):
            if (mask == label + 1).mean() > SEEN:
                self.key(label)
                self.counts["tags"] += 1
        self.saved()

    def box(self, sample: Sample) -> None:
        """Draw a box around each of the things of a class, unless they are too many."""
        self.open(sample, "boxes")
        mask = mask_of(sample)
        for label in (n for n, one in enumerate(self.classes) if one.kind == "thing"):
            parts, _ = ndimage.label(mask == label + 1)
            found = [part for part in ndimage.find_objects(parts) if part[0].stop - part[0].start > 3]
            if len(found) > MOST_BOXES:
                continue
            self.key(label)
            for rows, columns in found:
                self.drag((columns.start, rows.start), (columns.stop, rows.stop))
                self.counts["boxes"] += 1
        self.saved()

    def scribble(self, sample: Sample) -> None:
        """Draw a stroke in each class that is there, and wait for each new picture."""
        self.open(sample, "scribbles")
        self.seen(sample)
        mask = mask_of(sample)
        for label in range(len(self.classes)):
            run = longest_run(mask == label + 1)
            if run is None:
                continue
            self.key(label)
            self.page.evaluate(STROKE)
            self.drag(*run)
            self.seconds.append(self.page.evaluate("window.stroke") / 1000)
            self.counts["strokes"] += 1
        self.saved()

    def state(self) -> dict[str, Any]:
        """How live mode stands."""
        return self.page.evaluate("fetch('/api/live').then((answer) => answer.json())")  # type: ignore[no-any-return]

    def seen(self, sample: Sample) -> None:
        """Wait until live mode has come to a picture."""
        self.page.wait_for_selector(
            f"canvas[aria-label='Picture {sample.name}']:not([data-live=''])", timeout=1000 * PATIENCE
        )

    def written(self) -> None:
        """Wait until the model of the last change is in its file."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = self.state()
            picture = state["picture"] or {}
            if picture.get("final") and state["model"] >= picture["at"]:
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(f"no model of live mode: {self.state()}")

    def live(self, on: bool) -> float:
        """Switch live mode, and return the seconds until it has learned."""
        begin = time.monotonic()
        self.page.click("#live")
        self.page.wait_for_selector(f"#live[aria-checked={str(on).lower()}]")
        if on:
            self.page.wait_for_selector("#live-state:has-text('learned')", timeout=1000 * PATIENCE)
        return time.monotonic() - begin

    def train(self) -> float:
        """Train in full, and return the seconds until the model is ready."""
        self.page.evaluate("location.hash = '#/train'")
        begin = time.monotonic()
        self.page.click("#train")
        self.page.wait_for_selector("text=The model has learned from", timeout=1000 * PATIENCE)
        return time.monotonic() - begin

    def shoot(self, name: str) -> None:
        """Keep what is seen."""
        if self.shots is not None:
            self.shots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self.shots / f"{name}.png")


def mask_of(sample: Sample) -> np.ndarray:
    """The mask of a sample."""
    mask = sample.mask()
    assert mask is not None  # of a split that has them all
    return mask


def longest_run(there: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The longest level line well inside of something, if it can be seen."""
    if there.mean() < SEEN:
        return None
    inside = np.pad(ndimage.binary_erosion(there, iterations=3), ((0, 0), (1, 1)))
    steps = np.diff(inside.astype(int), axis=1)
    starts, ends = np.argwhere(steps == 1), np.argwhere(steps == -1)
    if not len(starts):
        return None
    best = int(np.argmax(ends[:, 1] - starts[:, 1]))
    row, left, right = float(starts[best, 0]), float(starts[best, 1]), float(ends[best, 1])
    margin = (right - left) / 10
    return (left + margin, row), (right - margin, row)


def evaluated(model: Path, others: list[Sample], classes: Classes) -> dict[str, Any]:
    """What ``multiutility evaluate`` says of a model on some images."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "others"
        masked = (NewSample(one.name, one.path, PixelAnnotation(mask=mask_of(one))) for one in others)
        write_dataset(folder, classes, masked)
        options = ("--no-pictures", "--json")
        command = [sys.executable, "-m", "multiutility.cli", "evaluate", str(model), str(folder), *options]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def told(what: str, scores: dict[str, Any]) -> str:
    """A line of the report."""
    figures = ", ".join(
        f"{name} {100 * scores[name]:.1f} %" for name in ("accuracy", "mean_recall", "mean_iou")
    )
    return f"{what}: {figures} on {scores['n_images']} others"


def main() -> None:
    """Sit, and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("MULTIUTILITY_DATA", ".")) / "facade"
    )
    parser.add_argument("--photos", type=int, default=24)
    parser.add_argument("--others", type=int, default=40)
    parser.add_argument("--shots", type=Path, help="folder for what is seen")
    chosen = parser.parse_args()
    whole = DatasetFolder(chosen.data)
    train = whole.split("train")
    samples = [train[name] for name in train.names[:: len(train) // chosen.photos][: chosen.photos]]
    others = list(whole.split("validation"))[: chosen.others]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as engine:
        folder = Path(place) / "photos"
        folder.mkdir()
        for sample in samples:
            shutil.copyfile(sample.path, folder / sample.path.name)
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = engine.chromium.launch(executable_path=BROWSER, args=["--disable-gpu", *sandbox])
        with studio(folder) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(120_000)
            page.goto(address)
            person = Sitting(page, whole.classes, chosen.shots)
            sit(person, samples)
            model = folder / "studio" / "model.safetensors"
            person.live(on=False)
            print(told("live", evaluated(model, others, whole.classes)), flush=True)
            print(f"train: {person.train():.0f} s")
            print(told("trained", evaluated(model, others, whole.classes)), flush=True)
            person.shoot("trained")
        browser.close()


def sit(person: Sitting, samples: list[Sample]) -> None:
    """Label all photographs, and tell how long everything took."""
    begin = time.monotonic()
    person.begin()
    quarter = len(samples) // 4
    for sample in samples[:quarter]:
        person.tag(sample)
    person.shoot("tagged")
    print(f"live, to the first picture: {person.live(on=True):.1f} s", flush=True)
    for sample in samples[quarter:]:
        person.tag(sample)
    for n, sample in enumerate(samples):
        if n % 3 == 2:
            person.box(sample)
        else:
            person.scribble(sample)
        person.shoot(f"photo-{n:02}")
        print(f"{n + 1} of {len(samples)}: {len(person.seconds)} strokes", file=sys.stderr)
    person.written()
    minutes = (time.monotonic() - begin) / 60
    counts = ", ".join(f"{count} {name}" for name, count in person.counts.items())
    print(f"{len(samples)} photographs in {minutes:.1f} min: {counts}")
    seconds = np.array(person.seconds)
    print(
        f"stroke to new picture: median {np.median(seconds):.2f} s, 9 of 10 within "
        f"{np.quantile(seconds, 0.9):.2f} s, worst {seconds.max():.2f} s"
    )


if __name__ == "__main__":
    main()
