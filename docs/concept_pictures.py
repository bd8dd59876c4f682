"""Draws the pictures of the page on concepts: what can be said about a scene, and what becomes of it.

Run it to write them anew, into the folder ``pictures``. All of them show generated scenes. It learns a small
model for the second picture, which takes a minute.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.datasets import DatasetFolder
from multiutility.datasets.scenes import CLASSES, Scene, make_scene, make_scenes
from multiutility.demo.run import Mix, write_mix
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.boxes import loosen
from multiutility.kinds.drawing import borders, overlay
from multiutility.kinds.tags import OpenTag
from multiutility.vision import Segmenter
from multiutility.vision.regions.superpixels import RegionMerging
from multiutility.vision.render import captioned, draw_annotation
from multiutility.vision.weaken import weak_annotation

FOLDER = Path(__file__).with_name("pictures")
# Of the scene that is shown, and of all: small, as those of the demo.
SEED, SIZE, N_SUPERPIXELS = 22, (180, 240), 130
GAP = 8

Picture = NDArray[np.uint8]


def shown_scene() -> Scene:
    """Return the scene of both pictures, which is none of those that are learned from."""
    return make_scene(np.random.default_rng(SEED), SIZE)


def kinds_picture() -> Picture:
    """The same scene with annotations of each kind."""
    scene = shown_scene()
    weak = {
        "tags": weak_annotation(scene.mask, CLASSES, scene.instances),
        "points and tags": weak_annotation(scene.mask, CLASSES, scene.instances, seeds=True),
        "boxes and tags": weak_annotation(scene.mask, CLASSES, scene.instances, boxes=True),
        "mask": PixelAnnotation(scene.mask),
    }
    return row({name: draw_annotation(scene.image, one, CLASSES) for name, one in weak.items()})


def more_kinds_picture() -> Picture:
    """The same scene with the kinds that say less, or otherwise."""
    scene = shown_scene()
    made = partial(weak_annotation, scene.mask, CLASSES, scene.instances)
    boxed = made(boxes=True)
    loose = tuple(loosen(box, 0.4, scene.mask.shape) for box in boxed.boxes)
    named = tuple(OpenTag(label) for label in sorted(made().labels)[::2])
    weak = {
        "scribbles": made(scribbles=True, tags=False),
        "areas": made(areas=True, tags=False),
        "open tags": PixelAnnotation(tags=(*named, OpenTag(CLASSES.label("cow"), present=False))),
        "loose boxes and tags": replace(boxed, boxes=loose),
    }
    return row({name: draw_annotation(scene.image, one, CLASSES) for name, one in weak.items()})


def steps_picture(model: Segmenter) -> Picture:
    """A scene, its superpixels, and what a model makes of it."""
    scene = shown_scene()
    regions = RegionMerging(N_SUPERPIXELS)(scene.image)
    outlined = np.where(borders(regions.astype(np.uint8))[:, :, np.newaxis], 255, scene.image)
    (mask,), (scores,) = model.predict([scene.image]), model.predict_scores([scene.image])
    sure = np.repeat(np.rint(255 * scores).astype(np.uint8)[:, :, np.newaxis], 3, axis=2)
    return row(
        {
            "photograph": scene.image,
            "superpixels": outlined.astype(np.uint8),
            "prediction": overlay(scene.image, mask, CLASSES.palette),
            "confidence": sure,
        }
    )


def learned(folder: Path) -> Segmenter:
    """Return a model that was learned as in the demo."""
    scenes = make_scenes(folder / "scenes", 80, 1, size=SIZE)
    mixed: DatasetFolder = write_mix(scenes, folder / "mixed", Mix(), random_state=0)
    return Segmenter(n_superpixels=N_SUPERPIXELS).fit(mixed.split("train"))


def row(pictures: dict[str, Picture]) -> Picture:
    """Pictures side by side on white, each with its title above."""
    drawn = [captioned(one, name) for name, one in pictures.items()]
    gap = np.full((len(drawn[0]), GAP, 3), 255, dtype=np.uint8)
    parts = [part for one in drawn for part in (gap, one)]
    return np.concatenate([*parts, gap], axis=1)


def save(picture: Picture, name: str) -> None:
    """Write a PNG of 256 colors, which are enough and take a third of the space."""
    FOLDER.mkdir(exist_ok=True)
    Image.fromarray(picture).quantize(256).save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    save(kinds_picture(), "kinds.png")
    save(more_kinds_picture(), "more_kinds.png")
    with tempfile.TemporaryDirectory() as place:
        save(steps_picture(learned(Path(place))), "steps.png")
