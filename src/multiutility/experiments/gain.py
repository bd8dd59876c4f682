"""What weak annotations add to a few masks, on several datasets at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from multiutility.datasets.bags import unidentified_annotations
from multiutility.experiments.cells import Cell, CellFiles, CellProgress, CellResult, Full, run_cells
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.experiment import (
    CELLS,
    Finished,
    Titles,
    code_name,
    command,
    page_text,
    parameter_notes,
    plain,
    write_files,
)
from multiutility.experiments.gain_checks import checks_of
from multiutility.experiments.gain_findings import Findings, Measured
from multiutility.experiments.gain_report import plots_of, recovered_rows, sections_of
from multiutility.experiments.methods import LOGISTIC, RIDGE, SELF_STRONG
from multiutility.experiments.report import Report, Sheet
from multiutility.experiments.study import Fold, Outcome, Setup, Study
from multiutility.experiments.supervision import AS_TIGHT, KINDS
from multiutility.vision.training_set import StageProgress

NAME = "gain"
TITLE = "What weak annotations add"
ALL_MIXES = KINDS[1:]
# Those of a run that names none: boxes that are wrongly taken as tight are run by name only.
MIXES = tuple(mix for mix in ALL_MIXES if mix != AS_TIGHT)
NAIVE = (LOGISTIC, RIDGE)
BASELINES = (*NAIVE, SELF_STRONG)
# What a quick run has, if it was asked for.
QUICK_MIXES = ("tags", "points")

# Given the name of a dataset, who is told of its cells.
DatasetProgress: TypeAlias = Callable[[str], CellProgress]


@dataclass(frozen=True)
class Gain:
    """Mixes on top of so many ``masks``; with ``n_folds``, judged within the training images."""

    masks: Sequence[int] = (5, 20)
    mixes: Sequence[str] = MIXES
    n_folds: int = 0

    def __post_init__(self) -> None:
        if not self.masks or any(one < 1 for one in self.masks) or len(set(self.masks)) < len(self.masks):
            raise ValueError(f"masks are {list(self.masks)}: expected different numbers, each at least 1")
        for mix in self.mixes:
            if mix not in ALL_MIXES:
                raise ValueError(f"no mix {mix!r}: expected some of {', '.join(ALL_MIXES)}")
        if not self.mixes or len(set(self.mixes)) < len(self.mixes):
            wanted = ", ".join(ALL_MIXES)
            raise ValueError(f"mixes are {list(self.mixes)}: expected different ones of {wanted}")
        if self.n_folds < 0 or self.n_folds == 1:
            raise ValueError(f"{self.n_folds} folds: expected at least 2, or 0 to judge by other images")

    def numbers(self, n_images: int) -> list[int]:
        """Return the numbers of masks that leave an image to annotate weakly."""
        return [one for one in self.masks if one < n_images]

    def cells(self, study: Study) -> list[Cell]:
        """Ours on all subsets, where there is a choice of any; then other methods on the first."""
        numbers, first = self.numbers(len(study.images)), study.setup.seeds[0]
        ours = [Cell("none", "all", first), *(Cell(mix, 0, first) for mix in self.mixes)]
        ours += [
            Cell(kinds, full, seed)
            for full, seed, kinds in product(numbers, study.setup.seeds, ("none", *self.mixes))
        ]
        if not study.setup.baselines:
            return ours
        weak = product((0, *numbers), self.mixes, BASELINES)
        others = [Cell(kinds, full, first, method) for full, kinds, method in weak]
        few: list[Full] = [*numbers, "all"]
        return ours + others + [Cell("none", full, first, method) for full, method in product(few, NAIVE)]

    def quick_cells(self, study: Study) -> list[Cell]:
        """Masks alone, and one or two mixes, on one subset; one other method."""
        mixes = [mix for mix in self.mixes if mix in QUICK_MIXES] or list(self.mixes[:1])
        numbers, first = self.numbers(len(study.images))[:1], study.setup.seeds[0]
        ours = [Cell("none", "all", first), *(Cell(mix, 0, first) for mix in mixes)]
        ours += [Cell(kinds, full, first) for full, kinds in product(numbers, ("none", *mixes))]
        others = product(numbers, mixes, (RIDGE,) if study.setup.baselines else ())
        return ours + [Cell(kinds, full, first, method) for full, kinds, method in others]


def run_gain(
    gain: Gain,
    setups: Sequence[Setup],
    out: Path,
    progress: StageProgress | None = None,
    told: DatasetProgress | None = None,
    options: Sequence[str] = (),
) -> Finished:
    """Run what is not done yet, for each dataset, and write JSON, CSV, plots and a page to a folder.

    Setups differ in their ``data`` only. Cells are kept in the folder, one by one.
    """
    check_names([setup.data.name for setup in setups])
    out.mkdir(parents=True, exist_ok=True)
    files = CellFiles(out / CELLS)
    measured = [measure(gain, setup, files, progress, told) for setup in setups]
    titles = Titles(NAME, command(NAME, setups, options))
    return write_gain(gain, setups[0], titles, measured, out)


def check_names(names: Sequence[str]) -> None:
    """Raise unless datasets can be told apart."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two datasets are named {name!r}: rename the folder of one")


