"""Adversarial energies: ties, hubs, islands, few seeds, huge and tiny numbers; solved, timed and checked.

Independent of the solver: `Exact` up to 60 nodes, minimum cuts for two labels, `Energy.evaluate` always.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.runner import Attempt, Outcome, Part
from multiutility import Constraints, Energy
from multiutility.energy import Subset
from multiutility.inference import Exact, Expansion, Pinpoint, min_cut
from multiutility.inference.solver import Result

Rng = np.random.Generator
Floats = NDArray[np.float64]
Edges = NDArray[np.int64]

LIMIT = 20.0
"""A call may take so many times as long as one of a benign energy of the same size."""

FLOOR = 0.001
"""Seconds that a benign call is taken to last at least: shorter ones are not measured well."""

N_EXACT = 60
SIZES = (*[None] * 16, 200, 200, 600, 600, 1000, 2500, 2500, 10_000, 40_000)
"""Nodes; None stands for any number up to `N_EXACT`."""

EXACT_SECONDS = 0.5


def grid(rng: Rng, n: int) -> Edges:
    """Return the edges of a grid that is square, or as narrow as two rows."""
    height = int(rng.choice([2, max(2, int(np.sqrt(n)))]))
    index = np.arange(max(1, n // height) * height).reshape(height, -1) % n
    return joined((index[:, :-1], index[:, 1:]), (index[:-1], index[1:]))


def joined(*pairs: tuple[NDArray[np.integer], NDArray[np.integer]]) -> Edges:
    """Return edges between the nodes of two arrays; loops are left out."""
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs]).astype(np.int64)
    return np.asarray(edges[edges[:, 0] != edges[:, 1]])


def star(rng: Rng, n: int) -> Edges:
    """Return one hub, or several that share all other nodes."""
    hubs = int(rng.choice([1, 2, min(5, n)]))
    return joined(*((np.full(n, hub), np.arange(n)) for hub in range(hubs)))


def wheel(_rng: Rng, n: int) -> Edges:
    """Return a hub in a ring."""
    rim = np.arange(1, n)
    return joined((np.zeros_like(rim), rim), (rim[:-1], rim[1:]))


def path(rng: Rng, n: int) -> Edges:
    """Return a path, in the order of nodes or any other."""
    order = rng.permutation(n) if rng.random() < 0.5 else np.arange(n)
    return joined((order[:-1], order[1:]))


def tree(rng: Rng, n: int) -> Edges:
    """Return a random tree."""
    nodes = np.arange(1, n)
    return joined(((rng.random(n - 1) * nodes).astype(int), nodes))


def islands(rng: Rng, n: int) -> Edges:
    """Return parts without edges between them, in each of which many nodes are joined."""
    size = int(rng.integers(2, 7))
    first = np.arange(n)
    others = [np.minimum(first + step, (first // size + 1) * size - 1) for step in range(1, size)]
    return joined(*((first, np.minimum(other, n - 1)) for other in others))


def tangle(rng: Rng, n: int) -> Edges:
    """Return edges between any nodes, some of them several times."""
    m = int(rng.integers(1, 4 * n))
    edges = joined((rng.integers(0, n, m), rng.integers(0, n, m)))
    return np.concatenate([edges, edges[: m // 4, ::-1]])


def clique(rng: Rng, n: int) -> Edges:
    """Return all edges of a small set of nodes, the others hanging from it."""
    size = min(n, int(rng.integers(2, 40)))
    rest = np.arange(size, n)
    return joined(np.triu_indices(size, 1), (rest % size, rest))


def nothing(_rng: Rng, _n: int) -> Edges:
    """Return no edges."""
    return np.zeros((0, 2), dtype=np.int64)


GRAPHS: tuple[Callable[[Rng, int], Edges], ...] = (
    *(grid, grid, star, star, wheel, path, tree, islands, tangle, clique, nothing),
)


def magnitudes(rng: Rng, n: int) -> Floats:
    """Return numbers >= 0 of a hostile kind."""
    kinds: tuple[Callable[[], Floats], ...] = (
        lambda: rng.random(n),
        lambda: np.full(n, rng.choice([0.1, 0.5, 1.0, 1 / 3])),
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: rng.random(n) * (rng.random(n) < 0.3),
        lambda: rng.random(n) * 10.0 ** rng.integers(4, 13),
        lambda: rng.random(n) * 10.0 ** rng.integers(-15, -3),
        lambda: 10.0 ** rng.uniform(-12, 12, n),
        lambda: np.exp2(rng.integers(-30, 30, n)),
        lambda: np.asarray(1 + rng.integers(-2, 3, n) * 2.0**-52, np.float64),
        lambda: np.asarray(rng.integers(0, 9, n) * 5e-324, np.float64),
        lambda: rng.choice([1e308, 1e307, 1e300], n),
    )
    # Numbers near the ends of what floats can hold are mostly refused, and would crowd out the rest.
    often = np.array([8, 8, 8, 5, 5, 4, 4, 3, 3, 1, 1])
    return kinds[int(rng.choice(len(kinds), p=often / often.sum()))]()


def unaries(rng: Rng, n: int, k: int) -> Floats:
    """Return unary costs [n, k] of a hostile kind."""
    label = rng.integers(0, k, n)
    one_hot = np.eye(k)[label]
    few = rng.random(n) < min(1.0, rng.choice([2.0, 5.0, 20.0]) / n)
    sign = -1.0 if rng.random() < 0.3 else 1.0
    kinds: tuple[Callable[[], Floats], ...] = (
        lambda: few[:, np.newaxis] * (1 - one_hot) * 10.0 ** rng.integers(0, 7),
        lambda: np.zeros((n, k)),
        lambda: np.repeat(rng.random((n, 1)), k, axis=1),
        lambda: tied_columns(rng, rng.random((n, k))),
        lambda: 1 - one_hot,
        lambda: (1 - np.eye(k)[np.arange(n) % k]) * magnitudes(rng, n)[:, np.newaxis],
        lambda: sign * magnitudes(rng, n * k).reshape(n, k),
        lambda: rng.random((n, k)),
        lambda: rng.integers(0, 3, (n, k)).astype(float),
        lambda: tied_columns(rng, (1 - one_hot) * few[:, np.newaxis]),
    )
    return kinds[int(rng.integers(len(kinds)))]()


def tied_columns(rng: Rng, unary: Floats) -> Floats:
    """Return the costs with some labels as good as others everywhere."""
    k = unary.shape[1]
    return unary[:, np.minimum(np.arange(k), int(rng.integers(0, k)))]


def subsets(rng: Rng, n: int, k: int) -> list[Subset]:
    """Return costs of subsets of a hostile kind, or none."""
    everywhere = np.arange(n)
    some = rng.permutation(k)[: max(1, k // 2)]
    cost = float(magnitudes(rng, 1)[0])
    side = max(1, int(np.sqrt(n)))
    kinds: tuple[Callable[[], list[Subset]], ...] = (
        list,
        list,
        lambda: [(everywhere, label, 0.5) for label in range(k)],
        lambda: [(everywhere, int(label), 0.5) for label in some],
        lambda: [(everywhere, int(label), cost) for label in some],
        lambda: [(everywhere, label, float(one)) for label, one in enumerate(magnitudes(rng, k))],
        lambda: [(everywhere[: 1 + n // 2**step], int(some[0]), 0.25) for step in range(4)],
        lambda: [(everywhere[row::side], int(some[row % len(some)]), 0.1) for row in range(min(side, 40))],
        lambda: [([node], int(rng.integers(k)), 0.3) for node in range(min(n, 20))],
        lambda: [(everywhere, int(some[0]), 0.2), (everywhere, int(some[0]), 0.2)],
    )
    return kinds[int(rng.integers(len(kinds)))]()


class Problem(NamedTuple):
    """What a solver is asked."""

    energy: Energy
    constraints: Constraints | None
    start: NDArray[np.int64] | None


def problem(rng: Rng) -> Problem:
    """Return a hostile problem; raises ValueError where numbers are too large for an energy."""
    size = SIZES[int(rng.integers(len(SIZES)))]
    n = int(rng.integers(2, N_EXACT + 1)) if size is None else size
    k = int(rng.choice([1, 2, 2, 3, 5, 10, 21] if n < 10_000 else [2, 3, 5]))
    edges = GRAPHS[int(rng.integers(len(GRAPHS)))](rng, n)
    offset = float(rng.choice([0.0, 0.0, 1e6, -0.1]))
    energy = Energy(unaries(rng, n, k), edges, magnitudes(rng, len(edges)), subsets(rng, n, k), offset)
    start = rng.integers(0, k, n)
    constraints = None
    if rng.random() < 0.25:
        allowed = rng.random((n, k)) < 0.6
        allowed[np.arange(n), start] = True
        constraints = Constraints(allowed)
    return Problem(energy, constraints, start if rng.random() < 0.4 else None)


@cache
def benign_seconds(n: int, k: int, n_edges: int, n_subsets: int) -> float:
    """Return how long a harmless energy of a size takes: random costs, each node joined to near ones."""
    rng, nodes = np.random.default_rng(0), np.arange(n)
    steps = range(1, 2 + n_edges // n)
    edges = joined(*((nodes, (nodes + step) % n) for step in steps))[:n_edges]
    costs = [(nodes, label % k, float(rng.random())) for label in range(n_subsets)]
    energy = Energy(rng.random((n, k)), edges, 0.3 * rng.random(len(edges)), costs)
    return min(seconds(lambda: Expansion().minimize(energy))[0] for _ in range(2))


def seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the time of this process, as the machine may have others to serve, and the result."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def attempt(rng: Rng, *, timed: bool = True) -> Outcome:
    """Solve a hostile problem, and check all that is promised of the result; of its time if ``timed``."""
    outcome = Outcome()
    try:
        posed = problem(rng)
    except ValueError as error:
        outcome.counts["refused"] += 1
        outcome.check("may add up to" in str(error), f"refused, but not for the size of numbers: {error}")
        return outcome
    energy = posed.energy
    with_bound = energy.n_nodes <= N_EXACT or rng.random() < 0.2
    taken, result = seconds(lambda: Expansion().minimize(*posed))
    if timed:
        compare_times(outcome, posed, taken)
    check_result(outcome, posed, result)
    if with_bound:
        bounded = Expansion(bound=True).minimize(*posed)
        check_result(outcome, posed, bounded)
        check_bound(outcome, posed, bounded)
    if rng.random() < 0.2:
        outcome.counts["threads"] += 1
        check_threads(outcome, posed)
    if energy.n_labels > 1 and energy.n_nodes <= 1000 and rng.random() < 0.1:
        outcome.counts["covers"] += 1
        check_covers(outcome, posed, rng)
    return outcome


def compare_times(outcome: Outcome, posed: Problem, taken: float) -> None:
    """Note a call that takes much longer than a benign one, whenever it is tried."""
    if taken <= LIMIT * FLOOR:
        return
    energy = posed.energy
    benign = max(FLOOR, benign_seconds(energy.n_nodes, energy.n_labels, energy.n_edges, energy.n_subsets))
    if taken > LIMIT * benign:
        taken = min(taken, *(seconds(lambda: Expansion().minimize(*posed))[0] for _ in range(2)))
    outcome.slowest = ratio = taken / benign
    outcome.check(ratio <= LIMIT, f"{energy}: {taken:.3g} s, {ratio:.0f} times a benign one ({benign:.3g} s)")


def rounding(energy: Energy) -> float:
    """Return how far sums of the energy's terms in different orders may be apart, with 100,000 of them."""
    terms = np.abs(energy.unary).max(axis=1).sum() + energy.weights.sum() + energy.subset_costs.sum()
    return float(1e-11 * (terms + abs(energy.offset)))


