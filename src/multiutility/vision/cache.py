"""Where the user's cache is."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of files that can be made anew at any time; it may not exist yet.

    It is ``MULTIUTILITY_CACHE`` of the environment, else ``multiutility`` in ``XDG_CACHE_HOME`` or
    ``~/.cache``.
    """
    chosen = os.environ.get("MULTIUTILITY_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multiutility"
