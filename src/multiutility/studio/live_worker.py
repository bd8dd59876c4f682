"""The resident learner: learns once, then goes on with every change, and predicts the open picture first.

Runs as ``python -m multiutility.studio.live_worker FOLDER OPTIONS``. It is told a line of JSON a time on its
standard input, ``{"changed": [names], "open": name}``, tells in the same way how far it is, and ends when the
input does, which is when the studio has ended, however that happened.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.images import write_mask
from multiutility.datasets.soundness import Skipped
from multiutility.kinds import PixelAnnotation
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import opened
from multiutility.studio.held_out import training_images
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.predictions import Predictions
from multiutility.studio.worker import Reporter
from multiutility.vision.photo import FilePhoto
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import AnnotatedPhoto

# Passes before the first new picture, and between two looks at what else has changed.
FIRST, SLICE = 2, 4
# Slices after which the picture is good enough, however much is missing to the tolerance.
SLICES = 25


class Orders:
    """What the studio has asked for and nobody has seen to; later orders of the same kind come on top."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.open: str | None = None

    def _read(self) -> None:
        # Not by sys.stdin, whose lock would be held when the process ends by itself.
        with os.fdopen(os.dup(0), "rb") as lines:
            for line in lines:
                self._lines.put(json.loads(line))
        os._exit(0)

    @property
    def waiting(self) -> bool:
        """Whether there is something new."""
        return not self._lines.empty()

    def take(self) -> list[str]:
        """Wait for orders; return the names of pictures that have changed. The open one is kept."""
        changed: dict[str, None] = {}
        first = True
        while first or self.waiting:
            first = False
            order = self._lines.get()
            assert order is not None  # the process ends before that
            changed |= dict.fromkeys(order.get("changed", []))
            self.open = order.get("open", self.open)
        return list(changed)


class Resident:
    """A segmenter that goes on from fit to fit; features and networks stay in memory."""

    def __init__(self, folder: Path, options: Options, reporter: Reporter) -> None:
        self.places, self.options, self.reporter = Places(folder), options, reporter
        self.orders = Orders()
        self.model: Segmenter | None = None
        self._pending: dict[str, None] = {}
        self._turn = 0
        shutil.rmtree(self.places.live, ignore_errors=True)
        self.places.live.mkdir(parents=True)

    def run(self) -> None:
        """Learn, then follow all that changes, for ever."""
        self.attempt(None)
        while True:
            self.attempt(self.orders.take())

    def attempt(self, changed: Sequence[str] | None) -> None:
        """Learn from what has changed, None for all; what goes wrong is told, and the model stays."""
        try:
            if self.model is None or changed is None:
                self.fit()
            else:
                self.refit(changed)
        except (ValueError, OSError) as error:
            self.reporter.send("error", text=str(error))

    def fit(self) -> None:
        """Learn from nothing, and choose everything anew."""
        part = self._part(opened(self.places.folder))
        model = Segmenter(
            features=self.options.features,
            n_superpixels=self.options.superpixels,
            n_jobs=os.cpu_count() or 1,
            store=self.places.store,
            warm_start=True,
            progress=self.reporter.stage,
        )
        self.model = model.fit(part)
        self._pending.clear()
        self.show(final=True)
        self.keep(part)

    def refit(self, changed: Sequence[str]) -> None:
        """Go on with what has changed: the open picture is predicted after a few passes, and at the end."""
        dataset, model = opened(self.places.folder), self.model
        assert model is not None  # see attempt
        begin, part = time.perf_counter(), self._part(dataset)
        learned = {one.photo.name for one in model.kept_.training.photos} if model.kept_ else set()
        # Those that could not be read at first come again with the next change.
        self._pending |= dict.fromkeys(changed)
        names = [name for name in self._pending if name in part.names or name in learned]
        if model.classes_.names != dataset.classes.names[: len(model.classes_)]:
            self.reporter.send(
                "note", text="The labels are other ones than before: everything is learned anew."
            )
            self.fit()
            return
        if not names:
            self.show(final=True)
            return
        photos = [annotated(part[name]) if name in part.names else gone(dataset[name]) for name in names]
        model.refit_photos(photos, dataset.classes, max_passes=FIRST)
        self._pending.clear()
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
        learned = [sample.name for sample in part if sample.kinds]
        facts = {"n_images": self.model.n_images_, "features": self.options.features, "learned": learned}
        self.places.write_facts({**facts, "seconds": 0.0})
        self.reporter.send("model", n_images=self.model.n_images_)
        worst = sorted(dataset, key=lambda sample: -doubts.get(sample.name, 1.0))
        names = predictions.write_missing(worst, 1, FeatureStore(self.places.store), self._skip)
        self._predict(names, len(dataset))

    def _part(self, dataset: DatasetFolder) -> DatasetFolder:
        return training_images(dataset, self.options, Accepted(self.places.accepted).names())

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


def gone(sample: Sample) -> AnnotatedPhoto:
    """Return a picture that is not learned from any more."""
    return AnnotatedPhoto(FilePhoto(sample.name, sample.path), PixelAnnotation)


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
