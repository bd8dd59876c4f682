"""One tag for many images at once, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from multiutility.kinds import TABLES
from multiutility.kinds.tags import OpenTag, Tag, is_open, is_there
from multiutility.kinds.tags import label_of as tag_label
from multiutility.studio.annotations import Annotations
from multiutility.studio.marks import entry_json, entry_of, label_of, listed, mapping

TABLE = TABLES["tags"]


def tag_many(annotations: Annotations, data: Any) -> dict[str, Any]:
    """Set or remove a tag of images that a page names; what changes, ``before`` and ``after``, by image."""
    fields = mapping(data, ("images", "label", "present"))
    classes = annotations.dataset().classes
    label, present = label_of(fields["label"], classes), fields["present"] is True
    change = partial(with_tag if present else without_tag, label=label)
    names = [str(name) for name in listed(fields["images"], "images")]
    changed = annotations.change_tags(dict.fromkeys(names, change))

    def shown(side: int) -> dict[str, Any]:
        return {
            name: [entry_json(tag, TABLE, classes) for tag in both[side]] for name, both in changed.items()
        }

    return {"before": shown(0), "after": shown(1)}


def put_back(annotations: Annotations, data: Any) -> dict[str, Any]:
    """Give images the tags of ``then`` where they still have those of ``now``; how many were changed."""
    fields = mapping(data, ("now", "then"))
    now, then = (mapping(fields[side], ()) for side in ("now", "then"))
    classes = annotations.dataset().classes

    def tags_of(one: Any) -> tuple[Tag, ...]:
        return TABLE.value([entry_of(tag, TABLE, classes) for tag in listed(one, "tags")])

    def back(tags: Sequence[Tag], expected: tuple[Tag, ...], old: tuple[Tag, ...]) -> tuple[Tag, ...]:
        return old if tuple(tags) == expected else tuple(tags)

    both = [name for name in now if name in then]
    changes = {name: partial(back, expected=tags_of(now[name]), old=tags_of(then[name])) for name in both}
    return {"changed": len(annotations.change_tags(changes))}


def without_tag(tags: Sequence[Tag], label: int) -> tuple[Tag, ...]:
    """Tags that do not name a label.

    >>> without_tag((0, 2), label=2)
    (0,)
    """
    return tuple(tag for tag in tags if tag_label(tag) != label)


def with_tag(tags: Sequence[Tag], label: int) -> tuple[Tag, ...]:
    """Tags that say that a label is there; open ones stay open.

    >>> with_tag((OpenTag(0, present=False),), label=0)
    (OpenTag(label=0, present=True),)
    """
    if any(tag_label(tag) == label and is_there(tag) for tag in tags):
        return tuple(tags)
    return (*without_tag(tags, label), OpenTag(label) if is_open(tags) else label)
