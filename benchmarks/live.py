"""Live mode: from a change to the new model and picture, as ratios in one run.

    python benchmarks/live.py [--data FOLDER] [--store FOLDER] [--images N] [--edits N] [--only SUBSTRING]

By default of MSRC in $MULTIUTILITY_DATA, with features that are prepared before anything is timed:

- stroke: scribbles on 50 images of the 8 most frequent classes; half of the strokes of one image are taken
  away. ``Segmenter.refit`` of a few passes, as the studio does it first, and the prediction of that image,
  against what the button *Train* does for the same picture: a process that imports everything, fits, and
  predicts it. Beside it, ``refit`` to the tolerance.
- forest: the same ``refit`` against scikit-learn's random forest of 100 trees, fitted to the nodes whose
  label the strokes make certain.
- all: tags and boxes of all training images; one annotation changes. ``refit`` against a fit from zero by
  the same choices, and against ``fit``, each to the usual gap.
- new: a picture that is added, to its first prediction, against its features alone and one ``refit``.
- edits: random edits of masks and scribbles in a row; after each, the objective of ``refit`` against that of
  a fit from zero of the same examples. weak_edits: tags and boxes as well.

Exit code: 0 if all targets are met, 1 if not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from learning import HEADER, Row
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.kinds import PixelAnnotation
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.risk import objective
from multiutility.vision import Segmenter
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import AnnotatedPhoto
from multiutility.vision.weaken import weak_annotation

FEW = 2
"""Passes before the studio shows the first new picture."""
N_CLASSES = 8
N_TREES = 100
TRAIN_TARGET, FOREST_TARGET, ALL_TARGET, NEW_TARGET = 1 / 20, 1.0, 1 / 15, 1.0

TRAIN = """
import sys
from live import annotated, limited, photo_of, scribbles
from multiutility.datasets.folder import DatasetFolder
from multiutility.vision import Segmenter
from multiutility.vision.store import FeatureStore
data, store, name, *names = sys.argv[1:]
samples, classes, labels = limited(DatasetFolder(data), names)
model = Segmenter(store=store)
photos = [annotated(one, scribbles(one, classes, labels)) for one in samples]
model.fit_prepared(model.prepare(photos, classes))
photo = next(photo_of(one) for one in samples if one.name == name)
(found,) = model.predictor_.predict([photo], 1, FeatureStore(store))
"""


def photo_of(sample: Sample) -> FilePhoto:
    """The photo of a sample."""
    return FilePhoto(sample.name, sample.path)


def annotated(sample: Sample, annotation: PixelAnnotation) -> AnnotatedPhoto:
    """A sample with another annotation."""
    return AnnotatedPhoto(photo_of(sample), lambda: annotation)


def mask_of(sample: Sample) -> np.ndarray:
    """The mask of a sample."""
    mask = sample.mask()
    assert mask is not None  # of a split that has them all
    return mask


def limited(dataset: DatasetFolder, names: Sequence[str]) -> tuple[list[Sample], Classes, np.ndarray]:
    """Samples, the most frequent classes of the dataset, and what turns values of masks into theirs."""
    sizes = np.zeros(len(dataset.classes) + 1)
    for sample in dataset.select(names):
        sizes += np.bincount(mask_of(sample).ravel(), minlength=len(sizes))
    best = np.sort(np.argsort(-sizes[1:], kind="stable")[:N_CLASSES])
    table = np.zeros(len(sizes), np.uint8)
    table[best + 1] = np.arange(1, len(best) + 1)
    return [dataset[name] for name in names], Classes([dataset.classes[k] for k in best]), table


def scribbles(sample: Sample, classes: Classes, table: np.ndarray, part: float = 1.0) -> PixelAnnotation:
    """Strokes in what a mask has of some classes; ``part`` of the rows of the image have them."""
    found = weak_annotation(table[mask_of(sample)], classes, scribbles=True)
    strokes = found.scribbles
    if strokes is None:  # it has none of the classes
        return found
    kept = strokes.copy()
    kept[round(part * len(kept)) :] = 0
    return replace(found, scribbles=kept)


def timed(work: Callable[[], object]) -> float:
    """Seconds that work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def fitted(model: Segmenter, photos: Sequence[AnnotatedPhoto], classes: Classes) -> float:
    """Fit a segmenter to photos whose features are prepared first; return the seconds of the rest."""
    training = model.prepare(photos, classes)
    return timed(lambda: model.fit_prepared(training))


