"""Confusions of many images, kept small, and how sure one can be of differences between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.metrics import accuracy, mean_recall

N_RESAMPLED = 1000


@dataclass(frozen=True, eq=False)
class Confusions:
    """How many pixels of each image have which true and which given label; ``rare`` are left out of recall.

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

    def resampled(self, weights: FloatArray) -> FloatArray:
        """Accuracy and mean recall [B, 2] if images count as often as weights [B, N] say."""
        image, true, given, pixels = self.entries.T
        right, all_ = np.zeros((2, self.n_images, self.n_labels))
        np.add.at(all_, (image, true), pixels)
        hits = true == given
        np.add.at(right, (image[hits], true[hits]), pixels[hits])
        right, all_ = weights @ right, weights @ all_
        kept = [k for k in range(self.n_labels) if k not in self.rare]
        recalls = np.divide(right, all_, out=np.full(right.shape, np.nan), where=all_ > 0)[:, kept]
        means = np.nansum(recalls, axis=1) / np.maximum((~np.isnan(recalls)).sum(axis=1), 1)
        return np.column_stack((right.sum(axis=1) / all_.sum(axis=1), means))


@dataclass(frozen=True)
class Difference:
    """How much better the second is than the first, and the standard error, for accuracy and mean recall."""

    accuracy: float
    accuracy_error: float
    mean_recall: float
    recall_error: float

    @property
    def worse(self) -> bool:
        """Whether either measure is lower beyond noise: by more than two standard errors."""
        return (
            self.accuracy < -2 * self.accuracy_error - 1e-9
            or self.mean_recall < -2 * self.recall_error - 1e-9
        )

    def __str__(self) -> str:
        return (
            f"{100 * self.accuracy:+.1f} ± {100 * self.accuracy_error:.1f} / "
            f"{100 * self.mean_recall:+.1f} ± {100 * self.recall_error:.1f} points"
        )


def difference(
    first: Sequence[Confusions], second: Sequence[Confusions], random_state: int = 0
) -> Difference:
    """Compare two methods on the same images, each by the mean over its runs; errors by a paired bootstrap.

    >>> one = Confusions.of([np.array([[3.0, 1.0], [0.0, 2.0]])] * 4)
    >>> str(difference([one], [one]))
    '+0.0 ± 0.0 / +0.0 ± 0.0 points'
    """
    n_images = first[0].n_images
    if any(one.n_images != n_images for one in (*first, *second)):
        raise ValueError("these are confusions of different images: they cannot be compared")
    rng = np.random.default_rng(random_state)
    drawn = rng.multinomial(n_images, np.full(n_images, 1 / n_images), N_RESAMPLED).astype(np.float64)
    weights = np.concatenate((np.ones((1, n_images)), drawn))
    gain = mean_scores(second, weights) - mean_scores(first, weights)
    (by_accuracy, by_recall), errors = gain[0], gain[1:].std(axis=0)
    return Difference(float(by_accuracy), float(errors[0]), float(by_recall), float(errors[1]))


def mean_scores(runs: Sequence[Confusions], weights: FloatArray) -> FloatArray:
    """Mean over runs of accuracy and mean recall, [B, 2], for weights [B, N] of images."""
    return np.asarray(np.mean([one.resampled(weights) for one in runs], axis=0))


def standard_errors(runs: Sequence[Confusions], random_state: int = 0) -> tuple[float, float]:
    """Standard errors of accuracy and mean recall, by a bootstrap over images."""
    n_images = runs[0].n_images
    rng = np.random.default_rng(random_state)
    drawn = rng.multinomial(n_images, np.full(n_images, 1 / n_images), N_RESAMPLED).astype(np.float64)
    by_accuracy, by_recall = mean_scores(runs, drawn).std(axis=0)
    return float(by_accuracy), float(by_recall)
