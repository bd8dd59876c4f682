"""Plots as PNG files: measures side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from multiutility.datasets.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Those of the paper, and one more.
MEASURES = ("accuracy", "mean recall", "mean IoU")
N_PAPER = 2
# Colors that people with color blindness can tell apart (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", ":")


# Draws a measure, by its number, onto axes.
Draw: TypeAlias = "Callable[[Axes, int], None]"


@dataclass(frozen=True)
class Series:
    """A named curve: places x, and for both measures values with spreads, [n, 2] each."""

    name: str
    x: Sequence[float]
    values: Sequence[tuple[float, float]]
    spreads: Sequence[tuple[float, float]]


def curves(series: Sequence[Series], x_label: str, title: str, log_x: bool = False) -> Callable[[Path], None]:
    """Return what draws curves with error bars, one panel for each measure."""

    def draw(axes: Axes, measure: int) -> None:
        for number, one in enumerate(series):
            turn, place = divmod(number, len(COLORS))
            values = [pair[measure] for pair in one.values]
            spreads = [pair[measure] for pair in one.spreads]
            look: dict[str, Any] = {"color": COLORS[place], "linestyle": LINES[turn % len(LINES)]}
            axes.errorbar(one.x, values, spreads, **look, marker="o", markersize=4, capsize=3, label=one.name)
        if log_x:
            places = sorted({place for one in series for place in one.x})
            axes.set_xscale("log")
            axes.set_xticks(places, [f"{place:g}" for place in places])
            axes.minorticks_off()
        axes.set_xlabel(x_label)

    return partial(write_panels, draw, title)


@dataclass(frozen=True)
class Dots:
    """Named dots, measures of each row, of which some may be missing; ``paper`` draws them hollow."""

    name: str
    pairs: Sequence[Sequence[float] | None]
    color: int = 0
    paper: bool = False


def dots(rows: Sequence[str], series: Sequence[Dots], title: str) -> Callable[[Path], None]:
    """Return what draws a line of dots for each row, one panel for each of the paper's measures."""
    return partial(write_panels, drawn_dots(rows, series), title)


def dot_grid(rows: Sequence[str], series: Mapping[str, Sequence[Dots]], title: str) -> Callable[[Path], None]:
    """Return what draws dots for each name, one below the other, with panels for all measures."""
    lines = {name: drawn_dots(rows, some) for name, some in series.items()}
    return partial(write_grid, lines, len(MEASURES), title)


def drawn_dots(rows: Sequence[str], series: Sequence[Dots]) -> Draw:
    """Return what draws a line of dots for each row."""

    def draw(axes: Axes, measure: int) -> None:
        for one in series:
            places = [n for n, pair in enumerate(one.pairs) if pair is not None]
            values = [pair[measure] for pair in one.pairs if pair is not None]
            color = COLORS[one.color % len(COLORS)]
            fill = "none" if one.paper else color
            axes.plot(
                values,
                places,
                "o",
                color=color,
                markerfacecolor=fill,
                label=one.name,
                markersize=7,
            )
        axes.set_yticks(range(len(rows)), rows if measure == 0 else [""] * len(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)

    return draw


def write_panels(draw: Draw, title: str, path: Path) -> None:
    """Draw a panel for each of the paper's measures, and write the file."""
    write_grid({"": draw}, N_PAPER, title, path)


def write_grid(lines: Mapping[str, Draw], n_measures: int, title: str, path: Path) -> None:
    """Draw a line of panels for each name, one panel for each measure, and write the file at once."""
    # Takes half a second, which those who only read tables should not wait for.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(5 * n_measures, 4.6 * len(lines)), dpi=110, layout="constrained")
    panels = figure.subplots(len(lines), n_measures, squeeze=False)
    for (name, draw), line in zip(lines.items(), panels, strict=True):
        for measure, axes in enumerate(line):
            draw(axes, measure)
            axes.set_title(f"{name}: {MEASURES[measure]}" if name else MEASURES[measure])
            axes.grid(alpha=0.3)
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize="small")
    figure.suptitle(title)
    content = BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})
    with replacing(path) as file:
        file.write(content.getvalue())
