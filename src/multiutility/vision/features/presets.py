"""The presets that users name: those of the package, networks of their own, and several of these joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from multiutility.vision.features.descriptor import Descriptor
from multiutility.vision.features.descriptors.border_words import SIDES, BorderWords
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.channel_words import ChannelWords
from multiutility.vision.features.descriptors.chi_square import ChiSquare
from multiutility.vision.features.descriptors.color_moments import ColorMean, ColorSpread
from multiutility.vision.features.descriptors.color_words import ColorWords
from multiutility.vision.features.descriptors.constant import Constant
from multiutility.vision.features.descriptors.context import Neighbors, Parents, Scene
from multiutility.vision.features.descriptors.dilated import Dilated
from multiutility.vision.features.descriptors.filters import Filters
from multiutility.vision.features.descriptors.gist import Gist
from multiutility.vision.features.descriptors.joint import Joint
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.descriptors.log_covariance import LogCovariance
from multiutility.vision.features.descriptors.moments import Moments
from multiutility.vision.features.descriptors.normalize import L1, L2
from multiutility.vision.features.descriptors.shape import Area, Center, Extent, Outline, Top
from multiutility.vision.features.descriptors.sift_words import SiftWords
from multiutility.vision.features.descriptors.similarity import Similarity
from multiutility.vision.features.descriptors.standardized import Standardized
from multiutility.vision.features.descriptors.texton_words import TextonWords
from multiutility.vision.features.descriptors.thumbnail import Thumbnail
from multiutility.vision.features.descriptors.words import Words
from multiutility.vision.features.names import JOIN, check_features
from multiutility.vision.features.networks.installed import read_installed
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import RegionMerging

# How many times as many regions predictions have as learning. Weak annotations are easier to read in few
# regions, and learning takes less time; what is learned holds for smaller ones, too.
FINER = 4


def preset(name: str, n_superpixels: int | None = None, **overrides: Any) -> Preset:
    """Return the preset of this name, with fields of `Preset` replaced by ``overrides``.

    A name is that of a preset of the package, or of a network that ``multiutility features add`` has
    installed, or several of these joined by ``+``, see ``joined``. ``n_superpixels`` is about the number of
    regions in a photograph of 320 x 213 pixels.

    >>> preset("paper", n_superpixels=50, weighted=True).superpixels
    RegionMerging(n_regions=50, min_size=30, size_power=0.5)
    """
    parts = [PRESETS[one]() if one in PRESETS else own(one) for one in check_features(name).split(JOIN)]
    found = replace(parts[0] if len(parts) == 1 else joined(name, parts), **overrides)
    return (
        found
        if n_superpixels is None
        else replace(found, superpixels=found.superpixels.resized(n_superpixels))
    )


def joined(name: str, presets: Sequence[Preset]) -> Preset:
    """Return the node features of several presets side by side, each scaled to the same norm.

    All are scaled to norm 1 together, as those of one preset are; superpixels and edges are of the first.

    >>> joined("both", [paper(), context()]).nodes[0].base.parts[1] == context().nodes[0]
    True
    """
    blocks = tuple(block(one) for one in presets)
    constant = any(isinstance(node, Constant) for one in presets for node in one.nodes)
    nodes: tuple[Descriptor, ...] = (L2(Joint(blocks)), *([Constant()] if constant else []))
    return replace(presets[0], name=name, nodes=nodes)


def block(one: Preset) -> Descriptor:
    """Return the features of nodes, but for a constant, with norm 1."""
    nodes = tuple(node for node in one.nodes if not isinstance(node, Constant))
    found = nodes[0] if len(nodes) == 1 else Joint(nodes)
    return found if isinstance(found, L2) else L2(found)


def own(name: str) -> Preset:
    """The maps of a network that the user has installed, and a constant; all else is as for ``deep``."""
    # onnxruntime takes a while to import.
    from multiutility.vision.features.networks.network import Installed  # noqa: PLC0415

    network = Installed(**read_installed(name).parameters())
    nodes = (L2(network), Constant())
    return Preset(name, RegionMerging(200), nodes, (Boundary(),), weighted=True, finer=FINER)


def paper() -> Preset:
    """The paper's features for MSRC: words of SIFT and color, location; 2,028 values."""
    histograms = Joint((L1(SiftWords(512)), L1(ColorWords(128)), L1(Location(6, 6))))
    return Preset("paper", RegionMerging(100), (ChiSquare(L2(histograms)),), (Boundary(),))


def scene() -> Preset:
    """Features in the spirit of Tighe and Lazebnik (2010), and similarities of neighbors by all of them."""
    sift = SiftWords(300)
    words: tuple[Words, ...] = (sift, TextonWords(200), ChannelWords(0), ChannelWords(1), ChannelWords(2))
    around = [Dilated(one) for one in words]
    sides = [BorderWords(sift, side) for side in SIDES]
    histograms: tuple[Descriptor, ...] = (*words, *around, *sides, Location(8, 8))
    many: tuple[Descriptor, ...] = (Outline(), Thumbnail(), Thumbnail(masked=True), Gist())
    few: tuple[Descriptor, ...] = (Extent(), Area(), Top(), ColorMean(), ColorSpread())
    joint = Joint((*(L1(part) for part in (*histograms, *many)), *few))
    similarity = Similarity(histograms, (*many, *few, Center()))
    return Preset("scene", RegionMerging(150), (L2(ChiSquare(joint)),), (similarity,))


def context() -> Preset:
    """Second-order statistics and words of each region, of the larger regions around it and of the image."""
    moments, colors = Moments(), ColorWords(128, lab=True)
    levels: tuple[Descriptor, ...] = (moments, Parents(moments, 20), Parents(moments, 8), Scene(moments))
    counts: tuple[Descriptor, ...] = (TextonWords(256), colors, Neighbors(colors), Scene(colors))
    parts: tuple[Descriptor, ...] = (
        *(Standardized(LogCovariance(level)) for level in levels),
        ChiSquare(L1(Location(6, 6))),
        *(ChiSquare(L1(count)) for count in counts),
    )
    weights = (1.0,) * (len(levels) + 1) + (0.5,) * len(counts)
    return Preset("context", RegionMerging(80), (L2(Joint(parts, weights)),), (Boundary(),))


def deep() -> Preset:
    """Dense features of a network at two scales, and of simple filters; the default; 1,404 values."""
    # onnxruntime takes a while to import, and only this preset needs it.
    from multiutility.vision.features.networks.network import EfficientNet  # noqa: PLC0415

    # What surrounds a region is told by the coarsest maps of a smaller image, at little cost. Inputs of large
    # images are bounded: four times the pixels take four times as long. Finer maps and filters tell plants
    # and grains apart, which networks trained on photographs of things care little for. All
    # channels weigh the same: more weight of the finer ones costs photographs of things what others gain.
    fine = EfficientNet(2, (8, 16, 32), 2.0, max_input=640)
    coarse = EfficientNet(2, (32,), 0.75, max_input=480)
    seen = L2(Joint((fine, coarse, Filters())))
    nodes = (seen, Constant())
    return Preset("deep", RegionMerging(200), nodes, (Boundary(),), weighted=True, finer=FINER)


PRESETS: dict[str, Callable[[], Preset]] = {"paper": paper, "scene": scene, "context": context, "deep": deep}
