from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility.arrays import read_only
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from strategies import allowed_labelings, energies, energy_by_definition, random_energy, random_instances

UNARY = [[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]
EDGES = [[0, 1], [1, 2]]
FIELDS = (
    "unary",
    "edges",
    "weights",
    "subset_starts",
    "subset_nodes",
    "subset_labels",
    "subset_costs",
    "offset",
)


def magnitude(energy: Energy) -> float:
    parts = (energy.unary, energy.weights, energy.subset_costs, np.array([energy.offset]))
    return float(sum(np.abs(part).sum() for part in parts)) + np.finfo(float).tiny


def test_evaluate_is_the_definition_on_all_labelings_of_random_problems() -> None:
    for instance in random_instances(seed=0, count=300, max_nodes=5, max_labels=3):
        energy = instance.energy
        labelings = list(allowed_labelings(energy, Constraints()))
        expected = [energy_by_definition(energy, labels) for labels in labelings]
        found = energy.evaluate_many(np.array(labelings, dtype=np.int32).reshape(len(labelings), -1))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * magnitude(energy))
        assert energy.evaluate(labelings[-1]) == pytest.approx(expected[-1], abs=1e-13 * magnitude(energy))


@given(energies(), st.data())
def test_evaluate_is_the_definition(energy: Energy, data: st.DataObject) -> None:
    n_nodes, n_labels = energy.n_nodes, energy.n_labels
    labels = data.draw(st.tuples(*[st.integers(0, n_labels - 1)] * n_nodes))
    assert energy.evaluate(np.array(labels, dtype=np.int64)) == pytest.approx(
        energy_by_definition(energy, labels), abs=1e-13 * magnitude(energy)
    )


def test_evaluate_by_hand() -> None:
    energy = Energy(UNARY, EDGES, [0.5, 0.25], [([0, 2], 1, 4.0), ([], 0, 100.0), ([1, 1, 1], 0, 7.0)], -1.0)
    assert energy.evaluate([0, 1, 0]) == 0.0 + 0.75 - 1.0
    assert energy.evaluate([0, 0, 1]) == 5.0 + 0.25 + 4.0 + 7.0 - 1.0
    assert energy.evaluate([1, 0, 1]) == 6.0 + 0.75 + 4.0 + 7.0 - 1.0


def test_parallel_edges_add_up() -> None:
    energy = Energy(UNARY, [[0, 1], [1, 0], [0, 1]], [1, 2, 4])
    assert energy.evaluate([0, 1, 0]) == 7.0
    assert energy.evaluate([1, 1, 0]) == 1.0


def test_no_nodes() -> None:
    energy = Energy(np.zeros((0, 3)), offset=2.5)
    assert (energy.n_nodes, energy.n_labels, energy.n_edges, energy.n_subsets) == (0, 3, 0, 0)
    assert energy.evaluate([]) == 2.5
    assert energy.evaluate_many(np.zeros((4, 0), dtype=int)).tolist() == [2.5] * 4
    assert energy.evaluate_many(np.zeros((0, 0), dtype=int)).shape == (0,)


def test_subsets_are_stored_sorted_and_unique() -> None:
    energy = Energy(np.zeros((5, 2)), subsets=[([4, 1, 4, 0], 1, 2.0), ([], 0, 1.0), ([3], 0, 0.5)])
    assert energy.subset_starts.tolist() == [0, 3, 3, 4]
    assert energy.subset_nodes.tolist() == [0, 1, 4, 3]
    assert energy.subset_labels.tolist() == [1, 0, 0]
    assert energy.subset_costs.tolist() == [2.0, 1.0, 0.5]


def test_types_and_flags_of_the_arrays() -> None:
    energy = Energy(
        np.asfortranarray(np.ones((3, 2), dtype=np.float32)),
        np.array(EDGES, dtype=np.uint64),
        [1, 2],
        [([0], 1, 1)],
    )
    kinds = {name: getattr(energy, name).dtype.name for name in FIELDS[:-1]}
    assert kinds == {
        "unary": "float64",
        "edges": "int32",
        "weights": "float64",
        "subset_starts": "int64",
        "subset_nodes": "int32",
        "subset_labels": "int32",
        "subset_costs": "float64",
    }
    for name in kinds:
        array = getattr(energy, name)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for name in FIELDS:
        with pytest.raises(AttributeError):
            setattr(energy, name, getattr(energy, name))


