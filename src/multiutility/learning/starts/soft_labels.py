"""Soft labels of some examples: what annotations and a regression make of them, and the sums it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from multiutility.annotations import Joint
from multiutility.arrays import FloatArray, added
from multiutility.learning.examples import Example
from multiutility.learning.optimizers.planes import Scores, lift
from multiutility.learning.starts.known_sizes import within_sizes
from multiutility.learning.starts.locality import inverse_norms
from multiutility.learning.starts.logarithms import log_softmax, logsumexp
from multiutility.learning.starts.openness import LOOKS, Silence, expecting, looked, presence, seen_sizes

# What full labelings count in comparison with weak annotations, of which the labels are guessed.
CERTAIN = 10.0
# A label has at least this part of the size that its loss expects,
LEAST = 0.35
# and all of it if it must appear in a part of the nodes, as those of boxes.
LEAST_COVERED = 1.0
# Odds are multiplied by at most e to this; more makes no difference.
HIGHEST = 100.0


class Products:
    """Products of the features of examples with weights [K, D], each computed once."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows
        self._scores = Scores(rows)
        self._found: dict[int, NDArray[Any]] = {}

    def __call__(self, example: int, features: NDArray[Any]) -> NDArray[Any]:
        """Return the product [V, K] of the features [V, D] of an example."""
        if example not in self._found:
            self._found[example] = self._scores(features)
        return self._found[example]


@dataclass(frozen=True, eq=False)
class Part:
    """Some examples, with all that the regression knows of them, but for their features and soft labels.

    Products at the last weights are kept: where the steps of a round end, soft labels are sharpened, and the
    steps of the next one begin.
    """

    examples: Sequence[Example]
    priors: list[FloatArray]
    sizes: list[FloatArray]
    least: list[dict[int, float]]
    scales: list[FloatArray]
    _last: list[Products] = field(default_factory=list, init=False)

    def at(self, rows: NDArray[Any]) -> Products:
        """Return the products at weights [K, D], of which there may be some already."""
        if not (self._last and np.array_equal(self._last[0].rows, rows)):
            self._last[:] = [Products(rows)]
        return self._last[0]

    def scores(self, example: int, features: NDArray[Any], products: Products) -> FloatArray:
        """Scores [V, K] of the labels of an example's nodes."""
        return np.asarray(self.scales[example] * products(example, features), dtype=np.float64)

    def __reduce__(self) -> tuple[Any, ...]:
        # What can be made again need not be sent.
        return Part, (self.examples, self.priors, self.sizes, self.least, self.scales)


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
    products, lifted = part.at(rows), np.empty(rows.shape, rows.dtype)
    for n, target in enumerate(targets):
        features: NDArray[Any] = part.examples[n].problem.node_features
        logs = log_softmax(part.scores(n, features, products))
        losses[n] = np.vdot(target, logs)
        residual = part.scales[n] * (target.sum(axis=1, keepdims=True) * np.exp(logs) - target)
        lift(residual.astype(features.dtype), features, lifted)
        gradient += lifted
    return losses, gradient


def add_losses(*found: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Join the losses of parts, and add up their gradients."""
    return np.concatenate([losses for losses, _ in found]), added([gradient for _, gradient in found])


def sharpened(
    part: Part, rows: NDArray[Any], sharpness: float, chances: FloatArray | None = None
) -> list[FloatArray]:
    """Return the soft labels that weights [K, D] give among those that are possible.

    A label that open tags do not name counts by how likely it is there, and by how large it then is, which
    is estimated by the same number.
    """
    found, products = [], part.at(rows)
    for n, (one, prior, least) in enumerate(zip(part.examples, part.priors, part.least, strict=True)):
        scores = sharpness * part.scores(n, one.problem.node_features, products)
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
    odds = scores[:, label] - logsumexp(np.delete(scores, label, axis=1))

    def missing(rise: float) -> float:
        return least - float(sizes @ expit(odds + rise))

    if missing(0.0) <= 0:
        return 0.0
    return HIGHEST if missing(HIGHEST) >= 0 else float(brentq(missing, 0.0, HIGHEST))
