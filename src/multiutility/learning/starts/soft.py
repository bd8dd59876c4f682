"""Labelings to begin with: what annotations say, and a regression makes of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, logsumexp

from multiutility.annotations import Joint
from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.energy import Energy
from multiutility.inference import Solver
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.inference.solver import all_finished
from multiutility.learning.examples import Example
from multiutility.learning.starts.known_sizes import within_sizes
from multiutility.learning.starts.openness import (
    LOOKS,
    ODDS,
    Silence,
    expecting,
    looked,
    odds_seen,
    presence,
    seen_sizes,
    silence_of,
)
from multiutility.learning.starts.start import Beginning
from multiutility.parallel import Executor, Handle, Threads, parts, put_together

# How much rare labels are favored: 0 not at all, 1 so much that all labels weigh the same.
BALANCE = 0.5
# What full labelings count in comparison with weak annotations, of which the labels are guessed.
CERTAIN = 10.0
# A label has at least this part of the size that its loss expects,
LEAST = 0.35
# and all of it if it must appear in a part of the nodes, as those of boxes.
LEAST_COVERED = 1.0
# Features tell examples if the part of their variance within examples is at most the first of these, and
# hardly do if it is at least the second. (Networks see far: 0.6; words of small patches: 0.9.)
TELLING = (0.65, 0.85)
# Odds are multiplied by at most e to this; more makes no difference.
HIGHEST = 100.0
# Examples of a part, at least.
LEAST_EXAMPLES = 8
# Power of the probabilities that soft labels are made of.
SHARPNESS = 8.0
# Power of the part of a feature's variance within examples by which it counts.
LOCALITY = 5.0


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


@dataclass(frozen=True, eq=False)
class Part:
    """Some examples, with all that the regression knows of them, but for their features and soft labels."""

    examples: Sequence[Example]
    priors: list[FloatArray]
    sizes: list[FloatArray]
    least: list[dict[int, float]]
    scales: list[FloatArray]

    def scores(self, example: int, features: NDArray[Any], rows: NDArray[Any]) -> FloatArray:
        """Scores [V, K] of the labels of an example's nodes."""
        return np.asarray(self.scales[example] * (features @ rows.T), dtype=np.float64)


def make_part(examples: Sequence[Example], factors: FloatArray, chances: FloatArray | None = None) -> Part:
    """Return a part for features that are multiplied by factors [D], and chances of unnamed labels [K]."""
    priors = [expecting(one.annotation, chances).prior(one.problem) for one in examples]
    sizes = [counted_sizes(one, prior) for one, prior in zip(examples, priors, strict=True)]
    scales = [inverse_norms(one.problem.node_features, factors) for one in examples]
    return Part(examples, priors, sizes, [least_sizes(one) for one in examples], scales)


def first_labels(part: Part) -> list[FloatArray]:
    """Soft labels [V, K] as the annotations have them."""
    return part.priors


def masses_of(part: Part, labels: Sequence[FloatArray]) -> FloatArray:
    """Sizes of labels in each example, [n, K]."""
    return np.array([(size * one).sum(axis=0) for size, one in zip(part.sizes, labels, strict=True)])


def targets_of(part: Part, labels: Sequence[FloatArray], scale: FloatArray, whole: float) -> list[FloatArray]:
    """By how much each node counts for each label, [V, K] for each example."""
    return [size * one * scale / whole for size, one in zip(part.sizes, labels, strict=True)]


