"""A page that sums up several experiments, and a page for each of them, all by the same code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.datasets.files import replacing
from multiutility.experiments.confusions import MEASURES
from multiutility.experiments.experiment import EXPERIMENTS
from multiutility.experiments.gain import NAME as GAIN
from multiutility.experiments.methods import OURS
from multiutility.experiments.ways import side_by_side
from multiutility.markdown import table
from multiutility.tuning.page import BEGINNING

# Its pictures show images of the dataset, which may not be passed on.
LEFT_OUT = ("qualitative",)
INTRODUCTION = """# Results

Accuracy (part of all labeled pixels that is right) / mean recall (mean over classes of the part of their
pixels that is right) / mean IoU, of our models; the best mix of weak annotations by the mean of the three,
in the mean over subsets. Each page begins with the command that makes it, given the data folder."""
PARAMETERS = """# How parameters were searched

By cross-validation on training images: none of the images that tables are tested on takes part. Mean: of
accuracy and mean recall."""
SEARCHES = "searches.md"
# Experiments whose cells differ in annotations only.
HEADLINED = ("table2", GAIN)

PLOT = re.compile(r"!\[([^\]]*)\]\(([^)/]+\.png)\)")


@dataclass(frozen=True)
class Source:
    """An experiment in a folder of results: its page, with what it found in plain values beside it."""

    path: Path
    folder: Path

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was found, in plain values."""
        path = self.path.with_suffix(".json")
        if not path.exists():
            raise ValueError(f"{path}: there is no such file; run the experiment again")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    @property
    def name(self) -> str:
        """Name of its page among the others."""
        return "-".join([*self.path.parent.relative_to(self.folder).parts, self.path.stem])

    @property
    def title(self) -> str:
        """Heading of its page."""
        return self.path.read_text(encoding="utf-8").lstrip().partition("\n")[0].lstrip("# ")

    @property
    def plots(self) -> list[str]:
        """Names of its plots."""
        return [link[2] for link in PLOT.finditer(self.path.read_text(encoding="utf-8"))]

    @property
    def files(self) -> list[Path]:
        """All that is read of it."""
        plots = [self.path.parent / name for name in self.plots]
        return [self.path, self.path.with_suffix(".json"), *plots]

    def plot(self, name: str) -> str:
        """Name of a plot among those of all experiments."""
        return f"{self.name.removesuffix(self.path.stem)}{name}"

    def page(self) -> str:
        """Return its page, with a heading of the first rank and plots beside it."""
        text = self.path.read_text(encoding="utf-8").strip().removeprefix("#")
        return PLOT.sub(lambda link: f"![{link[1]}]({self.plot(link[2])})", text) + "\n"


def join_pages(folder: Path, page: Path) -> list[Path]:
    """Sum up the experiments and searches in a folder and those in it; returns their pages."""
    for target, data in joined(folder, page).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            file.write(data)
    return [*(one.path for one in find_sources(folder, page)), *find_searches(folder)]


def joined(folder: Path, page: Path) -> dict[Path, bytes]:
    """Return the files of the page that sums up, by path.

    Pages and plots of experiments go to a folder named as the page without its ending. All experiments must
    be of the same code: figures of different versions do not belong beside each other.
    """
    sources, searches, beside = find_sources(folder, page), find_searches(folder), page.with_suffix("")
    check_code(sources)
    content = {page: summary(sources, page, bool(searches)).encode()}
    for one in sources:
        content[beside / f"{one.name}.md"] = one.page().encode()
        for name in one.plots:
            content[beside / one.plot(name)] = (one.path.parent / name).read_bytes()
    if searches:
        parts = [PARAMETERS, *(path.read_text(encoding="utf-8").strip() for path in searches)]
        content[beside / SEARCHES] = ("\n\n".join(parts) + "\n").encode()
    return content


