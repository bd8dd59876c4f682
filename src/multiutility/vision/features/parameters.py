"""Descriptors and superpixels as plain data, for model files and cache keys."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any

from multiutility.vision import features
from multiutility.vision.features.descriptor import Sourced


def encode(value: Any) -> Any:
    """Plain data (numbers, strings, lists, dicts) that names a descriptor with all its parameters.

    >>> from multiutility.vision.regions.superpixels import RegionMerging
    >>> encode(RegionMerging(n_regions=50, min_size=9))
    {'kind': 'RegionMerging', 'n_regions': 50, 'min_size': 9, 'size_power': 0.5}
    """
    if is_dataclass(value):
        named = {field.name: encode(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **named}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def source_digests(value: Any) -> list[str]:
    """Hashes of the files that a preset, or a part of it, depends on besides its parameters, in its order.

    >>> from multiutility.vision.features import Location
    >>> source_digests(Location())
    []
    """
    if isinstance(value, tuple | list):
        return [digest for item in value for digest in source_digests(item)]
    if not is_dataclass(value):
        return []
    own: list[str] = [value.source_digest()] if isinstance(value, Sourced) else []
    return own + [digest for field in fields(value) for digest in source_digests(getattr(value, field.name))]


def decode(data: Any) -> Any:
    """Return what was encoded; only kinds of ``multiutility.vision.features`` can be named.

    >>> decode({"kind": "RegionMerging", "n_regions": 50, "min_size": 9})
    RegionMerging(n_regions=50, min_size=9, size_power=0.5)
    """
    if isinstance(data, list):
        return tuple(decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("kind")
    if kind not in features.KINDS:
        near = get_close_matches(str(kind), features.KINDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ", perhaps from a newer version"
        raise ValueError(f"unknown kind of feature {kind!r}{hint}")
    arguments = {name: decode(item) for name, item in data.items() if name != "kind"}
    try:
        return getattr(features, kind)(**arguments)
    except TypeError as error:
        raise ValueError(f"{kind} cannot be made from {sorted(arguments)}: {error}") from None
