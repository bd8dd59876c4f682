"""What the current model predicts for the images of a dataset, kept in files."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import Sample
from multiutility.datasets.images import read_mask, write_image, write_mask
from multiutility.datasets.tables import write_text
from multiutility.studio.places import Places, StudioWarning, read_json
from multiutility.studio.stamps import Stamp, stamp
from multiutility.vision.model_file import ModelFileError, read_model
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.predictor import Predictor
from multiutility.vision.store import FeatureStore
from multiutility.vision.suggestions import Belief

# Images that are predicted together: enough for all cores, few enough for the progress to be seen.
TOGETHER = 8
VERSION = 2  # of the files


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model that was read, and the hash of its file."""

    key: str
    predictor: Predictor


@dataclass(frozen=True)
class Files:
    """Files of one image's prediction; the belief is written last, as the sign that all are there."""

    mask: Path
    scores: Path
    belief: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> Files:
        """Return the files of an image."""
        return cls(
            folder / "masks" / f"{name}.png",
            folder / "scores" / f"{name}.png",
            folder / "beliefs" / f"{name}.json",
        )

    def read(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return mask and scores [H, W]."""
        return read_mask(self.mask), read_mask(self.scores)


class Predictions:
    """Predictions of the current model; masks hold the model's labels + 1, scores 0..255.

    Processes may share the files: each appears whole, and is the same whoever writes it.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._lock = threading.Lock()
        # Apart from the other, so that nobody waits for a prediction who does not need it.
        self._at_work = threading.Lock()
        self._stamp: Stamp | None = None
        self._model: TrainedModel | None = None
        self.trouble: str | None = None
        self._beliefs: tuple[str, dict[str, Belief]] = ("", {})

    def model(self) -> TrainedModel | None:
        """Return the current model, read again when its file has changed; None if there is none.

        One that cannot be used, as it may be of another version, is none; ``trouble`` tells why.
        """
        with self._lock:
            path, now = self._places.model, stamp(self._places.model)
            if now != self._stamp:
                self._stamp, self._model, self.trouble = now, None, None
                if now is not None:
                    key = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                    try:
                        self._model = TrainedModel(key, read_model(path)[0])
                    except ModelFileError as error:
                        self.trouble = str(error)
            return self._model

    def read(self, model: TrainedModel, sample: Sample) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return mask and scores [H, W] of an image; they are made if they are not there yet."""
        with self._at_work:
            found = self._kept(model, sample)
            if found is None:
                for _ in self._write(model, [sample], 1, FeatureStore(self._places.store)):
                    pass
                found = Files.of(self._folder(model), sample.name).read()
        return found

    def _kept(
        self, model: TrainedModel, sample: Sample
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]] | None:
        """Return mask and scores if they have been made, and are not damaged."""
        if not self.is_there(model, sample):
            return None
        try:
            return Files.of(self._folder(model), sample.name).read()
        except DatasetError as error:
            warnings.warn(f"{error}; predicted anew", StudioWarning, stacklevel=2)
            return None

    def is_there(self, model: TrainedModel, sample: Sample) -> bool:
        """Whether an image has been predicted, as it is now."""
        made, image = stamp(Files.of(self._folder(model), sample.name).belief), stamp(sample.path)
        return made is not None and (image is None or made[0] >= image[0])

    def beliefs(self, model: TrainedModel, names: Iterable[str]) -> dict[str, Belief]:
        """Return what the model thinks of the images that have been predicted."""
        with self._lock:
            key, known = self._beliefs
            if key != model.key:
                known = {}
            for name in names:
                path = Files.of(self._folder(model), name).belief
                belief = known.get(name) or read_json(path, None, Belief.from_json)
                if belief is not None:
                    known[name] = belief
            self._beliefs = model.key, known
            return dict(known)

    def write_missing(
        self,
        samples: Iterable[Sample],
        n_jobs: int,
        store: FeatureStore,
        skip: Callable[[Sample, DatasetError], None],
    ) -> Iterator[str]:
        """Predict images that have not been, and yield the names of all; forget those of other models.

        Images that cannot be read are told to ``skip``.
        """
        model = self.model()
        if model is None:
            raise ValueError(f"{self._places.model}: there is no model")
        own = self._folder(model)
        if self._places.predictions.is_dir():
            for other in self._places.predictions.iterdir():
                if other != own:
                    shutil.rmtree(other, ignore_errors=True)
        missing = []
        for sample in samples:
            if self.is_there(model, sample):
                yield sample.name
            else:
                missing.append(sample)
        for first in range(0, len(missing), TOGETHER):
            chunk = missing[first : first + TOGETHER]
            try:
                yield from self._write(model, chunk, n_jobs, store)
            except DatasetError:
                yield from self._write_each(model, chunk, store, skip)

    def _write_each(
        self,
        model: TrainedModel,
        samples: Iterable[Sample],
        store: FeatureStore,
        skip: Callable[[Sample, DatasetError], None],
    ) -> Iterator[str]:
        for sample in samples:
            try:
                if not self.is_there(model, sample):
                    yield from self._write(model, [sample], 1, store)
            except DatasetError as error:
                skip(sample, error)

    def _folder(self, model: TrainedModel) -> Path:
        return self._places.predictions / f"{model.key}-{VERSION}"

    def _write(
        self, model: TrainedModel, samples: Sequence[Sample], n_jobs: int, store: FeatureStore
    ) -> Iterator[str]:
        predictor, folder = model.predictor, self._folder(model)
        for part in ("masks", "scores", "beliefs"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        for first in range(0, len(samples), TOGETHER):
            chunk = samples[first : first + TOGETHER]
            photos = [FilePhoto(sample.name, sample.path) for sample in chunk]
            shrunk = [Shrunk(photo, predictor.max_side) for photo in photos]
            prepared = store.prepare(predictor.preset, shrunk, n_jobs)
            labelings = predictor.labelings(prepared, n_jobs)
            for photo, one, labels in zip(photos, prepared, labelings, strict=True):
                prediction, files = predictor.prediction(photo, one, labels), Files.of(folder, photo.name)
                write_mask(files.mask, prediction.mask, predictor.classes.palette)
                write_image(files.scores, np.rint(255 * prediction.scores).astype(np.uint8))
                belief = Belief.of(predictor, one, labels)
                write_text(files.belief, json.dumps(belief.to_json()))
                yield photo.name
