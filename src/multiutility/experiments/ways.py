"""Experiments that were run in several ways, by features and method, cell beside cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from multiutility.experiments.cells import Full
from multiutility.experiments.confusions import MEASURES
from multiutility.experiments.figures import RateFigure
from multiutility.experiments.methods import LOCAL, OURS
from multiutility.experiments.table1 import Table1
from multiutility.experiments.table2 import PAPER, Table2
from multiutility.markdown import table

# Rows of one cell: its annotations, number of masks, and whether neighbors count.
Place: TypeAlias = tuple[str, Full, str]

# Experiments whose cells have the same names whatever they are learned with.
TITLES = {"table2": Table2.title, "table1": Table1.title, "figure-rate": RateFigure.title}
NOTE = (
    "Accuracy / mean recall / mean IoU, in the mean over subsets. Method `auto` chooses by evidence, method "
    "`paper` is the paper to the letter."
)
PAPER_NOTE = " The paper's own figures are those of MSRC's test images, by its own features."


def side_by_side(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table for each experiment that was run in several ways on the same images.

    ``found`` are experiments in plain values, as their files have them.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for one in found:
        if one.get("experiment") in TITLES and not one["quick"]:
            same = (one["experiment"], one["data"], one["protocol"], one["train"], one["test"])
            groups.setdefault(same, []).append(one)
    return [ways_table(name, runs) for (name, *_), runs in groups.items() if len(runs) > 1]


def ways_table(name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of an experiment: a row for each cell, a column for each way."""
    first, columns = runs[0], [by_place(one["rows"]) for one in runs]
    places = list(dict.fromkeys(place for column in columns for place in column))
    published = PAPER if name == "table2" and first["protocol"] == "paper" else {}
    heads = ["annotations", "masks", *map(way_of, runs), *(["the paper's figures"] if published else [])]
    rows = []
    for place in places:
        kinds, full, method = place
        label = "masks" if kinds == "none" else kinds
        scores = [text_of(column.get(place, ())) for column in columns]
        own = published.get((kinds, full))
        scores += [f"{own[0]:.3f} / {own[1]:.3f}" if own else "-"] if published else []
        rows.append([label + ("" if method == OURS else ", no neighbors"), str(full), *scores])
    heading = f"### {TITLES[name]} ({first['data']}, {first['protocol']})"
    return f"{heading}\n\n{table(heads, rows)}\n\n{NOTE}{PAPER_NOTE if published else ''}"


def by_place(rows: Sequence[Mapping[str, Any]]) -> dict[Place, list[Mapping[str, Any]]]:
    """Return the rows of our models by cell."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["method"] in (OURS, LOCAL):
            found.setdefault((row["annotations"], row["full"], row["method"]), []).append(row)
    return found


def way_of(found: Mapping[str, Any]) -> str:
    """Return the features of an experiment and its method, which all of our models have."""
    methods = {row["parameters"]["method"] for row in found["rows"] if row["method"] == OURS}
    return f"`{found['features']}`, {' and '.join(sorted(methods))}"


def text_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return mean scores of some rows, or a dash without any.

    >>> text_of([{"accuracy": 0.5, "mean_recall": 0.25, "mean_iou": None}])
    '0.500 / 0.250 / -'
    """
    if not rows:
        return "-"
    columns = [[row[one] for row in rows] for one in MEASURES]
    return " / ".join("-" if None in column else f"{np.mean(column):.3f}" for column in columns)
