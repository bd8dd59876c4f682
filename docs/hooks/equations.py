"""Turns LaTeX into MathML while the site is built, so that pages need neither scripts nor a network.

Equations are written as GitHub takes them: in ``math`` fences, in dollars, or in dollars and backticks.
"""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any

from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

QUOTED = re.compile(r"\$`([^`]+)`\$")
# What the Markdown extension arithmatex makes of fences and dollars.
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)

CONVERTER = LatexToMathML(fancy_error=False)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take away backticks in dollars, which are code to the extension."""
    return QUOTED.sub(r"$\1$", markdown)


def on_page_content(content: str, *, page: Any, **_: Any) -> str:
    """Replace all equations of a page."""
    name = page.file.src_uri
    content = BLOCK.sub(partial(replacement, name=name, display=True), content)
    return INLINE.sub(partial(replacement, name=name, display=False), content)


def replacement(match: re.Match[str], name: str, display: bool) -> str:
    """Return the MathML of an equation; what cannot be read ends the build."""
    latex = html.unescape(match[1]).strip()
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        raise PluginError(f"{name}: {error} in the equation {latex}") from error
