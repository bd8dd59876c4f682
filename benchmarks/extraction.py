"""Time to extract features, of this tree and of an older commit, in turn in the same run.

Run by hand: python benchmarks/extraction.py --against COMMIT [--images FOLDER] [--features deep]. Without a
folder, images are photographs that come with scikit-image. Each tree has a process of its own with one
thread; outputs of networks are not kept. Prints seconds of the processor by image, which other programs
change less than those of the clock, ratios, and how much results differ. Both trees use the native code
that is installed: an older commit must not need other native routines.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.sources import native_file

ROOT = Path(__file__).parents[1]
SAMPLES = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina")

# Reads paths of arrays from its input, one a line, and answers each with seconds and results.
WORKER = """
import sys, time, json
tree, features, native = sys.argv[1:]
# An editable installation would lead to this tree in any case.
sys.meta_path = [one for one in sys.meta_path if "Redirect" not in type(one).__name__]
sys.path.insert(0, tree)
import multiutility
multiutility.__path__.append(native)
import cv2, numpy as np
cv2.setNumThreads(1)
from multiutility.vision.features import presets
assert presets.__file__.startswith(tree), presets.__file__
fitted = None
for line in sys.stdin:
    image = np.load(line.strip())
    fitted = fitted or presets.preset(features).fit([image], 0)
    begin = time.process_time()
    found = fitted.prepare(image)
    seconds = time.process_time() - begin
    out = line.strip() + ".out.npz"
    np.savez(out, regions=found.regions, features=found.problem.node_features)
    print(json.dumps([seconds, out]), flush=True)
"""


class Tree:
    """A process that extracts features by the sources of a folder."""

    def __init__(self, sources: Path, features: str) -> None:
        alone = {"MULTIUTILITY_MAPS": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(sources), features, str(native_file().parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **alone},
            text=True,
        )

    def extract(self, path: Path) -> tuple[float, dict[str, NDArray[Any]]]:
        """Return the seconds for an image, and what was found."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        seconds, out = json.loads(self._process.stdout.readline())
        with np.load(out) as arrays:
            return seconds, dict(arrays)

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()


def images(folder: Path | None, size: tuple[int, int], count: int) -> list[NDArray[Any]]:
    """Return some images at the size (width, height)."""
    if folder is None:
        from skimage import data  # noqa: PLC0415

        found = [getattr(data, name)() for name in SAMPLES[:count]]
    else:
        paths = sorted(folder.iterdir())[:count]
        found = [np.asarray(Image.open(path).convert("RGB")) for path in paths]
    return [cv2.resize(one, size, interpolation=cv2.INTER_AREA) for one in found]


def old_sources(commit: str, place: Path) -> Path:
    """Put the sources of a commit into a folder."""
    done = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=60
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")
    return place / "src"


def compare(options: argparse.Namespace, place: Path) -> None:
    """Measure both trees, and print a table."""
    trees = [
        Tree(old_sources(options.against, place), options.features),
        Tree(ROOT / "src", options.features),
    ]
    times: list[list[float]] = [[], []]
    same, worst = 0, 0.0
    given = images(options.images, tuple(options.size), options.count)
    for n, image in enumerate(given):
        path = place / f"{n}.npy"
        np.save(path, image)
        best = [float("inf")] * 2
        for _ in range(options.repeats):
            found = [tree.extract(path) for tree in trees]
            best = [min(one, seconds) for one, (seconds, _) in zip(best, found, strict=True)]
        old, new = (arrays for _, arrays in found)
        alike = np.array_equal(old["regions"], new["regions"])
        same += alike
        if alike:
            # Older trees lack columns that were added at the end.
            both = min(old["features"].shape[1], new["features"].shape[1])
            worst = max(worst, float(np.abs(old["features"][:, :both] - new["features"][:, :both]).max()))
        for one, seconds in zip(times, best, strict=True):
            one.append(seconds)
    for tree in trees:
        tree.end()
    print("| image | before, s | now, s | ratio |\n| --- | --- | --- | --- |")
    for n, (before, now) in enumerate(zip(*times, strict=True)):
        print(f"| {n} | {before:.3f} | {now:.3f} | {now / before:.2f} |")
    before, now = (median(one) for one in times)
    ratio = median(b / a for a, b in zip(*times, strict=True))
    print(f"| median | {before:.3f} | {now:.3f} | {ratio:.2f} |")
    print(
        f"\nThe same regions in {same} of {len(given)} images; features differ by at most {worst:.1e} there."
    )


def main(words: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", required=True, metavar="COMMIT")
    parser.add_argument("--images", type=Path, metavar="FOLDER")
    parser.add_argument("--features", default="deep")
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=5, help="the fastest of so many runs counts")
    with tempfile.TemporaryDirectory() as folder:
        compare(parser.parse_args(words), Path(folder))


if __name__ == "__main__":
    main()
