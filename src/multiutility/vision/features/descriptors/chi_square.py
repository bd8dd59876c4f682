"""A map after which inner products approximate the chi-square kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import Descriptor, Features, State, describe_once, fit_once
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class ChiSquare:
    """The features of ``base``, all >= 0, mapped for the kernel sum of 2 x y / (x + y); three times as many.

    ``interval`` is the step at which the kernel's spectrum is sampled (Vedaldi and Zisserman 2010).
    """

    base: Descriptor
    interval: float = 0.5

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit the base."""
        return fit_once(self.base, pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, 3 D]."""
        return chi_square_map(describe_once(self.base, picture, state), self.interval)


def chi_square_map(values: Features, interval: float = 0.5) -> Features:
    """Map [V, D] to [V, 3 D]: sqrt(L x), and sqrt(2 L x sech(pi L)) times cos(L log x) and sin(L log x).

    >>> one, two = chi_square_map(np.array([[0.3], [0.5]], dtype=np.float32))
    >>> bool(abs(one @ two - 2 * 0.3 * 0.5 / (0.3 + 0.5)) < 0.04)
    True
    """
    mapped = np.zeros((3, *values.shape), dtype=np.float32)
    # Histograms are mostly empty, and zero maps to zero: logarithms of the rest only.
    some = np.nonzero(values)
    root, phase = np.sqrt(values[some] * np.float32(interval)), np.log(values[some]) * np.float32(interval)
    wave = root * np.float32(np.sqrt(2 / np.cosh(np.pi * interval)))
    for copy, part in zip(mapped, (root, wave * np.cos(phase), wave * np.sin(phase)), strict=True):
        copy[some] = part
    return np.concatenate(mapped, axis=1)
