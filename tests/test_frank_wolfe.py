"""Frank-Wolfe: line search, mixtures, certificates, and that it does not depend on what it should not."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from learning_cases import fulls, hinge, make_risk, random_problems, tags
from multiutility.inference import Expansion
from multiutility.learning.optimizers import planes, reference
from multiutility.learning.optimizers.dual import Dual, ascend, line_search
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.solution import Record
from multiutility.models import Potts
from multiutility.problem import LabelingProblem


@pytest.mark.parametrize("seed", range(50))
def test_line_search_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slope, curvature = 3 * rng.standard_normal(), rng.random() * (seed % 5 > 0)
    pairwise, direction = rng.standard_normal((2, seed % 4))
    direction = direction * (rng.random(len(direction)) < 0.8)

    def value(t: float) -> float:
        active = np.maximum(pairwise + t * direction, 0)
        return float(slope * t - curvature * t * t / 2 - active @ active / 2)

    found = line_search(slope, curvature, pairwise, direction)
    best = minimize_scalar(lambda t: -value(t), bounds=(0, 1), method="bounded").fun
    assert 0 <= found <= 1
    assert value(found) >= max(-best, value(0), value(1)) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_a_batch_raise_the_dual_and_end_where_no_single_one_helps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((3, 6))
    slopes, edges, pairwise = 4 * rng.standard_normal(3), rng.standard_normal((3, 2)), rng.standard_normal(2)

    def value(steps: NDArray[np.float64]) -> float:
        active = np.maximum(pairwise + steps @ edges, 0)
        return float(slopes @ steps - ((steps @ directions) ** 2).sum() / 2 - active @ active / 2)

    values = [value(np.zeros(3))]
    values += [value(ascend(slopes, directions @ directions.T, pairwise, edges, n)) for n in (1, 3, 200)]
    assert values == pytest.approx(sorted(values))
    found = ascend(slopes, directions @ directions.T, pairwise, edges, 200)
    for b in range(3):
        tried = [value(np.where(np.arange(3) == b, t, found)) for t in np.linspace(0, 1, 101)]
        assert value(found) >= max(tried) - 1e-9


@pytest.mark.parametrize("exchange", [planes.exchange, reference.exchange])
@pytest.mark.parametrize("seed", range(10))
def test_exchange_reaches_the_maximum_on_the_simplex(
    seed: int, exchange: Callable[..., NDArray[np.float64]]
) -> None:
    rng = np.random.default_rng(seed)
    factors, linear = rng.standard_normal((2, 5, 4)), rng.standard_normal((2, 5))
    gram = factors @ factors.transpose(0, 2, 1)
    used = np.array([[True] * 5, [True, True, False, True, False]])
    start = np.array([[1.0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0]])
    gradients = linear - (gram @ start[..., np.newaxis])[..., 0]
    found = exchange(start, gradients, gram, used, 5000)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found[~used] == 0).all()
    for b in range(2):
        slopes = np.where(used[b], linear[b] - gram[b] @ found[b], -np.inf)
        # Optimal if no used element has a larger slope than the mixture.
        assert slopes.max() - found[b][used[b]] @ slopes[used[b]] < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_primal_and_dual_are_what_they_claim(seed: int) -> None:
    """Primal from the weights by enumeration; dual from the planes by the model's joint features."""
    problems, labelings = random_problems(seed, 6)
    annotations = [*fulls(labelings[:3]), *tags(labelings[3:])]
    risk = make_risk(problems, annotations, c=5.0, alpha=0.5)
    solution = FrankWolfe(planes=3).minimize(risk, 0.02)
    assert solution.converged
    weights = solution.weights
    assert (weights[9:] >= 0).all()
    primal = weights @ weights / 2
    for n, problem in enumerate(problems):
        primal += risk.costs[n] * hinge(problem, annotations[n], risk.anchor(n).labels, weights)
    assert solution.primal == pytest.approx(primal, rel=1e-9)
    assert solution.dual <= solution.primal <= solution.dual / 0.98 + 1e-12
    assert_consistent(solution.state, problems)


def assert_consistent(dual: Dual, problems: list[LabelingProblem]) -> None:
    """The sum of all blocks is that of the planes' joint features, and mixtures are mixtures."""
    bundle = dual.bundle
    assert (bundle.coefficients >= 0).all()
    np.testing.assert_allclose(bundle.coefficients.sum(axis=1), 1)
    total = np.zeros_like(dual.sum)
    for n in range(dual.n_blocks):
        nodes = bundle.matrix(n, bundle.coefficients[n])
        problem = problems[n]
        total[:9] += Potts(3).assemble(problem, nodes, np.zeros(problem.n_edges))[:9]
        total[9:] += bundle.coefficients[n] @ bundle.pairwise[n]
        for slot in np.flatnonzero(bundle.used[n][1:]) + 1:
            features = [
                Potts(3).joint_feature(problem, y) for y in (bundle.anchors[n].labels, bundle.labels[n][slot])
            ]
            expected = dual.risk.costs[n] * (features[0] - features[1])
            np.testing.assert_allclose(bundle.pairwise[n, slot], expected[9:], atol=1e-12)
            assert bundle.gram[n, slot, slot] == pytest.approx(expected[:9] @ expected[:9])
    np.testing.assert_allclose(dual.sum, total, atol=1e-10)


