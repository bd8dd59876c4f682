"""Features of regions and of their borders: one descriptor a file, composed into presets.

A new descriptor is one file and one line in ``KINDS``.
"""

from importlib import import_module
from typing import Any

# Where each descriptor, or way to make superpixels, is found. Model files name them by these names, and
# nothing else can be named there.
KINDS = {
    "Area": "multiutility.vision.features.descriptors.shape",
    "BorderWords": "multiutility.vision.features.descriptors.border_words",
    "Boundary": "multiutility.vision.features.descriptors.boundary",
    "Center": "multiutility.vision.features.descriptors.shape",
    "ChannelWords": "multiutility.vision.features.descriptors.channel_words",
    "ChiSquare": "multiutility.vision.features.descriptors.chi_square",
    "ColorMean": "multiutility.vision.features.descriptors.color_moments",
    "ColorSpread": "multiutility.vision.features.descriptors.color_moments",
    "ColorWords": "multiutility.vision.features.descriptors.color_words",
    "Constant": "multiutility.vision.features.descriptors.constant",
    "Dilated": "multiutility.vision.features.descriptors.dilated",
    "EfficientNet": "multiutility.vision.features.networks.network",
    "Extent": "multiutility.vision.features.descriptors.shape",
    "Felzenszwalb": "multiutility.vision.regions.superpixels",
    "Filters": "multiutility.vision.features.descriptors.filters",
    "Gist": "multiutility.vision.features.descriptors.gist",
    "Installed": "multiutility.vision.features.networks.network",
    "Joint": "multiutility.vision.features.descriptors.joint",
    "L1": "multiutility.vision.features.descriptors.normalize",
    "L2": "multiutility.vision.features.descriptors.normalize",
    "Location": "multiutility.vision.features.descriptors.location",
    "LogCovariance": "multiutility.vision.features.descriptors.log_covariance",
    "Moments": "multiutility.vision.features.descriptors.moments",
    "Neighbors": "multiutility.vision.features.descriptors.context",
    "Onnx": "multiutility.vision.features.networks.network",
    "Outline": "multiutility.vision.features.descriptors.shape",
    "Parents": "multiutility.vision.features.descriptors.context",
    "RegionMerging": "multiutility.vision.regions.superpixels",
    "Scene": "multiutility.vision.features.descriptors.context",
    "SiftWords": "multiutility.vision.features.descriptors.sift_words",
    "Similarity": "multiutility.vision.features.descriptors.similarity",
    "Slic": "multiutility.vision.regions.superpixels",
    "Standardized": "multiutility.vision.features.descriptors.standardized",
    "TextonWords": "multiutility.vision.features.descriptors.texton_words",
    "Thumbnail": "multiutility.vision.features.descriptors.thumbnail",
    "Top": "multiutility.vision.features.descriptors.shape",
}

__all__ = list(KINDS)


def __getattr__(name: str) -> Any:
    # Descriptors pull in OpenCV, scikit-image or onnxruntime, so each is fetched when asked for.
    if name in KINDS:
        return getattr(import_module(KINDS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
