"""The paper's figure: both measures against the number of masks, against alpha, and against beta."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multiutility.experiments.cells import Cell, Full
from multiutility.experiments.confusions import standard_errors
from multiutility.experiments.plots import Series, curves
from multiutility.experiments.report import Check, Report, Runs, Sheet, text_of
from multiutility.experiments.study import Study
from multiutility.markdown import table

# Numbers of images with masks, as far as there are so many.
RATES = (5, 10, 20, 40, 80, 160)
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
BETAS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Expected losses have no beta: the figure is on the paper's.
WITH_BETA = ("method", "paper")
# The paper's numbers of masks in the figure on alpha, of 276 training images.
OF_276 = (40, 80)
NO_NUMBERS = "The paper draws this figure without numbers; what it says of it is checked below."
# What the paper says that tags on all other images add while less than a fifth has masks.
FIFTH, GAIN = 0.2, 0.10


class RateFigure:
    """Both measures against the number of images with masks, with and without tags on all others."""

    title = "Figure (a): number of images with masks"

    def cells(self, study: Study) -> list[Cell]:
        """All numbers of masks, with tags on the others and without."""
        first = study.setup.seeds[0]
        numbers = self.numbers(study)
        some = [
            Cell(kinds, full, seed)
            for full in numbers
            for kinds in ("none", "tags")
            for seed in study.setup.seeds
        ]
        return [Cell("tags", 0, first), Cell("none", "all", first), *some]

    def quick_cells(self, study: Study) -> list[Cell]:
        """The fewest masks, with tags and without, and all masks."""
        first, fewest = study.setup.seeds[0], self.numbers(study)[0]
        return [Cell("none", fewest, first), Cell("tags", fewest, first), Cell("none", "all", first)]

    def numbers(self, study: Study) -> list[int]:
        """Numbers of masks, less than all images."""
        found = [number for number in RATES if number < len(study.images)]
        if not found:
            n_images = len(study.images)
            raise ValueError(f"{n_images} training images have masks: more than {RATES[0]} are needed")
        return found

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, a plot, and what tags add."""
        n_images = len(study.images)
        order: list[Full] = [0, *self.numbers(study), "all"]
        lines = {kinds: {full: sheet.runs(kinds, full) for full in order} for kinds in ("none", "tags")}
        lines["tags"]["all"] = lines["none"]["all"]
        rows = [[str(full), text_of(lines["none"][full]), text_of(lines["tags"][full])] for full in order]
        names = {"none": "masks only", "tags": "tags on all others"}
        places = {full: float(n_images if full == "all" else full) for full in order}
        series = [
            series_of(names[kinds], {places[full]: runs for full, runs in line.items()})
            for kinds, line in lines.items()
        ]
        sections = [table(["masks", *names.values()], rows), NO_NUMBERS]
        draw = curves(series, "images with masks", "Number of images with masks")
        return Report(self.title, sections, [tags_add(lines, n_images)], {"": draw})


def tags_add(lines: Mapping[str, Mapping[Full, Runs]], n_images: int) -> Check:
    """Check what tags on all other images add while few have masks."""
    gains = []
    for full, masks in lines["none"].items():
        tags = lines["tags"][full]
        if full != "all" and full < FIFTH * n_images and masks and tags:
            gains.append((full, masks.gain(tags)))
    claim = "Below 20 % masks, tags on all others add 10 to 15 points to both measures"
    if not gains:
        return Check(claim, None)
    least = min(min(gain.accuracy, gain.mean_recall) for _, gain in gains)
    means = np.mean([(gain.accuracy, gain.mean_recall) for _, gain in gains], axis=0)
    detail = "; ".join(f"{full} masks {gain}" for full, gain in gains)
    summary = f"on average {100 * means[0]:+.1f} / {100 * means[1]:+.1f} points, at least {100 * least:+.1f}"
    return Check(claim, bool(means.min() >= GAIN), f"{summary}; {detail}")


