"""Tries all links of the documentation that lead elsewhere; those within it are checked when it is built.

    python docs/check_links.py

Needs a network, and other people's servers, and so is no part of the tests. Prints what does not answer, and
ends with exit code 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((https?://[^)\s]+)\)")
SECONDS = 20
# Servers that know the page, but not a program that asks for it.
UNFRIENDLY = frozenset({403, 405, 429})


def links() -> dict[str, list[str]]:
    """Links, with the files that they are in."""
    found: dict[str, list[str]] = {}
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")):
        for link in addresses(path.read_text("utf-8")):
            found.setdefault(link, []).append(path.relative_to(ROOT).as_posix())
    return found


def addresses(text: str) -> Iterator[str]:
    """Links of a page.

    >>> list(addresses("See [this](https://example.org/a#b), not [that](method.md)."))
    ['https://example.org/a#b']
    """
    return (match[1] for match in LINK.finditer(text))


def trouble(link: str) -> str:
    """Return what is wrong with a link; nothing if it answers."""
    try:
        with urlopen(Request(link, headers={"User-Agent": "Mozilla/5.0"}), timeout=SECONDS):
            return ""
    except HTTPError as error:
        return "" if error.code in UNFRIENDLY else str(error)
    except (URLError, TimeoutError, OSError) as error:
        return str(error)


def main() -> int:
    """Try all links."""
    found = links()
    with ThreadPoolExecutor(8) as pool:
        wrong = {link: what for link, what in zip(found, pool.map(trouble, found), strict=True) if what}
    for link, what in wrong.items():
        print(f"{link}: {what} (in {', '.join(found[link])})")
    print(f"{len(found)} links, {len(wrong)} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
