"""The documentation site: it builds without a warning, and nothing is missing in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from documents import DOCS, ROOT, pages
from multiutility.cli import app
from multiutility.vision import Segmenter

pytest.importorskip("mkdocs", reason="the site needs the extra docs")

from mkdocs.config import load_config

import api_reference
import cli_reference
import neighbors

LOADED = re.compile(r'<(?:script|img|iframe|link)[^>]* (?:src|href)="([^"]*)"')
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_pages_are_whole_without_a_network(site: Path) -> None:
    built = sorted(site.rglob("*.html"))
    assert len(built) > len(pages())
    for path in built:
        loaded = re.findall(
            r'<(?:script|img|iframe|link)[^>]* (?:src|href)="([^"]*)"', path.read_text("utf-8")
        )
        assert not [address for address in loaded if address.startswith(("http:", "https:", "//"))], path.name


def test_equations_are_mathml(site: Path) -> None:
    text = (site / "method.html").read_text("utf-8")
    source = (DOCS / "method.md").read_text("utf-8")
    assert text.count('<math display="block">') == source.count("```math") > 10
    assert "arithmatex" not in text
    assert "\\mathrm" not in text


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    packages = {page.module for page in api_reference.PAGES}
    found = {
        ".".join(path.relative_to(ROOT / "src").parent.parts)
        for path in (ROOT / "src" / "multiutility").rglob("__init__.py")
        if re.search("^__all__", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found <= packages
    for page in api_reference.PAGES:
        text = (site / page.uri).with_suffix(".html").read_text("utf-8")
        for name in page.public():
            assert name.startswith("__") or re.search(rf'id="[\w.]+\.{name}"', text), f"{page.module}.{name}"
        assert all(hasattr(import_module(page.module), name) for name in page.names)


def test_defaults_are_those_of_the_code(site: Path) -> None:
    text = (site / "reference" / "vision.html").read_text("utf-8")
    found = re.findall("<tr.*?</tr>", text, re.DOTALL)
    rows = [unescape(re.sub("<[^>]*>", " ", row)).split() for row in found]
    # The first table is that of the class.
    told = {row[0]: row[-1] for row in reversed(rows) if row}
    for name, one in signature(Segmenter.__init__).parameters.items():
        assert name == "self" or told[name] == repr(one.default), name


def test_every_page_is_in_the_navigation() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    generated = {cli_reference.URI, neighbors.EXAMPLES, *neighbors.PAGES.values()}
    generated |= {page.uri for page in api_reference.PAGES}
    listed = list(entries(config.nav))
    assert sorted(listed) == sorted({*pages(), *generated})


def entries(nav: Any) -> Iterator[str]:
    """Pages of a navigation, whatever sections they are in."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from entries(part)


def test_every_command_and_option_is_in_the_reference() -> None:
    # Against what the terminal shows, which is made by Typer.
    shown = partial_help()
    names = [name for command in listed(shown) for name in [command, *group(command)] if not group(name)]
    parts = re.split(r"^## ", cli_reference.reference(), flags=re.MULTILINE)[1:]
    sections = {part.split("\n")[0]: part for part in parts}
    assert list(sections) == names
    for name in names:
        table = [line for line in partial_help(*name.split()).splitlines() if line.startswith("│")]
        wanted = {option for line in table for option in OPTION.findall(line[:40])}
        assert {"--help", "-h"} <= wanted
        assert {one for one in wanted if f"`{one}`" not in sections[name]} == set(), name


def listed(shown: str) -> list[str]:
    """Names of the commands in what ``--help`` prints."""
    return re.findall(r"^│ (\w+) ", shown.partition("Commands")[2], re.MULTILINE)


def group(command: str) -> list[str]:
    """Commands of a group by their full names; none if it is no group."""
    return [f"{command} {name}" for name in listed(partial_help(*command.split()))]


def partial_help(*command: str) -> str:
    """What ``--help`` prints on a wide terminal."""
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "240"})
    assert done.exit_code == 0
    return done.stdout


def test_links_to_files_lead_to_their_pages() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guides/train.md"))
    text = "[a](../../CONTRIBUTING.md) [b](../method.md#the-model) [c](../../examples/sequence_tagging.py)"
    moved = neighbors.on_page_markdown(text, page=page)
    assert "[a](../contributing.md)" in moved
    assert "[b](../method.md#the-model)" in moved
    assert "[c](../examples.md#sequence_tagging)" in moved
