"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from multiutility.cli.messages import show

if TYPE_CHECKING:
    from multiutility.datasets.soundness import Skipped
    from multiutility.datasets.summary import Summary


def show_summary(summary: Summary) -> None:
    """Print what a dataset holds."""
    from multiutility.kinds import KINDS  # noqa: PLC0415

    mix = ", ".join(f"{count} with {kinds}" for kinds, count in summary.mix.items())
    show(f"[b]{summary.n_images} images[/]: {mix}")
    if summary.open_tags:
        show(f"Open tags: {summary.open_tags} images, where labels may be there that are not named")
    if summary.sizes:
        sizes = ", ".join(f"{name} {width} x {height}" for name, (height, width) in summary.sizes.items())
        show(f"Sizes: {sizes}")
    splits = [f"{name} {count}" for name, count in summary.splits.items() if count]
    if splits:
        show(f"Splits: {', '.join(splits)}")
    table = plain_table("class", "kind")
    for column in ("pixels", "share", *(kind.words.plural for kind in KINDS)):
        table.add_column(column, justify="right")
    total = sum(one.pixels for one in summary.classes)
    for one in summary.classes:
        share = f"{one.pixels / total:.1%}" if total else ""
        counts = (f"{one.pixels:,}", share, *map(str, one.counts.values()))
        table.add_row(escape(one.name), one.kind + (", rare" if one.rare else ""), *counts)
    table.add_row("[i]unlabeled[/]", "", f"{summary.void:,}")
    show(table)


def show_scores(scores: Mapping[str, Any]) -> None:
    """Print an evaluation."""
    table = plain_table("class")
    for column in ("recall", "IoU", "pixels"):
        table.add_column(column, justify="right")
    for name, one in scores["classes"].items():
        table.add_row(escape(name), percent(one["recall"]), percent(one["iou"]), f"{one['pixels']:,}")
    show(table)
    means = (("accuracy", "accuracy"), ("mean recall", "mean_recall"), ("mean IoU", "mean_iou"))
    line = "   ".join(f"[b]{name} {percent(scores[key])}[/]" for name, key in means)
    show(f"{line}   on {scores['n_images']} images")


def show_tuning(tuning: Mapping[str, Any]) -> None:
    """Print settings with their scores, best first."""
    table, names = plain_table(), list(tuning["best"])
    for column in (*names, tuning["metric"]):
        table.add_column(column, justify="right")
    for one in tuning["settings"]:
        values = (one[name] if isinstance(one[name], str) else f"{one[name]:g}" for name in names)
        table.add_row(*values, percent(one["score"]))
    show(table)


def show_skipped(skipped: Sequence[Skipped]) -> None:
    """Print images that were left out, for people only: to stderr."""
    if not skipped:
        return
    table = plain_table("image left out", "why")
    for one in skipped:
        table.add_row(escape(one.image), escape(one.why))
    Console(stderr=True, highlight=False).print(table, soft_wrap=True)


def plain_table(*columns: str) -> Table:
    """Return a table without lines around it."""
    return Table(*columns, box=None, pad_edge=False, header_style="dim")


def percent(value: float | None) -> str:
    """Return a share as text.

    >>> percent(0.12345), percent(None)
    ('12.3 %', '-')
    """
    return "-" if value is None else f"{100 * value:.1f} %"
