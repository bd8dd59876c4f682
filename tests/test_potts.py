"""The Potts model against its definition, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility import LabelingProblem
from multiutility.checks import enumerate_labelings
from multiutility.models import Potts
from strategies import random_edges


def random_case(rng: np.random.Generator) -> tuple[LabelingProblem, int, NDArray[np.float64]]:
    n_nodes, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    n_features, n_pairwise = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    edges = random_edges(rng, n_nodes)
    features = rng.standard_normal((n_nodes, n_features))
    problem = LabelingProblem(features, edges, rng.random((len(edges), n_pairwise)))
    unary = rng.standard_normal(n_labels * n_features)
    return problem, n_labels, np.concatenate((unary, rng.random(n_pairwise)))


def score(problem: LabelingProblem, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """F(y), term by term in plain Python."""
    n_features, n_pairwise = problem.node_features.shape[1], problem.edge_features.shape[1]
    total = 0.0
    for i, k in enumerate(labels.tolist()):
        for d in range(n_features):
            total += float(problem.node_features[i, d]) * weights[k * n_features + d]
    for e, (i, j) in enumerate(problem.edges.tolist()):
        if labels[i] == labels[j]:
            for p in range(n_pairwise):
                total += float(problem.edge_features[e, p]) * weights[len(weights) - n_pairwise + p]
    return total


@pytest.mark.parametrize("seed", range(60))
def test_score_is_joint_feature_and_minus_energy(seed: int) -> None:
    problem, n_labels, weights = random_case(np.random.default_rng(seed))
    model = Potts(n_labels)
    energy = model.energy(problem, weights)
    for labels in enumerate_labelings(problem.n_nodes, n_labels):
        expected = score(problem, labels, weights)
        assert weights @ model.joint_feature(problem, labels) == pytest.approx(expected, abs=1e-10)
        assert energy.evaluate(labels) == pytest.approx(-expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_joint_feature_is_the_slope_of_the_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, n_labels, weights = random_case(rng)
    model = Potts(n_labels)
    labels = rng.integers(n_labels, size=problem.n_nodes)
    features, step = model.joint_feature(problem, labels), 0.25
    for n in range(len(weights)):
        moved = weights + step * (np.arange(len(weights)) == n)
        rise = model.energy(problem, weights).evaluate(labels) - model.energy(problem, moved).evaluate(labels)
        assert rise / step == pytest.approx(features[n], abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_assemble_is_linear_and_dual_to_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, n_labels, weights = random_case(rng)
    model = Potts(n_labels)
    nodes, edges = rng.standard_normal((problem.n_nodes, n_labels)), rng.standard_normal(problem.n_edges)
    found = weights @ model.assemble(problem, nodes, edges)
    scores, attraction = model.scores(problem, weights), model.edge_weights(problem, weights)
    assert found == pytest.approx((nodes * scores).sum() + (edges * attraction).sum(), abs=1e-10)


def test_layout_of_the_weights() -> None:
    problem = LabelingProblem([[1.0, 2.0], [3.0, 5.0]], [[0, 1]], [[0.5, 0.25]])
    model = Potts(n_labels=3)
    assert model.n_weights(problem) == 8
    assert model.nonnegative(problem) == slice(6, 8)
    assert model.joint_feature(problem, [2, 0]).tolist() == [3, 5, 0, 0, 1, 2, 0, 0]
    assert model.joint_feature(problem, [1, 1]).tolist() == [0, 0, 4, 7, 0, 0, 0.5, 0.25]


def test_float32_features_are_multiplied_in_float32() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((4, 3)).astype(np.float32)
    problem = LabelingProblem(features, [[0, 1]], np.ones((1, 1), dtype=np.float32))
    model, weights = Potts(n_labels=2), np.ones(7)
    assert model.scores(problem, weights).dtype == np.float32
    assert model.edge_weights(problem, weights).dtype == np.float32
    assert model.joint_feature(problem, [0, 1, 0, 1]).dtype == np.float64
    assert model.energy(problem, weights).unary.dtype == np.float64


def test_negative_pairwise_weights_and_features_are_refused() -> None:
    problem = LabelingProblem([[1.0], [2.0]], [[0, 1]], [[0.5, 1.0]])
    for call in (Potts(2).energy, Potts(2).edge_weights):
        with pytest.raises(ValueError, match=r"pairwise weights\[1\] is -0.5: .* must be >= 0"):
            call(problem, [-1.0, -1.0, 0.0, -0.5])
    with pytest.raises(ValueError, match=r"edge_features\[0, 0\] is -0.5"):
        LabelingProblem([[1.0], [2.0]], [[0, 1]], [[-0.5]])


def test_wrong_weights_and_labels_are_refused() -> None:
    problem = LabelingProblem([[1.0], [2.0]], [[0, 1]], [[0.5]])
    with pytest.raises(ValueError, match=r"weights has shape \(2,\): expected \[3\]"):
        Potts(2).energy(problem, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"weights\[0\] is nan"):
        Potts(2).scores(problem, [np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"labels\[1\] is 2"):
        Potts(2).joint_feature(problem, [0, 2])
    with pytest.raises(ValueError, match="n_labels is 0"):
        Potts(0)


def test_graphs_without_edges_or_nodes() -> None:
    lonely = LabelingProblem([[1.0]], [], np.zeros((0, 2)))
    assert Potts(2).joint_feature(lonely, [1]).tolist() == [0, 1, 0, 0]
    empty = LabelingProblem(np.zeros((0, 3)), [], np.zeros((0, 1)))
    assert Potts(2).joint_feature(empty, []).tolist() == [0] * 7
    assert Potts(2).energy(empty, np.ones(7)).evaluate([]) == 0
