"""Segmenters that go on from their last fit: what they keep of it, and how images that changed come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from multiutility.annotations import Annotation
from multiutility.arrays import FloatArray
from multiutility.datasets.classes import Classes
from multiutility.learning import MultiUtilitySSVM
from multiutility.models import Potts
from multiutility.problem import LabelingProblem
from multiutility.vision.learning import Units
from multiutility.vision.photo import FilePhoto, Photo, Shrunk
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
