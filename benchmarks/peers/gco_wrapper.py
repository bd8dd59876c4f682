"""Peer: gco-wrapper 3.0.9 (GCO-v3 with integer energies). Run by its own environment's Python.

Its Python class rounds floats to integers with constants of its own, which are left as they are. Neither that
class nor the C functions below it take label costs.
"""

import gco
import numpy as np
from peer import Clock, run


def solve(instance):
    """Minimize by expansion moves until convergence."""
    unary, weights = instance["unary"], instance["weights"]
    n_nodes, n_labels = unary.shape
    clock = Clock()
    # The steps of gco.cut_general_graph, one by one so that solving can be timed alone.
    scale = max(np.abs(unary).max(), weights.max()) + 1e-10
    graph = gco.GCO()
    graph.create_general_graph(n_nodes, n_labels, True)
    graph.set_data_cost(unary / scale)
    graph.set_all_neighbors(instance["edges"][:, 0], instance["edges"][:, 1], weights / scale)
    graph.set_smooth_cost(1.0 - np.eye(n_labels))
    clock.built()
    graph.expansion(-1)
    clock.solved()
    labels = graph.get_labels().tolist()
    graph.destroy_graph()
    return clock, labels


run(solve)
