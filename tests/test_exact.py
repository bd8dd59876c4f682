from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.exact import Exact, best_pins, enumerate_labelings, lp_bound
from multiutility.inference.solver import allowed_mask
from strategies import (
    allowed_labelings,
    constraints_for,
    energies,
    energy_by_definition,
    planar_energy,
    random_instances,
    unmet_by_definition,
)

ENUMERATION = Exact(max_enumerated=10**9)
MILP = Exact(max_enumerated=0)


def least_energy(energy: Energy, constraints: Constraints) -> float | None:
    """The least energy by plain Python, or None if no labeling is feasible."""
    feasible = (y for y in allowed_labelings(energy, constraints) if not unmet_by_definition(constraints, y))
    return min((energy_by_definition(energy, labels) for labels in feasible), default=None)


def test_enumeration_against_plain_python() -> None:
    infeasible = 0
    for instance in random_instances(seed=1, count=500, max_nodes=5, max_labels=3, max_covers=3):
        energy, constraints = instance.energy, instance.constraints
        expected = least_energy(energy, constraints)
        if expected is None:
            infeasible += 1
            with pytest.raises(ValueError, match="cannot meet covers"):
                ENUMERATION.minimize(energy, constraints)
            continue
        result = ENUMERATION.minimize(energy, constraints)
        assert constraints.satisfied(result.labels)
        assert result.labels.dtype == np.int32
        assert result.energy == energy.evaluate(result.labels)
        assert result.energy == pytest.approx(expected, abs=1e-12 * instance.unit)
        assert result.bound == result.energy
    assert 20 < infeasible < 250


def test_milp_against_enumeration() -> None:
    for instance in random_instances(seed=2, count=2000, max_nodes=8, max_labels=4, max_covers=3):
        energy, constraints = instance.energy, instance.constraints
        try:
            expected = ENUMERATION.minimize(energy, constraints).energy
        except ValueError:
            with pytest.raises(ValueError, match="cannot meet covers"):
                MILP.minimize(energy, constraints)
            continue
        result = MILP.minimize(energy, constraints)
        assert constraints.satisfied(result.labels)
        assert result.energy == energy.evaluate(result.labels)
        assert result.energy == pytest.approx(expected, abs=1e-9 * instance.unit)
        assert result.bound is not None
        assert expected - 1e-6 * instance.unit <= result.bound <= result.energy


def test_relaxation_is_below_the_optimum_and_above_the_unary_minimum() -> None:
    tight = 0
    instances = list(random_instances(seed=3, count=300, max_nodes=6, max_labels=4))
    for instance in instances:
        energy, constraints = instance.energy, instance.constraints
        optimum = ENUMERATION.minimize(energy, constraints).energy
        bound = lp_bound(energy, constraints)
        allowed = True if constraints.allowed is None else constraints.allowed
        trivial = energy.offset + np.where(allowed, energy.unary, np.inf).min(axis=1).sum()
        assert trivial - 1e-9 * instance.unit <= bound <= optimum + 1e-9 * instance.unit
        tight += bound > optimum - 1e-9 * instance.unit
    assert tight > len(instances) // 2


def test_relaxation_is_not_always_tight() -> None:
    # Three nodes that each forbid one of three labels, every pair joined: half of each label is best.
    unary = 10.0 * np.eye(3)
    energy = Energy(unary, [[0, 1], [1, 2], [0, 2]], [1.0, 1.0, 1.0])
    assert lp_bound(energy) == pytest.approx(1.5)
    assert Exact().minimize(energy).energy == 2.0


@settings(max_examples=50)
@given(st.data())
def test_milp_against_enumeration_for_any_mixture_of_costs(data: st.DataObject) -> None:
    energy = data.draw(energies())
    constraints = data.draw(constraints_for(energy, max_covers=0))
    expected = ENUMERATION.minimize(energy, constraints).energy
    spread = max(1e-12, *(float(np.abs(a).max(initial=0)) for a in (energy.unary, energy.weights)))
    spread = max(spread, float(energy.subset_costs.max(initial=0)), abs(energy.offset))
    assert MILP.minimize(energy, constraints).energy == pytest.approx(expected, abs=1e-9 * spread)


