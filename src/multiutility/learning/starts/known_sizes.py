"""Posteriors that keep to known sizes: of labels in all of an example, and of labels in a node."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from multiutility.annotations import Joint
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.sizes import Sizes

# Steps at most, and what is missing of the logarithm of a size that is too small to matter.
STEPS, SMALL = 30, 1e-3
# Slopes count as at least the first, and steps are at most the second: far from the end, the slope changes.
FLAT, LONGEST = 0.05, 2.0


def within_sizes(scores: FloatArray, sizes: Sizes) -> FloatArray:
    """Posteriors [V, K] in proportion to ``exp(scores + m)`` with one m for each label that has a range.

    The expected size ``s_k = sum_i c_i q_ik`` of a label is then in its range: a label that is too large or
    too small moves to the nearest end, by Newton steps for the logarithm of the size, whose slope is
    ``sum_i c_i q_ik (1 - q_ik) / s_k``; others that move, too, may bring it further into the range.

    >>> ranges = Sizes([([1, 1, 2], 1, 2.5, 3.0)])
    >>> posteriors = within_sizes(np.log([[0.5, 0.5], [0.75, 0.25], [0.9, 0.1]]), ranges)
    >>> round(float(np.array([1, 1, 2]) @ posteriors[:, 1]), 2)
    2.5
    """
    labels, added = sizes.labels, np.zeros(scores.shape[1])
    posteriors = softmax(scores, axis=1)
    for _ in range(STEPS if len(sizes) else 0):
        found = np.einsum("tv,vt->t", sizes.weights, posteriors[:, labels])
        ends = np.clip(found, sizes.low, sizes.high)
        # What no node may have stays at zero, and what must not be there was left out before.
        movable = (found > 0) & (ends > 0)
        missing = np.log(np.divide(ends, found, out=np.ones_like(found), where=movable))
        if np.abs(missing).max(initial=0.0) < SMALL:
            break
        open_ = np.einsum("tv,vt->t", sizes.weights, (posteriors * (1 - posteriors))[:, labels])
        slopes = np.divide(open_, found, out=np.ones_like(found), where=movable)
        np.add.at(added, labels, np.clip(missing / np.maximum(slopes, FLAT), -LONGEST, LONGEST))
        posteriors = softmax(scores + added, axis=1)
    return np.asarray(posteriors)


def within_boxes(example: Example, posterior: FloatArray) -> FloatArray:
    """Posterior [V, K] in which a boxed label has no more of a node than is in its boxes.

    A superpixel may be larger than the thing in it, and lie in a box by a corner only.
    """
    if not isinstance(example.annotation, Joint):
        return posterior
    return capped(posterior, example.annotation.ceilings(example.problem))


def capped(shares: FloatArray, ceilings: FloatArray) -> FloatArray:
    """Shares [V, K] of which none is above its ceiling: what is cut off goes to the others, as they have it.

    Rows whose other shares are all zero stay as they are.

    >>> capped(np.array([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]]), np.array([[0.2, 0.5, 1.0], [0.2, 0.2, 1.0]]))
    array([[0.2, 0.5, 0.3],
           [0.5, 0.5, 0. ]])
    """
    full, found = np.zeros(shares.shape, dtype=np.bool_), shares
    while ((found > ceilings) & ~full).any():
        full |= found > ceilings
        rest, taken = np.where(full, 0.0, shares), np.where(full, ceilings, 0.0)
        sums = rest.sum(axis=1, keepdims=True)
        left = 1.0 - taken.sum(axis=1, keepdims=True)
        scale = np.divide(left, sums, out=np.zeros_like(sums), where=sums > 0)
        found = np.where(sums > 0, taken + rest * scale, shares)
        full[sums[:, 0] == 0] = True
    return found
