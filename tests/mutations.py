"""Damage of all kinds to what is in a file, for tests of whatever reads it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from hypothesis import strategies as st

# Bytes that mean something to many formats: text, marks of CSV, JSON and XML, lengths.
MEANINGFUL = [
    b"\x00",
    b"\xff",
    b'"',
    b",",
    b"\n",
    b"-",
    b"0",
    b"9" * 30,
    b"[",
    b"{",
    b"<",
    b"&",
    b"\xf0\x9f",
    b"..",
]


def damaged(content: bytes, random: Random) -> bytes:
    """Return the content with bytes replaced, removed, repeated or added, or its end cut off."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(max(1, len(changed)))
        length = random.randint(1, 16)
        kind = random.choice(["flip", "remove", "repeat", "add", "cut"])
        if kind == "flip":
            changed[place : place + 1] = bytes([random.randrange(256)])
        elif kind == "remove":
            del changed[place : place + length]
        elif kind == "repeat":
            changed[place:place] = changed[place : place + length]
        elif kind == "add":
            changed[place:place] = random.choice([*MEANINGFUL, bytes(random.choices(range(256), k=8))])
        else:
            del changed[place:]
    return bytes(changed)


def mutated(content: bytes) -> st.SearchStrategy[bytes]:
    """Contents that are damaged."""
    return st.randoms(use_true_random=False).map(partial(damaged, content))


# What is most likely to be taken for something else.
NUMBERS = [0, -1, 10**400, 1e308, -1e308, 2**31, 2**63]
TEXTS = ["", ".", "..", "/", "../../x.jpg", "\0", "photo.png", "x" * 300, "%", "http://[", "\ud800"]

# Any JSON.
JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from(NUMBERS),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(TEXTS),
        st.text(max_size=5),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "x", "label"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def junk(random: Random) -> Any:
    """Return any JSON, or a text that is longer than all limits."""
    leaf = random.choice([None, True, *NUMBERS, *TEXTS, random.uniform(-9, 99), "x" * 140_000])
    inner = {random.choice(["id", "x", "label"]): leaf}
    return random.choice([leaf, leaf, leaf, [leaf], inner, [[leaf] * 3]])


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths to all parts of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def replaced(value: Any, path: tuple[str | int, ...], junk: Any) -> Any:
    """A JSON value with a part replaced."""
    if not path:
        return junk
    changed = copy.deepcopy(value)
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = junk
    return changed
