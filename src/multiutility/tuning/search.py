"""Cross-validation for C, class weights, alpha and beta, on training images only."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from multiutility.annotations import Annotation
from multiutility.arrays import FloatArray, IndexArray
from multiutility.datasets.files import replacing
from multiutility.learning.examples import balance
from multiutility.learning.prediction import agreement_with
from multiutility.metrics import accuracy, mask_confusion, mean_iou, mean_recall
from multiutility.sources import code_digest
from multiutility.vision.method import METHODS
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.training_set import AnnotatedPhoto, StageProgress, TrainingSet, ignore

# What is measured on the confusion matrix of held-out images, by name; rare classes are left out of means.
METRICS: dict[str, Callable[[FloatArray, frozenset[int]], float]] = {
    "accuracy": lambda matrix, _: accuracy(matrix),
    "mean_recall": mean_recall,
    "mean_iou": mean_iou,
    "mean": lambda matrix, rare: (accuracy(matrix) + mean_recall(matrix, rare)) / 2,
}

# C spans decades; the others matter less.
GRID: dict[str, tuple[float, ...]] = {
    "C": (0.1, 1.0, 10.0, 100.0, 1000.0),
    "class_weight": (0.0, 0.25, 0.5),
    "alpha": (0.03, 0.1, 0.3, 1.0),
    "beta": (0.3, 1.0, 3.0),
}

# Parameters of the segmenter that are tried, are known from the images' features, or do not change scores.
APART = (
    *(*GRID, "features", "n_superpixels", "max_side", "refine"),
    *("n_jobs", "store", "memory_limit", "checkpoint", "progress", "callback"),
)

# What the method chooses by itself stays "auto", until a number is better.
AUTO: Literal["auto"] = "auto"
Value: TypeAlias = float | Literal["auto"]
Setting: TypeAlias = Mapping[str, Value]


class Chosen(Protocol):
    """Which images, by number, keep their masks, and which get weak annotations."""

    @property
    def masks(self) -> Sequence[int]:
        """Images that keep their masks."""

    @property
    def weak(self) -> Sequence[int]:
        """Images that get weak annotations."""


C = TypeVar("C", bound=Chosen)


class WeakeningPlan(Protocol[C]):
    """What is left of images with masks in training: ``keep`` masks, and weak annotations of some kinds."""

    @property
    def kinds(self) -> str:
        """Kinds of weak annotations, such as ``tags+boxes``, or ``none``."""

    @property
    def keep(self) -> int:
        """Number of masks that are kept."""

    @property
    def random_state(self) -> int:
        """Which masks are kept."""

    def choice(self, numbers: Sequence[int]) -> C:
        """Return which of some images keep their masks, and which get weak annotations."""

    def annotated(self, choice: C) -> list[AnnotatedPhoto]:
        """Return the images of a choice with their annotations."""


@dataclass(frozen=True)
class Trial:
    """A setting of what is tuned, with its score on one fold."""

    setting: dict[str, Value]
    fold: int
    score: float


@dataclass(frozen=True)
class Tuning:
    """All trials, and the setting with the best mean score."""

    metric: str
    trials: tuple[Trial, ...]

    def means(self) -> list[tuple[dict[str, Value], float]]:
        """Return the settings with their mean scores, best first; of equal ones the earlier."""
        scores: dict[tuple[tuple[str, Value], ...], list[float]] = {}
        for trial in self.trials:
            scores.setdefault(tuple(trial.setting.items()), []).append(trial.score)
        return sorted(
            ((dict(setting), float(np.mean(found))) for setting, found in scores.items()),
            key=lambda pair: -pair[1],
        )

    @property
    def best(self) -> dict[str, Value]:
        """The best setting."""
        return self.means()[0][0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON."""
        means = [{**setting, "score": score} for setting, score in self.means()]
        return {"metric": self.metric, "best": self.best, "settings": means}


