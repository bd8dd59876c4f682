"""Suggestions against random choice: fair to both, and a check that can say no."""

from __future__ import annotations

import numpy as np
import pytest

from multiutility.experiments.budget import Budget, Costs
from multiutility.experiments.cells import Cell, CellResult
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.next_labels import START, WAYS, NextLabels, first_of
from multiutility.experiments.report import Sheet
from multiutility.experiments.study import Outcome, Setup, Study
from toy import BOAT, toy_preset, write_toy

N_IMAGES = 24


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    toy = write_toy(tmp_path_factory.mktemp("toy") / "toy", n_train=N_IMAGES, n_validation=4)
    setup = Setup(toy.path, "train", "validation", toy_preset(), n_seeds=2, changes={"tol": 0.5})
    return Study.open(setup)


def test_both_ways_begin_alike_and_spend_the_same(study: Study) -> None:
    part = NextLabels(Costs())
    cells = part.cells(study)
    assert cells == part.cells(study)
    assert set(cells) <= set(Budget(minutes=(1.0,)).cells(study))
    for seed in study.setup.seeds:
        mine = [cell for cell in cells if cell.seed == seed]
        (first,) = [weak(cell) for cell in mine if ("next", START) in cell.about]
        assert len(first) == first_of(N_IMAGES)
        for minutes in part.minutes(study):
            for way in WAYS:
                (cell,) = [one for one in mine if {("next", way), ("minutes", minutes)} <= set(one.about)]
                added = weak(cell) - first
                assert weak(cell) > first
                seconds = sum(Costs().weak(study.images, n, "tags") for n in added)
                dearest = max(Costs().weak(study.images, n, "tags") for n in range(N_IMAGES))
                assert 60 * minutes - dearest < seconds <= 60 * minutes


def weak(cell: Cell) -> set[int]:
    assert cell.choice is not None
    return set(cell.choice.weak)


def test_what_was_never_seen_is_suggested_first(study: Study) -> None:
    boats = [n for n in range(N_IMAGES) if (study.images.masks[n] == BOAT + 1).any()]
    others = [n for n in range(N_IMAGES) if n not in boats]
    assert len(boats) >= 2
    order = NextLabels(Costs()).suggested(study, others[:6], [*others[6:], *boats])
    assert order[0] in boats
    assert len(set(order)) == len(order)
    assert not set(order) & set(others[:6])


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
    check = part.check(Sheet(results))
    assert check.holds is holds
    section = part.section(Sheet(results))
    assert "| random | 0.600" in section
    assert section.count("| suggested |") == 1
