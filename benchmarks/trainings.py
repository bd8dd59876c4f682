"""Loss-augmented energies of real training: what the oracle of Frank-Wolfe solves on its way.

A `Training` is learned from some images of a dataset in $MULTIUTILITY_DATA. How annotations are read, class
weights and costs are those of a fit; then Frank-Wolfe begins from zero, and every energy of some of its
passes is an instance.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from instances import Instance
from multiutility import Energy
from multiutility.constraints import Constraints
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.inference import Expansion, Result
from multiutility.kinds import PixelAnnotation
from multiutility.learning.labeling_risk import LabelingRisk
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.vision import Segmenter
from multiutility.vision.method import MethodName
from multiutility.vision.photo import FilePhoto
from multiutility.vision.training_set import AnnotatedPhoto
from multiutility.vision.weaken import weaken

DATASETS = ("msrc", "cwfid", "camvid")
N_IMAGES, N_MASKS = 20, 5
N_SUPERPIXELS = 200
PASSES = (2, 6, 15)
"""Passes of Frank-Wolfe whose energies are taken, counted from 1."""
ROUGH = 0.3
"""Relative gap at which the fit that chooses all but the weights may end."""


class MissingDataError(Exception):
    """Images that are not on this machine."""


@dataclass(frozen=True)
class Supervision:
    """What is annotated: how many images keep their masks, what others have, and how it is learned from.

    Boxes are for the method "auto" only: with losses of the paper, their rows and columns have costs of their
    own, which no peer knows.
    """

    name: str
    method: MethodName
    n_masks: int
    boxes: bool = False

    @property
    def has_label_costs(self) -> bool:
        """Whether tags have costs: only the losses of the paper have."""
        return self.method == "paper"


SUPERVISIONS = (
    Supervision("masks", "auto", N_IMAGES),
    Supervision("boxes", "auto", 0, boxes=True),
    Supervision("tags-paper", "paper", N_MASKS),
)


class Features:
    """Which features, and the folder that keeps them: one for temporary files unless it is given."""

    def __init__(self, name: str = "deep", store: Path | None = None) -> None:
        self.name = name
        self._given = store

    @cached_property
    def store(self) -> Path:
        """The folder."""
        if self._given is not None:
            return self._given
        self._temporary = tempfile.TemporaryDirectory()
        return Path(self._temporary.name)


@dataclass(frozen=True)
class Training:
    """Energies of one training, of all its images in some passes."""

    dataset: str
    supervision: Supervision
    features: Features = field(compare=False)
    passes: tuple[int, ...] = PASSES

    @property
    def name(self) -> str:
        """Name of the case in tables, and stem of the instances' names."""
        return f"train-{self.dataset}-{self.supervision.name}"

    def instances(self) -> list[Instance]:
        """Learn, and return the energies of all images in the chosen passes."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of few images, and of a fit that ends early: they are no news here
            risk = self._risk()
        found = energies_of(risk, self.passes)
        return [instance_of(f"{self.name}-{n}", energy) for n, energy in enumerate(found)]

    def _risk(self) -> LabelingRisk:
        """The risk that a segmenter has minimized, of which nothing has been seen yet."""
        given = self.supervision
        dataset = some_images(self.dataset)
        weakened = weaken(dataset, keep_masks=given.n_masks, boxes=given.boxes)
        photos = [annotated(dataset[one.name], one.annotation) for one in weakened]
        model = Segmenter(
            self.features.name,
            method=given.method,
            n_superpixels=N_SUPERPIXELS,
            tol=ROUGH,
            max_iter=1,
            refine=False,
            warm_start=True,
            store=self.features.store,
        )
        model.fit_prepared(model.prepare(photos, weakened.classes))
        assert model.kept_ is not None  # of a warm start
        kept = model.kept_.learner.kept_
        assert kept is not None
        risk = kept.risk
        return risk.succeeded(risk.instances, risk.labelings, risk.costs, [None] * len(risk.instances))


def some_images(name: str) -> DatasetFolder:
    """Images of `train`, evenly spaced in its order: neighbors are often of the same scene."""
    folder = os.environ.get("MULTIUTILITY_DATA")
    if folder is None:
        raise MissingDataError(f"{name}: set MULTIUTILITY_DATA to the folder that has it")
    if not (Path(folder) / name).is_dir():
        raise MissingDataError(f"{name} is not in MULTIUTILITY_DATA")
    train = DatasetFolder(Path(folder) / name).split("train")
    places = np.linspace(0, len(train) - 1, min(N_IMAGES, len(train))).astype(int)
    return train.select([train.names[n] for n in places])


def annotated(sample: Sample, annotation: PixelAnnotation) -> AnnotatedPhoto:
    """The photo of a sample with another annotation."""
    return AnnotatedPhoto(FilePhoto(sample.name, sample.path), lambda: annotation)


@dataclass
class Recorder:
    """Solves energies as usual, and keeps them."""

    solver: Expansion = field(default_factory=Expansion)
    energies: list[Energy] = field(default_factory=list)

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """Return what the solver finds."""
        return self.minimize_many([energy], [constraints], [start])[0]

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """Return what the solver finds for each of the energies."""
        self.energies += energies
        return self.solver.minimize_many(energies, constraints, starts)


def energies_of(risk: LabelingRisk, passes: Sequence[int]) -> list[Energy]:
    """Energies that the oracle solves in some passes, counted from 1."""
    recorder = Recorder()
    risk.solver = recorder
    run = FrankWolfe(max_passes=max(passes)).begin(risk, tolerance=0.0)
    found = []
    for n in range(1, max(passes) + 1):
        recorder.energies.clear()
        run.advance()
        if n in passes:
            found += recorder.energies
    return found


def instance_of(name: str, energy: Energy) -> Instance:
    """The energy less its least unary costs, so that it is positive and ratios of it mean something."""
    unary = energy.unary - energy.unary.min(axis=1, keepdims=True)
    subsets = (energy.subset_starts, energy.subset_nodes, energy.subset_labels, energy.subset_costs)
    return Instance(name, unary, energy.edges, energy.weights, *subsets)
