"""What all cells of an experiment share: images, features, and how models are judged."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from multiutility.arrays import FloatArray, IndexArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.methods import learn
from multiutility.experiments.protocols import rules_of
from multiutility.experiments.supervision import LabeledImages, Supervision
from multiutility.learning.selection.choice import evenly
from multiutility.metrics import mask_confusion
from multiutility.vision.features.preset import Prepared, Preset
from multiutility.vision.features.presets import preset
from multiutility.vision.fineness import suited_preset
from multiutility.vision.method import METHODS
from multiutility.vision.photo import Shrunk
from multiutility.vision.predictor import Predictor, Progress
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore, preset_key
from multiutility.vision.training_set import StageProgress, TrainingSet, ignore

# Parameters of ``Segmenter`` that do not change results.
MACHINE = ("n_jobs", "store", "checkpoint", "progress", "callback")
# Those that features depend on.
OF_FEATURES = ("n_superpixels", "max_side")
# Training images to judge by, at most: to see whether models fit these much better than others.
N_TRAIN_JUDGED = 60
# What --quick leaves of the images: a tenth, but no less than it takes to run at all.
QUICK, FEWEST = 10, 8


@dataclass(frozen=True)
class Fold:
    """A part of the training images that is held out, to judge by: one of several, by number."""

    number: int
    n_folds: int

    def held_out(self, n_images: int, random_state: int) -> list[int]:
        """Return the images that are held out, sorted; no other fold has them.

        >>> [Fold(number, 3).held_out(7, random_state=0) for number in range(3)]
        [[1, 2, 6], [4, 5], [0, 3]]
        """
        if n_images < self.n_folds:
            raise ValueError(f"{n_images} training images cannot be cut into {self.n_folds} folds")
        order = np.random.default_rng(random_state).permutation(n_images)
        held: list[int] = np.sort(order[self.number :: self.n_folds]).tolist()
        return held


@dataclass(frozen=True)
class Setup:
    """What an experiment runs on: a dataset folder, its splits, features and protocol.

    ``changes`` are parameters of ``Segmenter`` in place of its defaults. Without ``baselines``, other
    methods are left out where there is a choice. With a ``fold``, models are judged by that part of the
    training images, and learned from the others; those of ``test`` are not looked at. The machine's part does
    not change results: ``n_jobs`` cores, ``n_processes`` that learn at once, and the ``store`` of features.
    """

    data: Path
    train: str
    test: str
    features: str | Preset = "deep"
    protocol: str = "paper"
    quick: bool = False
    n_seeds: int = 3
    random_state: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    baselines: bool = True
    n_jobs: int = 1
    n_processes: int = 1
    store: Path | None = None
    fold: Fold | None = None

    def __post_init__(self) -> None:
        known = set(Segmenter().get_params(deep=False)) - {"features", "random_state", *MACHINE}
        for name in self.changes:
            if name not in known:
                raise ValueError(f"no parameter {name!r}: expected one of {', '.join(sorted(known))}")

    @property
    def features_name(self) -> str:
        """Name of the preset."""
        return self.features if isinstance(self.features, str) else self.features.name

    @property
    def adapts(self) -> bool:
        """Whether annotations choose the number of superpixels, as in training."""
        fixed = not isinstance(self.features, str) or self.changes.get("n_superpixels") is not None
        return not fixed and METHODS[self.changes.get("method", "auto")].chooses

    @property
    def seeds(self) -> list[int]:
        """Random states of the subsets that keep their masks."""
        return [self.random_state + n for n in range(self.n_seeds)]


@dataclass(frozen=True, eq=False)
class Judge:
    """Images with features and masks, to judge models by; images without a labeled pixel are left out."""

    images: LabeledImages
    prepared: Sequence[Prepared]
    n_jobs: int

    @classmethod
    def of(
        cls,
        images: LabeledImages,
        training: TrainingSet,
        setup: Setup,
        progress: Progress,
        most: int | None = None,
    ) -> Self:
        """Take the images that have something to say, or at most so many of them, evenly taken.

        Their features are those of predictions by models of the training images.
        """
        kept = [n for n, mask in enumerate(images.masks) if mask.any()]
        if not kept:
            raise ValueError("no mask of the images to test on has a labeled pixel")
        part = images.part(kept if most is None else evenly(kept, most))
        shrunk = [Shrunk(part.photo(n), training.max_side) for n in range(len(part))]
        store, finer = FeatureStore(setup.store), training.preset.for_prediction()
        return cls(part, store.prepare(finer, shrunk, setup.n_jobs, progress), setup.n_jobs)

    def confusions(self, predictor: Predictor) -> Confusions:
        """Compare a model's predictions with the masks, pixel by pixel."""
        labelings = predictor.labelings(self.prepared, self.n_jobs)
        work = partial(self.compared, predictor)
        with ThreadPoolExecutor(self.n_jobs) as pool:
            matrices = list(pool.map(work, range(len(self.prepared)), labelings))
        return Confusions.of(matrices, self.images.classes.rare)

    def compared(self, predictor: Predictor, n: int, labels: IndexArray) -> FloatArray:
        """Confusion [K, K] of one image."""
        given = predictor.prediction(self.images.photo(n), self.prepared[n], labels).mask
        return mask_confusion(self.images.masks[n], given.astype(np.int64) - 1, len(self.images.classes))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out of learning once: confusions on test and on some training images, weights, seconds.

    ``about_model`` is what the model tells of itself, in plain values, see ``vision.about``.
    """

    test: Confusions
    train: Confusions
    weights: FloatArray
    seconds: float
    learning_seconds: float
    about_model: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Study:
    """Training images with features, and judges; cells differ in annotations, methods and parameters only."""

    setup: Setup
    images: LabeledImages
    training: TrainingSet
    test: Judge
    progress: StageProgress
    # The same with other superpixels, by their number, and what was chosen.
    _others: dict[int, Study] = field(default_factory=dict)
    _suited: dict[tuple[str, Supervision], tuple[Preset, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def open(cls, setup: Setup, progress: StageProgress | None = None) -> Self:
        """Read masks, and compute the features of all images that are not in the store yet."""
        note, dataset = progress or ignore, DatasetFolder(setup.data)
        rules = rules_of(setup.protocol, dataset.classes)
        images = LabeledImages(dataset.split(setup.train), rules)
        tested = images if setup.fold else LabeledImages(dataset.split(setup.test), rules)
        given = {name: setup.changes[name] for name in OF_FEATURES if name in setup.changes}
        model = Segmenter(
            usual_preset(setup) if setup.adapts else setup.features,
            **given,
            random_state=setup.random_state,
            n_jobs=setup.n_jobs,
            store=setup.store,
            progress=note,
        )
        # Features are fitted on all training images, so that a quick run finds those of a whole one.
        training = model.prepare(images.full(), images.classes)
        if setup.quick:
            chosen = images.subset(fewer(len(images)), setup.random_state)
            images, training = part_of(images, training, chosen)
        told = partial(note, "features for testing")
        if setup.fold is not None:
            held = setup.fold.held_out(len(images), setup.random_state)
            rest = [n for n in range(len(images)) if n not in held]
            judge = Judge.of(images.part(held), training, setup, told)
            return cls(setup, *part_of(images, training, rest), judge, note)
        if setup.quick:
            tested = tested.part(evenly(range(len(tested)), fewer(len(tested))))
        return cls(setup, images, training, Judge.of(tested, training, setup, told), note)

    @property
    def classes(self) -> Classes:
        """Classes by the protocol."""
        return self.images.classes

    def choice(self, kinds: str, full: int | str, seed: int) -> Supervision:
        """Return which images have masks, and which have weak annotations: all others, unless of no kind."""
        n_images = len(self.images)
        masks = range(n_images) if full == "all" else self.images.subset(int(full), seed)
        rest = () if kinds == "none" else sorted(set(range(n_images)) - set(masks))
        return Supervision(tuple(masks), tuple(rest))

    def training_set(self, kinds: str, choice: Supervision) -> TrainingSet:
        """Return the images of a choice with their annotations and features."""
        prepared = [self.training.prepared[n] for n in (*choice.masks, *choice.weak)]
        return replace(self.training, photos=self.images.annotated(kinds, choice), prepared=prepared)

    def suited(self, kinds: str, choice: Supervision) -> tuple[Study, dict[str, Any]]:
        """Return this study with the superpixels that suit a choice, and why in plain values."""
        if not self.setup.adapts:
            return self, {}
        key = (kinds, choice)
        if key not in self._suited:
            photos, usual = self.images.annotated(kinds, choice), self.training.preset.preset
            self._suited[key] = suited_preset(usual, photos, self.training.max_side, self.classes)
        named, chosen = self._suited[key]
        if named == self.training.preset.preset:
            return self, chosen
        number = chosen["superpixels"]["number"]
        if number not in self._others:
            changes = {**self.setup.changes, "n_superpixels": number}
            self._others[number] = Study.open(replace(self.setup, changes=changes), self.progress)
        return self._others[number], chosen

    @cached_property
    def train_judge(self) -> Judge:
        """Some training images, evenly taken, to see how much worse test images are labeled."""
        told = partial(self.progress, "features for judging")
        return Judge.of(self.images, self.training, self.setup, told, N_TRAIN_JUDGED)

    def outcome(self, method: str, kinds: str, choice: Supervision, parameters: Mapping[str, Any]) -> Outcome:
        """Learn and judge."""
        study, chosen = self.suited(kinds, choice)
        begin = time.perf_counter()
        machine = {"n_jobs": self.setup.n_jobs, "progress": self.progress}
        given = {**parameters, "random_state": self.setup.random_state}
        training = replace(study.training_set(kinds, choice), chosen=chosen)
        predictor = learn(method, training, given, **machine)
        learned = time.perf_counter()
        test, train = study.test.confusions(predictor), study.train_judge.confusions(predictor)
        now = time.perf_counter()
        return Outcome(test, train, predictor.weights, now - begin, learned - begin, predictor.about)

    @cached_property
    def key(self) -> str:
        """Hash of images, masks and features, and of what learning starts from."""
        classes = [(one.name, one.kind, one.rare) for one in self.classes]
        content = [
            classes,
            preset_key(self.training.preset.for_prediction()),
            [self.training.max_side, self.setup.random_state],
            fingerprints(self.images),
            fingerprints(self.test.images),
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def usual_preset(setup: Setup) -> Preset:
    """Return the features with as many superpixels as they usually have."""
    return preset(setup.features) if isinstance(setup.features, str) else setup.features


def fingerprints(images: LabeledImages) -> list[tuple[str, str, int]]:
    """Names, hashes of images, and checksums of masks."""
    prints = [images.photo(n).fingerprint() for n in range(len(images))]
    sums = [zlib.crc32(mask.tobytes()) for mask in images.masks]
    return list(zip(images.names, prints, sums, strict=True))


def fewer(n_images: int) -> int:
    """Return how many images a quick run takes.

    >>> fewer(276), fewer(20), fewer(5)
    (28, 8, 5)
    """
    return min(n_images, max(FEWEST, round(n_images / QUICK)))


def part_of(
    images: LabeledImages, training: TrainingSet, chosen: Sequence[int]
) -> tuple[LabeledImages, TrainingSet]:
    """Return some of the training images, with their features."""
    photos, prepared = training.photos, training.prepared
    part = replace(training, photos=[photos[n] for n in chosen], prepared=[prepared[n] for n in chosen])
    return images.part(chosen), part
