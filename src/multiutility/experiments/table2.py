"""The paper's table 2: kinds of weak annotations against the number of images with masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from multiutility.experiments.cells import Cell, Full
from multiutility.experiments.methods import LOGISTIC, OURS, RIDGE, SELF_STRONG
from multiutility.experiments.plots import Dots, dots
from multiutility.experiments.report import Check, Report, Runs, Sheet, pair_of, text_of
from multiutility.experiments.study import Study
from multiutility.markdown import table

FEW = 5
COLUMNS: tuple[Full, ...] = (0, FEW, "all")
# The paper's rows.
KINDS = ("none", "tags", "tags+seeds", "tags+boxes", "tags+boxes+seeds")
WEAK = KINDS[1:]
BASELINES = (LOGISTIC, RIDGE, SELF_STRONG)
NAIVE = (LOGISTIC, RIDGE)

# Accuracy and mean recall of the paper, on MSRC's test images; the last column is the same for all rows.
PAPER: dict[tuple[str, Full], tuple[float, float]] = {
    ("none", FEW): (0.300, 0.170),
    ("tags", 0): (0.385, 0.178),
    ("tags", FEW): (0.478, 0.273),
    ("tags+seeds", 0): (0.559, 0.346),
    ("tags+seeds", FEW): (0.574, 0.370),
    ("tags+boxes", 0): (0.597, 0.543),
    ("tags+boxes", FEW): (0.606, 0.546),
    ("tags+boxes+seeds", 0): (0.531, 0.567),
    ("tags+boxes+seeds", FEW): (0.542, 0.564),
    ("none", "all"): (0.648, 0.599),
}

PAPER_REMARK = " The paper's figures are those of MSRC's test split."

# What is known less about in the first is known in the second, too, and more.
MORE_KINDS = (
    ("tags", "tags+seeds"),
    ("tags", "tags+boxes"),
    ("tags+seeds", "tags+boxes+seeds"),
    ("tags+boxes", "tags+boxes+seeds"),
)


class Table2:
    """All cells of the table, and naive methods on the same features and annotations."""

    title = "Table 2: kinds of annotations"

    def cells(self, study: Study) -> list[Cell]:
        """Ours with all seeds first, then the others with the first."""
        if len(study.images) <= FEW:
            found = len(study.images)
            raise ValueError(f"{found} training images have masks: the table needs more than {FEW}")
        first, *others = study.setup.seeds
        ours = [Cell("none", "all", first), *(Cell(kinds, 0, first) for kinds in WEAK)]
        ours += [Cell(kinds, FEW, seed) for seed in (first, *others) for kinds in KINDS]
        pairs = product((0, FEW), WEAK, BASELINES if study.setup.baselines else ())
        return ours + [Cell(kinds, full, first, method) for full, kinds, method in pairs]

    def quick_cells(self, study: Study) -> list[Cell]:
        """Masks, tags, and tags with boxes."""
        seed = study.setup.seeds[0]
        return [Cell("none", "all", seed), Cell("tags", 0, seed), Cell("tags+boxes", FEW, seed)]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """Tables, a plot and checks."""
        with_paper = study.setup.protocol == "paper"
        sections = [
            scores_table(sheet, with_paper),
            "### Other methods on the same features\n\n" + baseline_table(sheet),
            "### What more supervision adds\n\n" + gain_table(sheet),
            "### Training images against test images\n\n" + gap_table(sheet),
        ]
        checks = [more_is_not_worse(sheet), naive_never_wins(sheet), self_training_loses(sheet)]
        if with_paper and not study.setup.quick:
            checks.append(better_than_paper(sheet))
        return Report(self.title, sections, checks, {"": plot(sheet, with_paper)})


def cell_runs(sheet: Sheet, kinds: str, full: Full) -> Runs:
    """Return ours of a cell; with all masks, annotations make no difference."""
    return sheet.runs("none" if full == "all" else kinds, full)


def scores_table(sheet: Sheet, with_paper: bool) -> str:
    """Return the table itself, with the paper's figures beside ours."""
    heads = ["annotations"]
    for full in COLUMNS:
        heads += [f"{full} full", "paper"] if with_paper else [f"{full} full"]
    rows = []
    for kinds in KINDS:
        row = [kinds]
        for full in COLUMNS:
            paper = PAPER.get(("none" if full == "all" else kinds, full))
            row.append(text_of(cell_runs(sheet, kinds, full)))
            row += [f"{paper[0]:.3f} / {paper[1]:.3f}" if paper else "-"] if with_paper else []
        rows.append(row)
    note = "Accuracy / mean recall / mean IoU, ± standard deviation over subsets."
    return f"{table(heads, rows)}\n\n{note}{PAPER_REMARK if with_paper else ''}"


def baseline_table(sheet: Sheet) -> str:
    """Return ours and the baselines on the same subset, for each cell with weak annotations."""
    heads = ["annotations", "full", OURS, *BASELINES, "masks only"]
    rows = []
    for full, kinds in product((0, FEW), WEAK):
        others = [sheet.runs(kinds, full, method) for method in BASELINES]
        ours = same_seeds(sheet.runs(kinds, full), others)
        masks = same_seeds(sheet.runs("none", full), others)
        rows.append([kinds, str(full), *map(text_of, (ours, *others, masks))])
    note = (
        "Boxes filled and tags spread, then a regression of superpixels; self-training imputes once, by the "
        "model of the masks or else from our start, and learns by the Hamming loss to that."
    )
    return f"{table(heads, rows)}\n\n{note}"


def same_seeds(runs: Runs, others: Sequence[Runs]) -> Runs:
    """Return the runs that others can be compared with; all of them if there are no others."""
    return next((runs.of_seeds(one) for one in others if one), runs)


