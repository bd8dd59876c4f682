"""The demo: what a mix of cheap annotations adds to a few masks, on generated scenes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.folder import DatasetFolder, NewSample, Sample, write_dataset
from multiutility.datasets.scenes import CLASSES, make_scenes
from multiutility.datasets.writing import earlier_parts
from multiutility.demo.report import MASKS, NAIVE, OURS, Contestant, Demo, write_report
from multiutility.files import scratch
from multiutility.outputs import Outputs, writing
from multiutility.vision.baselines import RIDGE
from multiutility.vision.evaluation import evaluate, predictions
from multiutility.vision.features.preset import Preset
from multiutility.vision.learning import without_advice
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.predictor import Predictor
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import StageProgress, TrainingSet, annotated_photos, ignore
from multiutility.vision.weaken import things_of, weaken

# Height and width of scenes, and about how many superpixels they have: small, to be done within a minute.
SIZE, N_SUPERPIXELS = (180, 240), 130
# Images of the validation set in the report.
N_SHOWN = 6


@dataclass(frozen=True)
class Mix:
    """How many training images have masks, boxes or seeds; all others have tags."""

    masks: int = 5
    boxes: int = 15
    seeds: int = 15


def run_demo(
    out: str | Path,
    *,
    n_train: int = 80,
    n_validation: int = 32,
    mix: Mix | None = None,
    features: str | Preset = "deep",
    random_state: int = 0,
    n_jobs: int = 1,
    progress: StageProgress | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Make scenes, learn from a mix of annotations, compare, and write ``report.html``; returns the scores.

    Besides the report, the folder ``out`` gets two datasets: ``scenes`` with all masks, and ``mixed``, the
    same images with the annotations that were learned from. Those of an earlier demo are replaced, but
    neither what has been changed since, nor what others put there, unless ``overwrite``.
    """
    folder = Path(out)
    with writing(Outputs("demo", folder, overwrite=overwrite)) as outputs:
        outputs.check_all([folder / "report.html", *earlier_parts(folder / "scenes")])
        outputs.check_all(earlier_parts(folder / "mixed"))
        return demonstrate(
            folder, n_train, n_validation, mix or Mix(), features, random_state, n_jobs, progress
        )


def demonstrate(
    folder: Path,
    n_train: int,
    n_validation: int,
    mix: Mix,
    features: str | Preset,
    random_state: int,
    n_jobs: int,
    progress: StageProgress | None,
) -> dict[str, Any]:
    """Write the datasets and the report."""
    clock = Clock()
    with clock.stage("making the scenes"):
        note = partial(progress or ignore, "scenes")
        scenes = make_scenes(folder / "scenes", n_train, n_validation, random_state, SIZE, note)
        mixed = write_mix(scenes, folder / "mixed", mix, random_state)
    with scratch(folder / "features") as kept:
        segmenter = partial(
            Segmenter,
            features,
            n_superpixels=N_SUPERPIXELS,
            random_state=random_state,
            n_jobs=n_jobs,
            store=kept,
        )
        parts = (mixed.split("train"), mixed.split("validation"))
        contest = Contest(segmenter, *parts, FeatureStore(kept), n_jobs, clock, progress or ignore)
        methods, objective = contest.run()
    demo = Demo(*parts, methods, objective, clock.seconds, N_SUPERPIXELS)
    write_report(demo, folder / "report.html")
    return demo.scores()


class Clock:
    """Seconds by stage of the work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a block."""
        begin = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - begin


def write_mix(scenes: DatasetFolder, path: Path, mix: Mix, random_state: int) -> DatasetFolder:
    """Write the scenes with a mix of annotations; validation images keep their masks."""
    train, validation = scenes.split("train"), scenes.split("validation")
    splits = {"train": train.names, "validation": validation.names}
    samples = [*mixed_samples(train, mix, random_state), *unchanged(validation)]
    write_dataset(path, scenes.classes, samples, splits)
    return DatasetFolder(path)