def from_zero(model: Segmenter) -> tuple[float, float]:
    """Seconds and objective of a fit from nothing to the examples and choices that a segmenter has kept."""
    assert model.kept_ is not None
    kept = model.kept_.learner.kept_
    assert kept is not None
    fresh = kept.risk.succeeded(
        kept.risk.instances, kept.risk.labelings, kept.risk.costs, [None] * len(kept.examples)
    )
    begin = time.perf_counter()
    solution = FrankWolfe().minimize(fresh, model.tol, None, np.random.RandomState(0))
    return time.perf_counter() - begin, solution.primal


def own_objective(model: Segmenter) -> float:
    """The objective of the weights of now, by an oracle that remembers nothing."""
    assert model.kept_ is not None
    kept = model.kept_.learner.kept_
    assert kept is not None
    fresh = kept.risk.succeeded(
        kept.risk.instances, kept.risk.labelings, kept.risk.costs, [None] * len(kept.examples)
    )
    return objective(fresh, kept.fit.solution.weights)


class Bench:
    """Images of a dataset, and the rows of the table."""

    def __init__(self, data: Path, store: Path, n_images: int, n_edits: int) -> None:
        self.data, self.store, self.n_edits = data, store, n_edits
        whole = DatasetFolder(data)
        self.dataset = whole.split("train") if "train" in whole.splits else whole
        self.names = list(self.dataset.names[:n_images])
        self.samples, self.classes, self.table = limited(self.dataset, self.names)
        many = (one for one in self.samples if len(np.unique(self.table[mask_of(one)])) > 3)
        self.open = next(many)

    def segmenter(self) -> Segmenter:
        """A segmenter that can go on."""
        return Segmenter(store=self.store, warm_start=True)

    def scribbled(self) -> Segmenter:
        """One that has learned from scribbles."""
        model = self.segmenter()
        fitted(
            model,
            [annotated(one, scribbles(one, self.classes, self.table)) for one in self.samples],
            self.classes,
        )
        return model

    def predict(self, model: Segmenter, sample: Sample) -> None:
        """Predict a picture, features from the store."""
        list(model.predictor_.predict([photo_of(sample)], 1, FeatureStore(self.store)))

    def stroke(self) -> list[Row]:
        """A stroke, to the new picture."""
        model, sample = self.scribbled(), self.open
        self.predict(model, sample)
        quick, whole = [], []
        for part in (0.5, 1.0, 0.6):
            changed = [annotated(sample, scribbles(sample, self.classes, self.table, part))]
            begin = time.perf_counter()
            model.refit_photos(changed, max_passes=FEW)
            self.predict(model, sample)
            quick.append(time.perf_counter() - begin)
            model.refit_photos([])
            whole.append(time.perf_counter() - begin)
        command = [sys.executable, "-c", TRAIN, str(self.data), str(self.store), sample.name, *self.names]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        train = timed(lambda: subprocess.run(command, check=True, env=environment))
        note = f"to the tolerance: {np.median(whole):.2f} s"
        return [
            Row("stroke to picture", "Train", float(np.median(quick)), train, target=TRAIN_TARGET, note=note),
            self.forest(model, sample),
        ]

    def forest(self, model: Segmenter, sample: Sample) -> Row:
        """The learner alone against a forest."""
        assert model.kept_ is not None
        features, labels = [], []
        for problem, annotation in zip(model.kept_.problems, model.kept_.annotations, strict=True):
            if annotation is None:
                continue
            allowed = annotation.constraints(problem).allowed
            assert allowed is not None
            sure = allowed.sum(axis=1) == 1
            features.append(problem.node_features[sure])
            labels.append(allowed[sure].argmax(axis=1))
        rows, values = np.concatenate(features), np.concatenate(labels)
        trees = timed(lambda: RandomForestClassifier(N_TREES, n_jobs=1, random_state=0).fit(rows, values))
        changed = [annotated(sample, scribbles(sample, self.classes, self.table, 0.4))]
        ours = timed(lambda: model.refit_photos(changed, max_passes=FEW))
        whole = ours + timed(lambda: model.refit_photos([]))
        note = f"{len(rows)} nodes; to the tolerance: {whole:.2f} s"
        return Row("learner, first picture", "random forest", ours, trees, target=FOREST_TARGET, note=note)

    def all(self) -> list[Row]:
        """Tags and boxes of all images, one of which changes."""
        samples, classes = list(self.dataset), self.dataset.classes
        weak = partial(weak_annotation, classes=classes, boxes=True)
        model = self.segmenter()
        full = fitted(model, [annotated(one, weak(mask_of(one))) for one in samples], classes)
        changed = [annotated(samples[9], weak_annotation(mask_of(samples[9]), classes))]
        ours = timed(lambda: model.refit_photos(changed))
        zero, _ = from_zero(model)
        case, note = f"{len(samples)} images, one changed", f"{len(model.objective_)} passes"
        return [
            Row(case, "fit from zero, same choices", ours, zero, target=ALL_TARGET, note=note),
            Row(case, "fit, which chooses anew", ours, full),
        ]

    def new(self) -> list[Row]:
        """A picture that is added."""
        model, sample = self.scribbled(), list(self.dataset)[len(self.names)]
        assert model.kept_ is not None
        preset, side = model.kept_.training.preset, model.kept_.training.max_side
        with tempfile.TemporaryDirectory() as folder:
            one = [Shrunk(photo_of(sample), side)]
            features = timed(lambda: FeatureStore(folder).prepare(preset, one))
        again = [annotated(self.open, scribbles(self.open, self.classes, self.table, 0.5))]
        refit = timed(lambda: model.refit_photos(again, max_passes=FEW))
        added = [annotated(sample, scribbles(sample, self.classes, self.table))]
        with tempfile.TemporaryDirectory() as folder:
            model.store = folder  # where its features are not
            ours = timed(lambda: model.refit_photos(added, max_passes=FEW))
            begin = time.perf_counter()
            list(model.predictor_.predict([photo_of(sample)], 1, FeatureStore(folder)))
            ours += time.perf_counter() - begin
        return [
            Row(
                "new picture, to its first prediction",
                "its features and a refit",
                ours,
                features + refit,
                target=NEW_TARGET,
            )
        ]

    def edits(self) -> list[Row]:
        """Random edits of masks and scribbles."""
        return [self.edited("edits", self.stronger)]

    def weak_edits(self) -> list[Row]:
        """Random edits of masks, scribbles, and tags with boxes."""

        def any_kind(sample: Sample, rng: np.random.Generator) -> PixelAnnotation:
            if rng.random() < 0.5:
                return weak_annotation(self.table[mask_of(sample)], self.classes, boxes=rng.random() < 0.5)
            return self.stronger(sample, rng)

        return [self.edited("weak edits", any_kind)]

    def stronger(self, sample: Sample, rng: np.random.Generator) -> PixelAnnotation:
        """A mask, or scribbles in a part of the image."""
        if rng.random() < 0.3:
            return PixelAnnotation(mask=self.table[mask_of(sample)])
        return scribbles(sample, self.classes, self.table, float(rng.uniform(0.3, 1.0)))

    def edited(self, what: str, edit: Callable[[Sample, np.random.Generator], PixelAnnotation]) -> Row:
        """Edits in a row: the worst objective after one of them, against that of a fit from zero."""
        rng, model = np.random.default_rng(0), self.scribbled()
        worst = 0.0
        for _ in range(self.n_edits):
            sample = self.samples[int(rng.integers(len(self.samples)))]
            model.refit_photos([annotated(sample, edit(sample, rng))])
            worst = max(worst, own_objective(model) / from_zero(model)[1] - 1)
        case = f"objective after {self.n_edits} {what}, worst"
        return Row(case, "fit from zero", 1 + worst, 1.0, "", 1 + model.tol)


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MULTIUTILITY_DATA", ".")) / "msrc")
    parser.add_argument("--store", type=Path, required=True, help="folder for features; those there are used")
    parser.add_argument("--images", type=int, default=50)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    bench = Bench(chosen.data, chosen.store, chosen.images, chosen.edits)
    print(HEADER)
    met = True
    for name in ("stroke", "new", "all", "edits", "weak_edits"):
        if chosen.only in name:
            for row in getattr(bench, name)():
                print(row.line(), flush=True)
                met = met and row.met is not False
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
