"""One page out of the pages of several experiments."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from multiutility.datasets.files import replacing
from multiutility.experiments.experiment import EXPERIMENTS
from multiutility.experiments.tune_page import BEGINNING

# Its pictures show images of the dataset, which may not be passed on.
LEFT_OUT = ("qualitative",)
INTRODUCTION = """# Results

Accuracy (part of all labeled pixels that is right) / mean recall (mean over classes of the part of their
pixels that is right). Each section begins with the command that makes it, given the data folder."""
PARAMETERS = """## How parameters were chosen

Searches by cross-validation on training images: none of the images that the tables are tested on takes part.
Mean: of accuracy and mean recall."""


def join_pages(folder: Path, page: Path) -> list[Path]:
    """Join the pages of experiments and searches in a folder and those in it; returns the pages.

    Plots are copied to a folder named as the page without its ending.
    """
    order = [name for name in EXPERIMENTS if name not in LEFT_OUT]
    found = [path for name in order for path in sorted(folder.rglob(f"{name}.md"))]
    if not found:
        raise ValueError(f"{folder}: there are no pages of experiments; run some with --out {folder} first")
    page.parent.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION, *(with_plots(path, folder, page).strip() for path in found)]
    searches = sorted(folder.rglob(f"{BEGINNING}*.md"))
    if searches:
        parts += [PARAMETERS, *(path.read_text(encoding="utf-8").strip() for path in searches)]
    with replacing(page) as file:
        file.write(("\n\n".join(parts) + "\n").encode())
    return found + searches


def with_plots(path: Path, folder: Path, page: Path) -> str:
    """Return a page whose plots are copied to the joint page's folder."""
    plots = page.with_suffix("")
    prefix = "".join(f"{part}-" for part in path.parent.relative_to(folder).parts)

    def copied(link: re.Match[str]) -> str:
        plots.mkdir(parents=True, exist_ok=True)
        target = plots / f"{prefix}{link[2]}"
        shutil.copyfile(path.parent / link[2], target)
        return f"![{link[1]}]({plots.name}/{target.name})"

    return re.sub(r"!\[([^\]]*)\]\(([^)/]+\.png)\)", copied, path.read_text(encoding="utf-8"))