def gap_table(sheet: Sheet) -> str:
    """Return scores on training and test images, and times."""
    rows = []
    for full, kinds in product(COLUMNS, KINDS):
        runs = sheet.runs(kinds, full)
        if runs:
            names = [kinds, str(full), text_of(runs), runs.train_scores.text]
            rows.append([*names, f"{runs.seconds:.0f}"])
    return table(["annotations", "full", "test", "train", "seconds"], rows)


def gain_table(sheet: Sheet) -> str:
    """Return differences between cells and those that know more, in points."""
    rows = []
    for (less, more), name in comparisons(sheet):
        gain = less.gain(more)
        rows.append([name, str(gain), "yes" if gain.worse else "no"])
    note = "Accuracy / mean recall, ± standard error by a paired bootstrap over images."
    return f"{table(['from and to', 'difference', 'worse beyond noise'], rows)}\n\n{note}"


def more_is_not_worse(sheet: Sheet) -> Check:
    """Compare cells with those that know more."""
    found, worse = [], []
    for (less, more), name in comparisons(sheet):
        gain = less.gain(more)
        found.append(name)
        if gain.worse:
            worse.append(f"{name} {gain}")
    detail = "; ".join(worse) or f"{len(found)} pairs of cells"
    claim = "More supervision does not hurt (two standard errors, paired bootstrap over images)"
    return Check(claim, not worse if found else None, detail)


def comparisons(sheet: Sheet) -> Iterator[tuple[tuple[Runs, Runs], str]]:
    """Yield pairs of cells of which the second knows more, and what is added."""
    pairs = [((less, full), (more, full)) for full in (0, FEW) for less, more in MORE_KINDS]
    pairs += [(("none", FEW), ("tags", FEW))]
    pairs += [((kinds, 0), (kinds, FEW)) for kinds in WEAK]
    named: list[tuple[tuple[str, Full], tuple[str, Full]]] = [*pairs]
    named += [((kinds, FEW), ("none", "all")) for kinds in KINDS]
    for first, second in named:
        less, more = sheet.runs(*first), sheet.runs(*second)
        if less and more:
            yield (less, more), f"{cell_name(*first)} to {cell_name(*second)}"


def cell_name(kinds: str, full: Full) -> str:
    """Return a short name.

    >>> cell_name("tags", 5), cell_name("none", "all")
    ('tags with 5 full', 'all full')
    """
    return "all full" if full == "all" else f"{kinds} with {full} full"


def naive_never_wins(sheet: Sheet) -> Check:
    """Compare ours with naive methods and masks alone, measure by measure."""
    wins, found = [], 0
    for full, kinds in product((0, FEW), WEAK):
        ours = sheet.runs(kinds, full)
        others = [(method, sheet.runs(kinds, full, method)) for method in NAIVE]
        if ours:
            others.append(("masks only", sheet.runs("none", full)))
        for method, runs in others:
            if ours and runs:
                found += 1
                wins += [f"{method} at {cell_name(kinds, full)}, {won}" for won in winning(ours, runs)]
    claim = "No naive baseline wins a cell on either measure"
    return Check(claim, not wins if found else None, "; ".join(wins) or f"{found} comparisons")


def winning(ours: Runs, others: Runs) -> list[str]:
    """Return the measures that others are better in, with both values."""
    mine, theirs = ours.of_seeds(others).scores, others.of_seeds(ours).scores
    pairs = {
        "accuracy": (theirs.accuracy, mine.accuracy),
        "mean recall": (theirs.mean_recall, mine.mean_recall),
    }
    # As printed: what is the same to three digits is the same.
    texts = {name: (f"{other:.3f}", f"{own:.3f}") for name, (other, own) in pairs.items()}
    return [f"{name} {other} to {own}" for name, (other, own) in texts.items() if float(other) > float(own)]


def self_training_loses(sheet: Sheet) -> Check:
    """Compare ours with self-training in all cells."""
    wins, found = [], 0
    for full, kinds in product((0, FEW), WEAK):
        ours, others = sheet.runs(kinds, full), sheet.runs(kinds, full, SELF_STRONG)
        if ours and others:
            found += 1
            wins += [f"{cell_name(kinds, full)}, {won}" for won in winning(ours, others)]
    claim = "Simultaneous minimization beats self-training in every cell"
    return Check(claim, not wins if found else None, "; ".join(wins) or f"{found} comparisons")


def better_than_paper(sheet: Sheet) -> Check:
    """Compare with the paper's figures."""
    below, found = [], 0
    for (kinds, full), (accuracy, recall) in PAPER.items():
        runs = sheet.runs(kinds, full)
        if runs:
            found += 1
            scores = runs.scores
            if scores.accuracy < accuracy or scores.mean_recall < recall:
                below.append(f"{cell_name(kinds, full)} {scores.text}")
    claim = "Better than the paper in every cell, on both measures"
    return Check(claim, not below if found else None, "; ".join(below) or f"{found} cells")


def plot(sheet: Sheet, with_paper: bool) -> Callable[[Path], None]:
    """Return what draws all cells."""
    series = []
    for color, full in enumerate(COLUMNS):
        runs = [cell_runs(sheet, kinds, full) for kinds in KINDS]
        series.append(Dots(f"{full} full", [pair_of(one) for one in runs], color))
    if with_paper:
        for color, full in enumerate(COLUMNS):
            cells = [("none" if full == "all" else kinds, full) for kinds in KINDS]
            series.append(Dots(f"{full} full, paper", [PAPER.get(one) for one in cells], color, paper=True))
    return dots(KINDS, series, "Kinds of annotations")
