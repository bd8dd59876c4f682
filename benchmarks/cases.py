"""What is measured: families of instances, the peers that can solve them, and the targets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import instances
from environments import GCO, GCO_WRAPPER, ORTOOLS, PYMAXFLOW, PYMAXFLOW_INT, SCIPY, Measured, Peer
from instances import Family, FlowFamily, FlowInstance, Instance
from multiutility import Energy
from multiutility.inference import Expansion
from multiutility.inference.expansion import min_cut
from trainings import DATASETS, SUPERVISIONS, Features, Training


@dataclass(frozen=True)
class Target:
    """Largest ratios, ours to the peer's, that meet the target.

    `time` is our full call against the peer's solving alone; `all_told` counts construction on both sides.
    """

    time: float = np.inf
    all_told: float = np.inf
    energy: float = np.inf
    gap: float = np.inf

    def __str__(self) -> str:
        limits = {"time": self.time, "all told": self.all_told, "energy": self.energy, "gap": self.gap}
        return ", ".join(f"{name} ≤ {limit:.3g}" for name, limit in limits.items() if limit < np.inf)


@dataclass(frozen=True)
class Case:
    """A family of instances, how we and the peers solve it, and the target against one of them.

    Where solvers are `exact`, all must find the same values.
    """

    family: Family | FlowFamily | Training
    ours: Callable[[Any, int], Measured]
    peers: tuple[Peer, ...] = ()
    target: Target = Target()
    held: Peer = GCO
    repeats: int = 1
    exact: bool = False


def timed(build: Callable[[], Any], solve: Callable[[Any], list[int] | float], repeats: int) -> Measured:
    """Our side of what the peer scripts do."""
    measured = Measured(build=[], solve=[], answer=0.0)
    for _ in range(repeats):
        start = time.perf_counter()
        problem = build()
        middle = time.perf_counter()
        measured["answer"] = solve(problem)
        measured["solve"].append(time.perf_counter() - middle)
        measured["build"].append(middle - start)
    return measured


def energy_of(instance: Instance) -> Energy:
    """Build our form of the instance."""
    return Energy.from_arrays(*instance[1:])


def minimize(instance: Instance, repeats: int) -> Measured:
    """Label with `Expansion` on one thread."""

    def solve(energy: Energy) -> list[int]:
        labels: list[int] = Expansion(n_jobs=1).minimize(energy).labels.tolist()
        return labels

    return timed(lambda: energy_of(instance), solve, repeats)


def cut(instance: FlowInstance, repeats: int) -> Measured:
    """Minimum cut alone; a node on the source's side pays its capacity to the sink, and the reverse."""

    def solve(terminals: NDArray[np.float64]) -> float:
        return min_cut(terminals, instance.edges, instance.capacities)[0]

    return timed(lambda: np.stack([instance.sink, instance.source], axis=1), solve, repeats)


def cases(quick: bool, features: Features) -> list[Case]:
    """Everything that is compared with peers; `quick` keeps one or two couplings of every kind."""
    found = [*small_cases(), *training_cases(features), *larger_cases(), *flow_cases()]
    if not quick:
        return found
    kept: set[object] = {*instances.SMALL, *instances.STRONG, *instances.MEDIUM[0:4:3]}
    kept |= {*instances.FLOWS[0:4:3], *instances.LARGE[0:2], *instances.LARGE[4:6]}
    return [shortened(case) for case in found if case.family in kept]


def shortened(case: Case) -> Case:
    """Keep all small instances and one of each larger family."""
    family, small = case.family, {*instances.SMALL, *instances.STRONG}
    if not isinstance(family, Training) and family not in small:
        family = replace(family, seeds=family.seeds[:1])
    return replace(case, family=family, repeats=min(case.repeats, 3))


def gcos(family: Family) -> tuple[Peer, ...]:
    """Neither binding takes subset costs, and gco-wrapper takes no label costs either."""
    return () if family.row_cost else (GCO,) if family.label_cost else (GCO, GCO_WRAPPER)


def small_cases() -> Iterator[Case]:
    """Yield the 200-node families; exact optima are known of all but the strongly coupled ones."""
    for family in instances.SMALL:
        named = family.label_cost > 0 and not family.row_cost and family.n_labels == 21
        target = Target(time=1 / 3, energy=1, gap=1 / 2) if named else Target()
        yield Case(family, minimize, gcos(family), target, repeats=5)
    for family in instances.STRONG:
        yield Case(family, minimize, gcos(family), Target(energy=1), repeats=5)


def training_cases(features: Features) -> Iterator[Case]:
    """Yield the loss-augmented energies of real training."""
    for dataset in DATASETS:
        for supervision in SUPERVISIONS:
            peers = (GCO,) if supervision.has_label_costs else (GCO, GCO_WRAPPER)
            target = Target(time=1 / 3, energy=1)
            yield Case(Training(dataset, supervision, features), minimize, peers, target, repeats=3)


def larger_cases() -> Iterator[Case]:
    """Yield the families of 1,000 and 10,000 nodes and the pixel grid."""
    for family in instances.MEDIUM:
        target = Target(time=1 / 3, energy=1) if family.n_labels == 33 and not family.row_cost else Target()
        yield Case(family, minimize, gcos(family), target, repeats=2)
    for family in instances.LARGE:
        limit = 1 / 4 if family.label_cost else 1 / 2
        target = Target(time=limit, energy=1) if family.n_labels == 33 else Target()
        yield Case(family, minimize, gcos(family), target)
    for family in instances.GRID:
        yield Case(family, minimize, gcos(family))


def flow_cases() -> Iterator[Case]:
    """Yield the cuts, held against PyMaxflow on doubles: the numbers that ours works on.

    Ours is one call, which builds its graph from arrays, so construction counts on both sides.
    """
    found = (PYMAXFLOW, PYMAXFLOW_INT, ORTOOLS, SCIPY)
    for family in instances.FLOWS:
        target = Target(all_told=1) if family.n_nodes == 10_000 else Target()
        yield Case(family, cut, found, target, PYMAXFLOW, repeats=5, exact=True)
