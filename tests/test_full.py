"""Full labelings: values by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from multiutility import LabelingProblem
from multiutility.annotations import Full


def problem_of(sizes: list[float]) -> LabelingProblem:
    return LabelingProblem(np.zeros((len(sizes), 1)), [], np.zeros((0, 1)), sizes)


# Node 0 is pure, node 1 is mixed with a void pixel, node 2 is a tie, node 3 is void.
PROBLEM = problem_of([4, 10, 6, 5])
MIXED = Full([[4, 0, 0], [2, 6, 1], [3, 0, 3], [0, 0, 0]])


@pytest.mark.parametrize(
    ("labels", "loss"),
    [
        ([0, 1, 0, 0], 0 + 3 + 3),
        ([0, 1, 2, 2], 0 + 3 + 3),
        ([1, 0, 1, 1], 4 + 7 + 6),
        ([2, 2, 2, 0], 4 + 8 + 3),
    ],
)
def test_mixed_nodes_cost_their_wrong_pixels_and_void_costs_nothing(labels: list[int], loss: float) -> None:
    assert MIXED.loss(PROBLEM, labels) == loss
    assert MIXED.loss_energy(PROBLEM).evaluate(labels) == -loss


def test_class_weights_count_true_labels() -> None:
    weighted = MIXED.weighted([1.0, 10.0, 100.0])
    assert weighted.loss(PROBLEM, [0, 1, 0, 0]) == 0 + (2 * 1 + 1 * 100) + 3 * 100
    assert weighted.loss(PROBLEM, [1, 0, 1, 1]) == 4 * 1 + (6 * 10 + 1 * 100) + (3 * 1 + 3 * 100)
    assert weighted.weighted([1.0, 1.0, 1.0]).loss(PROBLEM, [0, 1, 0, 0]) == 6


def test_consistent_labelings_have_the_main_labels() -> None:
    constraints = MIXED.constraints(PROBLEM)
    consistent = [y for y in product(range(3), repeat=4) if constraints.satisfied(y)]
    assert consistent == [(0, 1, 0, 0), (0, 1, 0, 1), (0, 1, 0, 2)]
    assert MIXED.start(PROBLEM).tolist() == [0, 1, 0, 0]
    assert MIXED.start(problem_of([4, 30, 6, 5])).tolist() == [0, 1, 0, 0]
    assert MIXED.prior(PROBLEM)[1].tolist() == [0, 1, 0]
    assert MIXED.prior(PROBLEM)[3] == pytest.approx([1 / 3] * 3)
    assert MIXED.label_sizes(PROBLEM).tolist() == [9, 6, 4]


def test_class_weights_do_not_change_the_truth() -> None:
    weighted = MIXED.weighted([100.0, 1.0, 1.0])
    assert weighted.start(PROBLEM).tolist() == MIXED.start(PROBLEM).tolist()
    assert weighted.constraints(PROBLEM).satisfied([0, 1, 0, 2])
    assert weighted.label_sizes(PROBLEM).tolist() == [9, 6, 4]


def test_void_nodes_start_with_the_largest_label() -> None:
    assert Full([[1, 0], [0, 2], [0, 0]]).start(problem_of([1, 2, 9])).tolist() == [0, 1, 1]


def test_labels_of_pure_nodes_take_their_sizes_from_the_problem() -> None:
    full = Full.from_labels([2, 255, 0], n_labels=3, void=255)
    problem = problem_of([1.5, 2.5, 3.0])
    assert full.loss(problem, [2, 0, 0]) == 0
    assert full.loss(problem, [0, 0, 1]) == 4.5
    assert full.label_sizes(problem).tolist() == [3.0, 0, 1.5]
    assert full.labeled.tolist() == [True, False, True]
    assert full.strong


def test_take_keeps_the_nodes_and_the_weights() -> None:
    kept = MIXED.weighted([1.0, 2.0, 3.0]).take(MIXED.labeled)
    assert kept.loss(problem_of([4, 10, 6]), [1, 1, 1]) == 4 + (2 + 3) + (3 + 9)
    assert kept.labeled.all()
    assert MIXED.take([3, 1]).label_sizes(problem_of([5, 10])).tolist() == [2, 6, 1]


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"histograms\[1\] adds up to 9: the size of the node is 8"):
        MIXED.loss(problem_of([4, 8, 6, 5]), [0, 0, 0, 0])
    with pytest.raises(ValueError, match="histograms has shape"):
        MIXED.loss_energy(problem_of([4, 10, 6]))
    with pytest.raises(ValueError, match=r"histograms\[0, 1\] is -1.0: sizes must be >= 0"):
        Full([[1.0, -1.0]])
    with pytest.raises(ValueError, match=r"histograms\[0, 0\] is nan"):
        Full([[np.nan, 0.0]])
    with pytest.raises(ValueError, match=r"labels\[1\] is 3: labels must be in 0..2"):
        Full.from_labels([0, 3], n_labels=3)
    with pytest.raises(ValueError, match=r"labels\[0\] is -2"):
        Full.from_labels([-2, 0], n_labels=3)
    with pytest.raises(ValueError, match="weights has shape"):
        MIXED.weighted([1.0, 2.0])
    with pytest.raises(ValueError, match=r"weights\[0\] is -1.0"):
        MIXED.weighted([-1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="labels"):
        MIXED.loss(PROBLEM, [0, 0, 0, 3])
