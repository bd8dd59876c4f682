"""Cross-validation over full labelings: scores of held-out examples, and what they promise for new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from multiutility.arrays import FloatArray
from multiutility.metrics import accuracy, mean_iou, mean_recall

MEASURES = ("accuracy", "mean_recall", "mean_iou")
# Of the intervals that are promised, and how often a bootstrap draws.
LEVEL, N_DRAWN = 0.9, 300
# By how much accuracy, recall and IoU of the learner are higher than those of its stand-in, which is judged
# here without the held-out fold, without edges and on larger nodes, and how far they may be from that: by 68
# models of folds of training images of four datasets. docs/gain.md has how often intervals hold.
STAND_IN, STAND_IN_SPREAD = np.array((0.0, 0.03, 0.015)), np.array((0.03, 0.07, 0.06))
# A measure may change by this, and is still the same.
TOLERATED = 0.01


def folds_of(n_examples: int, n_folds: int = 5) -> NDArray[np.int_]:
    """Fold of each example; as many folds as there are examples, if there are few.

    >>> folds_of(3), folds_of(7)
    (array([0, 1, 2]), array([0, 1, 2, 3, 4, 0, 1]))
    """
    return np.arange(n_examples) % min(n_folds, max(n_examples, 1))


def confusion(truth: FloatArray, labels: NDArray[np.int_]) -> FloatArray:
    """Sizes of true and given labels [K, K], for sizes of true labels [V, K] and given labels [V].

    >>> confusion(np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([0, 0]))
    array([[3., 0.],
           [3., 0.]])
    """
    given = labels[:, np.newaxis] == np.arange(truth.shape[1])
    return np.asarray(truth.T @ given)


def scores(matrix: FloatArray) -> FloatArray:
    """Accuracy, mean recall and mean IoU of a confusion matrix."""
    return np.array((accuracy(matrix), mean_recall(matrix), mean_iou(matrix)))


def shown_scores(matrix: FloatArray) -> FloatArray:
    """The same, but with the IoU of labels that occur: what few examples do not show says nothing of others.

    >>> matrix = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    >>> scores(matrix).round(3), shown_scores(matrix).round(3)
    (array([0.875, 0.875, 0.583]), array([0.875, 0.875, 0.875]))
    """
    absent = np.flatnonzero(matrix.sum(axis=1) <= 0).tolist()
    return np.array((accuracy(matrix), mean_recall(matrix), mean_iou(matrix, rare=absent)))


def merit(matrices: Sequence[FloatArray]) -> float:
    """Mean of the measures, of all examples together."""
    return float(scores(np.sum(matrices, axis=0)).mean())


def resampled(
    matrices: Sequence[FloatArray],
    random_state: int = 0,
    measure: Callable[[FloatArray], FloatArray] = scores,
) -> FloatArray:
    """Scores [B, 3] of examples that are drawn with replacement; the same draws for as many examples."""
    stack = np.array(matrices)
    return np.array([measure(np.tensordot(times, stack, 1)) for times in draws(len(stack), random_state)])


def draws(n_examples: int, random_state: int = 0) -> NDArray[np.int_]:
    """How often each example is drawn [B, N] if as many are drawn as there are, with replacement."""
    rng = np.random.default_rng(random_state)
    return np.asarray(rng.multinomial(n_examples, np.full(n_examples, 1 / n_examples), N_DRAWN))


def surely_better(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> bool:
    """Whether the merit of the second is higher by more than its standard error, by a paired bootstrap.

    >>> good, bad = np.diag([5.0, 5.0]), np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> surely_better([bad] * 4, [good] * 4), surely_better([bad] * 4, [good, bad, bad, np.eye(2)[::-1]])
    (True, False)
    """
    gain = merit(second) - merit(first)
    return gain > 0 and bool(gain > (resampled(second) - resampled(first)).mean(axis=1).std())


def improves(first: Sequence[FloatArray], second: Sequence[FloatArray], tolerated: float = TOLERATED) -> bool:
    """Whether the second is surely better, by more than is tolerated, and worse by as much in no measure.

    >>> alone, more = np.array([[90.0, 10.0], [2.0, 8.0]]), np.array([[95.0, 5.0], [2.0, 8.0]])
    >>> other = np.array([[100.0, 0.0], [4.0, 6.0]])
    >>> improves([alone] * 4, [more] * 4), improves([alone] * 4, [other] * 4)
    (True, False)
    >>> surely_better([alone] * 4, [other] * 4)
    True
    """
    gains = scores(np.sum(second, axis=0)) - scores(np.sum(first, axis=0))
    within = gains.min() >= -tolerated and gains.mean() > tolerated
    return bool(within) and surely_better(first, second)


@dataclass(frozen=True)
class Estimate:
    """What is expected on new images: of each measure the value, and the ends of an interval."""

    accuracy: tuple[float, float, float]
    mean_recall: tuple[float, float, float]
    mean_iou: tuple[float, float, float]

    @property
    def facts(self) -> dict[str, list[float]]:
        """The measures by name, in plain numbers."""
        return {name: [round(value, 4) for value in getattr(self, name)] for name in MEASURES}


def estimate(matrices: Sequence[FloatArray], random_state: int = 0, shown: float = 1.0) -> Estimate | None:
    """Estimate scores on new images from confusions [K, K] of held-out ones; None from fewer than three.

    Values and intervals are corrected for what is judged, a stand-in of the learner; those are by Student's t
    with the standard error of a bootstrap over images. Labels that were never ``shown``, of which only a part
    was, have a recall and an IoU of 0.

    >>> good = np.diag([5.0, 5.0])
    >>> estimate([good] * 4).mean_iou[0], estimate([good] * 4, shown=0.5).mean_iou[0]
    (1.0, 0.5)
    """
    judged = [one for one in matrices if one.any()]
    n_examples = len(judged)
    if n_examples < 3:
        return None
    parts = np.array((1.0, shown, shown))
    middle = parts * np.minimum(shown_scores(np.sum(judged, axis=0)) + STAND_IN, 1.0)
    factor = student.ppf((1 + LEVEL) / 2, n_examples - 1)
    spread = parts * resampled(judged, random_state, shown_scores).std(axis=0)
    half = np.hypot(factor * spread, parts * STAND_IN_SPREAD)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    rows = np.stack((middle, low, high), axis=1).tolist()
    return Estimate(*(tuple(row) for row in rows))
