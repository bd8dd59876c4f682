"""How local features are: by how much of their variance is within examples, and not between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray, FloatArray, added
from multiutility.learning.examples import Example

# Features tell examples if the part of their variance within examples is at most the first of these, and
# hardly do if it is at least the second. (Networks see far: 0.6; words of small patches: 0.9.)
TELLING = (0.65, 0.85)
# Part of the variance of all features that those have which are not taken for more local than they are.
MOST_LOCAL = 0.9
# Power of the part of a feature's variance within examples by which it counts.
LOCALITY = 5.0


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

    If no feature varies within examples, all have the part 1; those that never vary have the largest of all.
    A few may be made so that nothing of them is common to an example, as those that are relative to its mean:
    they would count by far the most. So none has a larger part than those of ``MOST_LOCAL`` of the variance.

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
    if not within[varied].any():
        return np.ones_like(first)
    most = quantile(within[varied], spread[varied], MOST_LOCAL)
    return np.minimum(within, most) if most > 0 else within


def quantile(values: FloatArray, weights: FloatArray, part: float) -> float:
    """Return the smallest value such that values up to it have a part of all weights.

    >>> quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 8.0]), 0.9)
    2.0
    """
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, part * sums[-1])]])


def inverse_norms(features: NDArray[Any], factors: FloatArray | None = None) -> FloatArray:
    """Return 1 / norm of each row, [V, 1], of features times factors [D]; 0 for rows of zeros."""
    squares = features.astype(np.float64) ** 2
    norms = np.sqrt(squares.sum(axis=1) if factors is None else squares @ factors**2)[:, np.newaxis]
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
