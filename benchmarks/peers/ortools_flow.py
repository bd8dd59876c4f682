"""Peer: OR-Tools' SimpleMaxFlow, on integers. The answer is the cut's value."""

import numpy as np
from ortools.graph.python import max_flow
from peer import Clock, integer_arcs, run


def solve(instance):
    """Find the cut's value."""
    tails, heads, capacities = integer_arcs(instance)
    n_nodes = len(instance["source"])
    clock = Clock()
    graph = max_flow.SimpleMaxFlow()
    graph.add_arcs_with_capacity(tails.astype(np.int32), heads.astype(np.int32), capacities)
    clock.built()
    status = graph.solve(n_nodes, n_nodes + 1)
    clock.solved()
    if status != graph.OPTIMAL:
        raise RuntimeError(f"OR-Tools ended with status {status}")
    return clock, graph.optimal_flow() / int(instance["unit"])


run(solve)
