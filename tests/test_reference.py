from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.exact import Exact
from multiutility.inference.reference import Reference, expansion_moves, min_cut_sink_side
from multiutility.inference.solver import allowed_mask
from strategies import (
    constraints_for,
    energies,
    energy_by_definition,
    labelings_of,
    planar_energy,
    random_energy,
    random_instances,
)


def best_move(energy: Energy, constraints: Constraints, labels: list[int], alpha: int) -> float:
    """The least energy of all moves to alpha, by plain Python."""
    allowed = allowed_mask(energy, constraints)
    choices = [{label, alpha} if allowed[i, alpha] else {label} for i, label in enumerate(labels)]
    return min(energy_by_definition(energy, moved) for moved in product(*choices))


def test_every_move_is_the_best_of_all_moves() -> None:
    rng = np.random.default_rng(0)
    for instance in random_instances(seed=0, count=600, max_nodes=6, max_labels=4):
        energy, constraints = instance.energy, instance.constraints
        allowed = allowed_mask(energy, constraints)
        labels = [int(rng.choice(np.flatnonzero(row))) for row in allowed]
        for alpha in rng.permutation(energy.n_labels).tolist():
            expected = best_move(energy, constraints, labels, alpha)
            moved, values = expansion_moves(energy, constraints, np.array(labels, dtype=int), [alpha])
            assert values[0] == energy.evaluate(moved)
            assert values[0] == pytest.approx(expected, abs=1e-12 * instance.unit)
            assert values[0] <= energy.evaluate(np.array(labels, dtype=int))
            assert all(new in (old, alpha) for new, old in zip(moved.tolist(), labels, strict=True))
            assert constraints.satisfied(moved)
            labels = moved.tolist()


def test_a_sequence_of_moves_is_the_moves_one_by_one() -> None:
    rng = np.random.default_rng(1)
    energy = random_energy(rng, 7, 4)
    start, order = rng.integers(4, size=7), rng.integers(4, size=12)
    labels, values = expansion_moves(energy, None, start, order)
    single = start.astype(np.int32)
    for m, alpha in enumerate(order):
        single, value = expansion_moves(energy, None, single, [alpha])
        assert value[0] == values[m]
    np.testing.assert_array_equal(labels, single)
    assert (np.diff(values) <= 0).all()


def test_of_the_best_moves_the_smallest_is_taken() -> None:
    energy = Energy(np.zeros((4, 2)), [[0, 1], [2, 3]], [1.0, 1.0])
    labels, values = expansion_moves(energy, None, [0, 1, 0, 0], [1])
    assert (labels.tolist(), values.tolist()) == ([1, 1, 0, 0], [0.0])


@settings(max_examples=60)
@given(st.data())
def test_never_worse_than_the_start_and_no_move_improves_the_result(data: st.DataObject) -> None:
    energy = data.draw(energies())
    constraints = data.draw(constraints_for(energy, max_covers=0))
    start = np.array(data.draw(labelings_of(energy, constraints)), dtype=np.int32)
    result = Reference().minimize(energy, constraints, start)
    assert result.energy == energy.evaluate(result.labels) <= energy.evaluate(start)
    assert constraints.satisfied(result.labels)
    spread = sum(float(np.abs(a).sum()) for a in (energy.unary, energy.weights, energy.subset_costs))
    for alpha in range(energy.n_labels):
        best = best_move(energy, constraints, result.labels.tolist(), alpha)
        assert result.energy <= best + 1e-12 * (spread + abs(energy.offset))


def test_two_labels_without_subsets_are_solved_exactly() -> None:
    for instance in random_instances(seed=2, count=200, max_nodes=7, max_labels=2):
        energy = Energy(instance.energy.unary, instance.energy.edges, instance.energy.weights)
        start = np.zeros(energy.n_nodes, dtype=np.int32)
        found = Reference().minimize(energy, start=start).energy
        assert found == pytest.approx(Exact().minimize(energy).energy, abs=1e-9 * instance.unit)


