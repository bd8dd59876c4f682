"""Energies on which sums of rounded numbers once seemed to fall for ever, or crashed: every call ends.

Native code that never returns cannot be interrupted by pytest either, so such calls are made in a process of
their own, with a generous limit.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from multiutility import Constraints, Energy
from multiutility.inference import Exact, Expansion

WATCHDOG_SECONDS = 120

TIED_STARS = """
import numpy as np
from multiutility import Energy
from multiutility.inference import Expansion

n = 1000
every = np.arange(n + 2)
edges = np.stack([np.zeros(n, int), np.arange(1, n + 1)], 1)
for seed in (1, 8, 16):
    unary = np.zeros((n + 2, 3))
    unary[: n + 1, 2] = 1.0
    unary[n + 1] = [1, 1, 0]
    weights = np.random.default_rng(seed).random(n)
    energy = Energy(unary, edges, weights, [(every, 0, 0.5), (every, 1, 0.5)])
    print(Expansion(bound=True).minimize(energy).energy)
"""


def test_tied_labels_with_label_costs_come_to_an_end() -> None:
    arguments = [sys.executable, "-c", TIED_STARS]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=WATCHDOG_SECONDS, check=True)
    # All leaves take one of the tied labels, whose cost is paid once; the last node is on its own.
    assert done.stdout.split() == ["0.5"] * 3


def tied_energy(rng: np.random.Generator, n_nodes: int) -> Energy:
    """Labels that all nodes like equally, label costs, hubs, and weights of very different sizes."""
    unary = np.zeros((n_nodes, 3))
    unary[:, 2] = rng.integers(0, 2)
    hubs = rng.integers(0, 3, size=2 * n_nodes)
    edges = np.stack((hubs, rng.integers(3, n_nodes, size=2 * n_nodes)), axis=1)
    weights = rng.random(len(edges)) * 10.0 ** rng.integers(-12, 3, size=len(edges))
    every = np.arange(n_nodes)
    return Energy(unary, edges, weights, [(every, k, float(rng.random())) for k in (0, 0, 1)])


def test_tied_hubs_are_solved_and_their_bound_is_one() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        energy = tied_energy(rng, 9)
        result, exact = Expansion(bound=True).minimize(energy), Exact(max_enumerated=10**5).minimize(energy)
        assert result.energy == pytest.approx(exact.energy, rel=1e-9, abs=1e-9)
        assert result.bound is not None
        assert result.bound <= exact.energy + 1e-9


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e-40, 1e40, 1e295])
def test_energies_do_not_depend_on_the_range_of_numbers(unit: float) -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        unary, weights = rng.integers(0, 9, (8, 3)), rng.integers(0, 9, 7)
        edges, every = np.stack((np.arange(7), np.arange(1, 8)), axis=1), np.arange(8)
        plain = Energy(unary, edges, weights, [(every, 0, 3)])
        scaled = Energy(unary * unit, edges, weights * unit, [(every, 0, 3 * unit)])
        expected, result = Expansion().minimize(plain), Expansion(bound=True).minimize(scaled)
        assert result.energy == pytest.approx(expected.energy * unit, rel=1e-9, abs=0.0)
        assert result.bound is not None
        assert result.bound <= result.energy


def test_what_forbidden_labels_cost_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    unary, allowed = rng.random((30, 4)), rng.random((30, 4)) < 0.6
    allowed[:, 0] = True
    edges = np.stack((np.arange(29), np.arange(1, 30)), axis=1)
    expected = Expansion().minimize(Energy(unary, edges, np.full(29, 0.3)), Constraints(allowed))
    huge = Energy(np.where(allowed, unary, 1e250), edges, np.full(29, 0.3))
    result = Expansion().minimize(huge, Constraints(allowed))
    assert result.energy == pytest.approx(expected.energy, rel=1e-12)