def check_result(outcome: Outcome, posed: Problem, result: Result) -> None:
    """Check labels and energy."""
    energy, constraints, start = posed
    labels = result.labels
    if labels.shape != (energy.n_nodes,) or labels.min() < 0 or labels.max() >= energy.n_labels:
        outcome.failures.append(f"{energy}: labels out of range")
        return
    value = energy.evaluate(labels)
    said = f"{energy}: energy {result.energy!r}, but labels have {value!r}"
    outcome.check(abs(value - result.energy) <= rounding(energy), said)
    if constraints is not None and constraints.allowed is not None:
        allowed = constraints.allowed[np.arange(energy.n_nodes), labels].all()
        outcome.check(bool(allowed), f"{energy}: labels that are not allowed")
    if start is not None:
        before = energy.evaluate(start)
        outcome.check(value <= before, f"{energy}: energy {value!r} above {before!r}, where it started")


def check_bound(outcome: Outcome, posed: Problem, result: Result) -> None:
    """Compare the bound with energies of labelings that solvers of other kinds find."""
    energy, bound = posed.energy, result.bound
    assert bound is not None
    found = [result.energy]
    if energy.n_nodes <= N_EXACT:
        found.append(Exact(time_limit=EXACT_SECONDS, max_enumerated=2000).minimize(*posed).energy)
    if energy.n_labels == 2 and not energy.n_subsets and posed.constraints is None:
        found.append(two_labels(energy))
        outcome.counts["cuts"] += 1
        outcome.check(
            result.energy <= found[-1] + rounding(energy),
            f"{energy}: energy {result.energy!r}, but a minimum cut has {found[-1]!r}",
        )
    outcome.counts["bounds"] += 1
    least = min(found)
    outcome.check(bound <= least, f"{energy}: bound {bound!r} above {least!r}")


