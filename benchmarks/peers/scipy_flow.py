"""Peer: scipy.sparse.csgraph.maximum_flow (Dinic), on integers. The answer is the cut's value."""

import numpy as np
from peer import Clock, integer_arcs, run
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow


def solve(instance):
    """Find the cut's value."""
    tails, heads, capacities = integer_arcs(instance)
    n_nodes = len(instance["source"])
    clock = Clock()
    graph = csr_array((capacities.astype(np.int32), (tails, heads)), shape=(n_nodes + 2, n_nodes + 2))
    clock.built()
    value = maximum_flow(graph, n_nodes, n_nodes + 1).flow_value
    clock.solved()
    return clock, value / int(instance["unit"])


run(solve)
