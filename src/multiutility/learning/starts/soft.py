"""Labelings to begin with: what annotations say, and a regression makes of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from multiutility.arrays import FloatArray, IndexArray
from multiutility.energy import Energy
from multiutility.inference import Solver
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.inference.solver import all_finished
from multiutility.learning.examples import Example
from multiutility.learning.starts.locality import LOCALITY, add_moments, local_factors, moments_of
from multiutility.learning.starts.openness import ODDS, odds_seen, silence_of
from multiutility.learning.starts.soft_labels import (
    add_losses,
    add_silence,
    first_labels,
    losses_of,
    make_part,
    masses_of,
    sharpened,
    sizes_seen,
    targets_of,
    told_labels,
)
from multiutility.learning.starts.start import Beginning
from multiutility.parallel import Executor, Handle, Threads, parts, put_together

# How much rare labels are favored: 0 not at all, 1 so much that all labels weigh the same.
BALANCE = 0.5
# Examples of a part, at least.
LEAST_EXAMPLES = 8
# Power of the probabilities that soft labels are made of.
SHARPNESS = 8.0


@dataclass(frozen=True, eq=False)
class SoftStart:
    """Flat weights [K D + e], of which the pairwise ones are zero, and soft labels [V, K] of all examples.

    ``told`` are the same, but as at first where the annotation says nothing: there they are mere guesses.
    ``factors`` [D] is by how much each feature counts in the norm that scales it. ``chances`` [K] are those
    of labels that open tags do not name, if they had to be estimated.
    """

    weights: FloatArray
    shares: list[FloatArray]
    told: list[FloatArray]
    factors: FloatArray
    chances: FloatArray | None = None

    def shares_of(self, examples: Sequence[Example]) -> list[FloatArray]:
        """Return the soft labels of examples that were not learned from."""
        part = make_part(examples, self.factors)
        n_labels, n_features = examples[0].annotation.n_labels, examples[0].problem.n_features
        rows = self.weights[: n_labels * n_features].reshape(n_labels, n_features)
        return sharpened(part, rows.astype(examples[0].problem.feature_dtype), SHARPNESS)


@dataclass(frozen=True)
class Soft:
    """Take the likeliest labelings by soft labels; see ``soft_start``."""

    def __call__(self, beginning: Beginning) -> list[IndexArray]:
        """Return labelings that agree with the annotations."""
        place, examples = beginning.place, beginning.examples
        return place.likeliest(examples, place.soft_start(examples).shares)


def likeliest(examples: Sequence[Example], shares: Sequence[FloatArray], solver: Solver) -> list[IndexArray]:
    """Return the likeliest labelings, by soft labels, that agree with the annotations."""
    tiny = np.finfo(np.float64).tiny
    sizes = [one.problem.node_sizes[:, np.newaxis] for one in examples]
    logs = (np.log(np.maximum(share, tiny)) for share in shares)
    energies = [Energy(-size * log) for size, log in zip(sizes, logs, strict=True)]
    with warnings.catch_warnings():
        # It names places in this batch; who fits the model knows better, and warns once.
        warnings.simplefilter("ignore", UnmetCoverWarning)
        limits = [one.constraints for one in examples]
        results = all_finished(solver.minimize_many(energies, limits))
    return [result.labels for result in results]


def soft_start(
    examples: Sequence[Example],
    shrinkage: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 5e-4, 5e-4),
    n_iterations: int = 15,
    sharpness: float = SHARPNESS,
    locality: float = LOCALITY,
    executor: Executor | None = None,
    shards: Sequence[Handle[Sequence[Example]]] | None = None,
    first: Sequence[FloatArray] | None = None,
) -> SoftStart:
    """Fit a logistic regression to soft labels, which it sharpens in some rounds.

    The soft labels are at first those of ``Annotation.prior``. With soft labels Y [V, K], node sizes s and
    ``m_k = sum_i s_i Y_ik``, node i counts for label k by ``s_i Y_ik / m_k^BALANCE``. That tells labels apart
    that come together: say that every picture of a cow has grass, that one picture of grass in ten has a cow,
    and that no places are known. If all nodes count the same, the nodes of cows are as much of one label as
    of the other; if all labels count the same, those of grass are. In between, each kind of node is more of
    its own label.

    After each round the soft labels are those that the regression gives, to the power of ``sharpness``, among
    those that each node may have; and labels get at least a part, ``LEAST``, of the size that is expected of
    them, or a size in their range if that is known.

    What all nodes of an example have in common cannot tell them apart, but it tells the example: grass around
    a cow would look like a cow. So each feature counts by the ``locality`` power of the part of its variance
    that is within examples; but if most of the variance of all features is within examples, as it is if they
    see nothing but their own node, all count the same. Features are then scaled to norm 1, whatever the sizes
    of nodes have done to them. ``shrinkage`` is the weight of the ridge in each round.

    ``executor`` runs what takes long, by default in this thread; the result does not depend on it. ``shards``
    are the parts of the examples if it has them already. ``first`` are soft labels to begin with in place of
    those of the annotations, if there are no such parts.
    """
    with Threads() if executor is None else nullcontext(executor) as runner:
        if shards is None:
            shards = [runner.put(some) for some in parts(examples, runner.n_shards, LEAST_EXAMPLES)]
        regression = Regression(runner, shards, examples[0], locality)
        if first is not None:
            pieces = parts(first, runner.n_shards, LEAST_EXAMPLES)
            regression.labels = [runner.put(list(some)) for some in pieces]
        weights: FloatArray = np.zeros(regression.shape)
        for ridge in shrinkage:
            weights = regression.fit(weights, ridge, n_iterations)
            regression.sharpen(weights, sharpness)
        shares, told = regression.shares()
    flat = (weights * regression.factors).ravel()
    pairwise = np.zeros(examples[0].problem.edge_features.shape[1])
    weights = np.concatenate((flat, pairwise))
    return SoftStart(weights, shares, told, regression.factors, regression.chances)


class Regression:
    """Logistic regression of soft labels on features, by quasi-Newton steps over all examples.

    All that takes long are sums over examples. They are computed part by part, and the parts do not depend on
    who computes them.
    """

    def __init__(
        self, executor: Executor, shards: Sequence[Handle[Sequence[Example]]], first: Example, locality: float
    ) -> None:
        self.executor = executor
        self.shape = first.annotation.n_labels, first.problem.n_features
        self.dtype = first.problem.feature_dtype
        moments = put_together(executor, add_moments, [executor.call(moments_of, one) for one in shards])
        self.factors: FloatArray = local_factors(moments.result(), locality)
        factors = executor.put(self.factors)
        self.silence = put_together(
            executor, add_silence, [executor.call(silence_of, one) for one in shards]
        ).result()
        self.chances = self.silence.chances(ODDS) if self.silence.silent.any() else None
        self.parts = [executor.call(make_part, shard, factors, self.chances) for shard in shards]
        self.labels = [executor.call(first_labels, part) for part in self.parts]

    def rows(self, weights: FloatArray) -> Handle[NDArray[Any]]:
        """Weights [K, D] of the features as they are."""
        return self.executor.put(np.asarray(weights * self.factors, dtype=self.dtype))

    def fit(self, start: FloatArray, ridge: float, n_iterations: int) -> FloatArray:
        """Return weights [K, D] of a few steps from ``start``, for the present soft labels."""
        call, pairs = self.executor.call, list(zip(self.parts, self.labels, strict=True))
        masses = self.executor.get([call(masses_of, part, labels) for part, labels in pairs])
        totals = np.sum(np.concatenate(masses), axis=0)
        scale = np.divide(1, totals**BALANCE, out=np.zeros_like(totals), where=totals > 0)
        whole = float(totals @ scale)
        targets = [
            call(targets_of, part, labels, scale, whole if whole > 0 else 1.0) for part, labels in pairs
        ]

        def value(flat: FloatArray) -> tuple[float, FloatArray]:
            weights = flat.reshape(self.shape)
            losses, gradient = self._losses(self.rows(weights), targets)
            loss = ridge * float(flat @ flat) / 2
            for one in losses.tolist():
                loss -= one
            return loss, (ridge * weights + gradient * self.factors).ravel()

        options = {"maxiter": n_iterations}
        found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x).reshape(self.shape)

    def _losses(
        self, rows: Handle[NDArray[Any]], targets: Sequence[Handle[list[FloatArray]]]
    ) -> tuple[FloatArray, FloatArray]:
        pairs = zip(self.parts, targets, strict=True)
        found = [self.executor.call(losses_of, part, target, rows) for part, target in pairs]
        return put_together(self.executor, add_losses, found).result()

    def sharpen(self, weights: FloatArray, sharpness: float) -> None:
        """Replace the soft labels by those that the weights give among those that are possible.

        How often labels go unnamed by open tags is then what these soft labels have.
        """
        rows, call = self.rows(weights), self.executor.call
        self.labels = [call(sharpened, part, rows, sharpness, self.chances) for part in self.parts]
        if self.chances is not None:
            pairs = zip(self.parts, self.labels, strict=True)
            sizes = self.executor.get([call(sizes_seen, part, labels) for part, labels in pairs])
            self.chances = self.silence.chances(odds_seen(np.concatenate(sizes)))

    def shares(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the soft labels of all examples, and the same but as at first where nothing is said."""
        pairs = zip(self.parts, self.labels, strict=True)
        told = [self.executor.call(told_labels, part, labels) for part, labels in pairs]
        return chained(self.executor.get(self.labels)), chained(self.executor.get(told))


def chained(lists: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Return the elements of all lists."""
    return [one for some in lists for one in some]
