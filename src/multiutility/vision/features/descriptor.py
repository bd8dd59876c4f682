"""What a descriptor is: numbers for every region, or every pair of neighbors, of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from multiutility.vision.features.picture import Picture

# What a descriptor learned from training pictures, by names of its own choice.
State: TypeAlias = dict[str, NDArray[Any]]

Features: TypeAlias = NDArray[np.float32]


class Descriptor(Protocol):
    """Describes the regions of a picture.

    Implementations are frozen dataclasses. Their fields are numbers, strings, booleans, other such
    dataclasses, or tuples of these, so that a model file can name them.
    """

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn from training pictures; an empty state if there is nothing to learn."""

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""


class EdgeDescriptor(Protocol):
    """Describes pairs of neighboring regions by similarities: the same, with values >= 0."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn from training pictures; an empty state if there is nothing to learn."""

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every edge of the picture: float32 [E, e], all >= 0."""


@runtime_checkable
class Sourced(Protocol):
    """A descriptor that depends on a file, such as a network, besides its parameters."""

    def source_digest(self) -> str:
        """Hash of what is in the file now."""


def fit_once(descriptor: Descriptor, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
    """Fit a part of other descriptors; parts that are equal share one state."""
    return pictures[0].once(("fit", descriptor), lambda: descriptor.fit(pictures, rng))


def describe_once(descriptor: Descriptor, picture: Picture, state: State) -> Features:
    """Describe by a part of other descriptors; parts that are equal share the work."""
    return picture.once(("describe", descriptor), lambda: descriptor.describe(picture, state))


def nested(states: Sequence[State]) -> State:
    """One state from the states of parts: the names of part 2 start with ``2.``.

    >>> nested([{}, {"mean": np.zeros(1)}])
    {'1.mean': array([0.])}
    """
    return {f"{part}.{name}": array for part, state in enumerate(states) for name, array in state.items()}


def part_state(state: State, part: int | str) -> State:
    """The state of a part, out of a nested one.

    >>> part_state({"0.mean": np.zeros(1), "1.mean": np.ones(1)}, 1)
    {'mean': array([1.])}
    """
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}
