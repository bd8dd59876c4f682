"""Other ways to learn from the same minutes of annotation: ``python benchmarks/same_minutes.py DATASET...``.

    python benchmarks/same_minutes.py DATASET... [--minutes 5 15] [--seeds N] [--store FOLDER] [--out FILE]

A person annotates images of ``train`` in random order until the minutes are over, in three ways: strokes in
all segments (scribbles), tags with boxes around things, or whole masks; seconds for each are those of
``experiment budget``, and minutes that are left when all images are done go to masks. Models are judged by
the images of ``validation``, by the protocol ``msrc21``:

- ours, from each of the three;
- a random forest of 100 trees on filters of pixels (``skimage.feature.multiscale_basic_features``), from the
  same strokes: ilastik's way;
- a logistic regression on the same features of superpixels as ours (``deep``), from the same masks: a linear
  probe;
- OpenCV's GrabCut in each of the same boxes, what is outside of them shared out among the other tags, and
  then the probe.

The table has accuracy / mean recall / mean IoU, and the seconds that learning and testing took, in the mean
over seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from skimage.feature import multiscale_basic_features
from sklearn.ensemble import RandomForestClassifier

from multiutility.arrays import FloatArray
from multiutility.experiments.budget import Costs, Mix, buy
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.methods import LOGISTIC, OURS, method_parameters
from multiutility.experiments.study import Setup, Study
from multiutility.experiments.supervision import Supervision
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.kind import nearest
from multiutility.kinds.mask import label_histograms
from multiutility.kinds.tags import TAGS
from multiutility.markdown import table
from multiutility.metrics import mask_confusion
from multiutility.models import Potts
from multiutility.vision import baselines
from multiutility.vision.photo import Photo, Shrunk
from multiutility.vision.predictor import Predictor
from multiutility.vision.refinements import chosen_refinement

SCRIBBLES = Mix("scribbles", "scribbles", 0.0)
BOXES = Mix("tags and boxes", "tags+boxes", 0.0)
MASKS = Mix("masks", "none", 1.0)
# Pixels of an image that trees are grown with, at most; ilastik takes all, which are few in strokes.
MOST_PIXELS, N_TREES = 4000, 100
# Steps of GrabCut, as in OpenCV's own example.
STEPS = 5

# Confusions on the test images of what was learned from a choice of annotations.
Way = Callable[[Study, Mix, Supervision], Confusions]


def by_study(method: str) -> Way:
    """A method of the experiments, on superpixels."""

    def way(study: Study, mix: Mix, choice: Supervision) -> Confusions:
        return study.outcome(method, mix.kinds, choice, method_parameters(method, {})).test

    return way


def forest(study: Study, mix: Mix, choice: Supervision) -> Confusions:
    """A random forest of pixels, as ilastik has it."""
    x, y = [], []
    for n, photo in enumerate(study.images.annotated(mix.kinds, choice)):
        small = Shrunk(photo.photo, study.training.max_side)
        given = labeled(photo.annotation(), small.size())
        places = np.flatnonzero(given)
        if len(places) > MOST_PIXELS:
            places = np.random.default_rng(n).choice(places, MOST_PIXELS, replace=False)
        x.append(filters(small)[places])
        y.append(given.ravel()[places])
    trees = RandomForestClassifier(N_TREES, n_jobs=1, random_state=study.setup.random_state)
    trees.fit(np.concatenate(x), np.concatenate(y))
    found = []
    for n, mask in enumerate(study.test.images.masks):
        small = Shrunk(study.test.images.photo(n), study.training.max_side)
        labels = trees.predict(filters(small)).reshape(small.size()).astype(np.uint8)
        large = nearest(labels, mask.shape).astype(np.int64) - 1
        found.append(mask_confusion(mask, large, len(study.classes)))
    return Confusions.of(found, study.classes.rare)


def labeled(annotation: PixelAnnotation, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Labels + 1 of the pixels of an image [H, W] that its mask or strokes have, else 0."""
    drawn = annotation.scribbles if annotation.mask is None else annotation.mask
    return np.zeros(size, np.uint8) if drawn is None else nearest(drawn, size)


def filters(photo: Photo) -> NDArray[np.float32]:
    """Colors, edges and textures at several scales, of all pixels [H * W, D]."""
    found = multiscale_basic_features(photo.image(), channel_axis=-1)
    return np.asarray(found, dtype=np.float32).reshape(-1, found.shape[-1])


def grabcut_probe(study: Study, mix: Mix, choice: Supervision) -> Confusions:
    """GrabCut in boxes, and a logistic regression on superpixels of what that gives."""
    study, _ = study.suited(mix.kinds, choice)
    training = study.training_set(mix.kinds, choice)
    weighted, n_labels = training.preset.preset.weighted, len(training.classes)
    annotations = [training.small_annotation(n) for n in range(len(training.prepared))]
    features = [baselines.plain_features(one, weighted) for one in training.prepared]
    targets = []
    for n, annotation in enumerate(annotations):
        image = Shrunk(training.photos[n].photo, training.max_side).image()
        targets.append(cut_targets(image, annotation, training.prepared[n].regions, n_labels))
    masks = [n for n, one in enumerate(annotations) if one.mask is not None]
    probe = baselines.LOGISTIC
    merits = probe.compare(features, targets, masks)
    penalty = max(merits, key=lambda one: merits[one]) if merits else probe.penalties.usual
    weights = probe.regression(features, targets, penalty)
    flat = Potts(n_labels).layout(training.prepared[0].problem).local(weights)
    plainly = Predictor(training.classes, training.preset, flat, training.max_side, 1.0, None)
    return study.test.confusions(replace(plainly, refine=chosen_refinement(plainly, training, masks)))


