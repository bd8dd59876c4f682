"""Tables and plots of what weak annotations add: dataset by dataset, and over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.experiments.cells import Full, Result
from multiutility.experiments.confusions import MEASURES, Difference, bootstrapped
from multiutility.experiments.methods import OURS
from multiutility.experiments.plots import Dots, dot_grid
from multiutility.experiments.report import Runs, Sheet, table


@dataclass(frozen=True, eq=False)
class Measured:
    """A dataset with the results of its cells, those of folds pooled; ``models`` are all, each by itself.

    ``skipped`` are the numbers of masks for which there were too few images.
    """

    name: str
    n_train: int
    n_test: int
    classes: Sequence[str]
    sheet: Sheet
    models: Sequence[Result]
    skipped: Sequence[int]


@dataclass(frozen=True)
class Comparison:
    """How much better one cell is than another of the same dataset."""

    dataset: str
    annotations: str
    full: Full
    method: str
    gain: Difference

    def text(self, measures: Sequence[str]) -> str:
        """Return the cell, and the difference in some measures."""
        cell = f"{self.dataset}, {self.annotations} with {self.full} masks"
        by = "" if self.method == OURS else f" by {self.method}"
        names = " / ".join(map(measure_name, measures))
        return f"{cell}{by}: {names} {self.gain.text(measures)}"


def added(measured: Sequence[Measured]) -> Iterator[Comparison]:
    """Yield what weak annotations add to masks, for all cells that have both."""
    for one in measured:
        cells = [(r.cell.annotations, r.cell.full) for r in one.sheet.results if r.cell.method == OURS]
        for kinds, full in dict.fromkeys(cells):
            gain = gain_over_masks(one.sheet, kinds, full)
            if gain is not None:
                yield Comparison(one.name, kinds, full, OURS, gain)


def gain_over_masks(sheet: Sheet, kinds: str, full: Full) -> Difference | None:
    """How much better a cell is than the same masks alone, on the same subsets; None if there is no such."""
    alone, more = sheet.runs("none", full), sheet.runs(kinds, full)
    if kinds == "none" or not alone or not more:
        return None
    return alone.of_seeds(more).gain(more.of_seeds(alone))


def other_methods(measured: Sequence[Measured], methods: Sequence[str]) -> Iterator[Comparison]:
    """Yield how much better other methods are than ours, on the same subsets."""
    for one in measured:
        cells = [
            (r.cell.annotations, r.cell.full, r.cell.method)
            for r in one.sheet.results
            if r.cell.method in methods
        ]
        for kinds, full, method in dict.fromkeys(cells):
            ours, other = one.sheet.runs(kinds, full), one.sheet.runs(kinds, full, method)
            if ours:
                gain = ours.of_seeds(other).gain(other.of_seeds(ours))
                yield Comparison(one.name, kinds, full, method, gain)


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


def recovered_rows(
    measured: Sequence[Measured], masks: Sequence[int], mixes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the recovered parts in plain values, None where they are undefined."""
    rows = []
    for full, mix in product(masks, mixes):
        found = recovered(measured, mix, full)
        if found is not None:
            parts = [None if np.isnan(part) else part for part in found.parts]
            errors = [None if np.isnan(error) else error for error in found.errors]
            named = dict(zip(MEASURES, map(list, zip(parts, errors, strict=True)), strict=True))
            rows.append({"annotations": mix, "full": full, "n_datasets": found.n_datasets, **named})
    return rows


def share_of_all(one: Measured, mix: str) -> list[float] | None:
    """Measures without masks, as shares of those with all masks; None if either was not run."""
    weak, every = one.sheet.runs(mix, 0), one.sheet.runs("none", "all")
    if not weak or not every:
        return None
    return [a / b if b else float("nan") for a, b in zip(weak.means, every.means, strict=True)]


def sections_of(
    measured: Sequence[Measured], masks: Sequence[int], mixes: Sequence[str], methods: Sequence[str]
) -> list[str]:
    """Return all tables, with headings."""
    parts = [f"### {one.name}\n\n{dataset_table(one, masks, mixes)}" for one in measured]
    parts.append(
        "Accuracy / mean recall / mean IoU, in the mean over subsets; differences to the same masks alone, ± "
        "standard error by a paired bootstrap over images. Worse beyond noise: by more than two standard "
        "errors, in any of them."
    )
    parts.append("### Recovered part of the gap\n\n" + recovered_table(measured, masks, mixes))
    parts.append("### Without masks\n\n" + share_table(measured, mixes))
    others = baseline_table(measured, masks, mixes, methods)
    return [*parts, f"### Other methods\n\n{others}"] if others else parts


