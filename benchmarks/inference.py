"""Time and energy of `Expansion` against its peers, on the same instances in one run.

    python benchmarks/inference.py [--quick] [--json FILE] [--peers-dir DIR] [--only SUBSTRING]
                                   [--features NAME] [--store DIR]

Ours and the peers take turns on each case. Seconds are medians over all rounds and repeats, averaged over the
instances of the case. The time ratio that is held against a target of GCO's is the hardest reading: our full
call, with all Python overhead, against the peer's solving alone, its construction given away; the ratio with
construction on both sides stands next to it, and is what cuts are held against. Every energy is evaluated
from the labels by `Energy.evaluate`.
Gaps, ours and the peer's, are mean distances of the energy to the exact optimum (see optima.py), or to the
best proven bound where the optimum is not proven.

Energies of real training are made of datasets in $MULTIUTILITY_DATA, see trainings.py.

Exit code: 0 if all targets are met, 1 if not, 3 if a peer or a dataset is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import environments
import instances
import optima
from cases import Case, Target, cases, energy_of
from environments import Measured, MissingPeerError, Peer
from instances import FlowInstance, Instance
from multiutility.inference import Expansion
from trainings import Features, MissingDataError

PEERS_DIR = Path(__file__).parents[1] / ".bench"
TOLERANCE = 1e-9
"""Relative rounding that is forgiven when energies are compared."""
MISSED, MISSING = 1, 3
BOUND_TARGET = 0.01
BATCH_TARGET = 1.8


@dataclass
class Row:
    """One line of the table: ours against one peer on one case."""

    case: str
    peer: str | None
    time_ratio: float | None = None
    time_ratio_with_construction: float | None = None
    energy_ratio: float | None = None
    gap: dict[str, float] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    target: str = ""
    met: bool | None = None
    missing: str | None = None


@dataclass
class Solved:
    """What one solver did with the problems of a case: rounds of measured instances."""

    problems: Sequence[Instance | FlowInstance]
    rounds: list[list[Measured]] = field(default_factory=list)

    def seconds(self, construction: bool = False) -> float:
        """Mean over the instances of the median over all repeats of all rounds."""
        medians = []
        for rounds in zip(*self.rounds, strict=True):
            times = np.concatenate([measured["solve"] for measured in rounds])
            if construction:
                times = times + np.concatenate([measured["build"] for measured in rounds])
            medians.append(np.median(times))
        return float(np.mean(medians))

    def values(self) -> NDArray[np.float64]:
        """Energies of the labels, or values of the cuts."""
        found = []
        for problem, measured in zip(self.problems, self.rounds[-1], strict=True):
            match problem, measured["answer"]:
                case Instance(), list(labels):
                    found.append(energy_of(problem).evaluate(labels))
                case FlowInstance(), float(value):
                    found.append(value)
                case _, answer:
                    raise TypeError(f"{problem.name}: unexpected answer {answer!r}")
        return np.array(found)


def compare(case: Case, rounds: int, directory: Path) -> list[Row]:
    """Ours and the peers in turn, `rounds` times; a peer that fails is left out of the later rounds."""
    try:
        problems = case.family.instances()
    except MissingDataError as error:
        return [Row(case.family.name, None, missing=str(error))]
    ours, theirs = Solved(problems), {peer: Solved(problems) for peer in case.peers}
    missing: dict[Peer, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "instances.npz"
        environments.save(archive, [problem.arrays() for problem in problems])
        for _ in range(rounds):
            ours.rounds.append([case.ours(problem, case.repeats) for problem in problems])
            for peer in [peer for peer in case.peers if peer not in missing]:
                try:
                    theirs[peer].rounds.append(peer.run(directory, archive, case.repeats))
                except MissingPeerError as error:
                    missing[peer] = str(error)
    if not case.peers:
        return [own_row(case, ours)]
    found = [ratio_row(case, peer, ours, theirs[peer]) for peer in case.peers if peer not in missing]
    return found + [Row(case.family.name, peer.name, missing=reason) for peer, reason in missing.items()]


def own_row(case: Case, ours: Solved) -> Row:
    """Report ours alone, with the gap where optima are known."""
    row = Row(case.family.name, None)
    row.seconds = {"ours": ours.seconds(), "ours_with_construction": ours.seconds(construction=True)}
    bounds = proven_bounds(ours.problems)
    if bounds is not None:
        row.gap = {"ours": float(np.mean(ours.values() - bounds))}
    return row


def ratio_row(case: Case, peer: Peer, ours: Solved, theirs: Solved) -> Row:
    """Report ours against one peer."""
    row = own_row(case, ours)
    row.peer = peer.name
    solving, all_told = theirs.seconds(), theirs.seconds(construction=True)
    row.time_ratio = row.seconds["ours"] / solving
    row.time_ratio_with_construction = row.seconds["ours_with_construction"] / all_told
    row.seconds |= {"peer": solving, "peer_with_construction": all_told}
    row.energy_ratio = float(ours.values().mean() / theirs.values().mean())
    if case.exact and not np.allclose(ours.values(), theirs.values(), rtol=TOLERANCE):
        raise AssertionError(f"{row.case}: we find {ours.values()}, {peer.name} finds {theirs.values()}")
    bounds = proven_bounds(ours.problems)
    if row.gap is not None and bounds is not None:
        row.gap["peer"] = float(np.mean(theirs.values() - bounds))
    if peer == case.held and str(case.target):
        row.target, row.met = str(case.target), meets(row, case.target)
    return row


def meets(row: Row, target: Target) -> bool:
    """Whether every ratio that has a limit is known and within it."""
    gap_ratio = row.gap["ours"] / max(row.gap["peer"], TOLERANCE) if row.gap else np.nan
    ratios = (row.time_ratio, row.time_ratio_with_construction, row.energy_ratio, gap_ratio)
    limits = (target.time, target.all_told, target.energy + TOLERANCE, target.gap)
    known = zip(ratios, limits, strict=True)
    return all(limit == np.inf or (ratio is not None and ratio <= limit) for ratio, limit in known)


def proven_bounds(problems: Sequence[Instance | FlowInstance]) -> NDArray[np.float64] | None:
    """Exact optima, or the best bounds, of all problems; None unless all are recorded."""
    records = optima.load()
    if not all(problem.name in records for problem in problems):
        return None
    return np.array([records[problem.name]["bound"] for problem in problems])


def bound_row() -> Row:
    """Our certified bound against the LP relaxation's value on every 200-node instance, the worst of them."""
    records = optima.load()
    problems = [p for family in instances.SMALL for p in family.instances() if p.name in records]
    shortfalls, start = [], time.perf_counter()
    for problem in problems:
        bound, known = Expansion(bound=True).minimize(energy_of(problem)).bound, records[problem.name]
        if bound is None or bound > known["energy"] * (1 + TOLERANCE):
            raise AssertionError(f"{problem.name}: {bound} is no bound of the energy {known['energy']}")
        shortfalls.append((known["lp"] - bound) / abs(known["lp"]))
    row = Row(f"bound of {len(problems)} 200-node energies", "LP relaxation")
    row.seconds = {"ours": time.perf_counter() - start}
    row.energy_ratio = 1 - max(shortfalls)
    row.target, row.met = f"energy ≥ {1 - BOUND_TARGET:g}", max(shortfalls) <= BOUND_TARGET
    return row


