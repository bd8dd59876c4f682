"""Whether it pays to ask a model which images to tag next: its suggestions against random choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multiutility.experiments.cells import Cell
from multiutility.experiments.methods import OURS, learn, method_parameters
from multiutility.experiments.report import Check, Runs, Sheet, text_of
from multiutility.experiments.study import Study
from multiutility.experiments.supervision import Supervision
from multiutility.markdown import table
from multiutility.vision.suggestions import Belief, Effort, Known, suggestions

if TYPE_CHECKING:
    from multiutility.experiments.budget import Costs

# Images that are tagged before anybody can ask: one of so many, but no less than it takes to learn anything.
FIRST, FEWEST = 10, 5
# What is spent on more of them, as parts of what the tags of all images take.
PARTS = (1 / 8, 1 / 4)
KINDS = "tags"
START, SUGGESTED, RANDOM = "start", "suggested", "random"
WAYS = (SUGGESTED, RANDOM)
CLAIM = "Images that the model suggests are worth more than random ones that take as many minutes to tag"


@dataclass(frozen=True)
class NextLabels:
    """Some random images are tagged; a model that has learned from them says which to tag next.

    With the same minutes, others are tagged in random order. Each seed begins with other images.
    """

    costs: Costs

    def cells(self, study: Study) -> list[Cell]:
        """For each seed: the first images alone, and with those that the two ways choose."""
        return [cell for seed in study.setup.seeds for cell in self.of_seed(study, seed)]

    def of_seed(self, study: Study, seed: int) -> list[Cell]:
        """Return the cells of one beginning."""
        order = np.random.default_rng(seed).permutation(len(study.images)).tolist()
        n_first = first_of(len(order))
        first, rest = order[:n_first], order[n_first:]
        orders = {SUGGESTED: self.suggested(study, first, rest), RANDOM: rest}
        cells = [cell_of(seed, first, START, 0.0)]
        for minutes in self.minutes(study):
            for name, others in orders.items():
                cells.append(cell_of(seed, [*first, *self.affordable(study, others, minutes)], name, minutes))
        return cells

    def minutes(self, study: Study) -> list[float]:
        """Return the budgets."""
        whole = sum(self.costs.weak(study.images, n, KINDS) for n in range(len(study.images))) / 60
        return [round(part * whole, 2) for part in PARTS]

    def affordable(self, study: Study, order: Iterable[int], minutes: float) -> list[int]:
        """Return the images, in this order, whose tags can be paid."""
        bought, left = list[int](), 60 * minutes
        for n in order:
            left -= self.costs.weak(study.images, n, KINDS)
            if left < 0:
                break
            bought.append(n)
        return bought

    def suggested(self, study: Study, first: Sequence[int], rest: Sequence[int]) -> list[int]:
        """Return the other images, in the order of the suggestions of a model of the first."""
        names, prepared = study.images.names, study.training.prepared
        parameters = method_parameters(OURS, study.setup.changes)
        given = {**parameters, "random_state": study.setup.random_state}
        training = study.training_set(KINDS, Supervision((), tuple(first)))
        predictor = learn(OURS, training, given, n_jobs=study.setup.n_jobs)
        everyone = [*first, *rest]
        labelings = predictor.labelings([prepared[n] for n in everyone], study.setup.n_jobs)
        beliefs = {
            names[n]: Belief.of(predictor, prepared[n], labels)
            for n, labels in zip(everyone, labelings, strict=True)
        }
        known = {names[n]: Known(tags=study.images.weak(n, KINDS).labels) for n in first}
        found = suggestions(beliefs, known, study.classes.kinds, Effort(self.costs.seconds))
        number = {names[n]: n for n in rest}
        return [number[one.name] for one in found if one.action == "tags" and one.name in number]

    def section(self, sheet: Sheet) -> str:
        """Return a table of both ways."""
        budgets, start = budgets_of(sheet), runs_of(sheet, START, 0.0)
        heads = ["images", "start", *(f"+ {one:g} min" for one in budgets)]
        rows = [[way, text_of(start), *(text_of(runs_of(sheet, way, m)) for m in budgets)] for way in WAYS]
        note = (
            "Some random images are tagged, another set for each seed. Then images are added, as the model "
            "of the first ones suggests, or in random order, and tagged, for the same minutes."
        )
        return f"### What to label next\n\n{note}\n\n{table(heads, rows)}"

    def check(self, sheet: Sheet) -> Check:
        """Check that suggestions are better beyond noise: both measures, by more than two standard errors.

        Errors are over seeds, of differences between cells of the same seed, in the mean over budgets.
        """
        gains = np.array(list(paired(sheet)))
        if len(gains) < 2:
            return Check(CLAIM, None)
        means, errors = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
        (accuracy, recall), (one, two) = 100 * means, 100 * errors
        detail = f"{accuracy:+.1f} ± {one:.1f} / {recall:+.1f} ± {two:.1f} points, {len(gains)} seeds"
        return Check(CLAIM, bool((means > 2 * errors).all()), detail)


def first_of(n_images: int) -> int:
    """Return how many images are tagged at first.

    >>> first_of(276), first_of(20)
    (28, 5)
    """
    return max(FEWEST, round(n_images / FIRST))


def cell_of(seed: int, chosen: Sequence[int], way: str, minutes: float) -> Cell:
    """Return the cell of some tagged images."""
    about = (("next", way), ("minutes", minutes))
    return Cell(KINDS, 0, seed, choice=Supervision((), tuple(sorted(chosen))), about=about)


def budgets_of(sheet: Sheet) -> list[float]:
    """Return the budgets that were spent."""
    about = [dict(one.cell.about) for one in sheet.results]
    return sorted({one["minutes"] for one in about if one.get("next") in WAYS})


def runs_of(sheet: Sheet, way: str, minutes: float) -> Runs:
    """Return the runs of a way with a budget."""
    wanted = {("next", way), ("minutes", minutes)}
    return Runs([one for one in sheet.results if wanted <= set(one.cell.about)])


def paired(sheet: Sheet) -> Iterator[tuple[float, float]]:
    """Yield for each seed what suggestions gain in both measures, in the mean over budgets."""
    by_seed: dict[int, list[tuple[float, float]]] = {}
    for minutes in budgets_of(sheet):
        ways = [
            {one.cell.seed: one.outcome.test for one in runs_of(sheet, way, minutes).results} for way in WAYS
        ]
        for seed in sorted(ways[0].keys() & ways[1].keys()):
            a, b = ways[0][seed], ways[1][seed]
            gain = (a.accuracy - b.accuracy, a.mean_recall - b.mean_recall)
            by_seed.setdefault(seed, []).append(gain)
    for gains in by_seed.values():
        accuracy, recall = np.mean(gains, axis=0).tolist()
        yield accuracy, recall