def test_the_optimum_is_that_of_a_general_solver() -> None:
    problems, labelings = random_problems(7, 4)
    annotations = fulls(labelings)
    risk = make_risk(problems, annotations, c=1.0)
    solution = FrankWolfe(max_passes=2000).minimize(risk, 1e-4)
    anchors = [risk.anchor(n).labels for n in range(4)]

    def primal(weights: NDArray[np.float64]) -> float:
        hinges = [hinge(p, a, y, weights) for p, a, y in zip(problems, annotations, anchors, strict=True)]
        return float(weights @ weights / 2 + risk.costs @ hinges)

    bounds = [(None, None)] * 9 + [(0, None)] * 2
    best = minimize(primal, solution.weights, method="Powell", bounds=[(b[0] or -5, 5) for b in bounds])
    assert solution.dual <= best.fun + 1e-9
    assert solution.primal <= best.fun * (1 + 2e-4)


def test_dual_never_falls_and_the_callback_sees_every_pass() -> None:
    problems, labelings = random_problems(2, 10)
    records: list[Record] = []
    FrankWolfe(batch_size=4, max_passes=12, check_every=5).minimize(
        make_risk(problems, tags(labelings), c=50.0, alpha=1.0), 1e-9, callback=records.append
    )
    duals = [record.dual for record in records]
    assert (np.diff(duals) >= -1e-9).all()
    assert [record.passes for record in records] == list(range(1, len(records) + 1))
    assert any(record.exact for record in records)
    assert not all(record.exact for record in records)


def test_averages_are_of_all_iterates_and_later_ones_count_more() -> None:
    problems, labelings = random_problems(3, 8)
    risk = make_risk(problems, fulls(labelings), c=20.0)
    run = FrankWolfe(max_passes=9, check_every=10).begin(risk, 1e-9)
    sums = []
    while not run.finished:
        run.advance()
        sums.append(run.dual.sum.copy())
    # As a product of rising factors: t (t + 1) (t + 2), which is 3! times the coefficient "t + 2 over 3".
    counts = [comb(t + 2, 3) for t in range(1, 10)]
    average = np.average(sums[:9], axis=0, weights=counts)
    np.testing.assert_allclose(run.solution().weights, risk.layout.projected(average), atol=1e-9)


def test_averages_depend_less_on_the_order_of_blocks_than_iterates() -> None:
    problems, labelings = random_problems(5, 12)
    risk = make_risk(problems, fulls(labelings), c=200.0)
    spreads = []
    for average in (True, False):
        optimizer = FrankWolfe(max_passes=60, check_every=100, average=average)
        orders = [np.random.RandomState(seed) for seed in range(6)]
        found = [optimizer.minimize(risk, 1e-9, random_state=order).weights for order in orders]
        spreads.append(np.std(found, axis=0).mean())
    assert spreads[0] < 0.7 * spreads[1]


def test_same_result_for_any_number_of_threads() -> None:
    problems, labelings = random_problems(4, 12, n_nodes=6)
    found = [
        FrankWolfe(batch_size=4).minimize(
            make_risk(problems, tags(labelings), c=20.0, solver=Expansion(n_jobs=n_jobs)),
            0.05,
            random_state=np.random.RandomState(3),
        )
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert found[0].dual == found[1].dual


@pytest.mark.parametrize("batch_size", [1, 3, 20])
def test_mini_batches_reach_the_same_optimum(batch_size: int) -> None:
    problems, labelings = random_problems(5, 8)
    solution = FrankWolfe(batch_size=batch_size, max_passes=500).minimize(
        make_risk(problems, fulls(labelings)), 0.005
    )
    reference = FrankWolfe(max_passes=500).minimize(make_risk(problems, fulls(labelings)), 0.005)
    assert solution.converged
    assert reference.dual <= solution.primal
    assert solution.dual <= reference.primal


def test_moved_anchors_keep_the_dual_feasible() -> None:
    """After the anchors change, the shifted duals are those of the new problem, and not worse than zero."""
    problems, labelings = random_problems(6, 6)
    risk = make_risk(problems, tags(labelings), c=10.0, alpha=1.0)
    state = FrankWolfe(planes=4).minimize(risk, 0.1).state
    moved = risk.anchored(labelings)
    state.recenter(moved)
    assert_consistent(state, problems)
    nothing = Dual(moved, 2)
    assert state.objective >= -1e-9
    warm = FrankWolfe().minimize(moved, 0.01, start=state)
    cold = FrankWolfe().minimize(
        make_risk(problems, tags(labelings), c=10.0, alpha=1.0).anchored(labelings), 0.01
    )
    assert warm.converged
    assert cold.converged
    assert warm.dual <= cold.primal
    assert cold.dual <= warm.primal
    assert warm.dual >= nothing.objective


def test_float32_features_are_enough_for_one_percent() -> None:
    problems, labelings = random_problems(8, 6)
    small = [
        type(p)(p.node_features.astype(np.float32), p.edges, p.edge_features, p.node_sizes) for p in problems
    ]
    found = [FrankWolfe().minimize(make_risk(p, fulls(labelings)), 0.01) for p in (problems, small)]
    assert found[1].converged
    assert found[1].primal == pytest.approx(found[0].primal, rel=0.02)
    assert found[1].state.risk.dtype == np.float32


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="batch_size is 0"):
        FrankWolfe(batch_size=0)
