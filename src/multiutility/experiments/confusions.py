"""Confusions of many images, kept small, and how sure one can be of differences between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray, freeze
from multiutility.metrics import accuracy, mean_iou, mean_recall

N_RESAMPLED = 1000
# All measures, in the order of columns; the first two are those of the paper.
MEASURES = ("accuracy", "mean_recall", "mean_iou")
PAPER = MEASURES[:2]
# Differences of what is the same, but was added up in another order.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Confusions:
    """How many pixels of each image have which true and which given label; ``rare`` are left out of means.

    ``entries`` int64 [E, 4] are image, true label, given label and number of pixels, where that is not 0.
    """

    entries: NDArray[np.int64]
    n_images: int
    n_labels: int
    rare: frozenset[int] = frozenset()

    @classmethod
    def of(cls, matrices: Sequence[FloatArray], rare: Collection[int] = ()) -> Self:
        """Join the confusion matrices [K, K] of images.

        >>> Confusions.of([np.array([[3.0, 1.0], [0.0, 2.0]])]).entries.tolist()
        [[0, 0, 0, 3], [0, 0, 1, 1], [0, 1, 1, 2]]
        """
        rows = [
            np.column_stack((np.full(np.count_nonzero(one), n), np.argwhere(one), one[one != 0]))
            for n, one in enumerate(matrices)
        ]
        entries = np.concatenate(rows).astype(np.int64)
        return cls(entries, len(matrices), len(matrices[0]), frozenset(rare))

    @classmethod
    def joined(cls, parts: Sequence[Confusions]) -> Self:
        """Join the confusions of several sets of images, one after the other.

        >>> one = Confusions.of([np.array([[3.0, 1.0], [0.0, 2.0]])])
        >>> Confusions.joined([one, one]).entries.tolist()[3:]
        [[1, 0, 0, 3], [1, 0, 1, 1], [1, 1, 1, 2]]
        """
        begins = np.cumsum([0, *(one.n_images for one in parts)])
        entries = np.concatenate([one.entries for one in parts])
        entries[:, 0] += np.repeat(begins[:-1], [len(one.entries) for one in parts])
        return cls(entries, int(begins[-1]), parts[0].n_labels, parts[0].rare)

    @property
    def matrix(self) -> FloatArray:
        """Confusion of all images together, [K, K]."""
        _, true, given, pixels = self.entries.T
        matrix = np.zeros((self.n_labels, self.n_labels))
        np.add.at(matrix, (true, given), pixels)
        return matrix

    @property
    def accuracy(self) -> float:
        """Part of all labeled pixels that is right."""
        return accuracy(self.matrix)

    @property
    def mean_recall(self) -> float:
        """Mean over classes of the part of their pixels that is right."""
        return mean_recall(self.matrix, self.rare)

    @property
    def mean_iou(self) -> float:
        """Mean over classes of the intersection over union."""
        return mean_iou(self.matrix, self.rare)

    @property
    def scores(self) -> FloatArray:
        """All measures, [3]."""
        return np.array([self.accuracy, self.mean_recall, self.mean_iou])

    def resampled(self, weights: FloatArray) -> FloatArray:
        """All measures [B, 3] if images count as often as weights [B, N] say."""
        image, true, given, pixels = self.entries.T
        right, all_, called = np.zeros((3, self.n_images, self.n_labels))
        np.add.at(all_, (image, true), pixels)
        np.add.at(called, (image, given), pixels)
        hits = true == given
        np.add.at(right, (image[hits], true[hits]), pixels[hits])
        right, all_, called = weights @ right, weights @ all_, weights @ called
        recall, iou = self._mean_ratio(right, all_), self._mean_ratio(right, all_ + called - right)
        return np.column_stack((right.sum(axis=1) / all_.sum(axis=1), recall, iou))

    def _mean_ratio(self, part: FloatArray, whole: FloatArray) -> FloatArray:
        """Mean over classes of part / whole [B, K], without rare ones and those that there is nothing of."""
        kept = [k for k in range(self.n_labels) if k not in self.rare]
        ratios = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)[:, kept]
        return np.asarray(np.nansum(ratios, axis=1) / np.maximum((~np.isnan(ratios)).sum(axis=1), 1))


@dataclass(frozen=True)
class Difference:
    """How much better the second is than the first, and the standard error, for each measure."""

    accuracy: float
    accuracy_error: float
    mean_recall: float
    recall_error: float
    mean_iou: float
    iou_error: float

    def of(self, measure: str) -> tuple[float, float]:
        """Difference in a measure, and its standard error."""
        return {
            "accuracy": (self.accuracy, self.accuracy_error),
            "mean_recall": (self.mean_recall, self.recall_error),
            "mean_iou": (self.mean_iou, self.iou_error),
        }[measure]

    def lower(self, measures: Sequence[str] = MEASURES) -> list[str]:
        """Measures that are lower beyond noise: by more than two standard errors."""
        return [one for one in measures if -self.of(one)[0] > 2 * self.of(one)[1] + ROUNDING]

    def higher(self, measures: Sequence[str] = MEASURES) -> list[str]:
        """Measures that are higher beyond noise."""
        return [one for one in measures if self.of(one)[0] > 2 * self.of(one)[1] + ROUNDING]

    @property
    def worse(self) -> bool:
        """Whether either of the paper's measures, accuracy and mean recall, is lower beyond noise."""
        return bool(self.lower(PAPER))

    def text(self, measures: Sequence[str] = MEASURES) -> str:
        """Return differences with their standard errors, in points."""
        parts = [f"{100 * value:+.1f} ± {100 * error:.1f}" for value, error in map(self.of, measures)]
        return f"{' / '.join(parts)} points"

    def __str__(self) -> str:
        """Return the differences in the paper's measures."""
        return self.text(PAPER)


