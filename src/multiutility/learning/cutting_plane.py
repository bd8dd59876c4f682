"""The 1-slack cutting-plane method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.arrays import FloatArray, IndexArray
from multiutility.learning.dual import projected
from multiutility.learning.quadratic import maximize_on_simplex
from multiutility.learning.risk import Plane, Risk, n_weights
from multiutility.learning.solution import Callback, Progress, Solution, ignore


class Cuts:
    """Planes that bound the whole risk from below: ``risk(w) >= losses[j] - <w, normals[j]>``.

    The first is that of the anchors, whose normal is zero. ``ages`` tells how long cuts have been inactive.
    """

    def __init__(self, risk: Risk) -> None:
        self.anchors = [risk.anchor(n) for n in range(len(risk.costs))]
        self.normals: FloatArray = np.zeros((1, n_weights(risk)))
        self.losses: FloatArray = np.array([anchor_loss(risk)])
        self.ages: IndexArray = np.zeros(1, dtype=np.int32)

    def add(self, normal: FloatArray, loss: float) -> None:
        """Add a cut."""
        self.normals = np.vstack((self.normals, normal))
        self.losses = np.append(self.losses, loss)
        self.ages = np.append(self.ages, np.int32(0))

    def recenter(self, risk: Risk) -> None:
        """Take over a risk whose anchors have changed: all normals shift alike."""
        shift = normal(risk, [risk.anchor(n) for n in range(len(risk.costs))], self.anchors)
        self.normals = np.vstack((np.zeros_like(shift), self.normals[1:] + shift))
        self.losses[0] = anchor_loss(risk)
        self.anchors = [risk.anchor(n) for n in range(len(risk.costs))]

    def solve(self, n_pairwise: int) -> tuple[FloatArray, float]:
        """Return the best weights for the cuts so far, and the dual objective."""
        size = self.normals.shape[1] - n_pairwise
        signs = self.normals[:, size:]
        gram = np.block([[self.normals @ self.normals.T, signs], [signs.T, np.eye(n_pairwise)]])
        linear = np.concatenate((self.losses, np.zeros(n_pairwise)))
        on_simplex = np.arange(len(linear)) < len(self.losses)
        mixture = maximize_on_simplex(gram, linear, on_simplex)[: len(self.losses)]
        self.ages = np.where(mixture > 0, 0, self.ages + 1).astype(np.int32)
        weights = projected(mixture @ self.normals, n_pairwise)
        return weights, float(mixture @ self.losses - weights @ weights / 2)

    def forget(self, age: int) -> None:
        """Drop cuts that have not been active for so many iterations; the anchors' stays."""
        kept = self.ages < age
        kept[0] = True
        self.normals, self.losses, self.ages = self.normals[kept], self.losses[kept], self.ages[kept]


def anchor_loss(risk: Risk) -> float:
    """Return the loss of the anchors, weighted as in the risk."""
    return float(sum(risk.costs[n] * risk.anchor(n).loss for n in range(len(risk.costs))))


def normal(risk: Risk, anchors: Sequence[Plane], planes: Sequence[Plane]) -> FloatArray:
    """``sum_n C_n (Psi(anchor_n) - Psi(plane_n))`` of one plane for each block, [K D + e]."""
    size = risk.n_labels * risk.n_features
    total = np.zeros(n_weights(risk))
    lifted = np.empty((risk.n_labels, risk.n_features), dtype=risk.dtype)
    for n, (anchor, plane) in enumerate(zip(anchors, planes, strict=True)):
        nodes = np.zeros((len(plane.labels), risk.n_labels), dtype=risk.dtype)
        rows = np.arange(len(nodes))
        nodes[rows, anchor.labels] += risk.costs[n]
        nodes[rows, plane.labels] -= risk.costs[n]
        risk.lift(n, nodes, lifted)
        total[:size] += lifted.ravel()
        total[size:] += risk.costs[n] * (anchor.pairwise - plane.pairwise)
    return total


@dataclass(frozen=True)
class CuttingPlane:
    """The 1-slack cutting-plane method (Joachims et al. 2009), as in the paper.

    Each iteration calls the oracle of all blocks at the same weights, adds one cut for their sum, and solves
    the small quadratic program of all cuts, whose value is the dual objective.

    Parameters
    ----------
    max_iterations : int
        Calls of the oracle of all blocks, at most.
    patience : int
        Cuts that were not active for so many iterations are dropped.
    """

    max_iterations: int = 1000
    patience: int = 50

    def minimize(
        self,
        risk: Risk,
        tolerance: float = 0.01,
        start: Cuts | None = None,
        random_state: np.random.RandomState | None = None,  # noqa: ARG002
        callback: Callback = ignore,
    ) -> Solution[Cuts]:
        """Minimize ``|w|^2 / 2 + risk(w)`` until the gap is at most ``tolerance`` times the primal."""
        cuts, progress, dual = Cuts(risk) if start is None else start, Progress(callback), -np.inf
        cuts.recenter(risk)
        for _ in range(self.max_iterations):
            weights, bound = cuts.solve(risk.n_pairwise)
            dual = max(dual, bound)
            violations = risk.oracle(range(len(risk.costs)), weights)
            slack = float(risk.costs @ [violation.hinge for violation in violations])
            progress.offer(weights, float(weights @ weights / 2) + slack)
            progress.report(progress.primal, dual, exact=True)
            if progress.relative_gap(dual) <= tolerance:
                return Solution(progress.weights, progress.primal, dual, cuts, converged=True)
            planes = [violation.plane for violation in violations]
            cuts.add(normal(risk, cuts.anchors, planes), float(risk.costs @ [p.loss for p in planes]))
            cuts.forget(self.patience)
        return Solution(progress.weights, progress.primal, dual, cuts, converged=False)
