"""Peer: PyMaxflow (GPL), on doubles, or on integers if the last argument is "int". The answer is the cut."""

import sys

import maxflow
import numpy as np
from peer import Clock, run

INTEGERS = sys.argv[4:] == ["int"]


def solve(instance):
    """Find the cut's value."""
    edges, unit = instance["edges"], int(instance["unit"]) if INTEGERS else 1.0
    dtype = np.int_ if INTEGERS else np.float64
    source, sink, capacities = (
        np.rint(unit * instance[name]).astype(dtype) if INTEGERS else instance[name]
        for name in ("source", "sink", "capacities")
    )
    clock = Clock()
    graph = (maxflow.GraphInt if INTEGERS else maxflow.GraphFloat)(len(source), len(edges))
    nodes = graph.add_grid_nodes(len(source))
    graph.add_grid_tedges(nodes, source, sink)
    graph.add_edges(edges[:, 0], edges[:, 1], capacities[:, 0], capacities[:, 1])
    clock.built()
    value = graph.maxflow()
    clock.solved()
    return clock, value / unit


run(solve)
