"""A small dataset for tests of the studio, and how to talk to it."""

from __future__ import annotations

import threading
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.kinds import TABLES, PixelAnnotation, PixelBox
from multiutility.studio.app import make_app
from multiutility.studio.places import Places
from multiutility.studio.server import Server, bound
from multiutility.vision import Segmenter
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.color_moments import ColorMean
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic

TOKEN = "right-token"
CLASSES = Classes(
    [
        LabelClass("grass", (120, 190, 80), "stuff"),
        LabelClass("sky", (134, 182, 230), "stuff"),
        LabelClass("cow", (140, 80, 30), "thing"),
    ]
)
SIZE = (48, 64)
NAMES = ("one", "two", "drei ü")
COW = {"label": "cow", "left": 4.0, "top": 5.0, "right": 20.0, "bottom": 30.0}


def write_meadow(path: Path) -> Path:
    """Three images: with a tag and a box, with a mask, and with nothing."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (*SIZE, 3), dtype=np.uint8) for _ in NAMES]
    annotations = [
        PixelAnnotation(tags=(0,), boxes=(PixelBox(2, 4, 5, 20, 30),)),
        PixelAnnotation(mask=horizon()),
        PixelAnnotation(),
    ]
    samples = [NewSample(*parts) for parts in zip(NAMES, images, annotations, strict=True)]
    write_dataset(path, CLASSES, samples)
    return path


def write_small_model(folder: Path, about: Mapping[str, Any] | None = None) -> Places:
    """Learn the studio's model of a dataset in no time; it may be made to tell something else of itself."""
    places = Places(folder)
    places.own.mkdir(exist_ok=True)
    preset = Preset("plain", Slic(20), (ColorMean(),), (Boundary(),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Segmenter(preset, C=1.0, tol=0.5, max_iter=1).fit(DatasetFolder(folder))
    if about is not None:
        model.predictor_ = replace(model.predictor_, about=about)
    model.save(places.model)
    return places


def horizon() -> NDArray[np.uint8]:
    """Mask with sky above grass."""
    mask = np.ones(SIZE, np.uint8)
    mask[:20] = 2
    return mask


def scribbled() -> NDArray[np.uint8]:
    """A stroke of a cow, and two of grass."""
    strokes = np.zeros(SIZE, np.uint8)
    strokes[10:13, 5:30] = 3
    strokes[40, 2:50] = strokes[45, 2:50] = 1
    return strokes


def packed(mask: NDArray[np.uint8]) -> bytes:
    """As the page sends index images."""
    return zlib.compress(mask.tobytes())


def marks(tags: Any = (), boxes: Any = (), seeds: Any = ()) -> dict[str, list[Any]]:
    """As the page sends marks."""
    some = {"tags": list(tags), "boxes": list(boxes), "seeds": list(seeds)}
    return {**{name: [] for name in TABLES}, **some}


@contextmanager
def running(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve the studio of a folder in a thread, and tell where."""
    listener = bound(port)
    port = listener.getsockname()[1]
    server = Server(make_app(folder, TOKEN, port), "", browser=False)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
