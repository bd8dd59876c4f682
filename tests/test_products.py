"""Native scores of nodes against NumPy's product, and against sums in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from multiutility.learning.optimizers import planes, reference
from multiutility.learning.optimizers.planes import Scores


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 16, 21, 24, 25, 32, 33, 60])
@pytest.mark.parametrize("n_features", [1, 16, 448, 449, 896, 1404])
def test_scores_are_those_of_the_twin(
    monkeypatch: pytest.MonkeyPatch, n_labels: int, n_features: int
) -> None:
    monkeypatch.setattr(planes, "FEW_LABELS", 0)
    monkeypatch.setattr(planes, "SMALL_PRODUCT", 0)
    rng = np.random.default_rng(n_features)
    rows = rng.standard_normal((n_labels, n_features), dtype=np.float32)
    scores = Scores(rows)
    for n_nodes in (1, 3, 4, 5, 50):
        features = rng.standard_normal((n_nodes, n_features), dtype=np.float32)
        found = scores(features)
        assert found.dtype == np.float32
        exact = features.astype(np.float64) @ rows.T.astype(np.float64)
        rounding = np.abs(features) @ np.abs(rows).T * np.finfo(np.float32).eps
        assert (np.abs(found - exact) <= 20 * rounding).all()
        assert (np.abs(found - reference.scores(rows, features)) <= 20 * rounding).all()


@pytest.mark.parametrize("n_labels", [1, 3, 6, 7, 8, 10, 21, 24])
@pytest.mark.parametrize("n_nodes", [1, 16, 17, 200, 448, 449, 1000])
def test_sums_are_those_of_the_twin(monkeypatch: pytest.MonkeyPatch, n_labels: int, n_nodes: int) -> None:
    monkeypatch.setattr(planes, "FEW_LABELS", 0)
    monkeypatch.setattr(planes, "SMALL_PRODUCT", 0)
    rng = np.random.default_rng(n_nodes)
    nodes = rng.standard_normal((n_nodes, n_labels), dtype=np.float32)
    for n_features in (1, 15, 16, 17, 100):
        features = rng.standard_normal((n_nodes, n_features), dtype=np.float32)
        found, twin = np.full((2, n_labels, n_features), np.nan, dtype=np.float32)
        planes.lift(nodes, features, found)
        reference.lift(nodes, features, twin)
        exact = nodes.T.astype(np.float64) @ features.astype(np.float64)
        rounding = np.abs(nodes.T) @ np.abs(features) * np.finfo(np.float32).eps
        assert (np.abs(found - exact) <= 20 * rounding).all()
        assert (np.abs(found - twin) <= 20 * rounding).all()


def test_a_node_has_the_same_scores_whatever_nodes_come_with_it() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((21, 1404), dtype=np.float32)
    features = rng.standard_normal((203, 1404), dtype=np.float32)
    found = Scores(rows)(features)
    assert np.array_equal(Scores(rows)(features[1:]), found[1:])


def test_features_in_double_precision_stay_so() -> None:
    rng = np.random.default_rng(0)
    rows, features = rng.standard_normal((21, 300)), rng.standard_normal((200, 300))
    assert np.array_equal(Scores(rows)(features), features @ rows.T)


def test_features_may_start_anywhere() -> None:
    rng = np.random.default_rng(0)
    rows, flat = (
        rng.standard_normal((21, 301), dtype=np.float32),
        rng.standard_normal(200 * 301 + 1, np.float32),
    )
    features = flat[1:].reshape(200, 301)
    np.testing.assert_allclose(Scores(rows)(features), reference.scores(rows, features), rtol=1e-4, atol=1e-4)