def losses_of(part: Part, targets: Sequence[FloatArray], rows: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood of each example [n], and minus the gradient of their sum [K, D]."""
    losses, gradient = np.zeros(len(targets)), np.zeros(rows.shape)
    for n, target in enumerate(targets):
        features: NDArray[Any] = part.examples[n].problem.node_features
        logs = log_softmax(part.scores(n, features, rows), axis=1)
        losses[n] = np.vdot(target, logs)
        residual = part.scales[n] * (target.sum(axis=1, keepdims=True) * np.exp(logs) - target)
        gradient += residual.T.astype(features.dtype) @ features
    return losses, gradient


def add_losses(*found: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Join the losses of parts, and add up their gradients."""
    return np.concatenate([losses for losses, _ in found]), added([gradient for _, gradient in found])


def added(arrays: Sequence[FloatArray]) -> FloatArray:
    """Sum of arrays, one after another."""
    total = arrays[0].copy()
    for one in arrays[1:]:
        total += one
    return total


def sharpened(
    part: Part, rows: NDArray[Any], sharpness: float, chances: FloatArray | None = None
) -> list[FloatArray]:
    """Return the soft labels that weights [K, D] give among those that are possible.

    A label that open tags do not name counts by how likely it is there, and by how large it then is, which
    is estimated by the same number.
    """
    found = []
    for n, (one, prior, least) in enumerate(zip(part.examples, part.priors, part.least, strict=True)):
        scores = sharpness * part.scores(n, one.problem.node_features, rows)
        scores = np.where(prior > 0, scores + log_reach(one), -np.inf)
        first = presence(one.annotation, chances)
        shares = raised(scores + 2 * np.log(first), one, least)
        for _ in range(LOOKS if first.min() < 1 else 0):
            shares = raised(scores + 2 * np.log(looked(first, one, shares)), one, least)
        found.append(shares)
    return found


def raised(scores: FloatArray, example: Example, least: Mapping[int, float]) -> FloatArray:
    """Return the soft labels [V, K] of scores [V, K], some of which rise until labels have a least size.

    Sizes that are known are met at both ends.
    """
    for label, size in least.items():
        scores[:, label] += raise_of(scores, label, example.problem.node_sizes, size)
    return within_sizes(scores, example.constraints.sizes)


def sizes_seen(part: Part, labels: Sequence[FloatArray]) -> FloatArray:
    """Sizes [n, 2] of unnamed labels in open examples, and of the others."""
    return np.array([seen_sizes(one, shares) for one, shares in zip(part.examples, labels, strict=True)])


def add_silence(*found: Silence) -> Silence:
    """Counts of all examples, of those of parts."""
    return Silence(*(added(some) for some in zip(*found, strict=True)))


def told_labels(part: Part, labels: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the soft labels, but as at first where the annotation says nothing."""
    triples = zip(part.sizes, labels, part.priors, strict=True)
    return [np.where(size > 0, one, prior) for size, one, prior in triples]


def counted_sizes(example: Example, prior: FloatArray) -> FloatArray:
    """Sizes [V, 1] by which nodes count, zero for those of which nothing is known."""
    sizes = example.problem.node_sizes[:, np.newaxis]
    if example.annotation.strong:
        return np.asarray(CERTAIN * sizes * ~example.open_nodes[:, np.newaxis])
    # Where nothing but labels of unknown size is possible, nothing has been said.
    known = prior @ (example.annotation.label_sizes(example.problem) > 0) > 0
    return np.asarray(sizes * known[:, np.newaxis])


def least_sizes(example: Example) -> dict[int, float]:
    """Return the least expected sizes of the labels of a weak annotation, where these are not known."""
    if example.annotation.strong:
        return {}
    constraints, problem = example.constraints, example.problem
    partial = np.diff(constraints.cover_starts) < problem.n_nodes
    labels = np.arange(example.annotation.n_labels)
    covered = np.isin(labels, constraints.cover_labels[partial]) | np.isin(labels, loosely_boxed(example))
    least = np.where(covered, LEAST_COVERED, LEAST) * example.annotation.label_sizes(problem)
    least[constraints.sizes.labels] = 0.0
    return {label: float(least[label]) for label in np.flatnonzero(least).tolist()}


def loosely_boxed(example: Example) -> list[int]:
    """Labels of loose boxes: they have no covers, and must appear in their boxes nevertheless."""
    annotation = example.annotation
    return [box.label for box in annotation.boxes if not box.tight] if isinstance(annotation, Joint) else []


def log_reach(example: Example) -> FloatArray | float:
    """Logarithms of how likely nodes can have labels [V, K]; 0 if nothing is said of that."""
    annotation = example.annotation
    return np.log(annotation.reach(example.problem)) if isinstance(annotation, Joint) else 0.0


def raise_of(scores: FloatArray, label: int, sizes: FloatArray, least: float) -> float:
    """Return how much a label's scores must rise for it to have at least a size, summed over shares.

    >>> from scipy.special import softmax
    >>> scores = np.log([[0.5, 0.5], [0.75, 0.25]])
    >>> rise = raise_of(scores, 1, np.ones(2), 1.25)
    >>> scores[:, 1] += rise
    >>> round(float(softmax(scores, axis=1)[:, 1].sum()), 6)
    1.25
    """
    odds = scores[:, label] - logsumexp(np.delete(scores, label, axis=1), axis=1)

    def missing(rise: float) -> float:
        return least - float(sizes @ expit(odds + rise))

    if missing(0.0) <= 0:
        return 0.0
    return HIGHEST if missing(HIGHEST) >= 0 else float(brentq(missing, 0.0, HIGHEST))


class Moments(NamedTuple):
    """Size of all nodes, sums [D] of features scaled to norm 1 and of their squares, weighted by sizes.

    ``between`` [D] is what the sum of squares would be if features were the same within each example.
    """

    total: float
    first: FloatArray
    second: FloatArray
    between: FloatArray


def moments_of(examples: Sequence[Example]) -> Moments:
    """Return the moments of some examples."""
    total, first = 0.0, np.zeros(examples[0].problem.n_features)
    second, between = np.zeros_like(first), np.zeros_like(first)
    for one in examples:
        features, sizes = one.problem.node_features, one.problem.node_sizes
        scaled = features * inverse_norms(features).astype(features.dtype)
        whole, sums = float(sizes.sum()), sizes @ scaled
        total, first, second = total + whole, first + sums, second + sizes @ scaled**2
        between += sums**2 / whole if whole > 0 else 0.0
    return Moments(total, first, second, between)


def add_moments(*found: Moments) -> Moments:
    """Moments of all examples, of those of parts."""
    total, first, second, between = zip(*found, strict=True)
    return Moments(sum(total), added(first), added(second), added(between))


def local_factors(moments: Moments, locality: float) -> FloatArray:
    """By how much each feature counts, [D]: by a power of the part of its variance within examples.

    The power is ``locality`` for features that tell examples, and falls to zero for those that hardly do.

    >>> scenery = Moments(2.0, np.zeros(2), np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    >>> details = Moments(2.0, np.zeros(2), np.array([1.0, 1.0]), np.array([0.2, 0.0]))
    >>> local_factors(scenery, 1.0), local_factors(details, 1.0)
    (array([0.5, 0.5]), array([1., 1.]))
    """
    total, first, second, between = moments
    variance = float((second - first**2 / total).sum()) if total > 0 else 0.0
    part = float((second - between).sum()) / variance if variance > 0 else 1.0
    least, most = TELLING
    power = locality * min(max((most - part) / (most - least), 0.0), 1.0)
    factors = np.asarray(within_parts(moments) ** power)
    # How frequent labels are is for their sizes to say: a constant would only make frequent ones more so.
    varied = varying(moments)
    if varied.any():
        factors[~varied] = 0.0
    return factors


def varying(moments: Moments) -> BoolArray:
    """Which features vary, bool [D]; what is left of sums of squares by rounding is no variance."""
    total, first, second, _ = moments
    spread = second - first**2 / total if total > 0 else np.zeros_like(first)
    return np.asarray(spread > 1e-6 * second)


def within_parts(moments: Moments) -> FloatArray:
    """Part of the variance of each feature [D] that is within examples, of features scaled to norm 1.

    Features that never vary keep the part 1; if none varies within examples, all do.

    >>> from multiutility.annotations import Tags
    >>> from multiutility.learning.examples import make_examples
    >>> from multiutility.problem import LabelingProblem
    >>> problems = [LabelingProblem([[s, 1.0], [s, -1.0]], [], np.zeros((0, 1))) for s in (1.0, -1.0)]
    >>> within_parts(moments_of(make_examples(problems, [Tags([0, 1], n_labels=2)] * 2)))
    array([0., 1.])
    """
    total, first, second, between = moments
    spread = second - first**2 / total if total > 0 else np.zeros_like(first)
    varied = varying(moments)
    within = np.divide(second - between, spread, out=np.ones_like(first), where=varied)
    within = np.clip(within, 0.0, 1.0)
    return within if within[varied].any() else np.ones_like(first)


def inverse_norms(features: NDArray[Any], factors: FloatArray | None = None) -> FloatArray:
    """Return 1 / norm of each row, [V, 1], of features times factors [D]; 0 for rows of zeros."""
    squares = features.astype(np.float64) ** 2
    norms = np.sqrt(squares.sum(axis=1) if factors is None else squares @ factors**2)[:, np.newaxis]
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
