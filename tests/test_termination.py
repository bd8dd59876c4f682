"""Energies on which sums of rounded numbers once seemed to fall for ever, or crashed: every call ends.

Native code that never returns cannot be interrupted by pytest either, so such calls are made in a process of
their own, with a generous limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from multiutility import SSVM, Constraints, Energy, LabelingProblem
from multiutility.annotations import Full
from multiutility.inference import Exact, Expansion, Pinpoint

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


# Processes of the background ignore Ctrl-C, and so do those that they start.
LONG_CALL = """
import signal
import numpy as np
from multiutility import Energy
from multiutility.inference import Expansion

node = np.arange(40_000).reshape(200, 200)
pairs = ((node[:, 1:], node[:, :-1]), (node[1:], node[:-1]))
edges = np.concatenate([np.stack((a.ravel(), b.ravel()), 1) for a, b in pairs])
rng = np.random.default_rng(0)
signal.signal(signal.SIGINT, signal.default_int_handler)
large = Energy(rng.random((node.size, 8)), edges, rng.random(len(edges)))
small = Energy([[0.0, 1.0]])
"""

LONG_CALLS = {
    "one thread": "Expansion(bound=True).minimize_many([large] * 300)",
    "two threads": "Expansion(bound=True, n_jobs=2).minimize_many([large] * 300)",
    "all in the other thread": "Expansion(bound=True, n_jobs=2).minimize_many([large, small])",
}


@pytest.mark.parametrize("call", LONG_CALLS)
def test_an_interrupt_ends_a_native_call(call: str) -> None:
    program = f"{LONG_CALL}print('ready', flush=True)\n{LONG_CALLS[call]}\nprint('done', flush=True)"
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=WATCHDOG_SECONDS)
        finally:
            process.kill()
    assert "done" not in output
    assert errors.rstrip().endswith("KeyboardInterrupt")


def noisy_grid(n_rows: int, n_labels: int) -> Energy:
    """Random costs on a square grid, with costs of labels."""
    node = np.arange(n_rows * n_rows).reshape(n_rows, n_rows)
    pairs = ((node[:, 1:], node[:, :-1]), (node[1:], node[:-1]))
    edges = np.concatenate([np.stack((a.ravel(), b.ravel()), axis=1) for a, b in pairs])
    rng = np.random.default_rng(8)
    subsets = [(node.ravel(), k, 5.0) for k in range(n_labels)]
    return Energy(rng.random((node.size, n_labels)), edges, rng.random(len(edges)), subsets)


def test_at_the_time_limit_the_best_so_far_is_returned() -> None:
    energy = noisy_grid(60, 6)
    start = np.zeros(energy.n_nodes, dtype=np.int32)
    for seconds in (1e-9, 1e-3, 1e-2):
        result = Expansion(time_limit=seconds, bound=True).minimize(energy, start=start)
        assert result.timed_out
        assert result.energy == pytest.approx(energy.evaluate(result.labels))
        assert result.energy <= energy.evaluate(start)
        assert result.bound is not None
        assert result.bound <= result.energy


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    energy = noisy_grid(20, 4)
    plain = Expansion(bound=True).minimize(energy)
    limited = Expansion(bound=True, time_limit=1e6).minimize(energy)
    np.testing.assert_array_equal(plain.labels, limited.labels)
    assert (plain.bound, plain.moves, plain.timed_out) == (limited.bound, limited.moves, limited.timed_out)
    assert not limited.timed_out


def test_the_limit_of_a_solver_within_pinpoint_is_told() -> None:
    energy, covers = noisy_grid(40, 4), Constraints(covers=[([0, 1], 3)])
    assert Pinpoint(Expansion(time_limit=1e-9)).minimize(energy, covers).timed_out
    assert not Pinpoint(Expansion()).minimize(energy, covers).timed_out


def test_learning_refuses_a_time_limit_that_ended_a_search() -> None:
    rng = np.random.default_rng(0)
    edges = np.stack((np.arange(299), np.arange(1, 300)), axis=1)
    problem = LabelingProblem(rng.random((300, 3)), edges, rng.random((299, 1)), np.ones(300))
    truth = Full(np.eye(2)[rng.integers(2, size=300)])
    with pytest.raises(ValueError, match="learning needs a solver without one"):
        SSVM(solver=Expansion(time_limit=1e-9)).fit([problem], [truth])


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
