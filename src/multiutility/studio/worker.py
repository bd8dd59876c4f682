"""The training process: learns, then predicts all images, and tells how far it is, a line of JSON a time.

Runs as ``python -m multiutility.studio.worker FOLDER OPTIONS``, and ends when its standard input does, which
is when the studio has ended, however that happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiutility.datasets.folder import DatasetFolder, training_part
from multiutility.learning.checkpoint.file import CheckpointError
from multiutility.learning.optimizers.solution import Record
from multiutility.studio.accepted import Accepted
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.predictions import Predictions
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore

# Seconds between two messages of the same stage: more could not be seen.
PAUSE = 0.2
# One image of so many with a mask is not learned from, but scored.
HELD_OUT = 5


class Reporter:
    """Prints messages for the studio, one a line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stage, self._begin, self._last = "", 0.0, 0.0

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


def held_out(dataset: DatasetFolder, accepted: frozenset[str] = frozenset()) -> list[str]:
    """Return the images with masks that are kept to be scored; an image always falls on the same side.

    Masks that are accepted predictions are never scored, and so always learned from.
    """
    masked = [sample.name for sample in dataset if "mask" in sample.kinds and sample.name not in accepted]
    chosen = [name for name in masked if fraction(name) < 1 / HELD_OUT]
    return chosen if len(chosen) < len(masked) else chosen[1:]


def fraction(name: str) -> float:
    """Return a number in 0..1 that looks random, but is the same for a name always."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) / 2**48


def training_images(
    dataset: DatasetFolder, options: Options, accepted: frozenset[str] = frozenset()
) -> DatasetFolder:
    """Return the images that are learned from."""
    part = training_part(dataset)
    kept = set(held_out(part, accepted)) if options.hold_out else set()
    return part.select(name for name in part.names if name not in kept)


def train(folder: Path, options: Options, reporter: Reporter) -> None:
    """Learn from a dataset, and write the model, and what it is made of."""
    begin, places = time.perf_counter(), Places(folder)
    part = training_images(DatasetFolder(folder), options, Accepted(places.accepted).names())
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
    try:
        model.fit(part)
    except CheckpointError as error:
        # Annotated meanwhile, most likely; features that were computed are used again in any case.
        reporter.send("note", text=f"Training begins anew, as it cannot go on: {error}")
        places.checkpoint.unlink(missing_ok=True)
        model.fit(part)
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


def predict(folder: Path, reporter: Reporter) -> None:
    """Predict all images, for the review; those that are looked at meanwhile are there already."""
    dataset, predictions = DatasetFolder(folder), Predictions(Places(folder))
    store = FeatureStore(Places(folder).store)
    for done, _ in enumerate(predictions.write_missing(ordered(dataset), os.cpu_count() or 1, store), 1):
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
    reporter = Reporter()
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