def test_milp_on_two_labels_against_maximum_flow() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        n_nodes = 60
        unary = rng.integers(0, 20, size=(n_nodes, 2))
        first = rng.integers(n_nodes, size=150)
        edges = np.stack((first, (first + rng.integers(1, n_nodes, size=150)) % n_nodes), axis=1)
        weights = rng.integers(0, 8, size=150)
        capacity = np.zeros((n_nodes + 2, n_nodes + 2), dtype=np.int32)
        capacity[n_nodes, :n_nodes] = unary[:, 1]
        capacity[:n_nodes, n_nodes + 1] = unary[:, 0]
        np.add.at(capacity, (edges[:, 0], edges[:, 1]), weights)
        np.add.at(capacity, (edges[:, 1], edges[:, 0]), weights)
        cut = maximum_flow(csr_array(capacity), n_nodes, n_nodes + 1).flow_value
        assert Exact().minimize(Energy(unary, edges, weights)).energy == cut


def test_milp_on_a_chain_against_dynamic_programming() -> None:
    rng = np.random.default_rng(5)
    n_nodes, n_labels = 60, 5
    unary, weights = rng.random((n_nodes, n_labels)), rng.random(n_nodes - 1)
    chain = np.stack((np.arange(n_nodes - 1), np.arange(1, n_nodes)), axis=1)
    best = unary[0]
    for i in range(1, n_nodes):
        best = np.minimum(best, best.min() + weights[i - 1]) + unary[i]
    result = Exact().minimize(Energy(unary, chain, weights))
    assert result.energy == pytest.approx(float(best.min()), abs=1e-9)
    assert result.bound == pytest.approx(result.energy, abs=1e-6)


def test_milp_with_label_costs_against_all_sets_of_labels() -> None:
    rng = np.random.default_rng(6)
    n_nodes, n_labels = 40, 6
    for scale in (1.0, 1e12, 1e-12):
        unary, costs = scale * rng.random((n_nodes, n_labels)), scale * 2 * rng.random(n_labels)
        sets = (list(s) for r in range(1, n_labels + 1) for s in combinations(range(n_labels), r))
        expected = min(costs[s].sum() + unary[:, s].min(axis=1).sum() for s in sets)
        energy = Energy(unary, subsets=[(range(n_nodes), k, costs[k]) for k in range(n_labels)])
        assert Exact().minimize(energy).energy == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_milp_of_sixty_nodes_with_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    energy = planar_energy(rng, 6, 10, 5)
    allowed = rng.random(energy.unary.shape) < 0.8
    allowed[:, 0] = True
    covers = [(rng.choice(60, 6, replace=False), int(k)) for k in rng.integers(5, size=4)]
    constraints = Constraints(allowed, covers)
    result = Exact().minimize(energy, constraints)
    assert constraints.satisfied(result.labels)
    assert result.bound == pytest.approx(result.energy, abs=1e-6)
    assert lp_bound(energy, constraints) <= result.energy + 1e-9
    # No change of one or two nodes that keeps the constraints may lower an optimal energy.
    for _ in range(2000):
        other = result.labels.copy()
        other[rng.integers(60, size=2)] = rng.integers(5)
        if constraints.satisfied(other):
            assert energy.evaluate(other) >= result.energy - 1e-9


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 2.0**-1022, 1e297])
def test_milp_at_the_ends_of_the_range_of_numbers(unit: float) -> None:
    rng = np.random.default_rng(3)
    edges = np.stack((np.arange(9), np.arange(1, 10)), axis=1)
    for _ in range(3):
        unary, weights = rng.integers(0, 9, (10, 3)), rng.integers(0, 5, 9)
        least = Exact(max_enumerated=10**5).minimize(Energy(unary, edges, weights)).energy
        result = Exact(max_enumerated=1).minimize(Energy(unary * unit, edges, weights * unit))
        assert result.energy == pytest.approx(least * unit, rel=1e-9, abs=0.0)


def test_infeasible_covers_are_named() -> None:
    energy = Energy(np.zeros((3, 3)))
    together = Constraints(covers=[([0], 1), ([1, 2], 0), ([0], 2), ([0], 1)])
    alone = Constraints([[True, True, False]] * 3, [([0, 1], 1), ([0, 1, 2], 2)])
    for solver in (ENUMERATION, MILP):
        with pytest.raises(ValueError, match=r"cannot meet covers\[2\] \(label 2\) together"):
            solver.minimize(energy, together)
        with pytest.raises(ValueError, match=r"cannot meet covers\[1\] \(label 2\) together"):
            solver.minimize(energy, alone)
    with pytest.raises(ValueError, match=r"covers\[1\]"):
        lp_bound(energy, alone)


