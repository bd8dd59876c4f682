"""Where the user's cache is."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return the folder of files that can be made anew at any time; it may not exist yet.

    It is ``MULTIUTILITY_CACHE`` of the environment, else the system's: on Linux, ``multiutility`` in
    ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    chosen = os.environ.get("MULTIUTILITY_CACHE")
    return Path(chosen) if chosen else user_cache_path("multiutility", appauthor=False)
