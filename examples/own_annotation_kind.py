"""A kind of annotation of your own: somebody says which labels are *not* there, and no more.

    python examples/own_annotation_kind.py

Sensors along a pipe measure which of five states holds around them, with much noise. A few pipes were read
sensor by sensor; of all others we only know some states that can be ruled out. ``Without`` is that kind: its
loss is the number of sensors (their size, in general) with a label that was ruled out. It needs nothing from
the package but the methods of ``multiutility.annotations.Annotation``, and ``check_annotation`` proves by
enumeration that these agree with each other. Prints the part of the sensors of new pipes that get the right
state: from the few pipes alone, and with what was ruled out of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility import Constraints, Energy, LabelingProblem, MultiUtilitySSVM
from multiutility.annotations import Full
from multiutility.annotations.annotation import Annotation
from multiutility.checks import check_annotation

N_STATES, N_SENSORS, N_FEATURES = 5, 12, 40
N_READ, N_RULED_OUT, N_NEW = 3, 40, 40


@dataclass(frozen=True)
class Without:
    """None of ``labels`` is there: ``K(y) = omega * sum_i c_i [y_i in labels]``."""

    labels: tuple[int, ...]
    n_labels: int
    omega: float = 1.0
    strong: bool = False  # weighted by alpha, as all that leaves something open

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """The formula above."""
        return self.omega * float(problem.node_sizes[np.isin(labels, self.labels)].sum())

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Minus the loss, as costs of labels: inference looks for labelings that violate what was said."""
        return Energy(np.where(self._allowed(problem), 0.0, -self.omega * problem.node_sizes[:, np.newaxis]))

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Labels that a sensor may have."""
        return Constraints(self._allowed(problem))

    def start(self, problem: LabelingProblem) -> NDArray[np.int32]:
        """Any labeling that is allowed."""
        return np.asarray(self._allowed(problem).argmax(axis=1), dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> NDArray[np.float64]:
        """All that is allowed is as likely."""
        return self._allowed(problem) / (self.n_labels - len(self.labels))

    def label_sizes(self, problem: LabelingProblem) -> NDArray[np.float64]:
        """How much of each label to expect."""
        return problem.node_sizes @ self.prior(problem)

    def weighted(self, weights: ArrayLike) -> Without:
        """The same with weights of classes: as heavy as the labels that are left."""
        left = [label for label in range(self.n_labels) if label not in self.labels]
        return replace(self, omega=float(np.asarray(weights, dtype=np.float64)[left].mean()))

    def _allowed(self, problem: LabelingProblem) -> NDArray[np.bool_]:
        row = ~np.isin(np.arange(self.n_labels), self.labels)
        return np.tile(row, (problem.n_nodes, 1))


def random_pipes(
    rng: np.random.Generator, count: int, means: NDArray[np.float64]
) -> list[tuple[LabelingProblem, NDArray[np.int64]]]:
    """Return chains of sensors with what they measure, and their true states: two runs of different ones."""
    pipes = []
    edges = np.stack((np.arange(N_SENSORS - 1), np.arange(1, N_SENSORS)), axis=1)
    for _ in range(count):
        cut, states = rng.integers(3, N_SENSORS - 2), rng.choice(N_STATES, 2, replace=False)
        truth = np.repeat(states, (cut, N_SENSORS - cut))
        measured = means[truth] + 1.5 * rng.standard_normal((N_SENSORS, N_FEATURES))
        pipes.append((LabelingProblem(measured, edges, np.ones((len(edges), 1))), truth))
    return pipes


def main() -> None:
    """Prove that the kind is sound, then learn with and without it."""
    rng = np.random.default_rng(0)
    small = LabelingProblem(np.zeros((4, 1)), [[0, 1], [1, 2], [2, 3]], np.ones((3, 1)), [3, 1, 2, 5])
    check_annotation(Without((0, 2), n_labels=3), small)
    print("the kind keeps its promises")

    pipes = random_pipes(rng, N_READ + N_RULED_OUT + N_NEW, rng.standard_normal((N_STATES, N_FEATURES)) / 3)
    problems = [problem for problem, _ in pipes]
    full: list[Annotation] = [Full.from_labels(truth, N_STATES) for _, truth in pipes]
    # Two of the three states that are not there.
    absent = [np.setdiff1d(np.arange(N_STATES), truth) for _, truth in pipes]
    ruled_out: list[Annotation] = [
        Without(tuple(sorted(rng.choice(one, 2, replace=False).tolist())), N_STATES) for one in absent
    ]
    known = N_READ + N_RULED_OUT
    ways = {
        f"{N_READ} pipes read": full[:N_READ],
        f"and {N_RULED_OUT} with states ruled out": [*full[:N_READ], *ruled_out[N_READ:known]],
    }
    for name, given in ways.items():
        model = MultiUtilitySSVM(C=len(given) / 10, tol=0.3, random_state=0)
        model.fit(problems[: len(given)], given)
        print(f"{name:32} {model.score(problems[known:], full[known:]):.3f}")


if __name__ == "__main__":
    main()
