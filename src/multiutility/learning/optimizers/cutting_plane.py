"""The 1-slack cutting-plane method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import FloatArray, IndexArray
from multiutility.layout import Layout
from multiutility.learning.optimizers.quadratic import maximize_on_simplex
from multiutility.learning.optimizers.risk import Plane, Risk
from multiutility.learning.optimizers.solution import Callback, Progress, Solution, finish, ignore


class Cuts:
    """Planes that bound the whole risk from below: ``risk(w) >= losses[j] - <w, normals[j]>``.

    The first is that of the anchors, whose normal is zero. ``ages`` tells how long cuts have been inactive.
    """

    def __init__(self, risk: Risk) -> None:
        self.anchors = [risk.anchor(n) for n in range(len(risk.costs))]
        self.normals: FloatArray = np.zeros((1, risk.layout.n_weights))
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

    def solve(self, layout: Layout) -> tuple[FloatArray, float]:
        """Return the best weights for the cuts so far, and the dual objective."""
        signs, n_pairwise = layout.pairwise(self.normals), layout.n_pairwise
        gram = np.block([[self.normals @ self.normals.T, signs], [signs.T, np.eye(n_pairwise)]])
        linear = np.concatenate((self.losses, np.zeros(n_pairwise)))
        on_simplex = np.arange(len(linear)) < len(self.losses)
        mixture = maximize_on_simplex(gram, linear, on_simplex)[: len(self.losses)]
        self.ages = np.where(mixture > 0, 0, self.ages + 1).astype(np.int32)
        weights = layout.projected(mixture @ self.normals)
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
    layout = risk.layout
    total = np.zeros(layout.n_weights)
    unary, pairwise = layout.rows(total), layout.pairwise(total)
    lifted = np.empty(unary.shape, dtype=risk.dtype)
    for n, (anchor, plane) in enumerate(zip(anchors, planes, strict=True)):
        nodes = np.zeros((len(plane.labels), layout.n_labels), dtype=risk.dtype)
        rows = np.arange(len(nodes))
        nodes[rows, anchor.labels] += risk.costs[n]
        nodes[rows, plane.labels] -= risk.costs[n]
        risk.lift(n, nodes, lifted)
        unary += lifted
        pairwise += risk.costs[n] * (anchor.pairwise - plane.pairwise)
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
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[Cuts]:
        """Minimize ``|w|^2 / 2 + risk(w)`` until the gap is at most ``tolerance`` times the primal."""
        return finish(self.begin(risk, tolerance, start, random_state, callback))

    def begin(
        self,
        risk: Risk,
        tolerance: float = 0.01,
        start: Cuts | None = None,
        random_state: np.random.RandomState | None = None,  # noqa: ARG002
        callback: Callback = ignore,
    ) -> CuttingPlaneRun:
        """Return a run that has made no pass yet."""
        cuts = Cuts(risk) if start is None else start
        cuts.recenter(risk)
        return CuttingPlaneRun(risk, cuts, self, tolerance, callback)

    def resume(
        self,
        risk: Risk,
        tolerance: float,
        state: Cuts,
        arrays: Mapping[str, NDArray[Any]],
        random_state: np.random.RandomState,  # noqa: ARG002
        callback: Callback = ignore,
    ) -> CuttingPlaneRun:
        """Return a run as it was when the arrays were taken."""
        run = CuttingPlaneRun(risk, state, self, tolerance, callback)
        run.restore(arrays)
        return run

    def pack(self, state: Cuts) -> Arrays:
        """Return cuts as arrays."""
        return {"normals": state.normals, "losses": state.losses, "ages": state.ages}

    def unpack(self, risk: Risk, arrays: Mapping[str, NDArray[Any]]) -> Cuts:
        """Return cuts of packed arrays."""
        cuts = Cuts(risk)
        cuts.normals, cuts.losses = np.array(arrays["normals"]), np.array(arrays["losses"])
        cuts.ages = np.array(arrays["ages"], dtype=np.int32)
        return cuts


class CuttingPlaneRun:
    """One minimization: cuts, the best bound, and the best weights so far."""

    def __init__(
        self, risk: Risk, cuts: Cuts, settings: CuttingPlane, tolerance: float, callback: Callback
    ) -> None:
        self.risk = risk
        self.state = cuts
        self.settings = settings
        self.tolerance = tolerance
        self.progress = Progress(callback)
        self.dual = -np.inf
        self.converged = False
        self._n_iterations = 0

    @property
    def finished(self) -> bool:
        """Whether the gap is small enough, or there were enough iterations."""
        return self.converged or self._n_iterations == self.settings.max_iterations

    def advance(self) -> None:
        """Ask the oracle about all blocks, and add a cut unless the gap is small enough."""
        self._n_iterations += 1
        risk, cuts, progress = self.risk, self.state, self.progress
        weights, bound = cuts.solve(risk.layout)
        self.dual = max(self.dual, bound)
        violations = risk.oracle(range(len(risk.costs)), weights)
        slack = float(risk.costs @ [violation.hinge for violation in violations])
        progress.offer(weights, float(weights @ weights / 2) + slack)
        progress.report(progress.primal, self.dual, exact=True)
        self.converged = progress.relative_gap(self.dual) <= self.tolerance
        if not self.converged:
            planes = [violation.plane for violation in violations]
            cuts.add(normal(risk, cuts.anchors, planes), float(risk.costs @ [p.loss for p in planes]))
            cuts.forget(self.settings.patience)

    def solution(self) -> Solution[Cuts]:
        """Return the best weights, and the cuts as they are now."""
        progress = self.progress
        return Solution(progress.weights, progress.primal, self.dual, self.state, self.converged)

    def arrays(self) -> Arrays:
        """Return all that it takes to go on, but for the cuts."""
        numbers = np.array([self._n_iterations, self.converged, self.dual], dtype=np.float64)
        return {"numbers": numbers, **self.progress.arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where the arrays were taken."""
        iterations, converged, self.dual = arrays["numbers"].tolist()
        self._n_iterations, self.converged = int(iterations), bool(converged)
        self.progress.restore(arrays)