@dataclass(frozen=True, eq=False)
class Tuner:
    """Finds C, then class weights, alpha and beta by cross-validation, each with the best of those before.

    Only masks can tell how good predictions are, so that images with masks take turns in being held out, and
    all others are always learned from. Without at least two masks, all images take turns, and the score is
    one minus the loss of their annotations, as a share.

    Parameters
    ----------
    segmenter : Segmenter
        All but what is tuned; its values of that are where the search starts: "auto", if the method chooses
        them, and nothing is given.
    grid : mapping
        Values of ``C``, ``class_weight`` (powers of balanced ones), ``alpha`` and ``beta`` to try.
    n_folds : int
        Parts of the images that take turns.
    metric : str
        ``accuracy``, ``mean_recall``, ``mean_iou``, or ``mean``, that of the first two.
    log : path or None
        File that keeps the scores; with it, an interrupted search goes on where it was.
    """

    segmenter: Segmenter
    grid: Mapping[str, Sequence[float]] = field(default_factory=lambda: GRID)
    n_folds: int = 3
    metric: str = "accuracy"
    log: Path | None = None
    progress: StageProgress = ignore

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric is {self.metric!r}: expected one of {', '.join(METRICS)}")
        if self.n_folds < 2:
            raise ValueError(f"n_folds is {self.n_folds}: expected at least 2")

    def tune(self, training: TrainingSet, weakening: WeakeningPlan[Any] | None = None) -> Tuning:
        """Search on prepared images; with a weakening of the same images, these are learned from weakened."""
        bench = Bench(training, self.n_folds, self.metric, self.segmenter.random_state, weakening)
        log = Log(self.log, self._key(bench))
        best = self._begin()
        used = bench.tunable - ({"beta"} if METHODS[self.segmenter.method].chooses else set())
        names = [name for name in best if name in used and self.grid.get(name)]
        # The search for each value starts at a setting that the one before has tried.
        n_settings = 1 + sum(len({*self.grid[name], best[name]}) - 1 for name in names)
        total = bench.n_folds * n_settings
        trials: dict[tuple[Any, ...], Trial] = {}
        for name in names:
            for value in ascending({*map(float, self.grid[name]), best[name]}):
                for trial in self._trials(bench, log, {**best, name: value}):
                    trials[(*trial.setting.values(), trial.fold)] = trial
                    self.progress("tuning", len(trials), total)
            best = Tuning(self.metric, tuple(trials.values())).best
        return Tuning(self.metric, tuple(trials.values()))

    def _begin(self) -> dict[str, Value]:
        """Values of the segmenter; weights of classes by name stay as they are."""
        model, method = self.segmenter, METHODS[self.segmenter.method]
        alpha = method.alpha if model.alpha is None else model.alpha
        begin: dict[str, Value] = {"C": float(model.C)}
        if not isinstance(model.class_weight, Mapping):
            weight = method.class_weight if model.class_weight == AUTO else model.class_weight
            begin["class_weight"] = AUTO if weight == AUTO else balance(weight)
        return {**begin, "alpha": AUTO if alpha is None else float(alpha), "beta": float(model.beta)}

    def _trials(self, bench: Bench, log: Log, setting: dict[str, Value]) -> Iterator[Trial]:
        for fold in range(bench.n_folds):
            score = log.find(setting, fold)
            if score is None:
                score = bench.score(self._segmenter(setting), fold)
                log.add(Trial(setting, fold, score))
            yield Trial(setting, fold, score)

    def _segmenter(self, setting: Setting) -> Segmenter:
        # Not a clone: bars of progress cannot be copied.
        given = {name: None if (name, one) == ("alpha", AUTO) else one for name, one in setting.items()}
        return Segmenter(
            **{**self.segmenter.get_params(deep=False), **given, "checkpoint": None, "progress": None}
        )

    def _key(self, bench: Bench) -> str:
        """Hash of all that scores depend on, besides the setting."""
        tuned = {name for name in APART if name not in GRID or name in self._begin()}
        kept = {k: v for k, v in self.segmenter.get_params(deep=False).items() if k not in tuned}
        training, weakening = bench.training, bench.weakening
        content = [
            kept,
            [self.metric, bench.n_folds, training.max_side],
            [training.preset.parameters(), training.preset.sources(), code_digest()],
            training.classes.names,
            bench.strong,
            training.names,
            None if weakening is None else [weakening.kinds, weakening.keep, weakening.random_state],
        ]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Bench:
    """Images that take turns in being held out, and how good labelings of those are.

    With a weakening of these images, which all have masks, those that are not held out are weakened.
    """

    def __init__(
        self,
        training: TrainingSet,
        n_folds: int,
        metric: str,
        random_state: int,
        weakening: WeakeningPlan[Any] | None = None,
    ) -> None:
        self.training = training
        self.weakening = weakening
        self._metric = METRICS[metric]
        self._problems = training.problems()
        # Scores must not depend on the beta that is tried.
        self._annotations = training.annotations(beta=1.0)
        known = [n for n, one in enumerate(self._annotations) if one is not None]
        self.strong = [n for n in known if is_strong(self._annotations[n])]
        self.judged_by_masks = len(self.strong) > 1
        judges = self.strong if self.judged_by_masks else known
        if len(judges) < 2:
            raise ValueError("there are less than two annotated images: nothing can be held out")
        self.n_folds = min(n_folds, len(judges))
        order = np.random.default_rng(random_state).permutation(judges)
        self.folds = [sorted(order[fold :: self.n_folds].tolist()) for fold in range(self.n_folds)]

    @property
    def tunable(self) -> frozenset[str]:
        """What can make a difference: alpha only weighs weak images against others, beta boxes and seeds.

        Losses of held-out annotations say nothing of class weights: those are not in them.
        """
        found = {"C", "class_weight"} if self.judged_by_masks else {"C"}
        if self.weakening is not None:
            kinds, keep = self.weakening.kinds, self.weakening.keep
            found |= {"alpha"} if kinds != "none" and keep > 0 else set()
            return frozenset(found | ({"beta"} if kinds not in ("none", "tags") else set()))
        if 0 < len(self.strong) < len(self.training.photos):
            found.add("alpha")
        pixels = [one.annotation() for one in self.training.photos]
        if any(one.mask is None and one.placed for one in pixels):
            found.add("beta")
        return frozenset(found)

    def score(self, segmenter: Segmenter, fold: int) -> float:
        """Learn from all images but those of the fold, and return the score on these."""
        held_out, prepared = self.folds[fold], self.training.prepared
        predictor = segmenter.fit_prepared(self.learned_from(fold)).predictor_
        labelings = predictor.labelings([prepared[n] for n in held_out], segmenter.n_jobs)
        if self.judged_by_masks:
            return self._measured(held_out, labelings)
        return self._agreement(held_out, labelings)

    def learned_from(self, fold: int) -> TrainingSet:
        """Return all images but those of a fold, weakened if they are to be."""
        photos, prepared = self.training.photos, self.training.prepared
        rest = [n for n in range(len(photos)) if n not in self.folds[fold]]
        if self.weakening is None:
            chosen = [photos[n] for n in rest]
        else:
            choice = self.weakening.choice(rest)
            rest = [*choice.masks, *choice.weak]
            chosen = self.weakening.annotated(choice)
        return replace(self.training, photos=chosen, prepared=[prepared[n] for n in rest])

    def _measured(self, held_out: Sequence[int], labelings: Sequence[IndexArray]) -> float:
        n_labels = len(self.training.classes)
        matrix = np.zeros((n_labels, n_labels))
        for n, labels in zip(held_out, labelings, strict=True):
            mask = self.training.small_annotation(n).mask
            assert mask is not None  # only images with masks are held out
            matrix += mask_confusion(mask, labels[self.training.prepared[n].regions], n_labels)
        return self._metric(matrix, self.training.classes.rare)

    def _agreement(self, held_out: Sequence[int], labelings: Sequence[IndexArray]) -> float:
        problems, annotations = self._problems, self._annotations
        return agreement_with([problems[n] for n in held_out], [annotations[n] for n in held_out], labelings)


