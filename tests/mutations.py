"""Damage of all kinds to what is in a file, for tests of whatever reads it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
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


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """Return the content with bytes replaced, removed, repeated or added, or its end cut off."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(damaged) - 1)))
        length = draw(st.integers(1, 16))
        kind = draw(st.sampled_from(["flip", "remove", "repeat", "add", "cut"]))
        if kind == "flip":
            damaged[place : place + 1] = bytes([draw(st.integers(0, 255))])
        elif kind == "remove":
            del damaged[place : place + length]
        elif kind == "repeat":
            damaged[place:place] = damaged[place : place + length]
        elif kind == "add":
            damaged[place:place] = draw(st.sampled_from(MEANINGFUL) | st.binary(max_size=8))
        else:
            del damaged[place:]
    return bytes(damaged)


# Any JSON, and what is most likely to be taken for something else.
JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([0, -1, 10**400, 1e308, -1e308, 2**31, 2**63]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(
            ["", ".", "..", "/", "../../x.jpg", "\0", "photo.png", "x" * 300, "%", "http://[", "\ud800"]
        ),
        st.text(max_size=5),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "x", "label"]), inner, max_size=2)
    ),
    max_leaves=4,
)


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
