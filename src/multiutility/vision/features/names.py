"""Names of features: presets of the package, networks that the user has installed, and both joined by ``+``.

Nothing of weight is imported here: the command line checks names before it does anything.
"""

from __future__ import annotations

from difflib import get_close_matches

from multiutility.vision.features.networks.installed import PACKAGED, installed_names, read_installed

# Presets of the package, and what the page of the studio says about them.
BUILT_IN = {
    "deep": "Best: a network that has seen many photographs",
    "context": "Without a network: texture, color and surroundings",
    "paper": "Simple: words of texture and color, and place",
    "scene": "Shape, place, texture and color",
}
DEFAULT = "deep"
JOIN = "+"


def check_features(text: str) -> str:
    """Return the name of features; raise if there are none of this name.

    >>> check_features("deep"), check_features("deep+context")
    ('deep', 'deep+context')
    """
    parts = text.split(JOIN)
    known = [*BUILT_IN, *installed_names()]
    for part in parts:
        if part in PACKAGED and part not in known:
            read_installed(part)  # which tells how to install it
        if part not in known:
            near = get_close_matches(part, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            more = "or a network of your own, which `multiutility features add` installs"
            raise ValueError(f"features are {text!r}: expected one of {', '.join(known)}, {more}{hint}")
    if len(set(parts)) < len(parts):
        raise ValueError(f"features are {text!r}: {JOIN} joins different ones")
    return text


def offered() -> dict[str, str]:
    """Return the names that a user may choose from, and words about each."""
    own = {}
    for name in installed_names():
        own[name] = f"The network {name} that was added"
        own[f"{DEFAULT}{JOIN}{name}"] = f"The first and the network {name}, side by side"
    return BUILT_IN | own
