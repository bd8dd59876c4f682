"""Segmenters that go on from their last fit: what they keep of it, and how images that changed come in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from multiutility.annotations import Annotation
from multiutility.arrays import FloatArray
from multiutility.datasets.classes import Classes
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.kinds import PixelAnnotation
from multiutility.learning import MultiUtilitySSVM
from multiutility.models import Potts
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem
from multiutility.vision.learning import Units
from multiutility.vision.photo import FilePhoto, ImageArray, Photo, Shrunk, photos
from multiutility.vision.predictor import Predictor
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import AnnotatedPhoto, TrainingSet, in_shares


@dataclass(frozen=True, eq=False)
class KeptFit:
    """A fit to go on from: its images, the units of their features, what was learned from, and the learner.

    Features stay as they were fitted, and so do units, the margin of loose boxes and the ``shares`` of
    labels: they belong to what was chosen.
    """

    training: TrainingSet
    units: Units
    problems: Sequence[LabelingProblem]
    annotations: Sequence[Annotation | None]
    learner: MultiUtilitySSVM
    beta: float
    shares: Mapping[int, float] | None = None

    def follow(
        self,
        photos: Sequence[AnnotatedPhoto],
        classes: Classes,
        store: FeatureStore,
        n_jobs: int,
        max_passes: int | None = None,
    ) -> KeptFit:
        """Learn on, with images that are new, or have other annotations; empty ones take images out."""
        check_classes(self.training.classes, classes)
        training, changed = self._with_photos(photos, classes, store, n_jobs)
        grown = len(classes) > len(self.training.classes)
        annotations, problems = list(self.annotations), list(self.problems)
        for n in range(len(training.photos)):
            if n >= len(problems):
                problems.append(self.units.balanced(in_shares(training.prepared[n])))
                annotations.append(None)
            if grown or n in changed:
                annotations[n] = training.annotation(n, self.beta, self.shares)
        self.learner.refit(problems, annotations, changed, max_passes)
        return replace(self, training=training, problems=problems, annotations=annotations)

    def _with_photos(
        self, photos: Sequence[AnnotatedPhoto], classes: Classes, store: FeatureStore, n_jobs: int
    ) -> tuple[TrainingSet, list[int]]:
        """Return the images of now, and the places of those that were given; only new ones are prepared."""
        old = self.training
        places = {identity(one.photo): n for n, one in enumerate(old.photos)}
        together, prepared, changed, new = list(old.photos), list(old.prepared), [], []
        for one in photos:
            if identity(one.photo) not in places and one.annotation().empty:
                continue
            place = places.setdefault(identity(one.photo), len(together))
            changed.append(place)
            if place == len(together):
                together.append(one)
                new.append(Shrunk(one.photo, old.max_side))
            together[place] = one
        prepared += store.prepare(old.preset, new, n_jobs)
        # If anybody has asked for it: it reads all annotations.
        margin = vars(old).get("margin", old.known_margin)
        now = replace(old, classes=classes, photos=together, prepared=prepared, known_margin=margin)
        return now, changed

    def weights(self) -> FloatArray:
        """Weights of the features as they are."""
        layout = Potts(len(self.training.classes)).layout(self.problems[0])
        return self.units.weights(self.learner.weights_, layout)

    @property
    def n_images(self) -> int:
        """Images that are learned from."""
        return sum(annotation is not None for annotation in self.annotations)


class Refitting:
    """What a segmenter has that can go on from its last fit."""

    classes_: Classes
    predictor_: Predictor
    kept_: KeptFit | None
    store: str | Path | None
    half: bool
    memory_limit: int | str | None
    executor: Executor | None
    n_jobs: int

    def refit(
        self,
        images: Sequence[str | Path | ImageArray],
        annotations: Sequence[PixelAnnotation],
        *,
        classes: Classes | Sequence[str] | None = None,
    ) -> Self:
        """Learn on from the last ``fit`` or ``refit``, with images that are new or annotated otherwise.

        All other images stay as they are, and so does all that ``fit`` chose, features included: it takes a
        small part of the time. An empty annotation takes an image out. Files are known by the paths that were
        given to ``fit`` (for a dataset, by the names of its images), arrays by their pixels. ``classes`` may
        have more than before, after the others.

        >>> import numpy as np
        >>> from multiutility.vision import Segmenter
        >>> from multiutility.vision.features.preset import Preset
        >>> from multiutility.vision.features.descriptors.color_moments import ColorMean
        >>> from multiutility.vision.features.descriptors.boundary import Boundary
        >>> from multiutility.vision.features.descriptors.constant import Constant
        >>> from multiutility.vision.regions.superpixels import Slic
        >>> colors = Preset("colors", Slic(8), nodes=(ColorMean(), Constant()), edges=(Boundary(),))
        >>> image = np.repeat([[[20] * 3] * 16 + [[200] * 3] * 16], 32, axis=0).astype(np.uint8)
        >>> halves = np.repeat([[1] * 16 + [2] * 16], 32, axis=0).astype(np.uint8)
        >>> model = Segmenter(colors, warm_start=True)
        >>> model = model.fit([image], [PixelAnnotation(mask=halves)], classes=["dark", "light"])
        >>> model.predict([image])[0][0, [0, -1]]
        array([1, 2], dtype=uint8)
        >>> model = model.refit([image], [PixelAnnotation(mask=3 - halves)])
        >>> model.predict([image])[0][0, [0, -1]]
        array([2, 1], dtype=uint8)
        """
        if len(images) != len(annotations):
            raise ValueError(f"{len(images)} images, but {len(annotations)} annotations")
        pairs = zip(photos(images), annotations, strict=True)
        named = classes if classes is None or isinstance(classes, Classes) else Classes.from_names(classes)
        return self.refit_photos([AnnotatedPhoto(p, partial(same, a)) for p, a in pairs], named)

    def refit_photos(
        self,
        changed: Sequence[AnnotatedPhoto],
        classes: Classes | None = None,
        max_passes: int | None = None,
    ) -> Self:
        """Learn on: the same as ``refit``, from photos whose annotations are read when they are needed.

        With ``max_passes``, it ends after so many at the latest, and the next call goes on.
        """
        kept = vars(self).get("kept_")
        if kept is None:
            raise ValueError("there is no fit to go on from: call fit, with warm_start=True")
        now = kept.training.classes if classes is None else classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnmetCoverWarning)
            found: KeptFit = kept.follow(changed, now, self._feature_store(), self.n_jobs, max_passes)
        self.objective_ = found.units.objective(found.learner.objective_)
        self.n_iter_, self.n_images_, self.classes_ = found.learner.n_iter_, found.n_images, now
        self.predictor_ = replace(self.predictor_, classes=now, weights=found.weights())
        self.kept_ = found
        return self

    def _feature_store(self) -> FeatureStore:
        limit, shared = self.memory_limit, self.executor is not None
        return FeatureStore(self.store, half=self.half, memory_limit=limit, piecewise=shared)


def same(annotation: PixelAnnotation) -> PixelAnnotation:
    """Return the annotation itself."""
    return annotation


def identity(photo: Photo) -> Any:
    """What an image is known by: its name if it is a file, or its content."""
    return (photo.name,) if isinstance(photo, FilePhoto) else photo.fingerprint()


def check_classes(old: Classes, new: Classes) -> None:
    """Raise unless the classes are those of before, and maybe more after them."""
    if new.names[: len(old)] != old.names:
        raise ValueError(
            f"the classes are {', '.join(new.names)}: they must begin with {', '.join(old.names)}, "
            "which were learned; fit anew after renaming, removing or reordering any"
        )
