"""What learning from images needs besides the learner: units of features, progress, warnings with names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from multiutility.annotations import Annotation
from multiutility.arrays import FloatArray, IndexArray
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.identifiability import UnidentifiedLabelsWarning
from multiutility.inference import Expansion, Pinpoint
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.layout import Layout
from multiutility.learning import MultiUtilitySSVM
from multiutility.learning.optimizers.solution import Callback, Record
from multiutility.learning.selection.evidence import Estimate
from multiutility.memory import MemoryLimit, n_bytes
from multiutility.parallel import Executor, parts
from multiutility.problem import LabelingProblem
from multiutility.vision.predictor import margins, per_size
from multiutility.vision.training_set import StageProgress, TrainingSet

# Images whose margins tell what is typical.
MARGIN_IMAGES = 64
# What learning takes besides features, as measured, for each: label of a node (checkpoints included), node,
# edge and image; and weight, of which there are mini-batches of changes, and sums over parts of the images.
LABEL_BYTES, NODE_BYTES, EDGE_BYTES, IMAGE_BYTES = 76, 200, 60, 16_000
WEIGHT_BYTES = 300


class Learned(Protocol):
    """What a segmenter takes from an estimator that has learned, see ``MultiUtilitySSVM``."""

    weights_: FloatArray
    n_labels_: int
    n_iter_: int
    objective_: NDArray[Any]
    imputed_: list[IndexArray | None]
    chosen_: dict[str, Any]
    estimate_: Estimate | None

    def predict(self, problems: Sequence[LabelingProblem]) -> list[IndexArray]:
        """Labelings [V] of highest score."""


class Learner(Protocol):
    """Who fits an estimator to problems in balanced units, by the parameters of ``MultiUtilitySSVM``."""

    def __call__(
        self,
        parameters: Mapping[str, Any],
        problems: Sequence[LabelingProblem],
        annotations: Sequence[Annotation | None],
        rehearsals: Sequence[Sequence[Annotation]] | None,
        /,
    ) -> Learned:
        """Return the estimator; for ``rehearsals`` see ``MultiUtilitySSVM.fit``."""


def multi_utility(
    parameters: Mapping[str, Any],
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation | None],
    rehearsals: Sequence[Sequence[Annotation]] | None,
) -> Learned:
    """Learn as we do."""
    return MultiUtilitySSVM(**parameters).fit(problems, annotations, rehearsals)


@dataclass(frozen=True)
class Units:
    """Root mean square norms of the features of nodes and edges.

    Learning is meant on features divided by these, so that ``C`` means the same for all presets. Features of
    nodes are large and may be mapped from files: instead of dividing them by u, those of edges are multiplied
    by u, and C is divided by u squared; the weights are u times smaller then, and nothing else changes.
    """

    nodes: float
    edges: float

    @classmethod
    def of(cls, problems: Sequence[LabelingProblem], executor: Executor | None = None) -> Self:
        """Measure the features, where they are if an executor knows."""
        edges = mean_norm(squares_of([problem.edge_features]) for problem in problems)
        if executor is None:
            return cls(mean_norm(squares_of([problem.node_features]) for problem in problems), edges)
        calls = [executor.call(node_squares, some) for some in parts(problems, executor.n_shards)]
        return cls(mean_norm(executor.get(calls)), edges)

    def balanced(self, problem: LabelingProblem) -> LabelingProblem:
        """Return the problem with features of edges in the unit of those of nodes."""
        return problem.changed(edge_features=problem.edge_features * np.float32(self.nodes / self.edges))

    def weights(self, balanced: FloatArray, layout: Layout) -> FloatArray:
        """Return weights of balanced features as weights of the original ones."""
        weights = balanced.copy()
        layout.pairwise(weights)[...] *= self.nodes / self.edges
        return weights

    def objective(self, curve: NDArray[Any]) -> NDArray[Any]:
        """Return the objective on features that are divided by their norms."""
        scaled = curve.copy()
        for name in ("primal", "dual", "gap"):
            scaled[name] *= self.nodes**2
        return scaled


def mean_norm(squares: Iterable[tuple[float, int]]) -> float:
    """Root mean square norm of rows, of sums of squares with numbers of rows; 1 if there are only zeros."""
    total, count = 0.0, 0
    for one, number in squares:
        total, count = total + one, count + number
    return float(np.sqrt(total / count)) if total > 0 else 1.0


def squares_of(features: Iterable[NDArray[Any]]) -> tuple[float, int]:
    """Sum of the squares of some matrices, and the number of their rows."""
    total, count = 0.0, 0
    for one in features:
        total, count = total + float(np.vdot(one, one)), count + len(one)
    return total, count


def node_squares(problems: Sequence[LabelingProblem]) -> tuple[float, int]:
    """Sum of the squares of node features, and the number of nodes."""
    return squares_of(problem.node_features for problem in problems)


def check_memory(
    memory_limit: int | str | None, problems: Sequence[LabelingProblem], n_labels: int, n_jobs: int
) -> None:
    """Raise if learning cannot keep within a limit of memory, however little of the features is kept."""
    if memory_limit is None:
        return
    n_nodes, n_edges = sum(one.n_nodes for one in problems), sum(one.n_edges for one in problems)
    state = n_nodes * (n_labels * LABEL_BYTES + NODE_BYTES)
    state += n_edges * EDGE_BYTES + len(problems) * IMAGE_BYTES
    largest = max(one.n_nodes * one.n_features * one.feature_dtype.itemsize for one in problems)
    weights = n_labels * problems[0].n_features * WEIGHT_BYTES
    needed = state + weights + (n_jobs + 1) * largest
    MemoryLimit(n_bytes(memory_limit)).check(needed, f"learning from {len(problems):,} images")


class PassProgress:
    """Tells how far learning is, by outer iterations, and by the gap that falls within each.

    Iterations usually end before the last: the time that seems to be left is rather too long.
    """

    def __init__(self, progress: StageProgress, tolerance: float, n_steps: int) -> None:
        self._progress = progress
        self._tolerance = tolerance
        self._n_steps = n_steps
        self._percent = 0

    def __call__(self, record: Record) -> None:
        """Take note of a pass."""
        gap = min(max(record.relative_gap, self._tolerance), 1.0)
        within = np.log(gap) / np.log(self._tolerance) if self._tolerance < 1 else 1.0
        percent = int(100 * min((record.iteration + within) / self._n_steps, 0.99))
        self._percent = max(self._percent, percent)
        self._progress("learning", self._percent, 100)


def tell_all(callbacks: Sequence[Callback], record: Record) -> None:
    """Tell several of a pass."""
    for callback in callbacks:
        callback(record)


def typical_margin(learner: Learned, problems: Sequence[LabelingProblem], weighted: bool) -> float:
    """Return the median margin of nodes of training images, for ``Predictor``."""
    step = max(1, len(problems) // MARGIN_IMAGES)
    some, found = problems[::step], []
    for problem, labels in zip(some, learner.predict(some), strict=True):
        margin = margins(problem, learner.weights_, labels, learner.n_labels_)
        found.append(per_size(margin, problem) if weighted else margin)
    median = float(np.median(np.concatenate(found)))
    # All margins are infinite with a single class, and zero with zero weights.
    return median if 0 < median < np.inf else 1.0


def warn_unmet(
    training: TrainingSet,
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation | None],
    labelings: Sequence[IndexArray | None],
) -> None:
    """Warn of images whose boxes no labeling agrees with; those that were learned from need not."""
    for name, problem, annotation, labels in zip(
        training.names, problems, annotations, labelings, strict=True
    ):
        if annotation is None or labels is None or annotation.strong:
            continue
        if not len(annotation.constraints(problem).unmet(labels)):
            continue
        unmet = sorted(training.classes.names[label] for label in impossible(annotation, problem))
        if unmet:
            what = f"{name}: boxes of {', '.join(unmet)} cannot all be filled to their sides"
            warnings.warn(
                f"{what}; see whether they overlap or are too small", UnmetCoverWarning, stacklevel=3
            )


def impossible(annotation: Annotation, problem: LabelingProblem) -> set[int]:
    """Return labels of boxes that no labeling fills to their sides together with the others."""
    constraints = annotation.constraints(problem)
    with warnings.catch_warnings():
        # It counts covers; here they have names.
        warnings.simplefilter("ignore", UnmetCoverWarning)
        anything = Energy(np.zeros((problem.n_nodes, annotation.n_labels)))
        limits = Constraints.from_arrays(
            constraints.allowed,
            constraints.cover_starts,
            constraints.cover_nodes,
            constraints.cover_labels,
        )
        unmet = Pinpoint(Expansion()).minimize(anything, limits).unmet
    return {int(constraints.cover_labels[c]) for c in unmet}


@contextmanager
def without_advice() -> Iterator[None]:
    """Leave out warnings that are for people who can mend their annotations or choose other parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UnmetCoverWarning)
        warnings.simplefilter("ignore", UnidentifiedLabelsWarning)
        yield