def test_arguments_are_copied_and_left_alone() -> None:
    unary, edges, weights = np.array(UNARY), np.array(EDGES, dtype=np.int32), np.ones(2)
    nodes = np.array([2, 0], dtype=np.int32)
    energy = Energy(unary, edges, weights, [(nodes, 1, 4.0)])
    before = energy.evaluate([0, 1, 1])
    assert nodes.tolist() == [2, 0]
    for array in (unary, edges, weights, nodes):
        assert array.flags.writeable
        array[...] = 0
    assert energy.evaluate([0, 1, 1]) == before


def test_arrays_that_nobody_can_write_to_are_shared() -> None:
    energy = Energy(UNARY, EDGES, [1, 2], [([0, 1], 1, 4)])
    again = Energy.from_arrays(*(getattr(energy, name) for name in FIELDS))
    for name in FIELDS[:-1]:
        assert np.shares_memory(getattr(energy, name), getattr(again, name))


def test_read_only_views_of_writeable_arrays_are_copied() -> None:
    unary = np.array(UNARY)
    view = unary[:]
    view.flags.writeable = False
    assert not np.shares_memory(Energy(view).unary, unary)


def test_flat_form_is_the_same_energy() -> None:
    listed = Energy(UNARY, EDGES, [1, 2], [([2, 0, 2], 1, 4), ([1], 0, 5)], 3)
    flat = Energy.from_arrays(UNARY, EDGES, [1, 2], [0, 3, 4], [2, 0, 2, 1], [1, 0], [4, 5], 3)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(flat, name), getattr(listed, name))


@pytest.mark.parametrize("same_edges", [False, True])
def test_sum_of_energies(same_edges: bool) -> None:
    rng = np.random.default_rng(1)
    for n_nodes in (0, 1, 4):
        for _ in range(20):
            first, second = random_energy(rng, n_nodes, 3), random_energy(rng, n_nodes, 3)
            if same_edges:
                shared = rng.random(first.n_edges)
                second = Energy(second.unary, first.edges, shared, [(range(n_nodes), 2, 1.0)], 0.5)
            total = first + second
            labelings = rng.integers(3, size=(10, n_nodes))
            expected = first.evaluate_many(labelings) + second.evaluate_many(labelings)
            np.testing.assert_allclose(total.evaluate_many(labelings), expected, rtol=1e-12, atol=1e-12)
            assert not same_edges or total.n_edges == first.n_edges


def test_sum_needs_equal_shapes() -> None:
    with pytest.raises(ValueError, match=r"\(3, 2\) and \(3, 3\)"):
        Energy(UNARY) + Energy(np.zeros((3, 3)))


LARGE_COSTS: list[tuple[Callable[[], Energy], str]] = [
    (lambda: Energy([[1e308], [1e308]]), r"unary\[0, 0\] is 1e\+308"),
    (lambda: Energy([[1.0, 2.0], [0.0, -1e301]]), r"unary\[1, 1\] is -1e\+301"),
    (lambda: Energy(UNARY, [[0, 1], [1, 2]], [6e299, 7e299]), r"weights\[1\] is 7e\+299"),
    (lambda: Energy(UNARY, subsets=[([0], 0, 1.0), ([1], 1, 1e307)]), r"subset_costs\[1\] is 1e\+307"),
    (lambda: Energy(UNARY, offset=-1e305), r"offset\[0\] is -1e\+305"),
    (lambda: Energy([[7e299]]) + Energy([[4e299]]), r"unary\[0, 0\] is 1\.1e\+300"),
    (
        lambda: Energy([[0.0], [0.0]], [[0, 1]], [1]).with_costs([[9e299], [0.0]], [2e299]),
        r"unary\[0, 0\] is 9e",
    ),
]


@pytest.mark.parametrize(("make", "message"), LARGE_COSTS)
def test_costs_whose_sum_may_be_infinite_are_refused(make: Callable[[], Energy], message: str) -> None:
    with pytest.raises(ValueError, match=message + ".*scale them down"):
        make()


