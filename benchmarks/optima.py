"""Exact optima and LP values of the 200-node benchmark energies, computed once and kept in optima.json.

    python benchmarks/optima.py --time-limit 300

Solves what is missing or not yet proven optimal, the easy families first, and writes after every instance, so
that a run can be stopped and taken up again. A record holds the LP relaxation's value, the best energy found
and its labeling, a proven lower bound of every energy, and whether the two meet.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from instances import SMALL, Instance
from multiutility import Constraints, Energy
from multiutility.inference import Exact
from multiutility.inference.exact import Program, lp_bound

FILE = Path(__file__).with_name("optima.json")
TOLERANCE = 1e-6
"""Relative distance of bound and energy at which an optimum counts as proven: HiGHS's own tolerances."""


class Optimum(TypedDict):
    """What is known about one instance."""

    lp: float
    energy: float
    bound: float
    proven: bool
    seconds: float
    labels: list[int]


def load() -> dict[str, Optimum]:
    """Read the records by the instances' names."""
    records: dict[str, Optimum] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return records


def save(records: dict[str, Optimum]) -> None:
    """Write the records, one line each."""
    lines = [f"{json.dumps(name)}: {json.dumps(records[name])}" for name in sorted(records)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def solve(instance: Instance, time_limit: float, known: Optimum | None) -> Optimum:
    """Minimize exactly; what an earlier, unfinished run found is kept where it is better."""
    energy = Energy.from_arrays(*instance[1:])
    began = time.perf_counter()
    lp = known["lp"] if known else lp_bound(energy)
    bound, labels = solve_subsets_first(energy, time_limit)
    if energy.evaluate(labels) - bound > TOLERANCE * abs(bound):
        result = Exact(time_limit=time_limit).minimize(energy, start=labels)
        bound, labels = max(bound, result.bound or lp), result.labels
    if known and known["energy"] < energy.evaluate(labels):
        labels = np.array(known["labels"], np.int32)
    value = energy.evaluate(labels)
    bound = min(max(bound, lp, known["bound"] if known else lp), value)
    return Optimum(
        lp=lp,
        energy=value,
        bound=bound,
        proven=value - bound <= TOLERANCE * abs(value),
        seconds=round(time.perf_counter() - began, 1),
        labels=labels.tolist(),
    )


def solve_subsets_first(energy: Energy, time_limit: float) -> tuple[float, NDArray[np.int32]]:
    """Find a lower bound, and a labeling that usually attains it.

    Which subset costs are paid is the hard part: with only these integral, HiGHS needs a minute where the
    full program takes more than five, and the labels mostly come out integral by themselves. Where they do
    not, the labeling is the best one with the labels that occur.
    """
    allowed = np.ones(energy.unary.shape, np.bool_)
    program = Program.build(energy, Constraints(), allowed)
    integrality = np.zeros(len(program.costs))
    integrality[len(program.costs) - energy.n_subsets :] = 1
    solution = milp(
        program.costs,
        integrality=integrality,
        bounds=Bounds(0.0, program.upper),
        constraints=LinearConstraint(program.matrix, program.row_lower, program.row_upper),
        options={"mip_rel_gap": 0.0, "time_limit": time_limit},
    )
    bound = program.value(solution.fun if solution.mip_dual_bound is None else solution.mip_dual_bound)
    shares = solution.x[: allowed.size].reshape(allowed.shape)
    used = Constraints(allowed=allowed & (shares > TOLERANCE).any(axis=0))
    return bound, Exact(time_limit=time_limit).minimize(energy, used).labels


def main() -> None:
    """Solve what is not yet solved."""
    parser = argparse.ArgumentParser(description="Solve the 200-node benchmark energies exactly.")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for one instance")
    options = parser.parse_args()
    records = load()
    # Random unaries with label costs take minutes each, everything else seconds.
    for family in sorted(SMALL, key=lambda family: family.kind == "random" and family.label_cost > 0):
        for instance in family.instances():
            known = records.get(instance.name)
            if known and known["proven"]:
                continue
            records[instance.name] = found = solve(instance, options.time_limit, known)
            save(records)
            state = "optimal" if found["proven"] else f"bound {found['bound']:.4f}"
            print(instance.name, f"{found['energy']:.4f} {state}, LP {found['lp']:.4f}", flush=True)


if __name__ == "__main__":
    main()