def dataset_table(one: Measured, masks: Sequence[int], mixes: Sequence[str]) -> str:
    """Return all cells of ours."""
    cells: list[tuple[str, Full]] = [(mix, 0) for mix in mixes]
    cells += list(product(("none", *mixes), masks))
    # By the number of masks first.
    cells.sort(key=lambda cell: int(cell[1]))
    rows = []
    for kinds, full in [*cells, ("none", "all")]:
        runs, gain = one.sheet.runs(kinds, full), gain_over_masks(one.sheet, kinds, full)
        if runs:
            told = ["-", "-"] if gain is None else [gain.text(), "yes" if gain.lower() else "no"]
            names = ["masks only" if kinds == "none" else kinds, str(full)]
            rows.append([*names, text_of(runs), *told, f"{runs.seconds:.0f}"])
    heads = ["annotations", "masks", "scores", "difference to masks only", "worse beyond noise", "seconds"]
    return table(heads, rows)


def recovered_table(measured: Sequence[Measured], masks: Sequence[int], mixes: Sequence[str]) -> str:
    """Return the recovered parts."""
    rows = []
    for full, mix in product(masks, mixes):
        found = recovered(measured, mix, full)
        if found is not None:
            rows.append([mix, str(full), str(found.n_datasets), *found.text])
    note = (
        "Sum over datasets of (mix - masks only), over the sum of (all masks - masks only), ± standard error "
        "by a bootstrap over images; a dash where all masks add nothing."
    )
    return f"{table(['annotations', 'masks', 'datasets', *map(measure_name, MEASURES)], rows)}\n\n{note}"


def share_table(measured: Sequence[Measured], mixes: Sequence[str]) -> str:
    """Return scores without masks as shares of those with all."""
    rows = []
    for mix in mixes:
        found = [(one.name, share) for one in measured if (share := share_of_all(one, mix)) is not None]
        rows += [[mix, name, *(f"{part:.2f}" for part in share)] for name, share in found]
        if len(found) > 1:
            means = np.mean([share for _, share in found], axis=0)
            rows.append([mix, "**mean**", *(f"**{part:.2f}**" for part in means)])
    note = "Scores without masks, as shares of those with the masks of all training images."
    return f"{table(['annotations', 'dataset', *map(measure_name, MEASURES)], rows)}\n\n{note}"


def baseline_table(
    measured: Sequence[Measured], masks: Sequence[int], mixes: Sequence[str], methods: Sequence[str]
) -> str:
    """Return ours and other methods on the same subset; empty if no other was run."""
    better: dict[tuple[str, str, Full], list[str]] = {}
    for one in other_methods(measured, methods):
        better.setdefault((one.dataset, one.annotations, one.full), []).extend(
            [one.method] if one.gain.higher() else []
        )
    rows = []
    numbers: list[Full] = [0, *masks, "all"]
    for found, full, kinds in product(measured, numbers, ("none", *mixes)):
        if (found.name, kinds, full) in better:
            others = [found.sheet.runs(kinds, full, method) for method in methods]
            ours = found.sheet.runs(kinds, full).of_seeds(next(one for one in others if one))
            names = [found.name, "masks only" if kinds == "none" else kinds, str(full)]
            wins = ", ".join(better[found.name, kinds, full]) or "-"
            rows.append([*names, *map(text_of, (ours, *others)), wins])
    if not rows:
        return ""
    heads = ["dataset", "annotations", "masks", OURS, *methods, "better beyond noise"]
    return f"{table(heads, rows)}\n\nOn the first subset; accuracy / mean recall / mean IoU."


def measure_name(measure: str) -> str:
    """Return a measure as tables have it.

    >>> measure_name("mean_iou")
    'mean IoU'
    """
    return measure.replace("_", " ").replace("iou", "IoU")


def text_of(runs: Runs) -> str:
    """Return all measures in the mean over subsets, or a dash without any."""
    return " / ".join(f"{value:.3f}" for value in runs.means) if runs else "-"


def plots_of(
    measured: Sequence[Measured], masks: Sequence[int], mixes: Sequence[str]
) -> dict[str, Callable[[Path], None]]:
    """Return what draws all cells, and the recovered parts."""
    numbers: list[Full] = [0, *masks, "all"]
    kinds = ("none", *mixes)
    lines: Mapping[str, list[Dots]] = {
        one.name: [
            Dots(f"{full} masks", [means_of(one.sheet.runs(kind, full)) for kind in kinds], color)
            for color, full in enumerate(numbers)
        ]
        for one in measured
    }
    parts = [
        Dots(f"{full} masks", [parts_of(recovered(measured, mix, full)) for mix in mixes], color + 1)
        for color, full in enumerate(masks)
    ]
    return {
        "": dot_grid(["masks only", *mixes], lines, "Annotations on top of masks"),
        "recovered": dot_grid(mixes, {"": parts}, "Recovered part of what all masks add"),
    }


def means_of(runs: Runs) -> Sequence[float] | None:
    """Return all measures, if there are any."""
    return runs.means if runs else None


def parts_of(found: Recovered | None) -> Sequence[float] | None:
    """Return the recovered parts, if there are any."""
    return found.parts if found else None
