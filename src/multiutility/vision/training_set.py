"""Annotated images, made ready for learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self, TypeAlias

from multiutility.annotations import Annotation, Full, estimate_areas
from multiutility.annotations.lines import MARGIN
from multiutility.datasets.classes import Classes
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.kinds import KINDS, TABLES, PixelAnnotation
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import FittedPreset, Prepared, Preset
from multiutility.vision.fitted_presets import fitted_preset
from multiutility.vision.photo import FilePhoto, Photo, Shrunk, resized
from multiutility.vision.rasterize import rasterize
from multiutility.vision.rehearsal import Style, margin_of, rehearsal, styles_of
from multiutility.vision.remote import fill
from multiutility.vision.store import FeatureStore

# Told a stage of the work, how much of it is done, and of how much.
StageProgress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class AnnotatedPhoto:
    """A photo, and how to get its annotation: masks are read when they are needed."""

    photo: Photo
    annotation: Callable[[], PixelAnnotation]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Annotated photographs with their features, at a size of at most ``max_side``.

    Sizes of nodes are shares of the image, so that the losses of all images weigh the same. If there is a
    ``known_margin`` of loose boxes, it is not learned from these images. ``chosen`` is what was chosen for
    their features, in plain values.
    """

    classes: Classes
    preset: FittedPreset
    max_side: int
    photos: Sequence[AnnotatedPhoto]
    prepared: Sequence[Prepared]
    known_margin: float | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        photos: Sequence[AnnotatedPhoto],
        classes: Classes,
        preset: Preset,
        max_side: int,
        random_state: int = 0,
        n_jobs: int = 1,
        store: FeatureStore | None = None,
        progress: StageProgress | None = None,
        executor: Executor | None = None,
    ) -> Self:
        """Fit the preset on the photographs, and compute all features that are not in the store yet.

        An ``executor`` computes them, if there is one.
        """
        if not photos:
            raise ValueError("no image has an annotation: there is nothing to learn from")
        kept = FeatureStore(None) if store is None else store
        largest = max(max(one.photo.size()) for one in photos)
        side = min(max_side, largest)
        shrunk = [Shrunk(one.photo, side) for one in photos]
        report = progress or ignore
        fit_note, note = partial(report, "fitting features"), partial(report, "features")
        fitted = fitted_preset(preset, shrunk, random_state, n_jobs, kept.folder, fit_note)
        if executor is not None:
            fill(executor, kept, fitted, shrunk, note)
        return cls(classes, fitted, side, photos, kept.prepare(fitted, shrunk, n_jobs, note))

    @property
    def names(self) -> list[str]:
        """Names of the photographs."""
        return [one.photo.name for one in self.photos]

    @cached_property
    def margin(self) -> float:
        """How far sides of loose boxes are from their objects at most, by masks and tight boxes.

        It reads all annotations: only those who have a loose box ask for it.
        """
        if self.known_margin is not None:
            return self.known_margin
        return margin_of([self.small_annotation(n) for n in range(len(self.prepared))])

    def problems(self) -> list[LabelingProblem]:
        """Return the labeling problems, with node sizes that add up to 1."""
        return [in_shares(one) for one in self.prepared]

    def annotations(self, beta: float, shares: Mapping[int, float] | None = None) -> list[Annotation | None]:
        """Return what the annotations say about the nodes; None if it is nothing.

        ``shares`` are relative sizes of labels, which are the same otherwise; see ``shares_of_masks``.
        """
        return [self.annotation(n, beta, shares) for n in range(len(self.prepared))]

    def annotation(self, n: int, beta: float, shares: Mapping[int, float] | None = None) -> Annotation | None:
        """Return what the annotation of a photograph says about its nodes; None if it is nothing."""
        return self._in_nodes(n, self.small_annotation(n), beta, shares)

    def shares_of_masks(self) -> dict[int, float]:
        """Mean share of each label where a mask has it: the paper's areas S_k, estimated."""
        problems, fulls = [], []
        for problem, annotation in zip(self.problems(), self.annotations(beta=1.0), strict=True):
            if isinstance(annotation, Full):
                problems.append(problem)
                fulls.append(annotation)
        if not fulls:
            raise ValueError("areas is 'estimated': no image has a mask to estimate them from")
        return estimate_areas(problems, fulls)

    def small_annotation(self, n: int) -> PixelAnnotation:
        """Return the annotation of a photograph at the size of its regions."""
        one = self.photos[n]
        height, width = self.prepared[n].regions.shape
        annotation = one.annotation()
        # Nothing has no size: a photograph that is not learned from any more need not be there.
        return annotation if annotation.empty else resized(annotation, one.photo.size(), (height, width))

    def rehearsals(self, beta: float) -> list[list[Annotation]]:
        """Return, for each photograph with a mask, what it would have if it were annotated as the others."""
        small = [self.small_annotation(n) for n in range(len(self.prepared))]
        styles = styles_of(small)
        return [self._rehearsals(n, one, styles, beta) for n, one in enumerate(small)]

    def _rehearsals(
        self, n: int, annotation: PixelAnnotation, styles: Sequence[Style], beta: float
    ) -> list[Annotation]:
        again = [one for style in styles if (one := rehearsal(annotation, style, self.names[n])) is not None]
        found = [self._in_nodes(n, one, beta) for one in again]
        return [one for one in found if one is not None]

    def _in_nodes(
        self,
        n: int,
        annotation: PixelAnnotation,
        beta: float,
        shares: Mapping[int, float] | None = None,
    ) -> Annotation | None:
        """What an annotation, at the size of the regions, says about the nodes of a photograph."""
        prepared = self.prepared[n]
        regions, loose = prepared.regions, any(not box.tight for box in annotation.boxes)
        return rasterize(
            annotation,
            regions,
            len(self.classes),
            beta=beta,
            other=self.classes.other,
            shares=shares,
            cell=1 / regions.size,
            again=prepared.fetch,
            margin=self.margin if loose else MARGIN,
            name=self.names[n],
        )


def ignore(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def in_shares(prepared: Prepared) -> LabelingProblem:
    """Return the problem with sizes of nodes as shares of the image; features are shared."""
    problem = prepared.problem
    return problem.changed(node_sizes=problem.node_sizes / problem.node_sizes.sum())


def annotated_photos(dataset: DatasetFolder) -> list[AnnotatedPhoto]:
    """Return the images of a dataset that have an annotation; raise if none has."""
    found = [
        AnnotatedPhoto(FilePhoto(sample.name, sample.path), sample.annotation)
        for sample in dataset
        if sample.kinds
    ]
    if not found:
        *files, last = (table.file for table in TABLES.values())
        folders = (f"put {kind.words.plural} into {kind.images.folder}" for kind in KINDS if kind.images)
        fix = f"write {', '.join(files)} or {last}, or {', or '.join(folders)}"
        raise DatasetError(dataset.path, None, "no image has an annotation", fix)
    return found
