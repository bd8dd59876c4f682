"""Peer: gco 2.0.2 (GCO-v3 with float energies and label costs). Run by its own environment's Python."""

import gco
import numpy as np
from peer import Clock, run

# A change of the energy by less than this share is rounding: on floats, expansion(-1) never sees it end.
TOLERANCE = 1e-9


def solve(instance):
    """Minimize by sweeps of expansion moves until the energy stands still."""
    n_nodes, n_labels = instance["unary"].shape
    clock = Clock()
    graph = gco.GCOGeneralGraph(n_nodes, n_labels)
    graph.set_data_cost(instance["unary"])
    graph.set_smooth_cost(1.0 - np.eye(n_labels))
    for (i, j), weight in zip(instance["edges"].tolist(), instance["weights"].tolist(), strict=True):
        graph.set_neighbors(i, j, weight)
    if len(instance["label_costs"]):
        graph.set_label_cost(instance["label_costs"])
    clock.built()
    energy = graph.energy
    while (lower := graph.expansion(1)) < energy - TOLERANCE * abs(energy):
        energy = lower
    clock.solved()
    return clock, [graph.get_label(i) for i in range(n_nodes)]


run(solve)