def find_sources(folder: Path, page: Path) -> list[Source]:
    """Return the experiments of a folder; the pages beside the one that sums up are none."""
    order = [name for name in (*EXPERIMENTS, GAIN) if name not in LEFT_OUT]
    paths = [path for name in order for path in sorted(folder.rglob(f"{name}.md"))]
    found = [Source(path, folder) for path in paths if page.with_suffix("") not in path.parents]
    if not found:
        raise ValueError(f"{folder}: there are no pages of experiments; run some with --out {folder} first")
    return found


def find_searches(folder: Path) -> list[Path]:
    """Return the pages of searches for parameters."""
    return sorted(folder.rglob(f"{BEGINNING}*.md"))


def check_code(sources: Sequence[Source]) -> None:
    """Raise unless all experiments were run by the same code."""
    first = sources[0]
    for one in sources:
        code, known = one.found.get("code"), first.found.get("code")
        if code is None or code != known:
            what = "by code that is not known" if code is None else f"by code {code}, {first.path} by {known}"
            raise ValueError(f"{one.path}: made {what}; run again: {one.found['command']}")


def summary(sources: Sequence[Source], page: Path, searched: bool) -> str:
    """Return the page that sums up all experiments."""
    rows = []
    for one in sources:
        link = f"[{one.title}]({page.stem}/{one.name}.md)"
        for dataset, cells in by_dataset(one.found):
            scores = headlines(cells) if one.path.stem in HEADLINED else ["-"] * 4
            rows.append([link, dataset, *scores, checked(one.found)])
            link = ""
    columns = ["experiment", "dataset", "all masks", "few masks", "and weak", "weak alone", "checks"]
    parts = [INTRODUCTION, table(columns, rows), *side_by_side([one.found for one in sources])]
    if searched:
        parts.append(f"[How parameters were searched]({page.stem}/{SEARCHES}).")
    parts.append(f"All by code `{sources[0].found['code']}`.")
    return "\n\n".join(parts) + "\n"


def by_dataset(found: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the datasets of an experiment, with the rows of our models."""
    names = [one["name"] for one in found["datasets"]] if "datasets" in found else [found["data"]]
    for name in names:
        yield (
            name,
            [row for row in found["rows"] if row["method"] == OURS and row.get("dataset", name) == name],
        )


def headlines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return scores with all masks, with the fewest, with these and the best mix, and with the best alone."""
    numbers = sorted({row["full"] for row in rows if row["full"] not in (0, "all")})
    few = numbers[0] if numbers else None
    every = [row for row in rows if row["full"] == "all"]
    masks = [row for row in rows if row["full"] == few and row["annotations"] == "none"]
    mixed = best_mix([row for row in rows if row["full"] == few and row["annotations"] != "none"])
    alone = best_mix([row for row in rows if row["full"] == 0])
    return [scored(every), scored(masks, f"{few}: "), mixed, alone]


def best_mix(rows: Sequence[dict[str, Any]]) -> str:
    """Return the best annotations, and their scores."""
    kinds = dict.fromkeys(row["annotations"] for row in rows)
    groups = {kind: [row for row in rows if row["annotations"] == kind] for kind in kinds}
    groups = {kind: some for kind, some in groups.items() if np.isfinite(means(some)).all()}
    if not groups:
        return "-"
    best = max(groups, key=lambda kind: means(groups[kind]).mean())
    return scored(groups[best], f"{best}: ")


def scored(rows: Sequence[dict[str, Any]], what: str = "") -> str:
    """Return mean scores of some rows as text."""
    return what + " / ".join(f"{value:.3f}" for value in means(rows).tolist()) if rows else "-"


def means(rows: Sequence[dict[str, Any]]) -> FloatArray:
    """Mean scores of some rows; nan for measures that are not defined."""
    scores = [[float("nan") if row[one] is None else row[one] for one in MEASURES] for row in rows]
    return np.asarray(np.mean(scores, axis=0))


def checked(found: dict[str, Any]) -> str:
    """Return how many of the checks hold, of those that could be made."""
    made = [check["holds"] for check in found["checks"] if check["holds"] is not None]
    return f"{sum(made)} of {len(made)}" if made else "-"
