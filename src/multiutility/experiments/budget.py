"""What a person should buy: both measures against the minutes that annotations take, for several mixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from multiutility.experiments.cells import Cell
from multiutility.experiments.figures import middle, series_of
from multiutility.experiments.next_labels import NextLabels
from multiutility.experiments.plots import curves
from multiutility.experiments.report import Check, Report, Runs, Sheet, text_of
from multiutility.experiments.study import Study
from multiutility.experiments.supervision import LabeledImages, Supervision
from multiutility.kinds import BY_DETAIL, Kind
from multiutility.kinds.mask import MASK
from multiutility.kinds.tags import TAGS
from multiutility.markdown import table
from multiutility.vision.suggestions import SECONDS

# In the order of what they usually cost.
CHEAPEST = BY_DETAIL[::-1]
# Budgets as parts of what the masks of all training images take.
PARTS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4)
# Mixes differ by more than what the model suggests does from random choice: they need no more subsets.
MOST_SEEDS = 3


@dataclass(frozen=True, init=False)
class Costs:
    """Seconds for an annotation of each kind, such as ``boxes=10``: a tag, a point, a stroke, a mask."""

    seconds: Mapping[str, float]

    def __init__(self, **seconds: float) -> None:
        unknown = [name for name in seconds if name not in SECONDS]
        if unknown:
            raise TypeError(f"there are no annotations {unknown[0]!r}: expected {', '.join(SECONDS)}")
        object.__setattr__(self, "seconds", {**SECONDS, **seconds})
        for kind in CHEAPEST:
            value = self.seconds[kind.name]
            if not 0 < value < np.inf:
                raise ValueError(f"a {kind.words.one} costs {value} seconds: expected a positive number")

    @property
    def mask(self) -> float:
        """Seconds for the mask of a whole image."""
        return self.seconds[MASK.name]

    def weak(self, images: LabeledImages, n: int, kinds: str) -> float:
        """Seconds for the weak annotation of an image; who marks a label need not write its tag."""
        one = images.weak(n, kinds)
        weak = [kind for kind in CHEAPEST if kind not in (MASK, TAGS)]
        marked = {label for kind in weak for label in kind.labels(one.value(kind))}
        written = len(set(TAGS.labels(one.tags)) - marked)
        marks = sum(self.seconds[kind.name] * kind.count(one.value(kind)) for kind in weak)
        return marks + written * self.seconds[TAGS.name]

    def __str__(self) -> str:
        told = [f"{kind.words.one} {self.seconds[kind.name]:g}" for kind in bought() if kind is not MASK]
        return f"Seconds for one: {', '.join(told)}, mask of an image {self.mask:g}"


@dataclass(frozen=True)
class Mix:
    """What money goes to: a part of it to masks, the rest to weak annotations of other images."""

    name: str
    kinds: str
    masks: float


MIXES = (
    Mix("masks", "none", 1.0),
    Mix("tags", "tags", 0.0),
    Mix("tags and points", "tags+seeds", 0.0),
    Mix("tags and boxes", "tags+boxes", 0.0),
    Mix("tags and areas", "tags+areas", 0.0),
    Mix("points in all segments", "points", 0.0),
    Mix("scribbles in all segments", "scribbles", 0.0),
    Mix("half masks, half tags", "tags", 0.5),
    Mix("half masks, half tags and boxes", "tags+boxes", 0.5),
    Mix("half masks, half points in all segments", "points", 0.5),
)


def bought() -> list[Kind]:
    """Kinds that some mix has, the cheapest first."""
    named = {name for mix in MIXES for name in mix.kinds.split("+")}
    return [kind for kind in CHEAPEST if kind is MASK or kind.name in named]


@dataclass(frozen=True)
class Purchase:
    """What a budget has bought, and the seconds that it took."""

    choice: Supervision
    seconds: float

    def covers(self, images: LabeledImages) -> bool:
        """Whether all images are annotated."""
        return len(self.choice.masks) + len(self.choice.weak) == len(images)


def buy(images: LabeledImages, mix: Mix, seconds: float, costs: Costs, seed: int) -> Purchase:
    """Spend a budget: masks of a subset first, then weak annotations of others in random order.

    What is left when all images are annotated goes to more masks.
    """
    least = min(int(mix.masks * seconds // costs.mask), len(images))
    bought = spend(images, mix, least, seconds, costs, seed)
    if mix.kinds == "none" or not bought.covers(images):
        return bought
    # The most masks with which there is still money for all other images.
    most = len(images) + 1
    while most - least > 1:
        number = (least + most) // 2
        tried = spend(images, mix, number, seconds, costs, seed)
        if tried.covers(images) and tried.seconds <= seconds:
            least, bought = number, tried
        else:
            most = number
    return bought


def spend(images: LabeledImages, mix: Mix, n_masks: int, seconds: float, costs: Costs, seed: int) -> Purchase:
    """Buy so many masks, and weak annotations while there is money."""
    masks = images.subset(n_masks, seed)
    spent, weak = n_masks * costs.mask, list[int]()
    if mix.kinds != "none":
        for n in np.random.default_rng(seed).permutation(len(images)).tolist():
            cost = 0.0 if n in masks else costs.weak(images, n, mix.kinds)
            if spent + cost > seconds:
                break
            if n not in masks:
                weak.append(n)
            spent += cost
    return Purchase(Supervision(masks, tuple(sorted(weak))), spent)


@dataclass(frozen=True)
class Budget:
    """Mixes under several budgets; ``minutes`` are parts of what all masks take, unless given."""

    costs: Costs = field(default_factory=Costs)
    minutes: Sequence[float] = ()
    title: str = "What to annotate: accuracy by minutes"

    def budgets(self, study: Study) -> list[float]:
        """Return the budgets, in minutes."""
        whole = len(study.images) * self.costs.mask / 60
        return list(self.minutes) or [round(part * whole, 1) for part in PARTS]

    def cells(self, study: Study) -> list[Cell]:
        """All mixes under all budgets that buy anything, and those of ``NextLabels``."""
        return [
            cell
            for minutes in self.budgets(study)
            for mix in MIXES
            for seed in study.setup.seeds[:MOST_SEEDS]
            for cell in self.bought(study, mix, minutes, seed)
        ] + NextLabels(self.costs).cells(study)

    def quick_cells(self, study: Study) -> list[Cell]:
        """The first mixes under the largest budget."""
        minutes, seed = self.budgets(study)[-1], study.setup.seeds[0]
        mixes = (MIXES[0], MIXES[1], MIXES[3])
        return [cell for mix in mixes for cell in self.bought(study, mix, minutes, seed)]

    def bought(self, study: Study, mix: Mix, minutes: float, seed: int) -> list[Cell]:
        """Return the cell of a purchase; none if the budget is too small for anything."""
        purchase = buy(study.images, mix, 60 * minutes, self.costs, seed)
        masks, weak = purchase.choice.masks, purchase.choice.weak
        if not masks and not weak:
            return []
        about = (("mix", mix.name), ("budget", minutes), ("minutes", round(purchase.seconds / 60, 2)))
        return [Cell(mix.kinds, len(masks), seed, choice=purchase.choice, about=about)]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, a plot, and the best mix for each budget."""
        budgets = self.budgets(study)
        lines = {mix.name: {one: mix_runs(sheet, mix.name, one) for one in budgets} for mix in MIXES}
        rows = [[name, *(text_of(line[one]) for one in budgets)] for name, line in lines.items()]
        best = [self.best(lines, one) for one in budgets]
        heads = ["mix", *(f"{one:g} min" for one in budgets)]
        draw = curves([series_of(n, line) for n, line in lines.items()], "minutes", self.title, log_x=True)
        costs = self.costs
        note = (
            f"{costs}. Money that is left when all images are annotated goes to masks. The best mix is that "
            "of the highest mean of accuracy and recall."
        )
        chosen = NextLabels(costs)
        sections = [table(heads, [*rows, ["**best**", *best]]), note, bought_table(lines)]
        checks = [weak_pays(lines), *chosen.checks(sheet)]
        return Report(self.title, [*sections, chosen.section(sheet)], checks, {"": draw})

    def best(self, lines: dict[str, dict[float, Runs]], minutes: float) -> str:
        """Return the name of the best mix."""
        known = {name: middle(line[minutes]) for name, line in lines.items() if line[minutes]}
        return max(known, key=lambda name: known[name]) if known else "-"


