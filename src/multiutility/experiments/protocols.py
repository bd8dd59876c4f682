"""Protocols of evaluation: what void pixels and rare classes count as, in training and in testing alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from multiutility.datasets.classes import Classes
from multiutility.kinds.objects import Mask
from multiutility.vision.weaken import apply_other


class Rules(Protocol):
    """A protocol for a dataset: the classes that there are, and how its masks are read."""

    @property
    def classes(self) -> Classes:
        """Classes of the masks that ``mask`` returns."""

    def mask(self, mask: Mask) -> Mask:
        """Return a mask of the dataset as the protocol has it, 0 for void and label + 1."""


class AsAnnotated:
    """Masks as they are: void is ignored, and all classes count."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes

    def mask(self, mask: Mask) -> Mask:
        """Return the mask itself."""
        return mask


class WithOther:
    """The paper's protocol: void is the class ``other`` in images that have much of it, or one label only.

    >>> rules = WithOther(Classes.from_names(["grass", "sky"]))
    >>> rules.classes.names, rules.mask(np.array([[1, 1, 1, 0]], dtype=np.uint8))
    (('grass', 'sky', 'other'), array([[1, 1, 1, 3]], dtype=uint8))
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes if classes.other is not None else classes.with_other()

    def mask(self, mask: Mask) -> Mask:
        """Return the mask with ``other``, if it has that."""
        return apply_other(mask, self.classes)


class WithoutRare:
    """The usual protocol for MSRC-21: rare classes are void, and void is ignored.

    >>> from multiutility.datasets.classes import LabelClass
    >>> names = [LabelClass("horse", (9, 0, 0), rare=True), LabelClass("grass", (0, 9, 0))]
    >>> rules = WithoutRare(Classes(names))
    >>> rules.classes.names, rules.mask(np.array([[0, 1, 2]], dtype=np.uint8))
    (('grass',), array([[0, 0, 1]], dtype=uint8))
    """

    def __init__(self, classes: Classes) -> None:
        kept = [label for label in range(len(classes)) if label not in classes.rare]
        if not kept:
            raise ValueError("all classes are marked rare: there is nothing left to learn")
        self.classes = Classes(classes[label] for label in kept)
        self._values = np.zeros(256, dtype=np.uint8)
        self._values[np.array(kept) + 1] = np.arange(len(kept)) + 1

    def mask(self, mask: Mask) -> Mask:
        """Return the mask with values of the classes that are left."""
        return np.asarray(self._values[mask], dtype=np.uint8)


PROTOCOLS: dict[str, Callable[[Classes], Rules]] = {"paper": WithOther, "msrc21": WithoutRare}


def rules_of(name: str | None, classes: Classes) -> Rules:
    """Return the protocol of this name for a dataset's classes; without a name, masks stay as they are."""
    if name is None:
        return AsAnnotated(classes)
    if name not in PROTOCOLS:
        raise ValueError(f"protocol is {name!r}: expected one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name](classes)