def difference(
    first: Sequence[Confusions], second: Sequence[Confusions], random_state: int = 0
) -> Difference:
    """Compare two methods on the same images, each by the mean over its runs; errors by a paired bootstrap.

    >>> one = Confusions.of([np.array([[3.0, 1.0], [0.0, 2.0]])] * 4)
    >>> str(difference([one], [one]))
    '+0.0 ± 0.0 / +0.0 ± 0.0 points'
    """
    if any(one.n_images != first[0].n_images for one in (*first, *second)):
        raise ValueError("these are confusions of different images: they cannot be compared")
    gain = bootstrapped(second, random_state) - bootstrapped(first, random_state)
    pairs = zip(gain[0].tolist(), gain[1:].std(axis=0).tolist(), strict=True)
    return Difference(*(number for pair in pairs for number in pair))


def bootstrapped(runs: Sequence[Confusions], random_state: int = 0) -> FloatArray:
    """Mean over runs of all measures, [1 + B, 3]: of the images as they are, and as often as they are drawn.

    The draws depend on the number of images alone, so that all that is of the same images can be paired.
    """
    weights = bootstrap_weights(runs[0].n_images, random_state)
    return np.asarray(np.mean([one.resampled(weights) for one in runs], axis=0))


@lru_cache(maxsize=8)
def bootstrap_weights(n_images: int, random_state: int) -> FloatArray:
    """How often each image counts, [1 + B, N]: once, and as often as it is drawn; kept, to be used again."""
    rng = np.random.default_rng(random_state)
    drawn = rng.multinomial(n_images, np.full(n_images, 1 / n_images), N_RESAMPLED).astype(np.float64)
    return freeze(np.concatenate((np.ones((1, n_images)), drawn)), np.float64)


def standard_errors(runs: Sequence[Confusions], random_state: int = 0) -> tuple[float, float, float]:
    """Standard errors of all measures, by a bootstrap over images."""
    by_accuracy, by_recall, by_iou = bootstrapped(runs, random_state)[1:].std(axis=0).tolist()
    return by_accuracy, by_recall, by_iou