def test_the_largest_costs_that_are_taken_have_finite_sums() -> None:
    energy = Energy([[1e299, -1e299], [2e299, 0]], [[0, 1]], [1e299], subsets=[([0, 1], 0, 1e299)])
    assert np.isfinite(energy.evaluate_many([[0, 0], [0, 1], [1, 0], [1, 1]])).all()


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_are_equal_and_read_only(clone: Any) -> None:
    energy = Energy(UNARY, EDGES, [1, 2], [([2, 0], 1, 4)], 3)
    other = clone(energy)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(other, name), getattr(energy, name))
    assert not any(getattr(other, name).flags.writeable for name in FIELDS[:-1])


def test_repr() -> None:
    assert repr(Energy(UNARY, EDGES, [1, 2])) == "Energy(n_nodes=3, n_labels=2, n_edges=2, n_subsets=0)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"unary": [1.0, 2.0]}, ValueError, r"unary has shape \(2,\): expected \[any, any\]"),
        ({"unary": [[1.0], [1.0, 2.0]]}, ValueError, "unary must be a rectangular array"),
        ({"unary": [["a", "b"]]}, TypeError, "unary must hold numbers"),
        ({"unary": [[1j, 0]]}, TypeError, "unary must hold numbers"),
        ({"unary": [[None, 0]]}, TypeError, "unary must hold numbers"),
        ({"unary": [[0, 1], [0, np.nan]]}, ValueError, r"unary\[1, 1\] is nan: unary costs must be finite"),
        ({"unary": [[0, 1], [np.inf, 0]]}, ValueError, r"unary\[1, 0\] is inf: unary costs must be finite"),
        ({"unary": np.zeros((3, 0))}, ValueError, "unary has no columns"),
        ({"edges": [[0, 1, 2]]}, ValueError, r"edges has shape \(1, 3\): expected \[any, 2\]"),
        ({"edges": [[0, 1], [1, 3]]}, ValueError, r"edges\[1, 1\] is 3: nodes must be in 0..2"),
        ({"edges": [[0, 1], [-1, 1]]}, ValueError, r"edges\[1, 0\] is -1: nodes must be in 0..2"),
        ({"edges": [[0, 1], [1, 2**32]]}, ValueError, r"edges\[1, 1\] is 4294967296"),
        ({"edges": [[0, 1], [2, 2]]}, ValueError, r"edges\[1\] joins node 2 to itself"),
        ({"edges": [[0.0, 1.0], [1.0, 2.0]]}, TypeError, "edges must hold integers, not float64"),
        ({"weights": [1.0]}, ValueError, r"weights has shape \(1,\): expected \[2\]"),
        ({"weights": None}, ValueError, r"weights has shape \(0,\): expected \[2\]"),
        ({"edges": None}, ValueError, r"weights has shape \(2,\): expected \[0\]"),
        ({"weights": [1.0, -0.5]}, ValueError, r"weights\[1\] is -0.5: edge weights must be >= 0"),
        ({"weights": [np.nan, 1.0]}, ValueError, r"weights\[0\] is nan: edge weights must be finite"),
        ({"weights": ["1", "2"]}, TypeError, "weights must hold numbers"),
        ({"subsets": [([0], 1)]}, ValueError, r"subsets\[0\] must be \(nodes, label, cost\)"),
        ({"subsets": [([0], 1, 1.0), ([1, 3], 1, 1.0)]}, ValueError, r"subsets\[1\] has node 3: .* 0..2"),
        ({"subsets": [([-1], 1, 1.0)]}, ValueError, r"subsets\[0\] has node -1"),
        ({"subsets": [([0], 2, 1.0)]}, ValueError, r"subset_labels\[0\] is 2: labels must be in 0..1"),
        ({"subsets": [([0], 1, -1.0)]}, ValueError, r"subset_costs\[0\] is -1.0: subset costs must be >= 0"),
        ({"subsets": [([0], 1, np.inf)]}, ValueError, r"subset_costs\[0\] is inf"),
        ({"subsets": [([0], 0.5, 1.0)]}, TypeError, "subset_labels must hold integers"),
        ({"subsets": [([True, False, True], 0, 1.0)]}, TypeError, r"subsets\[0\] nodes must hold integers"),
        ({"subsets": [([[0]], 0, 1.0)]}, ValueError, r"subsets\[0\] nodes has shape \(1, 1\)"),
        ({"offset": np.nan}, ValueError, r"offset\[0\] is nan"),
        ({"offset": "1"}, TypeError, "offset must hold numbers"),
    ],
)
def test_errors_name_the_argument_and_the_index(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Energy(**{"unary": UNARY, "edges": EDGES, "weights": [1.0, 1.0], **arguments})


@pytest.mark.parametrize("starts", [[0, 1], [1, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 1]])
def test_starts_must_divide_the_nodes(starts: list[int]) -> None:
    with pytest.raises(ValueError, match="subset_starts"):
        Energy.from_arrays(UNARY, EDGES, [1, 1], starts, [0, 1], [0, 1], [1, 1])


def test_unsigned_starts_must_rise_too() -> None:
    starts = np.array([0, 2, 1], dtype=np.uint64)
    with pytest.raises(ValueError, match="subset_starts must rise from 0 to 1"):
        Energy.from_arrays(UNARY, EDGES, [1, 1], starts, [0], [0, 1], [1, 1])


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 1], ValueError, r"labels has shape \(2,\): expected \[3\]"),
        ([0, 1, 2], ValueError, r"labels\[2\] is 2: labels must be in 0..1"),
        ([0, -1, 0], ValueError, r"labels\[1\] is -1"),
        ([0.0, 1.0, 1.0], TypeError, "labels must hold integers"),
        ([True, False, True], TypeError, "labels must hold integers"),
    ],
)
def test_labels_are_checked(labels: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Energy(UNARY).evaluate(labels)


def test_labelings_are_checked() -> None:
    with pytest.raises(ValueError, match=r"labelings\[1, 2\] is 7"):
        Energy(UNARY).evaluate_many([[0, 0, 0], [0, 0, 7]])
    with pytest.raises(ValueError, match=r"labelings has shape \(3,\)"):
        Energy(UNARY).evaluate_many([0, 0, 0])


def test_other_costs_on_the_same_graph_are_the_energy_built_anew() -> None:
    rng = np.random.default_rng(5)
    for instance in random_instances(seed=5, count=100):
        old = instance.energy
        unary, weights = rng.standard_normal(old.unary.shape), rng.random(old.n_edges)
        new = old.with_costs(unary, weights, 2.5)
        sets = (old.subset_starts, old.subset_nodes, old.subset_labels, old.subset_costs)
        expected = Energy.from_arrays(unary, old.edges, weights, *sets, 2.5)
        for labels in allowed_labelings(old, Constraints()):
            assert new.evaluate(np.array(labels, dtype=int)) == expected.evaluate(np.array(labels, dtype=int))


def test_other_costs_are_checked() -> None:
    energy = Energy([[0, 1], [1, 0]], [[0, 1]], [1])
    with pytest.raises(ValueError, match=r"weights\[0\] is -1"):
        energy.with_costs([[0, 1], [1, 0]], [-1])
    with pytest.raises(ValueError, match=r"unary has shape"):
        energy.with_costs([[0, 1]], [1])
    with pytest.raises(ValueError, match=r"unary\[1, 0\] is nan"):
        energy.with_costs([[0.0, 1.0], [float("nan"), 0.0]], [1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e301])
def test_other_costs_that_are_kept_as_they_are_are_checked_too(bad: float) -> None:
    energy = Energy([[0, 1], [1, 0]], [[0, 1]], [1])
    unary, weights = read_only(np.array([[0.0, 1.0], [2.0, 0.0]])), read_only(np.ones(1))
    assert energy.with_costs(unary, weights).unary is unary
    with pytest.raises(ValueError, match=r"unary\[0, 0\]"):
        energy.with_costs(read_only(np.array([[bad, 1.0], [2.0, 0.0]])), weights)
    with pytest.raises(ValueError, match=r"weights\[0\] is -1"):
        energy.with_costs(unary, read_only(-weights))
    with pytest.raises(ValueError, match="offset"):
        energy.with_costs(unary, weights, bad)