def ascending(values: Iterable[Value]) -> list[Value]:
    """Return values in their order, after "auto".

    >>> ascending([1.0, "auto", 0.5])
    ['auto', 0.5, 1.0]
    """
    return sorted(values, key=lambda one: -math.inf if isinstance(one, str) else one)


def value_text(value: Value) -> str:
    """Return a value as text.

    >>> value_text(0.25), value_text("auto")
    ('0.25', 'auto')
    """
    return value if isinstance(value, str) else f"{value:g}"


def is_strong(annotation: Annotation | None) -> bool:
    """Whether it is a full labeling."""
    return annotation is not None and annotation.strong


class Log:
    """Scores in a file, kept from one run to the next."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self._key = key
        self._trials = [] if path is None or not path.exists() else read_trials(path, key)

    def find(self, setting: Setting, fold: int) -> float | None:
        """Return the score of a trial that was made before."""
        found = (t.score for t in self._trials if t.setting == setting and t.fold == fold)
        return next(found, None)

    def add(self, trial: Trial) -> None:
        """Keep a trial; the file is always whole."""
        self._trials.append(trial)
        if self._path is not None:
            content = {"key": self._key, "trials": [asdict(one) for one in self._trials]}
            with replacing(self._path) as file:
                file.write(json.dumps(content, indent=1).encode())


def read_trials(path: Path, key: str) -> list[Trial]:
    """Return the trials of an earlier run; raise if it was about anything else."""
    try:
        content = json.loads(path.read_bytes())
        trials = [
            Trial(dict(one["setting"]), int(one["fold"]), float(one["score"])) for one in content["trials"]
        ]
        same = content["key"] == key
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path}: not a record of tuning; remove it, or give another file") from None
    if not same:
        what = "of other images, features or options, or by another version of the code"
        raise ValueError(f"{path}: {what}; remove it, or give another file")
    return trials
