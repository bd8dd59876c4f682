"""Suggestions against random choice: fair to both, and a check that can say no."""

from __future__ import annotations

import numpy as np
import pytest

from multiutility.experiments.budget import Budget, Costs
from multiutility.experiments.cells import Cell, CellResult
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.next_labels import (
    START,
    TAGGED,
    WAYS,
    Basket,
    NextLabels,
    at_random,
    first_of,
    spend,
    suggested,
)
from multiutility.experiments.report import Sheet
from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.experiments.supervision import LabeledImages, Part
from toy import BOAT, toy_preset, write_toy

N_IMAGES = 24


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    toy = write_toy(tmp_path_factory.mktemp("toy") / "toy", n_train=N_IMAGES, n_validation=4)
    setup = Setup(toy.path, "train", "validation", toy_preset(), n_seeds=2, changes={"tol": 0.5})
    return Study.open(setup)


def test_all_ways_begin_alike_and_spend_no_more(study: Study) -> None:
    part, images = NextLabels(Costs()), study.images
    cells = part.cells(study)
    assert cells == part.cells(study)
    assert set(cells) <= set(Budget(minutes=(1.0,)).cells(study))
    for seed in study.setup.seeds:
        mine = [cell for cell in cells if cell.seed == seed]
        (first,) = [bought(cell) for cell in mine if ("next", START) in cell.about]
        assert len(first) == 2 * first_of(N_IMAGES)
        for minutes in part.minutes(study):
            for way in WAYS:
                (cell,) = [one for one in mine if {("next", way), ("minutes", minutes)} <= set(one.about)]
                kept = {(n, one) for n, one in first if n not in masks_of(cell)}
                added = bought(cell) - first
                assert bought(cell) >= kept
                assert added
                assert seconds_of(images, cell, added) <= 60 * minutes
                if way == TAGGED:
                    assert {one for _, one in added} == {("tags", None)}


def bought(cell: Cell) -> set[tuple[int, Part]]:
    """What a cell has of each image."""
    assert cell.choice is not None
    parts = {(n, one) for n, own in cell.choice.parts for one in own}
    return parts | {(n, ("mask", None)) for n in cell.choice.masks}


def masks_of(cell: Cell) -> tuple[int, ...]:
    assert cell.choice is not None
    return cell.choice.masks


def seconds_of(images: LabeledImages, cell: Cell, added: set[tuple[int, Part]]) -> float:
    """What was added takes at least, counted from the annotations themselves."""
    seconds = 240.0 * len(masks_of(cell))
    for n, (name, label) in added:
        every = images.weak(n, "tags+boxes" if name == "boxes" else "points")
        if name in ("boxes", "seeds"):
            entries = every.boxes if name == "boxes" else every.seeds
            each = 10 if name == "boxes" else 3
            seconds += each * max(1, sum(entry.label == label for entry in entries))
        elif name == "tags":
            placed = {one for m, (kind, one) in added if m == n and kind != "tags"}
            seconds += 2 * max(0, len(set(every.tags) - placed))
    return seconds


def test_images_have_what_was_bought_of_them(study: Study) -> None:
    images = study.images
    n = next(n for n in range(N_IMAGES) if (images.masks[n] == BOAT + 1).any())
    basket = Basket(images, Costs(), [])
    price = basket.price(n, ("tags", None))
    basket.add(n, ("boxes", BOAT))
    assert basket.price(n, ("tags", None)) == max(price - 2, 2)
    basket.add(n, ("scribbles", BOAT))
    photos = images.annotated("points", basket.choice)
    found = photos[0].annotation()
    assert {box.label for box in found.boxes} == {BOAT}
    assert len(found.boxes) == sum(box.label == BOAT for box in images.weak(n, "tags+boxes").boxes)
    assert found.scribbles is not None
    assert set(np.unique(found.scribbles).tolist()) == {0, BOAT + 1}
    assert (found.tags, found.seeds) == ((), ())
    assert basket.known(n).labels == {"boxes": {BOAT}, "scribbles": {BOAT}}
    basket.add(n, ("mask", None))
    assert basket.choice.masks == (n,)
    assert basket.choice.parts == ()
    assert all(basket.has(n, part) for part in [("tags", None), ("seeds", BOAT)])


def test_what_was_never_seen_is_suggested_first(study: Study) -> None:
    boats = [n for n in range(N_IMAGES) if (study.images.masks[n] == BOAT + 1).any()]
    others = [n for n in range(N_IMAGES) if n not in boats]
    assert len(boats) >= 2
    part = NextLabels(Costs())
    basket = Basket(study.images, part.costs, others[:6])
    order = [n for n, _ in suggested(study, basket, part.beliefs(study, others[:6]))]
    assert order[0] in boats


def test_money_ends_random_wishes(study: Study) -> None:
    basket = Basket(study.images, Costs(), [0])
    spend(basket, at_random(basket, N_IMAGES, 0), 30.0)
    assert basket.choice.masks == ()
    more = Basket(study.images, Costs(), [0])
    spend(more, at_random(more, N_IMAGES, 0), 1e9)
    assert len(more.choice.masks) == N_IMAGES


def outcome(right: float) -> Outcome:
    confusions = Confusions.of([np.array([[right, 1 - right], [1 - right, right]]) * 1000] * 3)
    return Outcome(confusions, confusions, np.zeros(2), 1.0, 1.0)


@pytest.mark.parametrize(("gains", "holds"), [((0.1, 0.12), True), ((0.1, -0.1), False), ((0.1,), None)])
def test_check(study: Study, gains: tuple[float, ...], holds: bool | None) -> None:
    part = NextLabels(Costs())
    cells = [cell for cell in part.cells(study) if cell.seed < len(gains)]
    results = []
    for cell in cells:
        extra = gains[cell.seed] if ("next", "suggested") in cell.about else 0.0
        results.append(CellResult(cell, "toy", "paper", 9, {}, outcome(0.6 + extra)))
    assert [check.holds for check in part.checks(Sheet(results))] == [holds, holds]
    section = part.section(Sheet(results))
    assert "| random | 0.600" in section
    assert section.count("| suggested |") == 1