def cut_targets(
    image: NDArray[np.uint8], annotation: PixelAnnotation, regions: NDArray[np.int32], n_labels: int
) -> FloatArray:
    """How many pixels of each region [V] have which label [V, K], with boxes cut out."""
    if annotation.mask is not None:
        return baselines.filled(annotation, regions, n_labels)
    cut = cut_out(image, annotation)
    counts = label_histograms(cut, regions, n_labels)
    boxed = {box.label for box in annotation.boxes}
    rest = sorted(set(TAGS.labels(annotation.tags)) - boxed) or sorted(boxed)
    open_ = np.bincount(regions.ravel(), cut.ravel() == 0, len(counts))
    counts[:, rest] += open_[:, np.newaxis] / len(rest)
    return counts


def cut_out(image: NDArray[np.uint8], annotation: PixelAnnotation) -> NDArray[np.uint8]:
    """Labels + 1 of what GrabCut takes for the objects in boxes [H, W], the smaller over the larger."""
    height, width, _ = image.shape
    found: NDArray[np.uint8] = np.zeros((height, width), np.uint8)
    for box in sorted(annotation.boxes, key=lambda one: -(one.right - one.left) * (one.bottom - one.top)):
        left, top = max(0, int(box.left)), max(0, int(box.top))
        right, bottom = min(width, round(box.right)), min(height, round(box.bottom))
        if right - left < 2 or bottom - top < 2:
            continue
        inside: NDArray[np.uint8] = np.zeros((height, width), np.uint8)
        inside[top:bottom, left:right] = cv2.GC_PR_FGD
        if inside.all():  # GrabCut knows no background then
            found[:] = box.label + 1
            continue
        cv2.setRNGSeed(0)
        outer, inner = np.zeros((1, 65)), np.zeros((1, 65))  # colors, which it fits
        cv2.grabCut(image, inside, (0, 0, 1, 1), outer, inner, STEPS, cv2.GC_INIT_WITH_MASK)
        found[inside == cv2.GC_PR_FGD] = box.label + 1
    return found


WAYS: Sequence[tuple[str, Mix, Way]] = (
    ("ours", SCRIBBLES, by_study(OURS)),
    ("random forest of filters (ilastik's way)", SCRIBBLES, forest),
    ("ours", BOXES, by_study(OURS)),
    ("GrabCut, then a linear probe", BOXES, grabcut_probe),
    ("ours", MASKS, by_study(OURS)),
    ("linear probe", MASKS, by_study(LOGISTIC)),
)


def rows_of(study: Study, minutes: float, costs: Costs) -> list[list[str]]:
    """Rows of the table for a dataset and a budget."""
    rows = []
    for name, mix, way in WAYS:
        found, seconds, numbers = [], [], []
        for seed in study.setup.seeds:
            choice = buy(study.images, mix, 60 * minutes, costs, seed).choice
            if not choice.masks and not choice.weak:
                continue  # the first image in order takes longer
            begin = time.perf_counter()
            found.append(way(study, mix, choice).scores)
            seconds.append(time.perf_counter() - begin)
            numbers.append((len(choice.masks), len(choice.weak)))
        if found:
            scores = " / ".join(f"{one:.3f}" for one in np.mean(found, axis=0))
            masks, weak = np.mean(numbers, axis=0)
            about = [study.setup.data.name, f"{minutes:g}", mix.name, f"{masks:.0f} + {weak:.0f}"]
            rows.append([*about, name, scores, f"{np.mean(seconds):.0f}"])
            print(" | ".join(rows[-1]), flush=True)
    return rows


def told(costs: Costs) -> str:
    """What annotations cost."""
    prices = {"stroke": "scribbles", "tag": "tags", "box": "boxes", "mask": "mask"}
    return "Seconds: " + ", ".join(f"{n} {costs.seconds[kind]:g}" for n, kind in prices.items()) + "."


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--minutes", type=float, nargs="+", default=[5.0, 15.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", type=Path, help="folder for features; those there are used")
    parser.add_argument("--out", type=Path, help="new file for the table")
    chosen = parser.parse_args()
    costs, rows = Costs(), []
    for data in chosen.data:
        how: dict[str, Any] = {"n_seeds": chosen.seeds, "store": chosen.store}
        study = Study.open(Setup(data, "train", "validation", "deep", "msrc21", **how))
        for minutes in chosen.minutes:
            rows += rows_of(study, minutes, costs)
    heads = ["dataset", "minutes", "annotations", "masks + weak", "learned by", "scores", "seconds"]
    text = f"{table(heads, rows)}\n\n{told(costs)}\n"
    print(text)
    if chosen.out is not None:
        with chosen.out.open("x", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