def two_labels(energy: Energy) -> float:
    """Return the least energy with two labels, by a minimum cut."""
    weights = np.stack([energy.weights, energy.weights], 1)
    _, source = min_cut(energy.unary, energy.edges, weights)
    return energy.evaluate(np.where(source, 0, 1))


def check_threads(outcome: Outcome, posed: Problem) -> None:
    """Compare results of one thread and of two, in company."""
    energy = posed.energy
    energies = [energy, Energy([[0, 1], [1, 0]], [[0, 1]], [0.3]), energy]
    limits, starts = [posed.constraints, None, posed.constraints], [posed.start, None, None]
    one, two = (Expansion(n_jobs=n).minimize_many(energies, limits, starts) for n in (1, 2))
    pairs = zip(one, two, strict=True)
    same = all(a.energy == b.energy and np.array_equal(a.labels, b.labels) for a, b in pairs)
    outcome.check(same, f"{energy}: results differ between one thread and two")


def check_covers(outcome: Outcome, posed: Problem, rng: Rng) -> None:
    """Let every label be somewhere, and check that it is."""
    energy = posed.energy
    places = np.array_split(rng.permutation(energy.n_nodes), min(energy.n_labels, energy.n_nodes))
    constraints = Constraints(covers=[(np.sort(nodes), label) for label, nodes in enumerate(places)])
    result = Pinpoint(Expansion()).minimize(energy, constraints)
    met = [label in result.unmet or label in result.labels[nodes] for label, nodes in enumerate(places)]
    unmet = [label for label, there in enumerate(met) if not there]
    outcome.check(not unmet, f"{energy}: covers {unmet} are not met")


def begin(_folder: Path) -> Attempt:
    """Return the attempt; there is nothing to make."""
    return attempt


def begin_untimed(_folder: Path) -> Attempt:
    """Return the attempt for tests, in which no time is judged."""
    return partial(attempt, timed=False)


PART = Part("energies", begin, share=0.35, short=40, patience=40)
UNTIMED = replace(PART, begin=begin_untimed)