def test_close_to_the_optimum_on_average() -> None:
    excess = []
    for seed in range(6):
        energy = planar_energy(np.random.default_rng(seed), 5, 6, 4)
        optimum = Exact().minimize(energy).energy
        found = Reference().minimize(energy).energy
        assert found >= optimum - 1e-9
        excess.append(found / optimum - 1)
    assert np.mean(excess) < 0.05


def test_starts_from_the_least_allowed_unary() -> None:
    energy = Energy([[0.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
    constraints = Constraints([[False, True, True], [True, True, False]])
    labels, values = expansion_moves(energy, constraints, None, [])
    assert (labels.tolist(), values.shape) == ([1, 1], (0,))


def test_sweeps_and_counts() -> None:
    energy = planar_energy(np.random.default_rng(3), 5, 5, 4)
    start = np.zeros(25, dtype=np.int32)
    once = Reference(max_sweeps=1).minimize(energy, start=start)
    full = Reference().minimize(energy, start=start)
    assert (once.moves, once.flows) == (4, 4)
    assert full.moves >= 8
    assert full.energy <= once.energy < energy.evaluate(start)
    assert Reference(max_sweeps=0).minimize(energy, start=start).labels.tolist() == start.tolist()


def test_start_is_not_changed() -> None:
    energy = Energy([[0.0, 1.0], [1.0, 0.0]])
    start = np.array([1, 0], dtype=np.int32)
    assert Reference().minimize(energy, start=start).labels.tolist() == [0, 1]
    assert start.tolist() == [1, 0]


def test_degenerate_problems() -> None:
    assert Reference().minimize(Energy(np.zeros((0, 2)), offset=3.0)).energy == 3.0
    assert Reference().minimize(Energy([[2.0], [3.0]], [[0, 1]], [1.0], [([0], 0, 4.0)])).energy == 9.0
    assert Reference().minimize(Energy([[0.0, -1.0]])).labels.tolist() == [1]


def test_errors() -> None:
    energy = Energy(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"Reference cannot meet covers: use Pinpoint\(Reference\(\)\)"):
        Reference().minimize(energy, Constraints(covers=[([0], 1)]))
    with pytest.raises(ValueError, match=r"start\[1\] is 0: this label is not allowed for node 1"):
        Reference().minimize(energy, Constraints([[True, True], [False, True]]), [0, 0])
    with pytest.raises(ValueError, match=r"order\[1\] is 2: labels must be in 0..1"):
        expansion_moves(energy, None, None, [0, 2])
    with pytest.raises(ValueError, match=r"allowed has shape"):
        Reference().minimize(energy, Constraints([[True, True]]))


def test_many() -> None:
    problems = list(random_instances(seed=4, count=5))
    energies, limits = [p.energy for p in problems], [p.constraints for p in problems]
    results = Reference().minimize_many(energies, limits)
    for energy, limit, result in zip(energies, limits, results, strict=True):
        assert result.energy == Reference().minimize(energy, limit).energy


def cut_value(capacity: np.ndarray, sink_side: np.ndarray) -> float:
    return float(capacity[~sink_side][:, sink_side].sum())


def test_min_cut_against_scipy() -> None:
    rng = np.random.default_rng(5)
    for n in (2, 3, 8, 30):
        for _ in range(10):
            capacity = rng.integers(0, 10, size=(n, n)) * (rng.random((n, n)) < 0.4)
            np.fill_diagonal(capacity, 0)
            flow = maximum_flow(csr_array(capacity.astype(np.int32)), n - 2, n - 1).flow_value
            side = min_cut_sink_side(capacity.astype(float))
            assert not side[n - 2]
            assert side[n - 1]
            assert cut_value(capacity, side) == flow


def test_min_cut_is_the_smallest_of_all_minimum_cuts() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        n = 6
        capacity = rng.integers(0, 3, size=(n, n)).astype(float)
        np.fill_diagonal(capacity, 0)
        sides = [np.array([*side, False, True]) for side in product([False, True], repeat=n - 2)]
        least = min(cut_value(capacity, side) for side in sides)
        smallest = np.logical_and.reduce([side for side in sides if cut_value(capacity, side) == least])
        np.testing.assert_array_equal(min_cut_sink_side(capacity), smallest)
