"""How models and scores are shown in notebooks: HTML that needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.display import classes_html, table_html
from multiutility.vision.about import NAMES, judged_text

if TYPE_CHECKING:
    from multiutility.vision.evaluation import Evaluation

WIDTH, HEIGHT = 360, 140
CURVES = (("primal", "objective", "#1f6f54"), ("dual", "lower bound", "#b06a1c"))


class ScoreTable(dict[str, Any]):
    """Scores in plain values, as ``Evaluation.to_dict`` has them, shown as a table in notebooks."""

    def _repr_html_(self) -> str:
        return scores_html(self)


def scores_html(scores: Mapping[str, Any]) -> str:
    """Return accuracy, means, whether they were to be expected, and what was found of each class there is."""
    means = ", ".join(f"{text} <b>{share(scores[name])}</b>" for name, text in NAMES.items())
    classes = scores["classes"].items()
    rows = [
        (escape(name), share(one["recall"]), share(one["iou"]), f"{one['pixels']:,}")
        for name, one in classes
        if one["pixels"]
    ]
    table = table_html(["class", "recall", "IoU", "pixels"], rows)
    compared = escape(judged_text(scores["expected"]))
    line = f"<p>{compared}</p>" if compared else ""
    return f"<div><p>{means} ({scores['n_images']} images)</p>{line}{table}</div>"


def evaluation_html(evaluation: Evaluation) -> str:
    """Return scores, and the confusion matrix in percent of each true class."""
    return f"{scores_html(evaluation.to_dict())}{confusion_html(evaluation.names, evaluation.matrix)}"


def confusion_html(names: Sequence[str], matrix: FloatArray) -> str:
    """Return a table of what part of each class (row) was called what (column), in percent."""
    used = np.flatnonzero(matrix.sum(0) + matrix.sum(1)).tolist()
    totals = np.maximum(matrix.sum(1), 1)
    rows = []
    for true in used:
        cells = [cell_html(float(matrix[true, given] / totals[true]), true == given) for given in used]
        rows.append((escape(names[true]), *cells))
    return table_html(["called", *(names[given] for given in used)], rows)


def cell_html(part: float, right: bool) -> str:
    """Return a number on a ground that is the stronger the larger it is; green if that is as it should be."""
    color = "44,138,87" if right else "192,50,47"
    text = f"{100 * part:.0f}" if part >= 0.005 else ""
    return f'<span style="display:block;background:rgba({color},{0.8 * part:.2f})">{text}&nbsp;</span>'


def fitted_html(
    classes: Classes, facts: Sequence[tuple[str, str]], objective: NDArray[Any] | None = None
) -> str:
    """Return what a model knows, how it was made, and how its objective went down."""
    told = ", ".join(f"{escape(name)} <b>{escape(text)}</b>" for name, text in facts)
    curve = "" if objective is None or len(objective) < 2 else curve_svg(objective)
    return f"<div><p>{told}</p>{classes_html(classes)}{curve}</div>"


def curve_svg(objective: NDArray[Any]) -> str:
    """Return the objective and its lower bound after every pass, as a picture in SVG."""
    low = min(float(objective[name].min()) for name, _, _ in CURVES)
    high = max(float(objective[name].max()) for name, _, _ in CURVES)
    x = np.linspace(5, WIDTH - 5, len(objective))
    parts = []
    for line, (name, text, color) in enumerate(CURVES):
        y = HEIGHT - 5 - (HEIGHT - 10) * (objective[name] - low) / max(high - low, 1e-300)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        place = f'x="{WIDTH - 8}" y="{18 + 14 * line}" text-anchor="end"'
        parts.append(f'<text {place} font-size="11" fill="{color}">{text}</text>')
    label = f"objective {objective['primal'][-1]:.4g} after {len(objective)} passes"
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{label}">{"".join(parts)}</svg><p>{label}</p>'


def share(value: float | None) -> str:
    """Return a share in percent.

    >>> share(0.1234), share(None)
    ('12.3 %', '-')
    """
    return "-" if value is None else f"{100 * value:.1f} %"
