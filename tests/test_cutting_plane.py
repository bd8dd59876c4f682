"""The cutting-plane method, held against Frank-Wolfe and a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from learning_cases import fulls, hinge, make_risk, random_problems, tags
from multiutility.inference import Expansion
from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.quadratic import maximize_on_simplex
from multiutility.learning.optimizers.solution import Record


@pytest.mark.parametrize("seed", range(20))
def test_quadratic_programs_against_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    factors = rng.standard_normal((size, int(rng.integers(1, 9))))
    gram, linear = factors @ factors.T, rng.standard_normal(size)
    on_simplex = np.arange(size) < max(1, size - seed % 3)
    gram += np.diag(np.where(on_simplex, 0.0, 1.0))
    found = maximize_on_simplex(gram, linear, on_simplex)
    assert (found >= 0).all()
    assert found[on_simplex].sum() == pytest.approx(1)
    best = minimize(
        lambda z: z @ gram @ z / 2 - linear @ z,
        np.where(on_simplex, 1 / on_simplex.sum(), 0),
        jac=lambda z: gram @ z - linear,
        bounds=[(0, None)] * size,
        constraints={"type": "eq", "fun": lambda z: z[on_simplex].sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert found @ gram @ found / 2 - linear @ found <= best.fun + 1e-7


def test_equal_planes_do_no_harm() -> None:
    found = maximize_on_simplex(np.ones((3, 3)), np.array([1.0, 1.0, 0.5]), np.ones(3, dtype=bool))
    assert found[:2].sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_frank_wolfe_within_the_gap(seed: int) -> None:
    problems, labelings = random_problems(seed, 8)
    annotations = [*fulls(labelings[:3]), *tags(labelings[3:])]
    cut = CuttingPlane().minimize(make_risk(problems, annotations, c=5.0, alpha=0.5), 1e-3)
    step = FrankWolfe(max_passes=2000).minimize(make_risk(problems, annotations, c=5.0, alpha=0.5), 1e-3)
    assert cut.converged
    assert step.converged
    assert cut.dual <= step.primal + 1e-9
    assert step.dual <= cut.primal + 1e-9
    # Strong convexity: weights of gaps g1 and g2 are no farther apart than this.
    distance = np.sqrt(2 * (cut.primal - cut.dual)) + np.sqrt(2 * (step.primal - step.dual))
    assert np.linalg.norm(cut.weights - step.weights) <= distance


def test_primal_is_what_it_claims() -> None:
    problems, labelings = random_problems(9, 5)
    annotations = tags(labelings)
    risk = make_risk(problems, annotations, c=10.0, alpha=1.0)
    records: list[Record] = []
    solution = CuttingPlane().minimize(risk, 0.001, callback=records.append)
    hinges = [
        hinge(p, a, risk.anchor(n).labels, solution.weights)
        for n, (p, a) in enumerate(zip(problems, annotations, strict=True))
    ]
    assert solution.primal == pytest.approx(solution.weights @ solution.weights / 2 + risk.costs @ hinges)
    assert (solution.weights[9:] >= 0).all()
    assert (np.diff([record.dual for record in records]) >= 0).all()


def test_moved_anchors() -> None:
    problems, labelings = random_problems(3, 6)
    risk = make_risk(problems, tags(labelings), c=10.0, alpha=1.0)
    state = CuttingPlane().minimize(risk, 0.01).state
    moved = risk.anchored(labelings)
    records: list[Record] = []
    warm = CuttingPlane().minimize(moved, 0.001, state, callback=records.append)
    cold = CuttingPlane().minimize(moved, 0.001)
    assert warm.dual <= cold.primal + 1e-9
    assert cold.dual <= warm.primal + 1e-9
    assert max(record.dual for record in records) <= cold.primal + 1e-9


def test_gives_up_after_so_many_iterations() -> None:
    problems, labelings = random_problems(3, 6)
    risk = make_risk(problems, fulls(labelings), c=100.0, solver=Expansion())
    assert not CuttingPlane(max_iterations=2).minimize(risk, 1e-6).converged
