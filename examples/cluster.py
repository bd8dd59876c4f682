"""Learn on a cluster: here one of two processes on this machine, which get shards of the problems.

    python examples/cluster.py [WHERE]

WHERE is local:N, or the address of a scheduler such as tcp://host:8786 (see `dask scheduler`). Generated
problems: chains whose nodes have noisy features of their labels. Prints the accuracy on new problems, and
whether the weights are those that threads of this process find: it does not matter who does the work.
"""

from __future__ import annotations

import sys

import numpy as np

from multiutility import SSVM, LabelingProblem
from multiutility.annotations import Full
from multiutility.parallel import Executor, Threads
from multiutility.parallel.dask import Cluster

N_LABELS, N_NODES, N_SHARDS = 4, 20, 2


def random_problems(rng: np.random.Generator, count: int) -> tuple[list[LabelingProblem], list[Full]]:
    """Chains in which labels come in runs."""
    edges = np.stack((np.arange(N_NODES - 1), np.arange(1, N_NODES)), axis=1)
    problems, truths = [], []
    for _ in range(count):
        labels = np.repeat(rng.integers(N_LABELS, size=N_NODES // 4), 4)
        features = np.eye(N_LABELS)[labels] + rng.standard_normal((N_NODES, N_LABELS))
        problems.append(LabelingProblem(features, edges, np.ones((N_NODES - 1, 1))))
        truths.append(Full.from_labels(labels, N_LABELS))
    return problems, truths


def learned(executor: Executor) -> SSVM:
    """Learn from the same problems, wherever the executor is."""
    model = SSVM(C=1.0, tol=0.1, random_state=0, executor=executor)
    return model.fit(*random_problems(np.random.default_rng(0), 32))


def main(where: str) -> None:
    """Learn on the cluster and in this process, and compare."""
    with Cluster(where, n_shards=N_SHARDS) as cluster:
        model = learned(cluster)
    with Threads(2, n_shards=N_SHARDS) as threads:
        same = np.array_equal(learned(threads).weights_, model.weights_)
    print(f"accuracy on new problems: {model.score(*random_problems(np.random.default_rng(1), 50)):.3f}")
    print(f"the same weights as in this process: {same}")


# Worker processes of local:N import this file: what is not a definition must be inside.
if __name__ == "__main__":
    main(*(sys.argv[1:] or ["local:2"]))
