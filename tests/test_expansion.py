from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference import Exact, Expansion, expansion_moves, min_cut
from multiutility.inference.exact import lp_bound
from multiutility.inference.reference import expansion_moves as reference_moves
from multiutility.inference.solver import allowed_mask
from strategies import (
    Instance,
    constraints_for,
    energies,
    labelings_of,
    planar_energy,
    random_allowed,
    random_energy,
    random_instances,
)


def magnitude(energy: Energy) -> float:
    """The largest number in the energy, which rounding errors are relative to."""
    parts = (energy.unary, energy.weights, energy.subset_costs, np.array([energy.offset, 1e-12]))
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def random_start(rng: np.random.Generator, energy: Energy, constraints: Constraints) -> NDArray[np.int64]:
    return np.array([rng.choice(np.flatnonzero(row)) for row in allowed_mask(energy, constraints)], dtype=int)


def best_moves(energy: Energy, constraints: Constraints, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """The least energy of the 2 ** V moves to each label, by enumeration."""
    allowed = allowed_mask(energy, constraints)
    n_nodes = energy.n_nodes
    moving = (np.arange(2**n_nodes)[:, None] >> np.arange(n_nodes)) & 1 == 1
    return np.array(
        [
            energy.evaluate_many(np.where(moving & allowed[:, alpha], alpha, labels)).min()
            for alpha in range(energy.n_labels)
        ]
    )


def test_every_native_move_is_the_best_of_all_moves() -> None:
    rng = np.random.default_rng(0)
    for instance in random_instances(seed=1, count=1500, max_nodes=7, max_labels=4):
        energy, constraints = instance.energy, instance.constraints
        labels = random_start(rng, energy, constraints).astype(np.int32)
        for alpha in rng.permutation(energy.n_labels).tolist():
            expected = best_moves(energy, constraints, labels)[alpha]
            moved, values = expansion_moves(energy, constraints, labels, [alpha])
            assert values[0] == pytest.approx(expected, abs=1e-9 * instance.unit)
            assert energy.evaluate(moved) == pytest.approx(values[0], abs=1e-9 * instance.unit)
            assert np.isin(moved, [alpha, *labels]).all()
            assert constraints.satisfied(moved)
            labels = moved


def test_native_and_reference_agree_after_every_move() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        energy = random_energy(rng, int(rng.integers(5, 25)), int(rng.integers(2, 6)))
        constraints = Constraints(random_allowed(rng, energy.n_nodes, energy.n_labels))
        start = random_start(rng, energy, constraints)
        order = rng.integers(energy.n_labels, size=15).tolist()
        native_labels, native = expansion_moves(energy, constraints, start, order)
        labels, values = reference_moves(energy, constraints, start, order)
        np.testing.assert_allclose(native, values, atol=1e-9)
        assert (np.diff(native) <= 1e-12).all()
        np.testing.assert_array_equal(native_labels, labels)


def test_reference_and_native_agree_on_a_grid_with_label_and_row_costs() -> None:
    energy = planar_energy(np.random.default_rng(3), 7, 8, 5)
    start = energy.unary.argmin(axis=1)
    order = list(range(5)) * 3
    _, native = expansion_moves(energy, None, start, order)
    _, values = reference_moves(energy, None, start, order)
    np.testing.assert_allclose(native, values, atol=1e-9)


@pytest.mark.parametrize("passes", [0, 4])
def test_result_is_allowed_and_no_move_improves_it(passes: int) -> None:
    for instance in random_instances(seed=4, count=1000, max_nodes=8, max_labels=4):
        energy, constraints = instance.energy, instance.constraints
        result = Expansion(passes=passes).minimize(energy, constraints)
        tolerance = 1e-9 * instance.unit
        assert constraints.satisfied(result.labels)
        assert result.energy == pytest.approx(energy.evaluate(result.labels), abs=tolerance)
        if energy.n_nodes:
            assert result.energy <= best_moves(energy, constraints, result.labels).min() + tolerance


def test_two_labels_are_solved_exactly() -> None:
    for instance in random_instances(seed=5, count=1000, max_nodes=8, max_labels=2):
        energy, constraints = instance.energy, instance.constraints
        exact = Exact().minimize(energy, constraints)
        result = Expansion().minimize(energy, constraints)
        assert result.energy == pytest.approx(exact.energy, abs=1e-9 * instance.unit)


def seeded_grid(rng: np.random.Generator, n_rows: int, n_columns: int, n_seeds: int) -> Energy:
    """Two labels that only a few nodes care about: excess has far to go to be taken in."""
    node = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    across = np.stack((node[:, :-1].ravel(), node[:, 1:].ravel()), axis=1)
    down = np.stack((node[:-1].ravel(), node[1:].ravel()), axis=1)
    edges = np.concatenate((across, down))
    unary = np.zeros((node.size, 2))
    unary[rng.choice(node.size, n_seeds, replace=False), np.arange(n_seeds) % 2] = 50.0
    return Energy(unary, edges, rng.random(len(edges)))


@pytest.mark.parametrize("n_seeds", [2, 6, 40])
def test_two_labels_on_a_grid_with_few_seeds_are_the_minimum_cut(n_seeds: int) -> None:
    energy = seeded_grid(np.random.default_rng(n_seeds), 45, 40, n_seeds)
    value, _ = min_cut(energy.unary, energy.edges, np.stack((energy.weights, energy.weights), axis=1))
    for passes in (0, 10):
        assert Expansion(passes=passes).minimize(energy).energy == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_ladders_of_strong_edges_have_one_label(n_labels: int) -> None:
    """What nodes prefer goes all the way along: messages have gathered it, and it is to go back."""
    rng = np.random.default_rng(n_labels)
    node = np.arange(20_000).reshape(2, -1)
    pairs = ((node[:, :-1], node[:, 1:]), (node[:1], node[1:]))
    edges = np.concatenate([np.stack((a.ravel(), b.ravel()), axis=1) for a, b in pairs])
    unary = rng.integers(0, 3, (node.size, n_labels)).astype(float)
    weights = 1e6 * (1 + rng.random(len(edges)))
    for passes in (0, 1, 10):
        result = Expansion(passes=passes).minimize(Energy(unary, edges, weights))
        assert result.energy == unary.sum(axis=0).min()


@pytest.mark.parametrize("label_cost", [0.0, 0.5])
def test_many_labels_on_a_grid_with_few_seeds_are_near_the_optimum(label_cost: float) -> None:
    """So few seeds that no messages are passed."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        grid = seeded_grid(rng, 21, 20, 2)
        unary = np.zeros((420, 4))
        unary[rng.choice(420, 4, replace=False)] = 50.0 * (1 - np.eye(4))
        subsets = [(np.arange(420), label, label_cost) for label in range(4)]
        energy = Energy(unary, grid.edges, grid.weights, subsets)
        result = Expansion(bound=True).minimize(energy)
        assert result.energy <= 1.02 * Exact().minimize(energy).energy
        assert result.bound is not None
        assert result.bound <= result.energy


def test_two_labels_with_subsets_on_a_grid_with_few_seeds_are_solved_exactly() -> None:
    rng = np.random.default_rng(13)
    for _ in range(5):
        everywhere = np.arange(120)
        rows = [(everywhere[10 * r : 10 * r + 30], r % 2, float(rng.random())) for r in range(10)]
        energy = seeded_grid(rng, 12, 10, 8) + Energy(
            np.zeros((120, 2)), subsets=[(everywhere, 0, 2.0), *rows]
        )
        exact = Exact().minimize(energy)
        for passes in (0, 10):
            result = Expansion(passes=passes).minimize(energy)
            assert result.energy == pytest.approx(exact.energy, abs=1e-6)


def test_close_to_the_optimum_of_small_problems() -> None:
    instances = list(random_instances(seed=6, count=1500, max_nodes=8, max_labels=4))
    optimal = [_is_optimal(instance) for instance in instances]
    assert np.mean(optimal) > 0.99


def _is_optimal(instance: Instance) -> bool:
    exact = Exact().minimize(instance.energy, instance.constraints)
    result = Expansion(bound=True).minimize(instance.energy, instance.constraints)
    assert result.bound is not None
    assert result.bound <= exact.energy + 1e-9 * instance.unit
    assert result.energy >= exact.energy - 1e-9 * instance.unit
    return result.energy <= exact.energy + 1e-9 * instance.unit


def test_within_a_percent_of_integer_programming_on_grids() -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        energy = planar_energy(rng, 6, 10, 4)
        exact = Exact().minimize(energy)
        result = Expansion(bound=True).minimize(energy)
        assert exact.energy - 1e-6 <= result.energy <= 1.01 * exact.energy
        assert result.bound is not None
        assert result.bound <= exact.energy + 1e-6


def test_bound_is_close_to_the_linear_program() -> None:
    rng = np.random.default_rng(8)
    for _ in range(4):
        energy = planar_energy(rng, 8, 8, 5)
        bound = Expansion(bound=True).minimize(energy).bound
        value = lp_bound(energy)
        assert bound is not None
        assert 0.99 * value <= bound <= value + 1e-6


@settings(max_examples=200)
@given(st.data())
def test_never_worse_than_the_start(data: st.DataObject) -> None:
    energy = data.draw(energies(max_nodes=5))
    constraints = data.draw(constraints_for(energy, max_covers=0))
    start = np.array(data.draw(labelings_of(energy, constraints)), dtype=int)
    result = Expansion(passes=data.draw(st.integers(0, 3)), bound=True).minimize(energy, constraints, start)
    slack = 1e-9 * magnitude(energy)
    assert constraints.satisfied(result.labels)
    assert result.energy <= energy.evaluate(start) + slack
    assert result.bound is not None
    assert result.bound <= Exact().minimize(energy, constraints).energy + slack


def test_same_labels_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(9)
    problems = [planar_energy(rng, int(rng.integers(1, 9)), 7, 6) for _ in range(40)]
    masks = [Constraints(random_allowed(rng, e.n_nodes, e.n_labels)) for e in problems]
    starts = [
        None if n % 2 else random_start(rng, e, c)
        for n, (e, c) in enumerate(zip(problems, masks, strict=True))
    ]
    alone = [Expansion().minimize(*problem) for problem in zip(problems, masks, starts, strict=True)]
    for n_jobs in (1, 2, 5, -1):
        together = Expansion(n_jobs=n_jobs).minimize_many(problems, masks, starts)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one.labels, other.labels)
            assert (one.energy, one.moves, one.flows) == (other.energy, other.moves, other.flows)


def test_result_does_not_depend_on_units() -> None:
    energy = planar_energy(np.random.default_rng(10), 6, 6, 5)
    expected = Expansion().minimize(energy)
    for unit in (2.0**-60, 2.0**60):
        scaled = Energy.from_arrays(
            energy.unary * unit,
            energy.edges,
            energy.weights * unit,
            energy.subset_starts,
            energy.subset_nodes,
            energy.subset_labels,
            energy.subset_costs * unit,
        )
        np.testing.assert_array_equal(Expansion().minimize(scaled).labels, expected.labels)


def test_degenerate_problems() -> None:
    solver = Expansion(bound=True)
    assert solver.minimize(Energy(np.zeros((0, 3)), offset=2.0)).energy == 2.0
    assert solver.minimize(Energy([[3.0]])).energy == 3.0
    one_label = solver.minimize(Energy([[1.0], [2.0]], [[0, 1]], [5.0], subsets=[([0], 0, 4.0)]))
    assert (one_label.energy, one_label.labels.tolist()) == (7.0, [0, 0])
    apart = solver.minimize(Energy([[0, 1], [1, 0], [0, 2], [3, 0]], [[0, 1], [2, 3]], [9.0, 0.5]))
    assert apart.energy == pytest.approx(1.5)
    assert solver.minimize_many([]) == []


def test_a_label_that_no_node_may_take_costs_nothing() -> None:
    energy = Energy([[0, -9, 1], [0, -9, 1]], [[0, 1]], [1.0], subsets=[([0, 1], 1, 2.0)])
    result = Expansion().minimize(energy, Constraints(np.array([[True, False, True]] * 2)))
    assert result.labels.tolist() == [0, 0]


def test_inputs_stay_as_they_were() -> None:
    energy = planar_energy(np.random.default_rng(11), 5, 5, 3)
    start = np.zeros(25, dtype=np.int32)
    before = energy.unary.copy()
    Expansion().minimize(energy, None, start)
    np.testing.assert_array_equal(energy.unary, before)
    assert not start.any()


def test_wrong_arguments_are_named() -> None:
    energy = Energy([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="Expansion cannot meet covers"):
        Expansion().minimize(energy, Constraints(covers=[([0], 1)]))
    with pytest.raises(ValueError, match="n_jobs is 0"):
        Expansion(n_jobs=0).minimize(energy)
    with pytest.raises(ValueError, match="passes is -1"):
        Expansion(passes=-1).minimize(energy)
    with pytest.raises(ValueError, match="effort is nan"):
        Expansion(effort=float("nan")).minimize(energy)
    with pytest.raises(ValueError, match="time_limit is 0: expected seconds"):
        Expansion(time_limit=0).minimize(energy)
    with pytest.raises(ValueError, match=r"start\[1\] is 2"):
        Expansion().minimize(energy, start=[0, 2])
    with pytest.raises(ValueError, match=r"start\[0\] is 0: this label is not allowed"):
        Expansion().minimize(energy, Constraints(np.array([[False, True], [True, True]])), [0, 0])
    with pytest.raises(ValueError, match=r"order\[1\] is 5"):
        expansion_moves(energy, None, None, [0, 5])


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_min_cut_agrees_with_scipy(unit: float) -> None:
    rng = np.random.default_rng(12)
    for n_nodes in (1, 2, 5, 30, 300):
        terminals = rng.integers(0, 20, size=(n_nodes, 2))
        edges = _random_pairs(rng, n_nodes)
        capacities = rng.integers(0, 10, size=(len(edges), 2))
        value, side = min_cut(unit * terminals, edges, unit * capacities)
        assert value == pytest.approx(unit * _scipy_max_flow(terminals, edges, capacities), rel=1e-9)
        cut = (side[edges[:, 0]] & ~side[edges[:, 1]]) @ capacities[:, 0]
        cut += (~side[edges[:, 0]] & side[edges[:, 1]]) @ capacities[:, 1]
        paid = np.where(side, terminals[:, 0], terminals[:, 1]).sum()
        assert value == pytest.approx(unit * (cut + paid), rel=1e-9)


def _random_pairs(rng: np.random.Generator, n_nodes: int) -> NDArray[np.int64]:
    pairs = rng.integers(n_nodes, size=(3 * n_nodes, 2))
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _scipy_max_flow(
    terminals: NDArray[np.int64], edges: NDArray[np.int64], capacities: NDArray[np.int64]
) -> int:
    n = len(terminals)
    source, sink = np.full(n, n), np.full(n, n + 1)
    nodes = np.arange(n)
    tail = np.concatenate([source, nodes, edges[:, 0], edges[:, 1]])
    head = np.concatenate([nodes, sink, edges[:, 1], edges[:, 0]])
    limit = np.concatenate([terminals[:, 1], terminals[:, 0], capacities[:, 0], capacities[:, 1]])
    graph = coo_array((limit, (tail, head)), shape=(n + 2, n + 2)).tocsr().astype(np.int32)
    return int(maximum_flow(graph, n, n + 1).flow_value)


def test_min_cut_names_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"capacities\[0, 1\] is -1"):
        min_cut([[0, 1], [1, 0]], [[0, 1]], [[1, -1]])
    with pytest.raises(ValueError, match=r"edges\[0, 1\] is 2: nodes must be in 0\.\.1"):
        min_cut([[0, 1], [1, 0]], [[0, 2]], [[1, 1]])
    with pytest.raises(ValueError, match=r"edges\[0, 1\] is 4294967297"):
        min_cut([[0, 1], [1, 0]], [[0, 2**32 + 1]], [[1, 1]])
    with pytest.raises(TypeError, match="edges must hold integers, not float64"):
        min_cut([[0, 1], [1, 0]], [[0.0, 1.7]], [[1, 1]])
    with pytest.raises(ValueError, match=r"edges\[0\] joins node 1 to itself"):
        min_cut([[0, 1], [1, 0]], [[1, 1]], [[1, 1]])
    with pytest.raises(ValueError, match=r"capacities\[0, 0\] is 1e\+308.*scale them down"):
        min_cut([[0, 1], [1, 0]], [[0, 1]], [[1e308, 1e308]])
    with pytest.raises(ValueError, match=r"terminals\[1, 0\] is nan"):
        min_cut([[0.0, 1.0], [float("nan"), 0.0]], [[0, 1]], [[1, 1]])
