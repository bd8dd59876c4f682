"""Logarithms of sums of exponentials against those of SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from multiutility.learning.starts.logarithms import highest, log_softmax, logsumexp


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 24)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_logarithms_are_those_of_scipy(shape: tuple[int, int], scale: float) -> None:
    scores = scale * np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(log_softmax(scores), special.log_softmax(scores, axis=1), rtol=1e-14)
    assert log_softmax(scores.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(logsumexp(scores), special.logsumexp(scores, axis=1), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [1, 2, 21])
def test_the_highest_are_those_of_numpy(dtype: type, n_labels: int) -> None:
    scores: NDArray[Any] = np.random.default_rng(0).standard_normal((50, n_labels)).astype(dtype)
    scores[::7, 0] = -np.inf
    assert highest(scores).dtype == dtype
    assert np.array_equal(highest(scores), scores.max(axis=1))


def test_impossible_labels_have_no_probability() -> None:
    scores = np.array([[0.0, -np.inf, 0.0], [1.0, -np.inf, -np.inf]])
    assert np.array_equal(log_softmax(scores), special.log_softmax(scores, axis=1))


def test_impossible_labels_add_nothing() -> None:
    scores = np.array([[0.0, -np.inf, 0.0], [-np.inf] * 3, [1.0, 1.0, -2.0]])
    np.testing.assert_allclose(logsumexp(scores), special.logsumexp(scores, axis=1), rtol=1e-14)
    assert (logsumexp(np.zeros((2, 0))) == -np.inf).all()
