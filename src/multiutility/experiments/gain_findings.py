"""What is found about weak annotations: what they add, what of the gap to all masks, and who is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TypeAlias

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.experiments.cells import CellResult, Full
from multiutility.experiments.confusions import Difference, bootstrapped
from multiutility.experiments.methods import OURS
from multiutility.experiments.report import Sheet

# Name of a dataset, annotations, number of masks, and method.
Place: TypeAlias = tuple[str, str, Full, str]


@dataclass(frozen=True, eq=False)
class Measured:
    """A dataset with the results of its cells, those of folds pooled; ``models`` are all, each by itself.

    ``skipped`` are the numbers of masks for which there were too few images, and ``unidentified`` names of
    labels that a mix with so many masks cannot tell apart, where there are any.
    """

    name: str
    n_train: int
    n_test: int
    classes: Sequence[str]
    sheet: Sheet
    models: Sequence[CellResult]
    skipped: Sequence[int]
    unidentified: Mapping[tuple[str, Full], Sequence[str]] = field(default_factory=dict)

    @property
    def places(self) -> list[Place]:
        """The cells that were run, each once, whatever the number of subsets."""
        cells = [one.cell for one in self.sheet.results]
        return list(dict.fromkeys((self.name, one.annotations, one.full, one.method) for one in cells))

    def share_of_all(self, mix: str) -> list[float] | None:
        """Measures without masks, as shares of those with all masks; None if either was not run."""
        weak, every = self.sheet.runs(mix, 0), self.sheet.runs("none", "all")
        if not weak or not every:
            return None
        return [a / b if b else float("nan") for a, b in zip(weak.means, every.means, strict=True)]


@dataclass(frozen=True)
class Recovered:
    """Part of what all masks add to a few that a mix adds to these, for each measure, with standard errors.

    Undefined (nan) where all masks add nothing.
    """

    n_datasets: int
    parts: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def text(self) -> list[str]:
        """Parts with their errors, one text for each measure."""
        pairs = zip(self.parts, self.errors, strict=True)
        return ["-" if np.isnan(part) else f"{part:.2f} ± {error:.2f}" for part, error in pairs]


@dataclass(frozen=True, eq=False)
class Findings:
    """All datasets, and what comes out of comparing their cells; each comparison is made once."""

    measured: Sequence[Measured]
    masks: Sequence[int]
    mixes: Sequence[str]

    @property
    def numbers(self) -> list[Full]:
        """Numbers of masks, from none to all."""
        return [0, *sorted(self.masks), "all"]

    @cached_property
    def added(self) -> dict[Place, Difference]:
        """What weak annotations add to masks alone, on the same subsets, for all cells of ours with both."""
        return {
            place: gain
            for one in self.measured
            for place in one.places
            if place[1] != "none" and place[3] == OURS
            if (gain := compared(one.sheet, ("none", place[2], OURS), place[1:])) is not None
        }

    @cached_property
    def others(self) -> dict[Place, Difference]:
        """How much better other methods are than ours, on the same subsets."""
        return {
            place: gain
            for one in self.measured
            for place in one.places
            if place[3] != OURS
            if (gain := compared(one.sheet, (place[1], place[2], OURS), place[1:])) is not None
        }

    @property
    def unidentified(self) -> set[Place]:
        """Cells whose annotations leave it to chance which of two things is given which name."""
        return {place for one in self.measured for place in one.places if place[1:3] in one.unidentified}

    @cached_property
    def recovered(self) -> dict[tuple[str, int], Recovered]:
        """Recovered parts of the gap, for mixes and numbers of masks that any dataset has."""
        return {
            (mix, full): found
            for full, mix in product(sorted(self.masks), self.mixes)
            if (found := recovered(self.measured, mix, full)) is not None
        }


def compared(sheet: Sheet, first: tuple[str, Full, str], second: tuple[str, Full, str]) -> Difference | None:
    """How much better the second cell is than the first, on the same subsets; None if either was not run."""
    one, two = sheet.runs(*first), sheet.runs(*second)
    one, two = one.of_seeds(two), two.of_seeds(one)
    return one.gain(two) if one and two else None


def recovered(measured: Sequence[Measured], mix: str, full: int) -> Recovered | None:
    """Sum over datasets of (mix - few) over the sum of (all - few); None if no dataset has the cells.

    Errors are by a bootstrap over the images of each dataset, of the ratio in the first order.
    """
    above, below = list[FloatArray](), list[FloatArray]()
    for number, one in enumerate(measured):
        runs = [one.sheet.runs(*cell) for cell in ((mix, full), ("none", full), ("none", "all"))]
        if all(runs):
            more, few, every = (bootstrapped(some.test, random_state=number) for some in runs)
            above.append(more - few)
            below.append(every - few)
    if not above:
        return None
    tops, wholes = np.sum(above, axis=0), np.sum(below, axis=0)
    whole = np.where(wholes[0] > 0, wholes[0], np.nan)
    parts = tops[0] / whole
    errors = (tops[1:] - parts * wholes[1:]).std(axis=0) / whole
    return Recovered(len(above), tuple(parts.tolist()), tuple(errors.tolist()))
