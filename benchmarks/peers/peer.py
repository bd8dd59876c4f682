"""What all peer scripts share: `python SCRIPT.py INSTANCES.npz OUTPUT.json REPEATS`.

The archive holds the arrays of instance n under the keys "n/array"; the output is a list with, for each
instance, the seconds of each repeat (construction and solving apart) and the labels, or for a cut its value.
"""

import json
import sys
import time

import numpy as np


class Clock:
    """Wall time of the two phases of a solution."""

    def __init__(self):
        self.start = time.perf_counter()

    def built(self):
        """End the construction."""
        self.middle = time.perf_counter()

    def solved(self):
        """End the solution."""
        self.end = time.perf_counter()


def load(path):
    """Read the list of instances, each a dict of arrays."""
    instances = {}
    with np.load(path, allow_pickle=False) as archive:
        for key in archive.files:
            number, name = key.split("/")
            instances.setdefault(int(number), {})[name] = archive[key]
    return [instances[number] for number in sorted(instances)]


def run(solve):
    """Call `solve(instance) -> (clock, answer)` on every instance, `repeats` times, and write the output."""
    source, target, repeats = sys.argv[1:4]
    output = []
    for instance in load(source):
        runs = [solve(instance) for _ in range(int(repeats))]
        output.append(
            {
                "build": [clock.middle - clock.start for clock, _ in runs],
                "solve": [clock.end - clock.middle for clock, _ in runs],
                "answer": runs[-1][1],
            }
        )
    with open(target, "w") as file:
        json.dump(output, file)


def integer_arcs(instance):
    """Tails, heads and capacities (in units) of all arcs; the source is node V, the sink node V + 1."""
    (first, second), nodes = instance["edges"].T, np.arange(len(instance["source"]))
    source, sink = np.full(len(nodes), len(nodes)), np.full(len(nodes), len(nodes) + 1)
    tails = np.concatenate([first, second, source, nodes])
    heads = np.concatenate([second, first, nodes, sink])
    floats = np.concatenate([*instance["capacities"].T, instance["source"], instance["sink"]])
    capacities = np.rint(instance["unit"] * floats).astype(np.int64)
    used = capacities > 0
    return tails[used], heads[used], capacities[used]
