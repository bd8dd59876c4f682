"""Results of cells, put together: means over seeds, tables in Markdown, and checks with yes or no."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from multiutility.experiments.cells import CellResult, Full
from multiutility.experiments.confusions import Confusions, Difference, difference
from multiutility.experiments.methods import OURS


@dataclass(frozen=True)
class Scores:
    """Mean and standard deviation of both measures, over seeds."""

    n_runs: int
    accuracy: float
    accuracy_spread: float
    mean_recall: float
    recall_spread: float

    @property
    def text(self) -> str:
        """Return both measures, with what the seeds differ by.

        >>> Scores(3, 0.75, 0.01, 0.5, 0.02).text, Scores(1, 0.75, 0.0, 0.5, 0.0).text
        ('0.750 ± 0.010 / 0.500 ± 0.020', '0.750 / 0.500')
        """
        if self.n_runs == 1:
            return f"{self.accuracy:.3f} / {self.mean_recall:.3f}"
        first = f"{self.accuracy:.3f} ± {self.accuracy_spread:.3f}"
        return f"{first} / {self.mean_recall:.3f} ± {self.recall_spread:.3f}"


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
        found: list[float] = np.mean([one.scores for one in self.test], axis=0).tolist()
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
    accuracies = [one.accuracy for one in confusions]
    recalls = [one.mean_recall for one in confusions]
    spread = np.std if len(confusions) == 1 else sample_deviation
    return Scores(
        len(confusions),
        float(np.mean(accuracies)),
        float(spread(accuracies)),
        float(np.mean(recalls)),
        float(spread(recalls)),
    )


def sample_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation that a sample stands for."""
    return float(np.std(values, ddof=1))


class Sheet:
    """All results of an experiment."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.results = results

    def runs(
        self,
        annotations: str,
        full: Full,
        method: str = OURS,
        changes: tuple[tuple[str, float | str], ...] = (),
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
    """Return both measures, if there are any."""
    return (runs.scores.accuracy, runs.scores.mean_recall) if runs else None