class AlphaFigure:
    """Both measures against alpha, with tags on all images but some."""

    title = "Figure (b): weight alpha of weak annotations"

    def cells(self, study: Study) -> list[Cell]:
        """All values of alpha, at both numbers of masks."""
        return [
            Cell("tags", full, seed, changes=(("alpha", alpha),))
            for full in self.numbers(study)
            for alpha in ALPHAS
            for seed in study.setup.seeds
        ]

    def quick_cells(self, study: Study) -> list[Cell]:
        """Three values, with the fewest masks."""
        full, seed = self.numbers(study)[0], study.setup.seeds[0]
        return [Cell("tags", full, seed, changes=(("alpha", alpha),)) for alpha in (0.01, 0.1, 1.0)]

    def numbers(self, study: Study) -> list[int]:
        """40 and 80 of 276, or in proportion."""
        return [max(1, round(number * len(study.images) / 276)) for number in OF_276]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, a plot, and where the best alpha is."""
        numbers = self.numbers(study)
        lines = {
            full: {alpha: sheet.runs("tags", full, changes=(("alpha", alpha),)) for alpha in ALPHAS}
            for full in numbers
        }
        rows = [[f"{alpha:g}", *(text_of(lines[full][alpha]) for full in numbers)] for alpha in ALPHAS]
        series = [series_of(f"{full} masks", line) for full, line in lines.items()]
        draw = curves(series, "alpha", "Weight of weak annotations", log_x=True)
        sections = [table(["alpha", *(f"{full} masks" for full in numbers)], rows), NO_NUMBERS]
        return Report(self.title, sections, [best_is_below(lines)], {"": draw})


def best_is_below(lines: Mapping[int, Mapping[float, Runs]]) -> Check:
    """Check that the best alpha, by the mean of both measures, is below 1."""
    best = {}
    for full, line in lines.items():
        known = {alpha: middle(runs) for alpha, runs in line.items() if runs}
        if len(known) > 1 and max(known) >= 1:
            best[full] = max(known, key=lambda alpha: known[alpha])
    claim = "The best alpha is below 1"
    detail = ", ".join(f"{alpha:g} at {full} masks" for full, alpha in best.items())
    return Check(claim, all(alpha < 1 for alpha in best.values()) if best else None, detail)


def middle(runs: Runs) -> float:
    """Mean of both measures."""
    return (runs.scores.accuracy + runs.scores.mean_recall) / 2


class BetaFigure:
    """Both measures against beta, without any masks."""

    title = "Figure (c): weight beta of boxes and seeds"
    kinds = ("tags+boxes", "tags+seeds")

    def cells(self, study: Study) -> list[Cell]:
        """All values of beta, for boxes and for seeds; there are no subsets."""
        first = study.setup.seeds[0]
        return [
            Cell(kinds, 0, first, changes=(("beta", beta), WITH_BETA))
            for kinds in self.kinds
            for beta in BETAS
        ]

    def quick_cells(self, study: Study) -> list[Cell]:
        """Three values, for boxes."""
        seed = study.setup.seeds[0]
        return [
            Cell(self.kinds[0], 0, seed, changes=(("beta", beta), WITH_BETA)) for beta in (0.1, 1.0, 10.0)
        ]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, a plot, and whether 1 is as good as the best."""
        del study
        lines = {
            kinds: {beta: sheet.runs(kinds, 0, changes=(("beta", beta), WITH_BETA)) for beta in BETAS}
            for kinds in self.kinds
        }
        rows = [[f"{beta:g}", *(text_of(line[beta]) for line in lines.values())] for beta in BETAS]
        series = [series_of(kinds, line, by_images=True) for kinds, line in lines.items()]
        draw = curves(series, "beta", "Weight of boxes and seeds", log_x=True)
        note = (
            "By the paper's losses of weak annotations; expected ones have no beta. Without masks there are "
            "no subsets: bars in the plot are standard errors over images."
        )
        sections = [table(["beta", *self.kinds], rows), f"{note} {NO_NUMBERS}"]
        return Report(self.title, sections, [one_is_best(kinds, lines[kinds]) for kinds in lines], {"": draw})


def one_is_best(kinds: str, line: Mapping[float, Runs]) -> Check:
    """Check that beta = 1 is within noise of the best beta, on both measures."""
    claim = f"beta = 1 is within noise of the best beta ({kinds})"
    known = {beta: runs for beta, runs in line.items() if runs}
    if len(known) < 2 or 1.0 not in known:
        return Check(claim, None)
    best = [
        max(known, key=lambda beta: known[beta].scores.accuracy),
        max(known, key=lambda beta: known[beta].scores.mean_recall),
    ]
    gains = {beta: known[beta].gain(known[1.0]) for beta in dict.fromkeys(best)}
    by_accuracy, by_recall = gains[best[0]], gains[best[1]]
    holds = (
        by_accuracy.accuracy >= -2 * by_accuracy.accuracy_error
        and by_recall.mean_recall >= -2 * by_recall.recall_error
    )
    detail = "; ".join(f"from {beta:g} to 1 {gain}" for beta, gain in gains.items())
    return Check(claim, holds, detail)


def series_of(name: str, line: Mapping[float, Runs], by_images: bool = False) -> Series:
    """Return a curve, with spreads over seeds, or standard errors over images."""
    known = {place: runs for place, runs in line.items() if runs}
    scores = [runs.scores for runs in known.values()]
    values = [(one.accuracy, one.mean_recall) for one in scores]
    spreads = [(float(one.spreads[0]), float(one.spreads[1])) for one in scores]
    if by_images:
        spreads = [standard_errors(runs.test)[:2] for runs in known.values()]
    return Series(name, list(known), values, spreads)
