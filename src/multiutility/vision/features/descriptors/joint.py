"""Several descriptors side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multiutility.vision.features.descriptor import (
    Descriptor,
    Features,
    State,
    describe_once,
    fit_once,
    nested,
    part_state,
)
from multiutility.vision.features.picture import Picture


@dataclass(frozen=True)
class Joint:
    """The features of all parts, side by side; ``weights``, one for each part, multiply them."""

    parts: tuple[Descriptor, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.weights and len(self.weights) != len(self.parts):
            raise ValueError(f"{len(self.parts)} parts, but {len(self.weights)} weights")

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Fit all parts."""
        return nested([fit_once(part, pictures, rng) for part in self.parts])

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        blocks = [describe_once(part, picture, part_state(state, p)) for p, part in enumerate(self.parts)]
        if self.weights:
            blocks = [block * np.float32(one) for one, block in zip(self.weights, blocks, strict=True)]
        return np.concatenate(blocks, axis=1)