def test_time_limit() -> None:
    rng = np.random.default_rng(0)
    energy = planar_energy(rng, 12, 12, 12)
    start = rng.integers(12, size=144)
    solver = Exact(time_limit=1e-6)
    with pytest.raises(RuntimeError, match="no labeling found"):
        solver.minimize(energy)
    result = solver.minimize(energy, start=start)
    assert result.timed_out
    assert result.energy <= energy.evaluate(start)
    assert result.bound is not None
    assert result.bound <= lp_bound(energy) + 1e-9


def test_start_is_checked_and_never_beats_the_result() -> None:
    energy = Energy([[0.0, 1.0], [1.0, 0.0]])
    constraints = Constraints([[True, True], [True, False]])
    for solver in (ENUMERATION, MILP):
        assert solver.minimize(energy, constraints, [1, 0]).labels.tolist() == [0, 0]
        with pytest.raises(ValueError, match=r"start\[1\] is 1: this label is not allowed"):
            solver.minimize(energy, constraints, [0, 1])
        with pytest.raises(ValueError, match=r"start has shape \(1,\)"):
            solver.minimize(energy, constraints, [0])


def test_constraints_must_fit() -> None:
    with pytest.raises(ValueError, match=r"allowed has shape \(1, 2\): expected \[2, 2\]"):
        Exact().minimize(Energy(np.zeros((2, 2))), Constraints([[True, True]]))


def test_many() -> None:
    instances = list(random_instances(seed=7, count=10))
    energies, limits = [i.energy for i in instances], [i.constraints for i in instances]
    results = Exact().minimize_many(energies, limits)
    for energy, limit, result in zip(energies, limits, results, strict=True):
        assert result.energy == Exact().minimize(energy, limit).energy
    unlimited = Exact().minimize_many(energies)
    assert [result.energy for result in unlimited] == [Exact().minimize(e).energy for e in energies]
    assert Exact().minimize_many([]) == []
    with pytest.raises(ValueError, match="constraints has 9 elements: expected 10"):
        Exact().minimize_many(energies, limits[1:])
    with pytest.raises(ValueError, match="starts has 1 elements: expected 10"):
        Exact().minimize_many(energies, starts=[None])


@pytest.mark.parametrize("solver", [ENUMERATION, MILP])
def test_degenerate_problems(solver: Exact) -> None:
    assert solver.minimize(Energy(np.zeros((0, 2)), offset=3.0)).energy == 3.0
    assert solver.minimize(Energy([[2.0], [3.0]], [[0, 1]], [1.0], [([0], 0, 4.0)])).energy == 9.0
    assert solver.minimize(Energy(np.zeros((3, 2)), [[0, 1]], [0.0])).energy == 0.0
    assert lp_bound(Energy(np.zeros((0, 2)), offset=3.0)) == 3.0


def test_enumeration_visits_all_allowed_labelings_in_order() -> None:
    for instance in random_instances(seed=8, count=50, max_nodes=4):
        energy, constraints = instance.energy, instance.constraints
        allowed = constraints.allowed
        if allowed is not None:
            visited = np.concatenate(list(enumerate_labelings(allowed, chunk=3)))
            expected = list(allowed_labelings(energy, constraints))
            np.testing.assert_array_equal(visited, np.array(expected, dtype=int).reshape(len(expected), -1))


def test_best_pins_leave_as_few_covers_unmet_as_any_labeling() -> None:
    for instance in random_instances(seed=9, count=200, max_nodes=4, max_labels=3, max_covers=5):
        energy, constraints = instance.energy, instance.constraints
        if not constraints.has_covers:
            continue
        allowed = allowed_mask(energy, constraints)
        nodes, labels, unmet = best_pins(constraints, allowed, np.abs(energy.unary))
        assert len(set(nodes.tolist())) == len(nodes)
        assert allowed[nodes, labels].all()
        everywhere = allowed_labelings(energy, constraints)
        assert len(unmet) == min(len(unmet_by_definition(constraints, y)) for y in everywhere)
        pinned = allowed.copy()
        pinned[nodes] = False
        pinned[nodes, labels] = True
        for y in allowed_labelings(energy, Constraints(pinned)):
            assert set(unmet_by_definition(constraints, y)) <= set(unmet.tolist())
