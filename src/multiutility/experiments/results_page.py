"""One page out of the pages of several experiments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from multiutility.datasets.files import replacing
from multiutility.experiments.experiment import EXPERIMENTS
from multiutility.experiments.gain import NAME as GAIN
from multiutility.tuning.page import BEGINNING

# Its pictures show images of the dataset, which may not be passed on.
LEFT_OUT = ("qualitative",)
INTRODUCTION = """# Results

Accuracy (part of all labeled pixels that is right) / mean recall (mean over classes of the part of their
pixels that is right). Each section begins with the command that makes it, given the data folder."""
PARAMETERS = """## How parameters were chosen

Searches by cross-validation on training images: none of the images that the tables are tested on takes part.
Mean: of accuracy and mean recall."""

PLOT = re.compile(r"!\[([^\]]*)\]\(([^)/]+\.png)\)")


def join_pages(folder: Path, page: Path) -> list[Path]:
    """Join the pages of experiments and searches in a folder and those in it; returns the pages.

    Plots are copied to a folder named as the page without its ending.
    """
    found = find_pages(folder)
    page.parent.mkdir(parents=True, exist_ok=True)
    for plot, target in plots_of(found, folder, page).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            file.write(plot.read_bytes())
    searches = [path for path in found if is_search(path)]
    parts = [INTRODUCTION, *(linked(path, folder, page) for path in found if not is_search(path))]
    if searches:
        parts += [PARAMETERS, *(path.read_text(encoding="utf-8").strip() for path in searches)]
    with replacing(page) as file:
        file.write(("\n\n".join(parts) + "\n").encode())
    return found


def find_pages(folder: Path) -> list[Path]:
    """Return the pages of experiments, and then those of searches."""
    order = [name for name in (*EXPERIMENTS, GAIN) if name not in LEFT_OUT]
    found = [path for name in order for path in sorted(folder.rglob(f"{name}.md"))]
    if not found:
        raise ValueError(f"{folder}: there are no pages of experiments; run some with --out {folder} first")
    return found + sorted(folder.rglob(f"{BEGINNING}*.md"))


def is_search(path: Path) -> bool:
    """Whether a page is about a search."""
    return path.name.startswith(BEGINNING)


def plots_of(pages: Sequence[Path], folder: Path, page: Path) -> dict[Path, Path]:
    """Return the plots of pages of experiments, and where they go for the joint page."""
    return {
        path.parent / link[2]: plot_target(path, link[2], folder, page)
        for path in pages
        if not is_search(path)
        for link in PLOT.finditer(path.read_text(encoding="utf-8"))
    }


def plot_target(path: Path, name: str, folder: Path, page: Path) -> Path:
    """Return where a plot of a page goes."""
    prefix = "".join(f"{part}-" for part in path.parent.relative_to(folder).parts)
    return page.with_suffix("") / f"{prefix}{name}"


def linked(path: Path, folder: Path, page: Path) -> str:
    """Return the text of a page with the plots of the joint page."""

    def link(old: re.Match[str]) -> str:
        target = plot_target(path, old[2], folder, page)
        return f"![{old[1]}]({target.parent.name}/{target.name})"

    return PLOT.sub(link, path.read_text(encoding="utf-8")).strip()
