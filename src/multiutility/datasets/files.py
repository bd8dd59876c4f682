"""Files that appear whole or not at all."""

from __future__ import annotations

from multiutility.files import replacing

__all__ = ["replacing"]
