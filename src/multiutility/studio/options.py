"""What can be chosen before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from multiutility.vision.features.names import check_features

KEYS = frozenset({"features", "superpixels", "hold_out", "resume"})


@dataclass(frozen=True)
class Options:
    """Features, about how many superpixels an image has, whether some masks are kept to score with.

    With ``resume``, training goes on where one with the same options was interrupted.
    """

    features: str = "deep"
    superpixels: int | None = None
    hold_out: bool = False
    resume: bool = False

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what a page sent; raises ``ValueError`` for anything else."""
        if not isinstance(data, dict) or not set(data) <= KEYS:
            raise ValueError(f"expected an object with {', '.join(sorted(KEYS))}")
        features, superpixels = data.get("features", "deep"), data.get("superpixels")
        check_features(str(features))
        if superpixels is not None and (type(superpixels) is not int or not 1 <= superpixels <= 10_000):
            raise ValueError(f"superpixels are {superpixels!r}: expected a number in 1..10000")
        return cls(features, superpixels, bool(data.get("hold_out")), bool(data.get("resume")))

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return asdict(self)