def mixed_samples(train: DatasetFolder, mix: Mix, random_state: int) -> Iterator[NewSample]:
    """Weaken the training images: a few keep their masks, some get boxes, some seeds, all others tags."""
    kept = weaken(train, random_state, keep_masks=mix.masks).kept
    others = [sample for sample in train if sample.name not in kept]
    order = np.random.default_rng(random_state).permutation(len(others)).tolist()
    # Boxes and seeds are for things, so images without any come last, where tags are left.
    order.sort(key=lambda n: not has_things(others[n]))
    names = [others[n].name for n in order]
    boxed, seeded = names[: mix.boxes], names[mix.boxes : mix.boxes + mix.seeds]
    yield from unchanged(train.select(sorted(kept)))
    yield from weaken(train.select(boxed), boxes=True)
    yield from weaken(train.select(seeded), seeds=True)
    yield from weaken(train.select(names[mix.boxes + mix.seeds :]))


def has_things(sample: Sample) -> bool:
    """Whether there is anything to draw a box around."""
    mask = sample.mask()
    return mask is not None and bool(things_of(mask, CLASSES))


def unchanged(dataset: DatasetFolder) -> Iterator[NewSample]:
    """Return the samples as they are."""
    return (NewSample(sample.name, sample.path, sample.annotation()) for sample in dataset)


@dataclass(frozen=True, eq=False)
class Contest:
    """Models that learn from the same images with the same features, compared on others.

    ``segmenter`` makes models that differ in nothing but their progress.
    """

    segmenter: Callable[..., Segmenter]
    training: DatasetFolder
    validation: DatasetFolder
    store: FeatureStore
    n_jobs: int
    clock: Clock
    progress: StageProgress

    def run(self) -> tuple[list[Contestant], NDArray[Any]]:
        """Return the methods with their scores, and the learning curve of ours."""
        with self.clock.stage("computing features"):
            training = self.prepared()
        ours = self.model(OURS)
        learners: dict[str, Callable[[], Predictor]] = {
            MASKS: lambda: self.model(MASKS).fit_prepared(only_masks(training)).predictor_,
            NAIVE: lambda: RIDGE.learn(training, {}),
            OURS: lambda: ours.fit_prepared(training).predictor_,
        }
        models = {}
        for name, learner in learners.items():
            with self.clock.stage(f"learning from {name}"), without_advice():
                models[name] = learner()
        with self.clock.stage("evaluation"):
            return self.compared(models), ours.objective_

    def prepared(self) -> TrainingSet:
        """Compute the features of all images; the store keeps those of the validation images, too."""
        photos = annotated_photos(self.training)
        training = self.segmenter(progress=self.progress).prepare(photos, self.training.classes)
        others = [Shrunk(FilePhoto(one.name, one.path), training.max_side) for one in self.validation]
        note = partial(self.progress, "features for validation")
        self.store.prepare(training.preset.for_prediction(), others, self.n_jobs, note)
        return training

    def model(self, name: str) -> Segmenter:
        """Return a new model that tells how far it is under a name of its own."""
        return self.segmenter(progress=lambda stage, *done: self.progress(f"{stage} from {name}", *done))

    def compared(self, models: Mapping[str, Predictor]) -> list[Contestant]:
        """Evaluate models, and let them label some images: from the best of ours to its worst, evenly."""
        evaluations = {
            name: evaluate(model, self.validation, self.n_jobs, self.store) for name, model in models.items()
        }
        ranked = evaluations[OURS].ranked()
        places = np.linspace(0, len(ranked) - 1, min(N_SHOWN, len(ranked))).round().astype(int).tolist()
        shown = self.validation.select(ranked[place] for place in places)
        masks = {
            name: {s.name: p.mask for s, p in predictions(model, shown, self.n_jobs, self.store)}
            for name, model in models.items()
        }
        return [Contestant(name, evaluations[name], masks[name]) for name in models]


def only_masks(training: TrainingSet) -> TrainingSet:
    """Return the images that have masks."""
    kept = [n for n, one in enumerate(training.photos) if one.annotation().mask is not None]
    photos, prepared = training.photos, training.prepared
    return replace(training, photos=[photos[n] for n in kept], prepared=[prepared[n] for n in kept])
