"""What an annotation says about each label, and how large it expects it to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Partition:
    """What is known about each label: it is in exactly one of these tuples, which are sorted."""

    boxed: tuple[int, ...]
    seeded: tuple[int, ...]
    tagged: tuple[int, ...]
    absent: tuple[int, ...]
    unknown: tuple[int, ...]

    @classmethod
    def of(
        cls,
        tags: Iterable[int],
        boxes: Iterable[int],
        seeds: Iterable[int],
        n_labels: int,
        other: int | None = None,
        complete: bool | None = None,
        there: Iterable[int] = (),
        opened: Iterable[int] | None = None,
        absent: Iterable[int] = (),
    ) -> Partition:
        """Partition of the labels, given those of tags, boxes and seeds; see ``Joint`` for the rest.

        Labels that are only known to be ``there`` are as tags, but say nothing of others. Tags are open if
        there are ``opened`` ones, be they none: these are there, and of others nothing is said. Labels that
        are said to be ``absent`` are, whatever is known of others.

        >>> Partition.of(tags=[0, 2], boxes=[2], seeds=[], n_labels=4)
        Partition(boxed=(2,), seeded=(), tagged=(0,), absent=(1, 3), unknown=())
        >>> Partition.of(tags=[0, 2], boxes=[], seeds=[0, 2], n_labels=4)
        Partition(boxed=(), seeded=(0, 2), tagged=(), absent=(1, 3), unknown=())
        >>> Partition.of(tags=[], boxes=[2], seeds=[], n_labels=4)
        Partition(boxed=(2,), seeded=(), tagged=(), absent=(), unknown=(0, 1, 3))
        >>> Partition.of(tags=[], boxes=[2], seeds=[], n_labels=4, there=[0, 2], absent=[3])
        Partition(boxed=(2,), seeded=(), tagged=(0,), absent=(3,), unknown=(1,))
        >>> Partition.of(tags=[], boxes=[2], seeds=[], n_labels=4, there=[0, 2])
        Partition(boxed=(2,), seeded=(), tagged=(0,), absent=(), unknown=(1, 3))
        >>> Partition.of(tags=[], boxes=[], seeds=[], n_labels=4, opened=[0], absent=[2])
        Partition(boxed=(), seeded=(), tagged=(0,), absent=(2,), unknown=(1, 3))
        """
        is_open = opened is not None
        named, boxed = {*tags, *(opened or ())}, set(boxes)
        seeded = set(seeds) - boxed
        tagged = named - boxed - seeded
        # Where all that tags name is boxed, something else must be outside of the boxes.
        said = bool(named) and bool(tagged or seeded)
        if not said and not is_open and other is not None and (named or boxed or seeded):
            tagged = {other} - boxed - seeded
            said = bool(tagged)
        tagged |= set(there) - boxed - seeded
        rest = set(range(n_labels)) - boxed - seeded - tagged
        told = said and not is_open
        gone = rest if (told if complete is None else complete) else rest & set(absent)
        groups = (boxed, seeded, tagged, gone, rest - gone)
        return cls(*(tuple(sorted(labels)) for labels in groups))

    @property
    def complete(self) -> bool:
        """Whether all labels that are there are known."""
        return not self.unknown

    @property
    def present(self) -> list[int]:
        """Labels that are known to be there."""
        return [*self.boxed, *self.seeded, *self.tagged]

    @property
    def anywhere(self) -> list[int]:
        """Labels that any node may have."""
        return sorted([*self.seeded, *self.tagged, *self.unknown])


def split_area(
    area: float,
    labels: Sequence[int],
    known: Mapping[int, float],
    shares: Mapping[int, float],
    likely: Mapping[int, float] | None = None,
) -> dict[int, float]:
    """Expected size of each label among those that fill the area, sigma_k.

    Known sizes are taken as they are; the other labels split the rest in proportion to their shares (labels
    without one count as the mean of the others). So do others that are ``likely`` to be there, by how likely
    they are.

    >>> split_area(12.0, [0, 1, 2], known={}, shares={})
    {0: 4.0, 1: 4.0, 2: 4.0}
    >>> split_area(12.0, [0, 1, 2], known={1: 6.0}, shares={0: 1.0, 2: 5.0})
    {0: 1.0, 1: 6.0, 2: 5.0}
    >>> split_area(12.0, [0, 1], known={}, shares={}, likely={2: 0.75, 3: 0.25})
    {0: 4.0, 1: 4.0}
    """
    sizes = {label: known[label] for label in labels if label in known}
    free = [label for label in labels if label not in known]
    rest = max(0.0, area - sum(sizes.values()))
    given = [shares[label] for label in free if label in shares] or [1.0]
    mean = sum(given) / len(given)
    parts = [shares.get(label, mean) for label in free]
    whole = sum(parts) + sum(chance * shares.get(label, mean) for label, chance in (likely or {}).items())
    sizes |= {label: rest * part / whole for label, part in zip(free, parts, strict=True)}
    return {label: float(sizes[label]) for label in labels}
