"""What a dataset holds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Kind
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.kinds import KINDS
from multiutility.kinds.mask import MASK
from multiutility.kinds.tags import is_open


@dataclass(frozen=True)
class ClassSummary:
    """How often a class is annotated: pixels of masks, and ``counts`` of masks and of entries in tables."""

    name: str
    kind: Kind
    rare: bool
    pixels: int
    counts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """All of it, of types that JSON has."""
        data = asdict(self)
        counts = data.pop("counts")
        return {**data, **counts}


@dataclass(frozen=True)
class Summary:
    """What a dataset holds.

    ``mix`` counts images by their kinds of annotation, as in ``"tags + boxes"`` or ``"none"``; ``void``
    counts pixels of masks without label; ``sizes`` are height and width of the smallest, median and largest;
    ``open_tags`` counts images whose tags do not name all that is there.
    """

    n_images: int
    mix: dict[str, int]
    classes: tuple[ClassSummary, ...]
    void: int
    sizes: dict[str, tuple[int, int]]
    splits: dict[str, int]
    open_tags: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All of it, of types that JSON has."""
        return {
            **asdict(self),
            "classes": [one.to_dict() for one in self.classes],
            "sizes": {k: list(v) for k, v in self.sizes.items()},
        }


def summarize(dataset: DatasetFolder, *, progress: Callable[[int, int], None] | None = None) -> Summary:
    """Count what is annotated in a dataset or a part of it; reads masks, and the heads of images.

    ``progress`` is called with the number of images that are done, and of all.
    """
    pixels = np.zeros(len(dataset.classes) + 1, dtype=np.int64)
    mix, counts = Counter[str](), {kind.words.plural: Counter[int]() for kind in KINDS}
    sizes, open_tags = [], 0
    for done, sample in enumerate(dataset, start=1):
        histogram = index_counts(sample)
        pixels[: len(histogram)] += histogram
        counts[MASK.words.plural].update(np.flatnonzero(histogram[1:]).tolist())
        weak = sample.weak()
        for kind in KINDS:
            counts[kind.words.plural].update(kind.labels(weak.value(kind)))
        mix[mixture(sample)] += 1
        open_tags += is_open(weak.tags)
        sizes.append(sample.size())
        if progress is not None:
            progress(done, len(dataset))
    classes = tuple(
        ClassSummary(one.name, one.kind, one.rare, int(pixels[k + 1]), {n: c[k] for n, c in counts.items()})
        for k, one in enumerate(dataset.classes)
    )
    splits = {name: len(dataset.split(name)) for name in dataset.splits}
    kinds, void = dict(mix.most_common()), int(pixels[0])
    return Summary(len(dataset), kinds, classes, void, size_range(sizes), splits, open_tags)


def index_counts(sample: Sample) -> NDArray[np.int64]:
    """Pixels of each index of the mask of a sample; empty without one."""
    mask = sample.mask()
    return np.zeros(0, dtype=np.int64) if mask is None else np.bincount(mask.ravel())


def mixture(sample: Sample) -> str:
    """Kinds of annotation of a sample, as text."""
    return " + ".join(kind.name for kind in KINDS if kind.name in sample.kinds) or "none"


def size_range(sizes: Sequence[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Smallest, median and largest size, by number of pixels.

    >>> size_range([(1, 9), (2, 2), (1, 7)])
    {'smallest': (2, 2), 'median': (1, 7), 'largest': (1, 9)}
    """
    if not sizes:
        return {}
    by_area = sorted(sizes, key=lambda size: (size[0] * size[1], size))
    return {"smallest": by_area[0], "median": by_area[len(sizes) // 2], "largest": by_area[-1]}
