"""Whether it pays to ask a model what to annotate next: its suggestions against random choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multiutility.experiments.cells import Cell
from multiutility.experiments.methods import OURS, learn, method_parameters
from multiutility.experiments.report import Check, Runs, Sheet, text_of
from multiutility.experiments.study import Study
from multiutility.experiments.supervision import LabeledImages, Part, Supervision
from multiutility.kinds import BY_DETAIL
from multiutility.kinds.mask import MASK
from multiutility.kinds.seeds import SEEDS
from multiutility.kinds.tags import TAGS
from multiutility.markdown import table
from multiutility.vision.suggestions import MARKS, Belief, Effort, Known, suggestions

if TYPE_CHECKING:
    from multiutility.experiments.budget import Costs

# Images that are annotated before anybody can ask: one of so many, but no less than it takes to learn
# anything. They have points in all segments: tags alone may not tell labels apart.
FIRST, FEWEST = 10, 5
KINDS, BEGINNING = "points", ((TAGS.name, None), (SEEDS.name, None))
# What is spent on more, as parts of what the tags of all images take.
PARTS = (1 / 8, 1 / 4)
START, SUGGESTED, RANDOM, TAGGED = "start", "suggested", "random", "tags of random images"
WAYS = (SUGGESTED, RANDOM, TAGGED)
CLAIMS = {
    RANDOM: "What the model suggests is worth more than random annotations of random images",
    TAGGED: "What the model suggests is worth more than tags of random images",
}
# So many times in a row nothing that is drawn can be paid: then the money is spent.
IN_VAIN = 100


class Basket:
    """What has been bought so far, part by part; some ``first`` images have points in all segments."""

    def __init__(self, images: LabeledImages, costs: Costs, first: Sequence[int]) -> None:
        self.images, self.costs = images, costs
        self.parts: dict[int, list[Part]] = {n: [*BEGINNING] for n in sorted(first)}

    def has(self, n: int, part: Part) -> bool:
        """Whether an image has a part, alone or with others."""
        own = self.parts.get(n, [])
        return (MASK.name, None) in own or (part[0], None) in own or part in own

    def price(self, n: int, part: Part) -> float:
        """Seconds that a part takes: tags of labels that are not marked yet, or marks, at least one."""
        name, label = part
        each = self.costs.seconds[name]
        if name == MASK.name:
            return each
        if name == TAGS.name:
            return each * max(len(self.present(n) - self.marked(n)), 1)
        kind = next(one for one in MARKS if one.name == name)
        return each * max(kind.count(self.images.part_of(n, (name, label))), 1)

    def add(self, n: int, part: Part) -> None:
        """Buy a part."""
        self.parts.setdefault(n, []).append(part)

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        return sum(map(len, self.parts.values()))

    def present(self, n: int) -> set[int]:
        """Labels that are in an image."""
        return set(TAGS.labels(self.images.part_of(n, (TAGS.name, None))))

    def marked(self, n: int) -> set[int]:
        """Labels whose places in an image are annotated."""
        names = [kind.name for kind in MARKS]
        own = [part for part in self.parts.get(n, []) if part[0] in names]
        return {label for _, label in own if label is not None} or (self.present(n) if own else set())

    def known(self, n: int) -> Known:
        """What is annotated of an image, as suggestions have it."""
        own = self.parts.get(n, [])
        labels: dict[str, Any] = {MASK.name: (MASK.name, None) in own}
        for name, label in own:
            if name != MASK.name:
                found = self.present(n) if label is None else {label}
                labels[name] = labels.get(name, frozenset()) | found
        return Known(**labels)

    @property
    def choice(self) -> Supervision:
        """All that has been bought."""
        masks = [n for n, own in self.parts.items() if (MASK.name, None) in own]
        weak = sorted(set(self.parts) - set(masks))
        return Supervision(tuple(sorted(masks)), tuple(weak), tuple((n, tuple(self.parts[n])) for n in weak))


@dataclass(frozen=True)
class NextLabels:
    """Some random images have points; a model that has learned from them says what to annotate next.

    With the same minutes, random images get a random kind of annotation, or tags. Each seed begins with
    other images.
    """

    costs: Costs

    def cells(self, study: Study) -> list[Cell]:
        """For each seed: the first images alone, and with what the ways add."""
        return [cell for seed in study.setup.seeds for cell in self.of_seed(study, seed)]

    def of_seed(self, study: Study, seed: int) -> list[Cell]:
        """Return the cells of one beginning."""
        order = np.random.default_rng(seed).permutation(len(study.images)).tolist()
        first, rest = order[: first_of(len(order))], order[first_of(len(order)) :]
        beliefs = self.beliefs(study, first)
        cells = [cell_of(seed, Basket(study.images, self.costs, first), START, 0.0)]
        for minutes in self.minutes(study):
            baskets = {way: Basket(study.images, self.costs, first) for way in WAYS}
            spend(baskets[SUGGESTED], suggested(study, baskets[SUGGESTED], beliefs), 60 * minutes)
            spend(baskets[RANDOM], at_random(baskets[RANDOM], len(order), seed), 60 * minutes)
            spend(baskets[TAGGED], ((n, (TAGS.name, None)) for n in rest), 60 * minutes)
            cells += [cell_of(seed, basket, way, minutes) for way, basket in baskets.items()]
        return cells

    def minutes(self, study: Study) -> list[float]:
        """Return the budgets."""
        whole = sum(self.costs.weak(study.images, n, TAGS.name) for n in range(len(study.images))) / 60
        return [round(part * whole, 2) for part in PARTS]

    def beliefs(self, study: Study, first: Sequence[int]) -> dict[str, Belief]:
        """Return what a model of the first images thinks of all."""
        images, prepared = study.images, study.training.prepared
        parameters = method_parameters(OURS, study.setup.changes)
        given = {**parameters, "random_state": study.setup.random_state}
        training = study.training_set(KINDS, Basket(images, self.costs, first).choice)
        predictor = learn(OURS, training, given, n_jobs=study.setup.n_jobs)
        labelings = predictor.labelings(prepared, study.setup.n_jobs)
        return {
            name: Belief.of(predictor, one, labels)
            for name, one, labels in zip(images.names, prepared, labelings, strict=True)
        }

    def section(self, sheet: Sheet) -> str:
        """Return a table of all ways."""
        budgets, start = budgets_of(sheet), runs_of(sheet, START, 0.0)
        heads = ["annotated", "start", *(f"+ {one:g} min" for one in budgets)]
        rows = [[way, text_of(start), *(text_of(runs_of(sheet, way, m)) for m in budgets)] for way in WAYS]
        note = (
            "Some random images have points in all segments, another set for each seed. With the same "
            "minutes, what the model of these suggests is annotated (image, kind and label), or a random "
            "kind of random images, or the tags of random images."
        )
        return f"### What to label next\n\n{note}\n\n{table(heads, rows)}"

    def checks(self, sheet: Sheet) -> list[Check]:
        """Check that suggestions are better beyond noise: both measures, by more than two standard errors.

        Errors are over seeds, of differences between cells of the same seed, in the mean over budgets.
        """
        return [check_of(claim, list(paired(sheet, other))) for other, claim in CLAIMS.items()]


def spend(basket: Basket, wishes: Iterator[tuple[int, Part]], seconds: float) -> None:
    """Buy what is wished for, one after the other; what costs more than is left is passed over."""
    in_vain = 0
    for n, part in wishes:
        price = basket.price(n, part)
        in_vain += 1
        if price <= seconds and not basket.has(n, part):
            basket.add(n, part)
            seconds -= price
            in_vain = 0
        elif in_vain >= IN_VAIN:
            break


def suggested(study: Study, basket: Basket, beliefs: Mapping[str, Belief]) -> Iterator[tuple[int, Part]]:
    """Yield what is suggested, from the top of the list to its end; then of a new list, while any helps."""
    names = study.images.names
    number = {name: n for n, name in enumerate(names)}
    effort, bought = Effort(basket.costs.seconds), -1
    while bought < basket.n_parts:
        bought = basket.n_parts
        known = {names[n]: basket.known(n) for n in basket.parts}
        for one in suggestions(beliefs, known, study.classes.kinds, effort):
            yield number[one.name], (one.action, one.label)


def at_random(basket: Basket, n_images: int, seed: int) -> Iterator[tuple[int, Part]]:
    """Yield random kinds of random images: a mask, tags, or marks of a label that is there, without end."""
    rng = np.random.default_rng([seed, 1])
    kinds = [kind for kind in BY_DETAIL if kind in (MASK, TAGS, *MARKS)]
    while True:
        n = int(rng.integers(n_images))
        kind = kinds[int(rng.integers(len(kinds)))]
        label = int(rng.choice(sorted(basket.present(n)))) if kind in MARKS else None
        yield n, (kind.name, label)


def first_of(n_images: int) -> int:
    """Return how many images are annotated at first.

    >>> first_of(276), first_of(20)
    (28, 5)
    """
    return max(FEWEST, round(n_images / FIRST))


def cell_of(seed: int, basket: Basket, way: str, minutes: float) -> Cell:
    """Return the cell of what has been bought."""
    about = (("next", way), ("minutes", minutes))
    return Cell(KINDS, len(basket.choice.masks), seed, choice=basket.choice, about=about)


def budgets_of(sheet: Sheet) -> list[float]:
    """Return the budgets that were spent."""
    about = [dict(one.cell.about) for one in sheet.results]
    return sorted({one["minutes"] for one in about if one.get("next") in WAYS})


def runs_of(sheet: Sheet, way: str, minutes: float) -> Runs:
    """Return the runs of a way with a budget."""
    wanted = {("next", way), ("minutes", minutes)}
    return Runs([one for one in sheet.results if wanted <= set(one.cell.about)])


def paired(sheet: Sheet, other: str) -> Iterator[tuple[float, float]]:
    """Yield for each seed what suggestions gain in both measures on another way, in the mean over budgets."""
    by_seed: dict[int, list[tuple[float, float]]] = {}
    for minutes in budgets_of(sheet):
        ways = [
            {one.cell.seed: one.outcome.test for one in runs_of(sheet, way, minutes).results}
            for way in (SUGGESTED, other)
        ]
        for seed in sorted(ways[0].keys() & ways[1].keys()):
            a, b = ways[0][seed], ways[1][seed]
            gain = (a.accuracy - b.accuracy, a.mean_recall - b.mean_recall)
            by_seed.setdefault(seed, []).append(gain)
    for gains in by_seed.values():
        accuracy, recall = np.mean(gains, axis=0).tolist()
        yield accuracy, recall


def check_of(claim: str, found: Sequence[tuple[float, float]]) -> Check:
    """Check that gains of seeds are more than two standard errors in both measures."""
    gains = np.array(found)
    if len(gains) < 2:
        return Check(claim, None)
    means, errors = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    (accuracy, recall), (one, two) = 100 * means, 100 * errors
    detail = f"{accuracy:+.1f} ± {one:.1f} / {recall:+.1f} ± {two:.1f} points, {len(gains)} seeds"
    return Check(claim, bool((means > 2 * errors).all()), detail)
