"""The native planes against their twin in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.learning.optimizers import planes, reference
from multiutility.learning.optimizers.planes import Slots


def random_slots(rng: np.random.Generator, n_nodes: int, n_labels: int = 4, n_slots: int = 7) -> Slots:
    labels = rng.integers(n_labels, size=(n_slots + 1, n_nodes)).astype(np.int32)
    used = rng.random(n_slots) < 0.8
    used[0] = True
    return Slots(rng.standard_normal((n_nodes, n_labels)), labels[1:], labels[0], used, 0.3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_nodes", [1, 7, 8, 9, 100, 128, 129, 200, 1000])
def test_sums_are_those_of_numpy_to_the_last_bit(n_nodes: int, dtype: type) -> None:
    rng = np.random.default_rng(n_nodes)
    matrix: NDArray[Any] = rng.standard_normal((n_nodes, 4)).astype(dtype)
    labels = rng.integers(4, size=(3, n_nodes)).astype(np.int32)
    assert np.array_equal(planes.label_sums(matrix, labels), reference.label_sums(matrix, labels))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_nodes", [1, 10, 200])
def test_slots_are_the_matrices_that_they_stand_for(n_nodes: int, dtype: type) -> None:
    rng = np.random.default_rng(n_nodes)
    slots = random_slots(rng, n_nodes)
    matrix: NDArray[Any] = rng.standard_normal((n_nodes, 4)).astype(dtype)
    expected = reference.slot_products(slots, matrix)
    np.testing.assert_allclose(planes.slot_products(slots, matrix), expected, atol=1e-12)
    coefficients = np.where(slots.used, rng.random(7), 0.0) * (rng.random(7) < 0.6)
    found = planes.combine_slots(slots, coefficients, dtype)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, reference.combine_slots(slots, coefficients, dtype), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_nodes", [1, 3, 448, 449, 900])
def test_swapped_labels_are_those_of_the_twin(
    monkeypatch: pytest.MonkeyPatch, n_nodes: int, dtype: type
) -> None:
    rng = np.random.default_rng(n_nodes)
    factors: NDArray[Any] = rng.standard_normal((n_nodes, 5)).astype(dtype)
    symmetric = factors @ factors.T
    first = rng.integers(4, size=n_nodes).astype(np.int32)
    second = np.where(rng.random(n_nodes) < 0.5, first, rng.integers(4, size=n_nodes)).astype(np.int32)
    for small in (0, 10**9):
        monkeypatch.setattr(planes, "SMALL_PRODUCT", small)
        found = planes.swap_labels(symmetric, first, second, 4)
        assert found.dtype == dtype
        exact = reference.swap_labels(symmetric.astype(np.float64), first, second, 4)
        np.testing.assert_allclose(found, exact, atol=2000 * float(np.finfo(dtype).eps))


def test_slots_are_found_by_their_labeling() -> None:
    rng = np.random.default_rng(0)
    slots = random_slots(rng, 3, n_labels=2)
    for labels in np.ndindex(2, 2, 2):
        wanted = np.array(labels, dtype=np.int32)
        assert planes.slot_of(slots, wanted) == reference.slot_of(slots, wanted)


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((3, 5, 4))
    gram, used = factors @ factors.transpose(0, 2, 1), np.ones((3, 5), dtype=np.bool_)
    used[1, 3:] = False
    start = np.where(used, rng.random((3, 5)), 0.0)
    start /= start.sum(axis=1, keepdims=True)
    arguments = start, rng.standard_normal((3, 5)), gram, used, 4
    assert np.array_equal(planes.exchange(*arguments), reference.exchange(*arguments))
    slopes = 4 * rng.standard_normal(5)
    steps = planes.ascend_parabola(slopes, gram[0], 3)
    assert np.array_equal(steps, reference.ascend_parabola(slopes, gram[0], 3))
