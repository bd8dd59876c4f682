"""The resident learner: learns once, then goes on with every change, and predicts the open picture first.

Runs as ``python -m multiutility.studio.live_worker FOLDER OPTIONS``. It is told a line of JSON a time on its
standard input, ``{"open": name}``, whenever something has been written or another picture is looked at, and
finds out itself what has changed. It tells in the same way how far it is, and ends when the input does, which
is when the studio has ended, however that happened.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from multiutility.datasets.classes import Classes
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.images import write_mask
from multiutility.datasets.soundness import Skipped, sound_part
from multiutility.kinds import PixelAnnotation
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import opened
from multiutility.studio.held_out import training_images
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.predictions import Predictions
from multiutility.studio.stamps import stamp
from multiutility.studio.worker import Reporter, fit
from multiutility.vision.photo import FilePhoto
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import AnnotatedPhoto

# What is said of an image, to be compared.
Said: TypeAlias = tuple[Any, ...]

# Passes before the first new picture, and between two looks at what else has changed.
FIRST, SLICE = 2, 4
# Slices after which the picture is good enough, however much is missing to the tolerance.
SLICES = 25


class Orders:
    """What the studio has asked for and nobody has seen to, and the picture that is open there."""

    def __init__(self) -> None:
        self.open: str | None = None
        self._news = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Not by sys.stdin, whose lock would be held when the process ends by itself.
        with os.fdopen(os.dup(0), "rb") as lines:
            for line in lines:
                self.open = json.loads(line)["open"]
                self._news.set()
        os._exit(0)

    @property
    def waiting(self) -> bool:
        """Whether there is something new."""
        return self._news.is_set()

    def take(self) -> None:
        """Wait for orders: whoever does looks at all there is then."""
        self._news.wait()
        self._news.clear()


class Resident:
    """A segmenter that goes on from fit to fit; features and networks stay in memory."""

    def __init__(self, folder: Path, options: Options, reporter: Reporter) -> None:
        self.places, self.options, self.reporter = Places(folder), options, reporter
        self.orders = Orders()
        self.model: Segmenter | None = None
        self._learned: dict[str, Said] = {}
        self._turn = 0
        shutil.rmtree(self.places.live, ignore_errors=True)
        self.places.live.mkdir(parents=True)

    def run(self) -> None:
        """Learn, then follow all that changes, for ever."""
        while True:
            self.attempt()
            self.orders.take()

    def attempt(self) -> None:
        """Learn from what has changed, at first from all; what goes wrong is told, and the model stays."""
        try:
            if self.model is None:
                self.fit()
            else:
                self.refit(self.model)
        except (ValueError, OSError) as error:
            self.reporter.send("error", text=str(error))

    def fit(self) -> None:
        """Learn from nothing, and choose everything anew."""
        whole = self._part(opened(self.places.folder))
        model = Segmenter(
            features=self.options.features,
            n_superpixels=self.options.superpixels,
            n_jobs=os.cpu_count() or 1,
            store=self.places.store,
            warm_start=True,
            progress=self.reporter.stage,
        )
        now = states(whole)
        part = fit(model, whole, self.reporter)
        self.model, self._learned = model, now
        self.show(final=True)
        self.keep(part)

    def refit(self, model: Segmenter) -> None:
        """Go on with what has changed: the open picture is predicted after a few passes, and at the end."""
        begin, dataset = time.perf_counter(), opened(self.places.folder)
        part = self._part(dataset)
        if meanings(dataset.classes)[: len(model.classes_)] != meanings(model.classes_):
            text = "The labels are other ones than before: everything is learned anew."
            self.reporter.send("anew", text=text)
            self.fit()
            return
        now = states(part)
        changed = [name for name in self._learned | now if self._learned.get(name) != now.get(name)]
        if not changed and len(dataset.classes) == len(model.classes_):
            self.show(final=True)
            return
        self._take_in(model, part, changed)
        self._learned = now
        self.show(final=False, seconds=time.perf_counter() - begin)
        for _ in range(SLICES):
            if self.orders.waiting:
                return
            model.refit_photos([], max_passes=SLICE)
            last = model.objective_[-1]
            if last["exact"] and last["gap"] <= model.tol * last["primal"]:
                break
        self.show(final=True, seconds=time.perf_counter() - begin)
        self.keep(part)

    def show(self, final: bool, seconds: float | None = None) -> None:
        """Predict the open picture, and tell where it is."""
        name, model = self.orders.open, self.model
        assert model is not None  # there is one by now
        self._turn += 1
        told = {"turn": self._turn, "final": final, "at": time.time(), "n_images": model.n_images_}
        dataset = opened(self.places.folder)
        if name is None or name not in dataset.names:
            self.reporter.send("picture", name=None, **told)
            return
        photo, store = FilePhoto(name, dataset[name].path), FeatureStore(self.places.store)
        (prediction,) = model.predictor_.predict([photo], 1, store)
        write_mask(self.places.live / f"{self._turn}.png", prediction.mask, model.classes_.palette)
        took = None if seconds is None else round(seconds, 2)
        self.reporter.send("picture", name=name, seconds=took, **told)
        for old in self.places.live.iterdir():
            if old.stem.isdecimal() and int(old.stem) < self._turn - 1:
                old.unlink()

    def keep(self, part: DatasetFolder) -> None:
        """Write the model for all pages, and predict all pictures, worst first, unless something changes."""
        assert self.model is not None  # there is one by now
        dataset, predictions = opened(self.places.folder), Predictions(self.places)
        before = predictions.model()
        doubts = (
            {}
            if before is None
            else {
                name: sum(patch.area * patch.doubt for patch in belief.patches)
                for name, belief in predictions.beliefs(before, dataset.names).items()
            }
        )
        self.model.save(self.places.model)
        skipped = self.reporter.skipped
        learned = [sample.name for sample in part if sample.kinds and sample.name not in skipped]
        facts = {"n_images": self.model.n_images_, "features": self.options.features, "learned": learned}
        self.places.write_facts({**facts, "seconds": 0.0})
        self.reporter.send("model", n_images=self.model.n_images_)
        worst = sorted(dataset, key=lambda sample: -doubts.get(sample.name, 1.0))
        names = predictions.write_missing(worst, 1, FeatureStore(self.places.store), self._skip)
        self._predict(names, len(dataset))

    def _part(self, dataset: DatasetFolder) -> DatasetFolder:
        return training_images(dataset, self.options, Accepted(self.places).names())

    def _take_in(self, model: Segmenter, part: DatasetFolder, changed: Sequence[str]) -> None:
        """Go on with images that have changed, or are not there any more; skip those that cannot be read."""
        here = part.select(name for name in changed if name in part)
        removed = [gone(name) for name in changed if name not in here]
        try:
            model.refit_photos([*map(annotated, here), *removed], part.classes, max_passes=FIRST)
        except DatasetError:
            here, skipped = sound_part(here)
            if not skipped:
                raise
            self.reporter.skip(*skipped)
            model.refit_photos([*map(annotated, here), *removed], part.classes, max_passes=FIRST)
        self.reporter.mended(*here.names)

    def _skip(self, sample: Sample, error: DatasetError) -> None:
        self.reporter.skip(Skipped(sample.name, str(error)))

    def _predict(self, names: Iterator[str], total: int) -> None:
        for done, _ in enumerate(names, 1):
            self.reporter.stage("predicting", done, total)
            if self.orders.waiting:
                return


def annotated(sample: Sample) -> AnnotatedPhoto:
    """Return a picture to learn from."""
    return AnnotatedPhoto(FilePhoto(sample.name, sample.path), sample.annotation)


def gone(name: str) -> AnnotatedPhoto:
    """Return a picture that is not learned from any more, and need not be there; it is known by its name."""
    return AnnotatedPhoto(FilePhoto(name, Path(name)), PixelAnnotation)


def states(part: DatasetFolder) -> dict[str, Said]:
    """Return what is said of each annotated image; index images, and the image itself, by their stamps."""
    return {
        sample.name: (
            stamp(sample.path),
            tuple((kind, stamp(path)) for kind, path in sample.files.items()),
            tuple((kind, tuple(entry for _, entry in rows)) for kind, rows in sample.rows.items()),
        )
        for sample in part
        if sample.kinds
    }


def meanings(classes: Classes) -> list[tuple[str, str, bool]]:
    """Return what annotations mean by classes; colors are nothing to learn from."""
    return [(one.name, one.kind, one.rare) for one in classes]


def main() -> None:
    """Learn for as long as the studio is there."""
    folder, options = Path(sys.argv[1]), Options.from_json(json.loads(sys.argv[2]))
    reporter = Reporter(folder)
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module=r"multiutility\.|__main__")
    warnings.showwarning = lambda message, *_, **__: reporter.send("note", text=str(message))
    Resident(folder, options, reporter).run()


if __name__ == "__main__":
    main()
