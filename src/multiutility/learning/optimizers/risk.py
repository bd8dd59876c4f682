"""What an optimizer sees of models, annotations and solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import FloatArray, IndexArray
from multiutility.layout import Layout


@dataclass(frozen=True, eq=False, slots=True)
class Plane:
    """A labeling y of a block, which bounds its hinge from below by a plane over the weights.

    ``hinge(w) >= loss + <w, Psi(y)> - <w, Psi(anchor)>`` with ``Psi(y) = (X^T onehot(labels), pairwise)``:
    ``labels`` is [V]; ``loss`` is the annotation's, and ``pairwise`` [e] the sum of the features of uncut
    edges.
    """

    labels: IndexArray
    loss: float
    pairwise: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Violation:
    """The most violated plane of a block, with the hinge and the scores of the nodes' labels [V, K]."""

    plane: Plane
    hinge: float
    scores: NDArray[Any]


class Remembering(Protocol):
    """What has a memory that is to be kept when work on it is interrupted."""

    def memory(self) -> Arrays:
        """Return what earlier calls of the oracle have left behind, and later ones depend on."""

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take over the memory of another process, of the same risk."""


class Risk(Remembering, Protocol):
    """A sum of hinges, one for each block, as optimizers see it.

    ``risk(w) = sum_n costs[n] max_y (loss_n(y) + <w, Psi_n(y)> - <w, Psi_n(anchor_n)>)``, to be minimized
    together with ``|w|^2 / 2``, over weights w that are flat, see ``Layout``.
    """

    @property
    def costs(self) -> FloatArray:
        """The weight of each block's hinge, C_n, [N]."""

    @property
    def layout(self) -> Layout:
        """Where the weights of labels and of edges stand."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of products with the features."""

    def anchor(self, block: int) -> Plane:
        """Return the plane of the labeling that the block's hinge is measured from."""

    def oracle(self, blocks: Sequence[int], weights: FloatArray) -> list[Violation]:
        """Return the most violated plane of each of the blocks."""

    def scores(self, blocks: Sequence[int], weights: FloatArray) -> list[NDArray[Any]]:
        """Return the scores of the nodes' labels, [V, K], of each of the blocks."""

    def lift(self, block: int, nodes: NDArray[Any], out: NDArray[Any]) -> None:
        """Write ``nodes^T X`` [K, D] of a matrix on the block's nodes [V, K] to ``out``."""

    def kernel(self, block: int, nodes: NDArray[Any]) -> NDArray[Any]:
        """Return ``X X^T nodes`` [V, K] of a matrix on the block's nodes [V, K]."""

    def swap(self, block: int, first: Plane, second: Plane) -> NDArray[Any]:
        """Return ``X X^T (onehot(first) - onehot(second))`` [V, K] of the labelings of two planes."""


def objective(risk: Risk, weights: FloatArray) -> float:
    """Return the primal objective, ``|w|^2 / 2 + risk(w)``; with an approximate oracle, a lower estimate."""
    hinges = [violation.hinge for violation in risk.oracle(range(len(risk.costs)), weights)]
    return float(weights @ weights / 2 + risk.costs @ hinges)