def measure(
    gain: Gain, setup: Setup, files: CellFiles, progress: StageProgress | None, told: DatasetProgress | None
) -> Measured:
    """Learn all cells of a dataset, and pool those of its folds."""
    folds = [replace(setup, fold=Fold(n, gain.n_folds)) for n in range(gain.n_folds)]
    cells, n_train, parts = list[Cell](), 0, list[list[CellResult]]()
    for one in folds or [setup]:
        study = Study.open(one, progress)
        if not parts:  # The first fold holds out the most: what it can do, all can.
            n_train = len(study.images)
            cells = gain.quick_cells(study) if setup.quick else gain.cells(study)
        name = setup.data.name + (f", fold {one.fold.number + 1} of {gain.n_folds}" if one.fold else "")
        parts.append(run_cells(study, cells, files, told(name) if told else None))
    pooled = [pool(results) for results in zip(*parts, strict=True)]
    return Measured(
        setup.data.name,
        n_train=n_train,
        n_test=pooled[0].outcome.test.n_images,
        classes=study.classes.names,
        sheet=Sheet(pooled),
        models=[result for results in parts for result in results],
        skipped=[one for one in gain.masks if one not in gain.numbers(n_train)],
        unidentified=unidentified_in(study, cells),
    )


def unidentified_in(study: Study, cells: Sequence[Cell]) -> dict[tuple[str, Full], list[str]]:
    """Return names of labels that annotations cannot tell apart, for kinds with so many masks that have some.

    They are those of the first subset.
    """
    found: dict[tuple[str, Full], list[str]] = {}
    first = study.setup.seeds[0]
    for kinds, full in dict.fromkeys((one.annotations, one.full) for one in cells):
        photos = study.images.annotated(kinds, study.choice(kinds, full, first))
        classes = study.classes
        groups = unidentified_annotations([one.annotation() for one in photos], len(classes), classes.other)
        if groups:
            found[kinds, full] = [classes.names[label] for group in groups for label in group.labels]
    return found


def pool(results: Sequence[CellResult]) -> CellResult:
    """Return the results of a cell's folds as one: their images are judged together."""
    if len(results) == 1:
        return results[0]
    outcomes = [one.outcome for one in results]
    chosen = [one.about_model.get("chosen") for one in outcomes]
    outcome = Outcome(
        Confusions.joined([one.test for one in outcomes]),
        Confusions.joined([one.train for one in outcomes]),
        np.concatenate([one.weights for one in outcomes]),
        sum(one.seconds for one in outcomes),
        sum(one.learning_seconds for one in outcomes),
        # An estimate is of one model: those of folds are compared with what each of these comes to.
        {"chosen": chosen} if any(one is not None for one in chosen) else {},
    )
    return replace(results[0], outcome=outcome)


def write_gain(gain: Gain, setup: Setup, titles: Titles, measured: Sequence[Measured], out: Path) -> Finished:
    """Write all files."""
    findings = Findings(measured, gain.masks, gain.mixes)
    sections, checks = sections_of(findings, BASELINES), checks_of(findings, BASELINES)
    report = Report(TITLE, sections, checks, plots_of(findings))
    how = f"{gain.n_folds} folds of `{setup.train}`" if gain.n_folds else f"`{setup.test}`"
    heading = f"## {TITLE} ({setup.features_name}, {setup.protocol}, {how})"
    results = [result for one in measured for result in one.sheet.results]
    about = [data_note(gain, setup, measured), *skip_notes(measured), *parameter_notes(results)]
    page = page_text(titles, heading, about, report)
    rows = [{"dataset": one.name, **result.row} for one in measured for result in one.sheet.results]
    content = {
        **about_run(gain, setup, titles, measured),
        "rows": [plain(row) for row in rows],
        "recovered": recovered_rows(findings),
        "checks": [check.plain for check in checks],
        "seconds": round(sum(result.outcome.seconds for result in results), 2),
    }
    return write_files(titles.name, content, rows, report, page, out)


def data_note(gain: Gain, setup: Setup, measured: Sequence[Measured]) -> str:
    """Return a sentence about the images."""
    parts = [
        f"{one.name}: {one.n_train} images to learn from, {one.n_test} to judge by, "
        f"{len(one.classes)} classes"
        for one in measured
    ]
    how = f"Learned from `{setup.train}`, judged by `{setup.test}`"
    if gain.n_folds:
        how = f"Judged within `{setup.train}`: {gain.n_folds} folds take turns, and are pooled"
    return f"{'; '.join(parts)}. {how}{', quick' if setup.quick else ''}."


def skip_notes(measured: Sequence[Measured]) -> list[str]:
    """Return what was left out, and why."""
    names: dict[int, list[str]] = {}
    for one in measured:
        for number in one.skipped:
            names.setdefault(number, []).append(one.name)
    return [
        f"Left out, as there are too few images to learn from: {number} masks of {', '.join(some)}."
        for number, some in names.items()
    ]


def about_run(gain: Gain, setup: Setup, titles: Titles, measured: Sequence[Measured]) -> dict[str, Any]:
    """Return what was run on, in plain values."""
    return {
        "experiment": titles.name,
        "command": titles.command,
        "train": setup.train,
        "test": None if gain.n_folds else setup.test,
        "folds": gain.n_folds,
        "features": setup.features_name,
        "protocol": setup.protocol,
        "quick": setup.quick,
        "code": code_name(),
        "datasets": [
            {
                "name": one.name,
                "n_train": one.n_train,
                "n_test": one.n_test,
                "classes": list(one.classes),
                "skipped": list(one.skipped),
                "unidentified": [
                    {"annotations": kinds, "full": full, "labels": list(labels)}
                    for (kinds, full), labels in one.unidentified.items()
                ],
            }
            for one in measured
        ],
    }
