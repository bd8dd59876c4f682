"""Results of cells, put together: means over seeds, tables in Markdown, and checks with yes or no."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.experiments.cells import CellResult, Full
from multiutility.experiments.confusions import Confusions, Difference, difference
from multiutility.experiments.methods import OURS

# Parameters of a cell other than the defaults, by name.
Changes: TypeAlias = tuple[tuple[str, float | str], ...]


@dataclass(frozen=True, eq=False)
class Scores:
    """Means and standard deviations [3] of ``confusions.MEASURES`` over seeds."""

    n_runs: int
    means: FloatArray
    spreads: FloatArray

    @property
    def accuracy(self) -> float:
        """Mean accuracy."""
        return float(self.means[0])

    @property
    def mean_recall(self) -> float:
        """Mean of mean recalls."""
        return float(self.means[1])

    @property
    def text(self) -> str:
        """Return all measures, with what the seeds differ by.

        >>> means, spreads = np.array([0.75, 0.5, 0.25]), np.array([0.01, 0.02, 0.03])
        >>> Scores(3, means, spreads).text
        '0.750 ± 0.010 / 0.500 ± 0.020 / 0.250 ± 0.030'
        >>> Scores(1, means, 0 * spreads).text
        '0.750 / 0.500 / 0.250'
        """
        return " / ".join(
            f"{mean:.3f}" + (f" ± {spread:.3f}" if self.n_runs > 1 else "")
            for mean, spread in zip(self.means.tolist(), self.spreads.tolist(), strict=True)
        )


class Runs:
    """The same cell with different seeds."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.results = results

    def __bool__(self) -> bool:
        return bool(self.results)

    @property
    def test(self) -> list[Confusions]:
        """Confusions on test images."""
        return [one.outcome.test for one in self.results]

    @property
    def scores(self) -> Scores:
        """Scores on test images."""
        return scores_of(self.test)

    @property
    def train_scores(self) -> Scores:
        """Scores on training images."""
        return scores_of([one.outcome.train for one in self.results])

    @property
    def means(self) -> list[float]:
        """All measures on test images, in the order of ``confusions.MEASURES``."""
        found: list[float] = self.scores.means.tolist()
        return found

    @property
    def seconds(self) -> float:
        """Mean time of a cell."""
        return float(np.mean([one.outcome.seconds for one in self.results]))

    def of_seeds(self, others: Runs) -> Runs:
        """Return the runs whose seeds the others have, too."""
        seeds = {one.cell.seed for one in others.results}
        return Runs([one for one in self.results if one.cell.seed in seeds])

    def gain(self, better: Runs) -> Difference:
        """How much better others are."""
        return difference(self.test, better.test)


def scores_of(confusions: Sequence[Confusions]) -> Scores:
    """Return means and spreads; the spread of a single one is 0."""
    found = np.array([one.scores for one in confusions])
    spreads = found.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(found.shape[1])
    return Scores(len(found), found.mean(axis=0), spreads)


class Sheet:
    """All results of an experiment."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.results = results

    def runs(
        self,
        annotations: str,
        full: Full,
        method: str = OURS,
        changes: Changes = (),
        about: tuple[tuple[str, Any], ...] = (),
    ) -> Runs:
        """Return the runs of a cell, one for each seed; none if it was not run."""
        return Runs(
            [
                one
                for one in self.results
                if (one.cell.annotations, one.cell.full) == (annotations, full)
                and (one.cell.method, one.cell.changes) == (method, changes)
                and set(about) <= set(one.cell.about)
            ]
        )


@dataclass(frozen=True)
class Check:
    """A claim, whether it holds (None if that could not be seen), and the numbers."""

    claim: str
    holds: bool | None
    detail: str = ""

    @property
    def answer(self) -> str:
        """Yes, no, or that nobody knows."""
        return {True: "yes", False: "no", None: "not run"}[self.holds]

    @property
    def plain(self) -> dict[str, Any]:
        """The check in plain values."""
        return {"claim": self.claim, "holds": self.holds, "detail": self.detail}

    def __str__(self) -> str:
        return f"{self.claim}: {self.answer}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class Report:
    """A page: text in Markdown, plots by file name (each is told where to write), and checks."""

    title: str
    sections: Sequence[str]
    checks: Sequence[Check] = ()
    plots: dict[str, Callable[[Path], None]] = field(default_factory=dict)


def text_of(runs: Runs) -> str:
    """Return the scores of runs, or a dash without any."""
    return runs.scores.text if runs else "-"


def pair_of(runs: Runs) -> tuple[float, float] | None:
    """Return the measures of the paper, if there are any."""
    return (runs.scores.accuracy, runs.scores.mean_recall) if runs else None