def mix_runs(sheet: Sheet, mix: str, minutes: float) -> Runs:
    """Return the runs of a mix under a budget, whatever it bought."""
    wanted = {("mix", mix), ("budget", minutes)}
    return Runs([one for one in sheet.results if wanted <= set(one.cell.about)])


def bought_table(lines: dict[str, dict[float, Runs]]) -> str:
    """Return what the budgets bought: images with masks and with weak annotations."""
    rows = []
    for name, line in lines.items():
        for minutes, runs in line.items():
            if runs:
                full = np.mean([one.cell.full for one in runs.results if one.cell.full != "all"])
                every = np.mean([one.n_images for one in runs.results])
                rows.append([name, f"{minutes:g}", f"{full:.1f}", f"{every - full:.1f}"])
    return "### What was bought\n\n" + table(["mix", "minutes", "masks", "weak"], rows)


def weak_pays(lines: dict[str, dict[float, Runs]]) -> Check:
    """Check that some mix with weak annotations is better than masks alone, under every budget."""
    found, lost = 0, []
    for minutes, masks in lines["masks"].items():
        others = [middle(line[minutes]) for name, line in lines.items() if name != "masks" and line[minutes]]
        if masks and others:
            found += 1
            lost += [f"{minutes:g} min"] if max(others) <= middle(masks) else []
    claim = "Under every budget, some mix with weak annotations beats masks alone"
    return Check(claim, not lost if found else None, ", ".join(lost) or f"{found} budgets")
