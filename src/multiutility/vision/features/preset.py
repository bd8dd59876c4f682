"""Presets: superpixels and descriptors that together turn an image into a labeling problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import IndexArray
from multiutility.problem import LabelingProblem
from multiutility.vision.features.descriptor import (
    Descriptor,
    EdgeDescriptor,
    Features,
    State,
    nested,
    part_state,
)
from multiutility.vision.features.parameters import decode, encode, source_digests
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import Image, boundary_map
from multiutility.vision.regions.superpixels import RegionMerging, Superpixels

# An image, or how to get it: images of a large set are not all held in memory at once.
ImageSource: TypeAlias = Image | Callable[[], Image]

# Called with the number of pictures done and the number of all.
Progress: TypeAlias = Callable[[int, int], None]

VERSION = 1  # changes whenever the same parameters give other features, so that stored ones are made anew


@dataclass(frozen=True, eq=False)
class Prepared:
    """An image ready for learning: its labeling problem, and the regions int32 [H, W] that are its nodes."""

    problem: LabelingProblem
    regions: IndexArray

    @property
    def fetch(self) -> Callable[[], IndexArray] | None:
        """How to get the regions another time, if nobody should keep them."""
        return None

    def with_problem(self, problem: LabelingProblem) -> Prepared:
        """Return the same image with another problem on its regions."""
        return Prepared(problem, self.regions)


@dataclass(frozen=True)
class Preset:
    """How to turn images into labeling problems; ``fit`` learns vocabularies and scales from training images.

    With ``weighted``, node features are multiplied by the region's size and edge features by the border's
    length, both relative to the image's mean, so that scores sum over pixels as losses do. A model can then
    label other regions than it was learned from: if they are those of ``RegionMerging``, predictions have
    ``finer`` times as many. The preset of such a model has the number that it was ``learned_with``.
    """

    name: str
    superpixels: Superpixels
    nodes: tuple[Descriptor, ...]
    edges: tuple[EdgeDescriptor, ...]
    weighted: bool = False
    fit_images: int = 64
    finer: int = 1
    learned_with: int | None = None

    def __post_init__(self) -> None:
        for name, number in (("finer", self.finer), ("learned_with", self.learned_with)):
            if number is not None and not (isinstance(number, int) and number >= 1):
                raise ValueError(f"{name} is {number!r}: expected a whole number from 1")

    def for_prediction(self) -> Preset:
        """Return the preset of a model that was learned with this one."""
        if self.finer == 1 or not self.weighted or not isinstance(self.superpixels, RegionMerging):
            return self
        number = self.superpixels.n_regions
        cut = self.superpixels.resized(self.finer * number)
        return replace(self, superpixels=cut, finer=1, learned_with=number)

    def for_learning(self) -> Preset:
        """Return the preset that a model with this one was learned with.

        >>> from multiutility.vision.features.presets import preset
        >>> preset("deep").for_prediction().for_learning() == preset("deep")
        True
        """
        if self.learned_with is None or not isinstance(self.superpixels, RegionMerging):
            return self
        times = max(1, self.superpixels.n_regions // self.learned_with)
        cut = self.superpixels.resized(self.learned_with)
        return replace(self, superpixels=cut, finer=times, learned_with=None)

    def fit(
        self,
        images: Sequence[ImageSource],
        random_state: int | np.random.Generator | None = None,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> FittedPreset:
        """Fit all descriptors on at most ``fit_images`` of the images, chosen at random."""
        if not len(images):
            raise ValueError("there are no images to fit features on")
        rng = np.random.default_rng(random_state)
        chosen = np.sort(rng.permutation(len(images))[: self.fit_images])
        pictures: list[Picture] = []
        with ThreadPoolExecutor(max(1, n_jobs)) as pool:
            for picture in pool.map(lambda i: self.picture(opened(images[i])), chosen.tolist()):
                pictures.append(picture)
                if progress is not None:
                    progress(len(pictures), len(chosen))
        descriptors = (*self.nodes, *self.edges)
        return FittedPreset(self, nested([descriptor.fit(pictures, rng) for descriptor in descriptors]))

    def picture(self, image: Image) -> Picture:
        """Return the image with its regions."""
        image = checked_image(image)
        if not isinstance(self.superpixels, RegionMerging):
            return Picture(image, self.superpixels(image))
        boundary = boundary_map(image)  # which features of borders need, too
        return Picture(image, self.superpixels.cut(boundary), boundary)


@dataclass(frozen=True, eq=False)
class FittedPreset:
    """A preset with what its descriptors learned; ``state`` holds float32 arrays."""

    preset: Preset
    state: State

    def __post_init__(self) -> None:
        state = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in self.state.items()}
        object.__setattr__(self, "state", state)

    def prepare(self, image: Image) -> Prepared:
        """Turn an image uint8 [H, W, 3] (or [H, W]) into a labeling problem on its regions."""
        preset, picture = self.preset, self.preset.picture(image)
        node_features = self.described(preset.nodes, 0, picture, picture.n_regions)
        edge_features = self.described(preset.edges, len(preset.nodes), picture, len(picture.edges))
        if preset.weighted:
            node_features *= relative(picture.sizes)
            edge_features *= relative(picture.borders.lengths) * self.coarseness(picture.n_regions)
        problem = LabelingProblem(node_features, picture.edges, edge_features, picture.sizes)
        return Prepared(problem, picture.regions)

    def for_prediction(self) -> FittedPreset:
        """Return the fitted preset of a model that was learned with this one."""
        return FittedPreset(self.preset.for_prediction(), self.state)

    def coarseness(self, n_regions: int) -> np.float32:
        """By how much borders count more where there are more regions than the model was learned with.

        With m times as many regions, their mean size is 1 / m of what it was, and the mean length of their
        borders about the root of that. Relative to these, pixels count m times as much as in learning, but
        borders only by the root of m: by that root they must count more.
        """
        known = self.preset.learned_with
        return np.float32(1 if known is None else np.sqrt(n_regions / min(n_regions, known)))

    def described(
        self, descriptors: Sequence[Descriptor | EdgeDescriptor], first: int, picture: Picture, length: int
    ) -> Features:
        """Join the features of some descriptors, whose states start at number ``first``, in a new array."""
        blocks = [
            one.describe(picture, part_state(self.state, first + d)) for d, one in enumerate(descriptors)
        ]
        return np.concatenate([np.zeros((length, 0), dtype=np.float32), *blocks], axis=1)

    def parameters(self) -> dict[str, Any]:
        """Plain data that names everything but the state, for model files and cache keys."""
        parameters: dict[str, Any] = encode(self.preset)
        # What predictions will have does not change features.
        del parameters["kind"], parameters["finer"]
        if self.preset.learned_with is None:
            del parameters["learned_with"]
        return {"version": VERSION, **parameters}

    def sources(self) -> list[str]:
        """Hashes of the files that features depend on besides parameters and state, as they are now."""
        return source_digests(self.preset)

    @classmethod
    def from_parts(cls, parameters: dict[str, Any], state: State) -> Self:
        """Rebuild a fitted preset from its parameters and state."""
        found = dict(parameters)
        version = found.pop("version", None)
        if version != VERSION:
            raise ValueError(
                f"features of version {version}: this program makes version {VERSION}; train anew"
            )
        return cls(Preset(**{name: decode(value) for name, value in found.items()}), state)


def opened(source: ImageSource) -> Image:
    """Return the image itself."""
    return source() if callable(source) else source


def checked_image(image: Image) -> Image:
    """Return the image as uint8 [H, W, 3]; gray ones [H, W] are taken too."""
    image = np.asarray(image)
    if image.ndim == 2:
        image = np.repeat(image[:, :, np.newaxis], 3, axis=2)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError(f"image has shape {image.shape} and dtype {image.dtype}: expected uint8 [H, W, 3]")
    return np.ascontiguousarray(image)


def relative(amounts: NDArray[np.int64]) -> Features:
    """Amounts over their mean, as a float32 column."""
    return (amounts / max(float(amounts.mean()), 1.0) if len(amounts) else amounts)[:, np.newaxis].astype(
        np.float32
    )
