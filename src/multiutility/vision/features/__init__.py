"""Features of regions and of their borders: one descriptor a file, composed into presets.

A new descriptor is one file and one line in ``KINDS``.
"""

from importlib import import_module
from typing import Any

# Where each descriptor, or way to make superpixels, is found. Model files name them by these names, and
# nothing else can be named there.
KINDS = {
    "Area": "multiutility.vision.features.shape",
    "BorderWords": "multiutility.vision.features.border_words",
    "Boundary": "multiutility.vision.features.boundary",
    "Center": "multiutility.vision.features.shape",
    "ChannelWords": "multiutility.vision.features.channel_words",
    "ChiSquare": "multiutility.vision.features.chi_square",
    "ColorMean": "multiutility.vision.features.color_moments",
    "ColorSpread": "multiutility.vision.features.color_moments",
    "ColorWords": "multiutility.vision.features.color_words",
    "Constant": "multiutility.vision.features.constant",
    "Dilated": "multiutility.vision.features.dilated",
    "EfficientNet": "multiutility.vision.features.network",
    "Extent": "multiutility.vision.features.shape",
    "Felzenszwalb": "multiutility.vision.superpixels",
    "Gist": "multiutility.vision.features.gist",
    "Joint": "multiutility.vision.features.joint",
    "L1": "multiutility.vision.features.normalize",
    "L2": "multiutility.vision.features.normalize",
    "Location": "multiutility.vision.features.location",
    "LogCovariance": "multiutility.vision.features.log_covariance",
    "Moments": "multiutility.vision.features.moments",
    "Neighbors": "multiutility.vision.features.context",
    "Onnx": "multiutility.vision.features.network",
    "Outline": "multiutility.vision.features.shape",
    "Parents": "multiutility.vision.features.context",
    "RegionMerging": "multiutility.vision.superpixels",
    "Scene": "multiutility.vision.features.context",
    "SiftWords": "multiutility.vision.features.sift_words",
    "Similarity": "multiutility.vision.features.similarity",
    "Slic": "multiutility.vision.superpixels",
    "Standardized": "multiutility.vision.features.standardized",
    "TextonWords": "multiutility.vision.features.texton_words",
    "Thumbnail": "multiutility.vision.features.thumbnail",
    "Top": "multiutility.vision.features.shape",
}

__all__ = list(KINDS)


def __getattr__(name: str) -> Any:
    # Descriptors pull in OpenCV, scikit-image or onnxruntime, so each is fetched when asked for.
    if name in KINDS:
        return getattr(import_module(KINDS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
