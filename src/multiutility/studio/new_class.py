"""A new class of the page."""

from __future__ import annotations

from typing import Any

from multiutility.datasets.classes import KINDS, Classes, LabelClass, unused_color
from multiutility.studio.marks import mapping


def class_of(data: Any, classes: Classes) -> LabelClass:
    """Return the class that a page sent, in a color that no other has; raises ``ValueError`` if it cannot be.

    >>> class_of({"name": "Sky", "kind": "stuff"}, Classes.from_names(["grass", "sky"]))
    Traceback (most recent call last):
    ValueError: there is a class 'sky' already
    """
    fields = mapping(data, ("name", "kind"))
    name, kind = fields["name"], fields["kind"]
    if not isinstance(name, str) or kind not in KINDS:
        raise ValueError(f"expected a name, and a kind that is one of {', '.join(KINDS)}")
    new = LabelClass(name.strip(), unused_color(name, classes), kind)
    # Nobody wants both, and in a list of labels they look alike.
    same = next((one for one in classes.names if one.casefold() == new.name.casefold()), None)
    if same is not None:
        raise ValueError(f"there is a class {same!r} already")
    return Classes((*classes, new))[len(classes)]