def batch_row(rounds: int) -> Row:
    """Two threads against one on a training set's worth of small energies."""
    energies = [energy_of(instance) for instance in instances.batch()]
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for n_jobs, seconds in times.items():
            start = time.perf_counter()
            Expansion(n_jobs=n_jobs).minimize_many(energies)
            seconds.append(time.perf_counter() - start)
    row = Row(f"batch of {len(energies)} 200-node energies, n_jobs=2", "n_jobs=1")
    row.seconds = {"ours": float(np.median(times[2])), "peer": float(np.median(times[1]))}
    row.time_ratio = row.seconds["ours"] / row.seconds["peer"]
    row.target, row.met = str(Target(time=1 / BATCH_TARGET)), row.time_ratio <= 1 / BATCH_TARGET
    return row


def line(row: Row) -> str:
    """Format the row in Markdown."""
    if row.missing:
        return f"| {row.case} | {row.peer or ''} | **missing**: {row.missing} | | | | | | | |"
    gap = [f"{row.gap[who]:.4f}" if row.gap and who in row.gap else "" for who in ("ours", "peer")]
    cells = [
        row.case,
        row.peer or "",
        *[f"{1e3 * row.seconds[who]:.1f}" if who in row.seconds else "" for who in ("ours", "peer")],
        *[number(row.time_ratio, ".3f"), number(row.time_ratio_with_construction, ".3f")],
        number(row.energy_ratio, ".5f"),
        " / ".join(filter(None, gap)),
        row.target,
        {True: "yes", False: "**no**", None: ""}[row.met],
    ]
    return "| " + " | ".join(cells) + " |"


def number(value: float | None, form: str) -> str:
    """Format a number that may not be known."""
    return "" if value is None else format(value, form)


HEADER = """\
| case | peer | ours, ms | peer, ms | time ratio | with construction | energy ratio | gaps | target | met |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |"""


def measure(quick: bool, rounds: int, directory: Path, only: str, features: Features) -> list[Row]:
    """All rows, each printed as soon as it is known."""
    jobs: dict[str, Callable[[], list[Row]]] = {
        case.family.name: partial(compare, case, rounds, directory) for case in cases(quick, features)
    }
    jobs |= {"batch": lambda: [batch_row(rounds)], "bound": lambda: [bound_row()]}
    rows = []
    print(HEADER, flush=True)
    for name, job in jobs.items():
        if only in name:
            rows += (found := job())
            print("\n".join(map(line, found)), flush=True)
    return rows


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare Expansion with its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, in under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    parser.add_argument("--peers-dir", type=Path, default=PEERS_DIR, metavar="DIR", help="their environments")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="cases whose name contains this")
    parser.add_argument("--features", default="deep", metavar="NAME", help="features of real images")
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="folder with features; what it lacks is added"
    )
    parser.add_argument("--rounds", type=int, help="turns of each solver on each case (3, quick: 1)")
    options = parser.parse_args()
    rounds = options.rounds or (1 if options.quick else 3)
    features = Features(options.features, options.store)
    rows = measure(options.quick, rounds, options.peers_dir, options.only, features)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    missed = [f"{row.case} ({row.peer})" for row in rows if row.met is False]
    missing = sorted({row.missing for row in rows if row.missing})
    print(f"\n{sum(row.met is True for row in rows)} targets met, {len(missed)} missed")
    print("\n".join([f"- missed: {name}" for name in missed] + [f"- {reason}" for reason in missing]))
    return MISSING if missing else MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
