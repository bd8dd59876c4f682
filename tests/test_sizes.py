"""Size terms of energies and sizes of constraints: values by hand, and minima against enumeration."""

from __future__ import annotations

import pickle
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference import Exact, Expansion, Pinpoint, Reference, expansion_moves
from multiutility.inference.pinpoint import UnmetSizeWarning, flip_loss
from strategies import random_allowed, random_energy

TERMS = 40


def random_ranges(rng: np.random.Generator, n_nodes: int, n_labels: int, n: int) -> list[Any]:
    """Ranges of sizes, some of nodes that do not count, some that no labeling leaves."""
    found = []
    for _ in range(n):
        weights = rng.uniform(0.5, 3, n_nodes) * (rng.random(n_nodes) < 0.9)
        low = float(rng.uniform(-0.2, 0.6) * weights.sum())
        found.append((weights, int(rng.integers(n_labels)), low, low + float(rng.uniform(0, 2))))
    return found


def random_sized(rng: np.random.Generator, n_labels: int, n_terms: int) -> Energy:
    """Energy with edges, subsets and size terms."""
    n_nodes = int(rng.integers(1, 6))
    terms = [(*one, float(rng.uniform(0, 2))) for one in random_ranges(rng, n_nodes, n_labels, n_terms)]
    plain = random_energy(rng, n_nodes, n_labels)
    return plain + Energy(np.zeros((n_nodes, n_labels)), sizes=terms)


def all_labelings(n_nodes: int, n_labels: int) -> Any:
    return np.array(list(product(range(n_labels), repeat=n_nodes)), dtype=np.int32)


def by_hand(energy: Energy, labels: Any) -> float:
    """Energy of a labeling, size terms written out."""
    value = energy.without_sizes(energy.unary, energy.offset).evaluate(labels)
    sizes = energy.sizes
    for weights, label, low, high, gain in zip(*sizes.arrays, energy.size_gains, strict=True):
        size = sum(weight for weight, own in zip(weights, labels, strict=True) if own == label)
        value -= gain * max(0.0, low - size, size - high)
    return float(value)


@pytest.mark.parametrize("seed", range(TERMS))
def test_values_and_minima_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_labels, n_terms = int(rng.integers(2, 4)), int(rng.integers(1, 5))
    energy = random_sized(rng, n_labels, n_terms)
    labelings = all_labelings(energy.n_nodes, n_labels)
    values = np.array([by_hand(energy, labels) for labels in labelings])
    np.testing.assert_allclose(energy.evaluate_many(labelings), values, atol=1e-9)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(energy)).evaluate_many(labelings), values, atol=1e-9)
    allowed = random_allowed(rng, energy.n_nodes, n_labels)
    inside = allowed[np.arange(energy.n_nodes), labelings].all(axis=1)
    least = float(values[inside].min())
    limits = Constraints(allowed)
    for exact in (Exact(), Exact(max_enumerated=1)):
        assert exact.minimize(energy, limits).energy == pytest.approx(least, abs=1e-6)
    start = labelings[inside][rng.integers(inside.sum())]
    for solver in (Expansion(), Expansion(bound=True), Reference()):
        found = solver.minimize(energy, limits, start)
        assert found.energy == pytest.approx(by_hand(energy, found.labels), abs=1e-9)
        assert found.energy <= energy.evaluate(start) + 1e-9
        assert found.bound is None or found.bound <= least + 1e-6
        # Exact where the solutions of all pieces are: two labels, and few terms.
        if n_labels == 2 and n_terms <= 3:
            assert found.energy == pytest.approx(least, abs=1e-6)


def test_flip_loss_is_the_rise_of_the_energy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        energy = random_sized(rng, 3, 3)
        labels = rng.integers(3, size=energy.n_nodes).astype(np.int32)
        losses = flip_loss(energy, np.ones(energy.unary.shape, dtype=np.bool_), labels)
        for i, k in product(range(energy.n_nodes), range(3)):
            changed = labels.copy()
            changed[i] = k
            rise = energy.evaluate(changed) - energy.evaluate(labels)
            assert losses[i, k] == pytest.approx(rise, abs=1e-9)


@pytest.mark.parametrize("seed", range(TERMS))
def test_sizes_are_met_or_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, 6, 3)
    limits = Constraints(sizes=random_ranges(rng, 6, 3, 2), covers=[([0, 1, 2], 1)])
    labelings = all_labelings(6, 3)
    feasible = [labels for labels in labelings if limits.satisfied(labels)]
    exact = [Exact(), Exact(max_enumerated=1)]
    if not feasible:
        for solver in exact:
            with pytest.raises(ValueError, match="no allowed labeling meets all covers and sizes"):
                solver.minimize(energy, limits)
        return
    least = min(energy.evaluate(labels) for labels in feasible)
    for solver in exact:
        assert solver.minimize(energy, limits).energy == pytest.approx(least, abs=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Pinpoint(Expansion()).minimize(energy, limits)
    assert list(found.missed) == limits.missed(found.labels).tolist()
    assert bool(found.missed) == any(one.category is UnmetSizeWarning for one in caught)
    if not found.missed and not found.unmet:
        assert found.energy >= least - 1e-9


def test_prices_meet_most_sizes_of_many_nodes() -> None:
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(20):
        weights = rng.uniform(0.5, 1.5, 100)
        edges = [[i, i + 1] for i in range(99)]
        energy = Energy(rng.standard_normal((100, 3)), edges, rng.random(99) / 2)
        shares = rng.dirichlet([3, 3, 3]) * weights.sum()
        limits = Constraints(sizes=[(weights, k, 0.9 * s, 1.1 * s) for k, s in enumerate(shares)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnmetSizeWarning)
            met += not Pinpoint(Expansion()).minimize(energy, limits).missed
    assert met >= 18


def test_what_cannot_be_raises() -> None:
    sized = Energy([[0, 1], [1, 0]], sizes=[([1, 1], 0, 0.0, 1.0, 2.0)])
    with pytest.raises(ValueError, match="use a solver's minimize"):
        expansion_moves(sized, None, None, [0])
    with pytest.raises(ValueError, match="cannot meet sizes"):
        Expansion().minimize(Energy([[0, 1]]), Constraints(sizes=[([1], 0, 0.0, 1.0)]))
    with pytest.raises(ValueError, match=r"sizes\[0\] is from 2.0 to 1.0"):
        Energy([[0, 1]], sizes=[([1], 0, 2.0, 1.0, 1.0)])
    with pytest.raises(ValueError, match="size_weights"):
        Energy([[0, 1]], sizes=[([1, 1], 0, 0.0, 1.0, 1.0)])
    with pytest.raises(ValueError, match="gains"):
        Energy([[0, 1]], sizes=[([1], 0, 0.0, 1.0, -1.0)])
