"""Pages of the site that are files elsewhere in the repository, and links to them.

A link is written as it works in the repository, from one file to another, and is rewritten here where the
file is a page.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
EXAMPLES = "examples.md"
# Pages by the file that they are made of. The start page is about the same as the project's own.
PAGES = {
    "README.md": "README.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
}
LINK = re.compile(r"\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
PREFACE = """# Examples

Scripts to run and to change, in the folder `examples` of the project; the tests run them, too.

"""


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Add the pages."""
    for source, page in PAGES.items():
        if source != page:
            files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, EXAMPLES, content=examples_page()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Let links to files that are pages lead to these."""
    uri = page.file.src_uri
    home = next((source for source, own in PAGES.items() if own == uri and own != source), f"docs/{uri}")

    def moved(match: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(home), match["path"]))
        found = page_of(place)
        if found is None:
            return match[0]
        path, _, own = found.partition("#")
        anchor = f"#{own}" if own else match["anchor"] or ""
        return f"]({posixpath.relpath(path, posixpath.dirname(uri) or '.')}{anchor})"

    return LINK.sub(moved, markdown)


def page_of(place: str) -> str | None:
    """Return the page of a file of the repository.

    >>> page_of("docs/method.md"), page_of("examples/a_b.py"), page_of("Makefile")
    ('method.md', 'examples.md#a_b', None)
    """
    if place.startswith("docs/"):
        return place.removeprefix("docs/")
    if place.startswith("examples/") and place.endswith(".py"):
        return f"{EXAMPLES}#{posixpath.basename(place).removesuffix('.py')}"
    return PAGES.get(place)


def examples_page() -> str:
    """Return all examples: what each is about, and its code."""
    return PREFACE + "\n".join(example(path) for path in sorted((ROOT / "examples").glob("*.py")))


def example(path: Path) -> str:
    """Return the section of an example; its docstring is the text above the code."""
    code = path.read_text("utf-8")
    tree = ast.parse(code)
    words = ast.get_docstring(tree) or ""
    # The code goes on where the docstring ends.
    rest = "\n".join(code.splitlines()[tree.body[0].end_lineno if words else 0 :]).strip()
    title = path.stem.replace("_", " ").capitalize()
    return f"## {title} {{#{path.stem}}}\n\n{words}\n\n`examples/{path.name}`:\n\n```python\n{rest}\n```\n"
