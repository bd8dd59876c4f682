from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from strategies import constraints_for, energies, labelings_of, random_constraints, unmet_by_definition

ALLOWED = [[True, True, False], [True, False, True]]


def test_satisfied_and_unmet_are_the_definition_on_all_labelings() -> None:
    rng = np.random.default_rng(0)
    for n_nodes, n_labels in product((0, 1, 3, 4), (1, 2, 3)):
        for _ in range(25):
            constraints = random_constraints(rng, n_nodes, n_labels)
            for labels in product(range(n_labels), repeat=n_nodes):
                unmet = unmet_by_definition(constraints, labels)
                allowed = constraints.allowed
                within = allowed is None or all(allowed[i, label] for i, label in enumerate(labels))
                array = np.array(labels, dtype=np.int64)
                assert constraints.unmet(array).tolist() == unmet
                assert constraints.satisfied(array) == (within and not unmet)


@given(st.data())
def test_intersection_holds_where_both_hold(data: st.DataObject) -> None:
    energy = data.draw(energies())
    first, second = data.draw(constraints_for(energy)), data.draw(constraints_for(energy))
    labels = np.array(data.draw(labelings_of(energy)), dtype=np.int32)
    try:
        both = first & second
    except ValueError:
        assert first.allowed is not None
        assert second.allowed is not None
        assert not (first.allowed & second.allowed).any(axis=1).all()
    else:
        assert both.satisfied(labels) == (first.satisfied(labels) and second.satisfied(labels))
        shifted = second.unmet(labels) + first.n_covers
        assert both.unmet(labels).tolist() == [*first.unmet(labels).tolist(), *shifted.tolist()]


def test_everything_is_allowed_by_default() -> None:
    constraints = Constraints()
    assert constraints.allowed is None
    assert not constraints.has_covers
    assert constraints.satisfied([0, 5, 2])
    assert constraints.satisfied([])


def test_covers_are_stored_flat_sorted_and_unique() -> None:
    constraints = Constraints(covers=[([4, 1, 4], 2), ([0], 1)])
    assert constraints.cover_starts.tolist() == [0, 2, 3]
    assert constraints.cover_nodes.tolist() == [1, 4, 0]
    assert constraints.cover_labels.tolist() == [2, 1]
    assert (constraints.n_covers, constraints.has_covers) == (2, True)
    kinds = [a.dtype for a in (constraints.cover_starts, constraints.cover_nodes, constraints.cover_labels)]
    assert kinds == [np.int64, np.int32, np.int32]
    flat = Constraints.from_arrays(None, [0, 3, 4], [4, 1, 4, 0], [2, 1])
    assert flat.cover_nodes.tolist() == [1, 4, 0]


def test_arrays_are_read_only_copies() -> None:
    allowed, nodes = np.array(ALLOWED), np.array([1, 0])
    constraints = Constraints(allowed, [(nodes, 0)])
    allowed[...] = False
    nodes[...] = 0
    assert constraints.satisfied([1, 0])
    for array in (constraints.allowed, constraints.cover_starts, constraints.cover_nodes):
        assert array is not None
        assert not array.flags.writeable
    for name in ("allowed", "cover_starts", "cover_nodes", "cover_labels"):
        with pytest.raises(AttributeError):
            setattr(constraints, name, getattr(constraints, name))


def test_pickle() -> None:
    constraints = pickle.loads(pickle.dumps(Constraints(ALLOWED, [([1, 0], 0)])))
    assert constraints.allowed.tolist() == ALLOWED
    assert not constraints.allowed.flags.writeable
    assert constraints.cover_nodes.tolist() == [0, 1]


def test_repr() -> None:
    assert repr(Constraints(ALLOWED, [([0], 0)])) == "Constraints(allowed=(2, 3), n_covers=1)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"allowed": [True, False]}, ValueError, r"allowed has shape \(2,\)"),
        ({"allowed": [[1, 0]]}, TypeError, "allowed must hold booleans"),
        ({"allowed": [[True, False], [False, False]]}, ValueError, r"allowed\[1\] is all false"),
        ({"allowed": np.ones((2, 0), dtype=bool)}, ValueError, "allowed has no columns"),
        ({"covers": [([0], 1), ([], 1)]}, ValueError, r"covers\[1\] has no nodes"),
        ({"covers": [([0], 1, 2.0)]}, ValueError, r"covers\[0\] must be \(nodes, label\)"),
        ({"covers": [([0], 1), ([-2], 1)]}, ValueError, r"covers\[1\] has node -2"),
        ({"covers": [([0], -1)]}, ValueError, r"cover_labels\[0\] is -1"),
        ({"covers": [([0.5], 1)]}, TypeError, r"covers\[0\] nodes must hold integers"),
        ({"allowed": ALLOWED, "covers": [([2], 1)]}, ValueError, r"covers\[0\] has node 2: .* 0..1"),
        ({"allowed": ALLOWED, "covers": [([1], 3)]}, ValueError, r"cover_labels\[0\] is 3: .* 0..2"),
    ],
)
def test_errors_name_the_argument_and_the_index(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Constraints(**arguments)


def test_intersection_must_leave_a_label() -> None:
    with pytest.raises(ValueError, match=r"allowed\[1\] is all false"):
        Constraints([[True, True], [True, False]]) & Constraints([[True, True], [False, True]])
    with pytest.raises(ValueError, match=r"allowed has shape \(1, 3\): expected \[2, 3\]"):
        Constraints(ALLOWED) & Constraints(ALLOWED[:1])


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(ALLOWED), r"allowed has shape \(2, 3\): expected \[3, 2\]"),
        (Constraints(covers=[([0, 3], 1)]), r"cover_nodes\[1\] is 3: nodes must be in 0..2"),
        (Constraints(covers=[([0], 1), ([0], 2)]), r"cover_labels\[1\] is 2: labels must be in 0..1"),
    ],
)
def test_constraints_must_fit_the_energy(constraints: Constraints, message: str) -> None:
    energy = Energy(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=message):
        constraints.validate_for(energy.n_nodes, energy.n_labels)


def test_labels_are_checked() -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(1,\): expected \[2\]"):
        Constraints(ALLOWED).satisfied([0])
    with pytest.raises(ValueError, match=r"labels\[1\] is 3"):
        Constraints(ALLOWED).satisfied([0, 3])
    with pytest.raises(ValueError, match=r"cover_nodes\[0\] is 4"):
        Constraints(covers=[([4], 0)]).unmet([0, 0])
    with pytest.raises(ValueError, match=r"labels\[0\] is -1"):
        Constraints().satisfied([-1])
