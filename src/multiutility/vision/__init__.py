"""Images: superpixels, features, and the segmenter that turns photographs into masks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from multiutility.extras import require

if TYPE_CHECKING:
    from multiutility.vision.segmenter import Segmenter

__all__ = ["Segmenter"]

require("vision", __name__)


def __getattr__(name: str) -> Any:
    # The segmenter pulls in OpenCV, scikit-image and scikit-learn, so it is fetched when asked for.
    if name == "Segmenter":
        return import_module("multiutility.vision.segmenter").Segmenter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
