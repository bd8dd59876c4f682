"""The training process: learns, then predicts all images, and tells how far it is, a line of JSON a time.

Runs as ``python -m multiutility.studio.worker FOLDER OPTIONS``, and ends when its standard input does, which
is when the studio has ended, however that happened.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.soundness import Skipped, sound_part
from multiutility.learning.checkpoint.file import CheckpointError
from multiutility.learning.optimizers.solution import Record
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import opened
from multiutility.studio.held_out import training_images
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.predictions import Predictions
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore

# Seconds between two messages of the same stage: more could not be seen.
PAUSE = 0.2


class Reporter:
    """Prints messages for the studio, one a line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._stage, self._begin, self._last = "", 0.0, 0.0
        self._skipped: set[str] = set()

    @property
    def skipped(self) -> frozenset[str]:
        """Images that are left out."""
        return frozenset(self._skipped)

    def skip(self, *skipped: Skipped) -> None:
        """Tell which images are left out, once of each."""
        new = [one for one in skipped if one.image not in self._skipped]
        self._skipped.update(one.image for one in new)
        if new:
            place = f"{self._folder}{os.sep}"
            files = [{"image": one.image, "why": one.why.replace(place, "", 1)} for one in new]
            self.send("skipped", files=files)

    def mended(self, *names: str) -> None:
        """Tell which images are not left out any more."""
        back = self._skipped.intersection(names)
        if back:
            self._skipped -= back
            self.send("mended", images=sorted(back))

    def send(self, kind: str, **content: Any) -> None:
        """Send a message."""
        with self._lock:
            print(json.dumps({"type": kind, **content}, allow_nan=False), flush=True)

    def stage(self, name: str, done: int, total: int) -> None:
        """Tell how far a stage is, and how many seconds it seems to need."""
        now = time.monotonic()
        if name != self._stage:
            self._stage, self._begin, self._last = name, now, 0.0
        if done < total and now - self._last < PAUSE:
            return
        self._last = now
        left = (now - self._begin) * (total - done) / done if done else None
        seconds = None if left is None else round(left, 1)
        self.send("stage", stage=name, done=done, total=total, left=seconds)

    def learning_pass(self, record: Record) -> None:
        """Tell the objective after a pass."""
        self.send(
            "pass",
            iteration=record.iteration,
            passes=record.passes,
            primal=record.primal,
            dual=record.dual,
            gap=record.relative_gap,
        )


def train(folder: Path, options: Options, reporter: Reporter) -> None:
    """Learn from a dataset, and write the model, and what it is made of."""
    begin, places = time.perf_counter(), Places(folder)
    part = training_images(opened(folder), options, Accepted(places).names())
    model = Segmenter(
        features=options.features,
        n_superpixels=options.superpixels,
        n_jobs=os.cpu_count() or 1,
        store=places.store,
        checkpoint=places.checkpoint,
        progress=reporter.stage,
        callback=reporter.learning_pass,
    )
    if not options.resume:
        places.checkpoint.unlink(missing_ok=True)
    part = fit(model, part, reporter)
    learned = [sample.name for sample in part if sample.kinds]
    model.save(places.model)
    facts = {
        "n_images": model.n_images_,
        "seconds": round(time.perf_counter() - begin, 1),
        "features": options.features,
        "learned": learned,
    }
    places.write_facts(facts)
    reporter.send("model", n_images=model.n_images_, seconds=facts["seconds"])


def fit(model: Segmenter, part: DatasetFolder, reporter: Reporter) -> DatasetFolder:
    """Learn from all images that can be read, and return these; others are told to the reporter."""
    try:
        model.fit(part)
        return part
    except DatasetError:
        # All that cannot be read, at once; features of others are in the store by now.
        part, skipped = sound_part(part, os.cpu_count() or 1)
        if not skipped:
            raise
        reporter.skip(*skipped)
    except CheckpointError as error:
        # Annotated meanwhile, most likely; features that were computed are used again in any case.
        reporter.send("note", text=f"Training begins anew, as it cannot go on: {error}")
    if model.checkpoint is not None:
        Path(model.checkpoint).unlink(missing_ok=True)
    return fit(model, part, reporter)


def predict(folder: Path, reporter: Reporter) -> None:
    """Predict all images, for the review; those that are looked at meanwhile are there already."""
    dataset, predictions = opened(folder), Predictions(Places(folder))
    store = FeatureStore(Places(folder).store)

    def skip(sample: Sample, error: DatasetError) -> None:
        reporter.skip(Skipped(sample.name, str(error)))

    names = predictions.write_missing(ordered(dataset), os.cpu_count() or 1, store, skip)
    for done, _ in enumerate(names, 1):
        reporter.stage("predicting", done, len(dataset))


def ordered(dataset: DatasetFolder) -> Iterator[Any]:
    """Yield images with masks first, which give the scores."""
    samples = list(dataset)
    yield from sorted(samples, key=lambda sample: "mask" not in sample.kinds)


def end_with_studio() -> None:
    """End this process as soon as standard input is closed."""

    def wait() -> None:
        # Not by sys.stdin, whose lock would be held when the process ends by itself.
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Train, and predict."""
    folder, options = Path(sys.argv[1]), Options.from_json(json.loads(sys.argv[2]))
    reporter = Reporter(folder)
    end_with_studio()
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module=r"multiutility\.|__main__")
    warnings.showwarning = lambda message, *_, **__: reporter.send("note", text=str(message))
    try:
        train(folder, options, reporter)
        predict(folder, reporter)
    except (ValueError, OSError) as error:
        reporter.send("error", text=str(error))
        raise SystemExit(2) from None
    reporter.send("done")


if __name__ == "__main__":
    main()
