"""Tables and plots of what weak annotations add: dataset by dataset, and over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from multiutility.experiments.confusions import MEASURES
from multiutility.experiments.gain_findings import Findings, Measured
from multiutility.experiments.methods import OURS
from multiutility.experiments.plots import Dots, dot_grid
from multiutility.experiments.report import Runs
from multiutility.markdown import table

NAMES = ("accuracy", "mean recall", "mean IoU")


def sections_of(findings: Findings, methods: Sequence[str]) -> list[str]:
    """Return all tables, with headings; other ``methods`` have one if any was run."""
    parts = [f"### {one.name}\n\n{dataset_table(findings, one)}" for one in findings.measured]
    parts.append(
        "Scores are accuracy / mean recall / mean IoU, in the mean over subsets; differences are to the same "
        "masks alone, ± standard error by a paired bootstrap over images. Worse beyond noise: by more than "
        "two standard errors, in any of the three."
    )
    parts.append("### Recovered part of the gap\n\n" + recovered_table(findings))
    parts.append("### Without masks\n\n" + share_table(findings))
    if findings.others:
        parts.append("### Other methods\n\n" + baseline_table(findings, methods))
    return parts


def dataset_table(findings: Findings, one: Measured) -> str:
    """Return all cells of ours."""
    rows = []
    for full, kinds in product(findings.numbers, ("none", *findings.mixes)):
        runs, gain = one.sheet.runs(kinds, full), findings.added.get((one.name, kinds, full, OURS))
        if runs:
            told = ["-", "-"] if gain is None else [gain.text(), "yes" if gain.lower() else "no"]
            rows.append([kinds_name(kinds), str(full), text_of(runs), *told, f"{runs.seconds:.0f}"])
    heads = ["annotations", "masks", "scores", "difference to masks only", "worse beyond noise", "seconds"]
    return table(heads, rows)


def recovered_table(findings: Findings) -> str:
    """Return the recovered parts."""
    rows = [
        [mix, str(full), str(found.n_datasets), *found.text]
        for (mix, full), found in findings.recovered.items()
    ]
    note = (
        "Sum over datasets of (mix - masks only), over the sum of (all masks - masks only), ± standard error "
        "by a bootstrap over images; a dash where all masks add nothing."
    )
    return f"{table(['annotations', 'masks', 'datasets', *NAMES], rows)}\n\n{note}"


def recovered_rows(findings: Findings) -> list[dict[str, Any]]:
    """Return the recovered parts, with standard errors, in plain values; None where they are undefined."""
    rows = []
    for (mix, full), found in findings.recovered.items():
        pairs = zip(MEASURES, found.parts, found.errors, strict=True)
        parts = {name: None if np.isnan(part) else [part, error] for name, part, error in pairs}
        rows.append({"annotations": mix, "full": full, "n_datasets": found.n_datasets, **parts})
    return rows


def share_table(findings: Findings) -> str:
    """Return scores without masks as shares of those with all."""
    rows = []
    for mix in findings.mixes:
        shares = [(one.name, one.share_of_all(mix)) for one in findings.measured]
        found = [(name, share) for name, share in shares if share is not None]
        rows += [[mix, name, *(f"{part:.2f}" for part in share)] for name, share in found]
        if len(found) > 1:
            means = np.mean([share for _, share in found], axis=0)
            rows.append([mix, "**mean**", *(f"**{part:.2f}**" for part in means)])
    note = "Scores without masks, as shares of those with the masks of all training images."
    return f"{table(['annotations', 'dataset', *NAMES], rows)}\n\n{note}"


def baseline_table(findings: Findings, methods: Sequence[str]) -> str:
    """Return ours and other methods on the same subset, as far as these were run."""
    ran = {place[-1] for place in findings.others}
    methods = [method for method in methods if method in ran]
    rows = []
    for one, full, kinds in product(findings.measured, findings.numbers, ("none", *findings.mixes)):
        others = [one.sheet.runs(kinds, full, method) for method in methods]
        first = next((runs for runs in others if runs), None)
        if first is not None:
            ours = one.sheet.runs(kinds, full).of_seeds(first)
            gains = [(method, findings.others.get((one.name, kinds, full, method))) for method in methods]
            wins = [method for method, gain in gains if gain is not None and gain.higher()]
            scores = [text_of(runs) for runs in (ours, *others)]
            rows.append([one.name, kinds_name(kinds), str(full), *scores, ", ".join(wins) or "-"])
    heads = ["dataset", "annotations", "masks", OURS, *methods, "better beyond noise"]
    return f"{table(heads, rows)}\n\nOn the first subset; accuracy / mean recall / mean IoU."


def kinds_name(kinds: str) -> str:
    """Return annotations as tables have them."""
    return "masks only" if kinds == "none" else kinds


def text_of(runs: Runs) -> str:
    """Return all measures in the mean over subsets, or a dash without any."""
    return " / ".join(f"{value:.3f}" for value in runs.means) if runs else "-"


def plots_of(findings: Findings) -> dict[str, Callable[[Path], None]]:
    """Return what draws all cells, and the recovered parts."""
    kinds = ("none", *findings.mixes)
    lines = {
        one.name: [
            Dots(f"{full} masks", [means_of(one.sheet.runs(kind, full)) for kind in kinds], color)
            for color, full in enumerate(findings.numbers)
        ]
        for one in findings.measured
    }
    found = {place: one.parts for place, one in findings.recovered.items()}
    parts = [
        Dots(f"{full} masks", [found.get((mix, full)) for mix in findings.mixes], color)
        for color, full in enumerate(sorted(findings.masks), start=1)
    ]
    return {
        "": dot_grid([kinds_name(kind) for kind in kinds], lines, "Annotations on top of masks"),
        "recovered": dot_grid(findings.mixes, {"": parts}, "Recovered part of what all masks add"),
    }


def means_of(runs: Runs) -> Sequence[float] | None:
    """Return all measures, if there are any."""
    return runs.means if runs else None
