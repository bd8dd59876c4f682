"""Where the user's folders are."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path, user_config_path


def cache_folder() -> Path:
    """Return the folder of files that can be made anew at any time; it may not exist yet.

    It is ``MULTIUTILITY_CACHE`` of the environment, else the system's: on Linux, ``multiutility`` in
    ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    chosen = os.environ.get("MULTIUTILITY_CACHE")
    return Path(chosen) if chosen else user_cache_path("multiutility", appauthor=False)


def config_folder() -> Path:
    """Return the folder of what the user has set up, such as networks; it may not exist yet.

    It is ``MULTIUTILITY_CONFIG`` of the environment, else the system's: on Linux, ``multiutility`` in
    ``XDG_CONFIG_HOME`` or ``~/.config``.
    """
    chosen = os.environ.get("MULTIUTILITY_CONFIG")
    return Path(chosen) if chosen else user_config_path("multiutility", appauthor=False)
