"""Extras: what parts of the package need besides the core, and what to say if it is not installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# Modules that each extra brings, by the names that they are imported by. Weights of networks are looked for
# where they are used: features without a network do not need them.
EXTRAS = {
    "vision": (
        *("PIL", "cv2", "matplotlib", "onnx", "onnxruntime", "platformdirs", "pycocotools"),
        *("rich", "skimage", "typer"),
    ),
    "studio": ("starlette", "uvicorn"),
}


class MissingExtraError(ModuleNotFoundError):
    """A part of the package whose extra is not installed; says which."""


def require(extra: str, part: str) -> None:
    """Raise, in one sentence, unless all modules of an extra are there; they are not imported.

    Parts of the package call it before they import any of them.
    """
    missing = [name for name in EXTRAS[extra] if name not in sys.modules and find_spec(name) is None]
    if missing:
        what = f"{part} needs {', '.join(missing)}, which {'are' if missing[1:] else 'is'} not installed"
        raise MissingExtraError(f"{what}: pip install 'multiutility[{extra}]'", name=missing[0])
