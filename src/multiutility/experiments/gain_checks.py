"""What weak annotations are expected to add, and whether they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from multiutility.experiments.cells import Result
from multiutility.experiments.confusions import MEASURES
from multiutility.experiments.gain_report import (
    Measured,
    added,
    measure_name,
    other_methods,
    recovered,
    share_of_all,
)
from multiutility.experiments.methods import OURS
from multiutility.experiments.report import Check

# Of comparisons with masks alone, how many may be lower beyond noise (2.3 % are by chance, where nothing
# changes), and by how much.
PART_LOWER, MOST_LOWER = 0.03, 0.01
# Recovered part of the gap in mean IoU, with so many masks.
FEW = 5
RECOVERED = {"tags+boxes": 0.6, "points": 0.6, "tags+seeds": 0.4, "tags": 0.2}
# Without masks, share of the mean IoU of all masks.
SHARES = {"points": 0.75, "tags+boxes": 0.8}
# Estimates: how many of the intervals must hold the score, and their mean width at most.
HELD, WIDTH = 0.85, 0.15
IOU = MEASURES.index("mean_iou")


def checks_of(measured: Sequence[Measured], methods: Sequence[str]) -> list[Check]:
    """Return all checks; those whose cells were not run are open."""
    return [
        nothing_is_lost(measured),
        *(gap_is_closed(measured, mix, part) for mix, part in RECOVERED.items()),
        *(masks_are_replaced(measured, mix, part) for mix, part in SHARES.items()),
        others_do_not_win(measured, methods),
        estimates_hold(measured),
    ]


def nothing_is_lost(measured: Sequence[Measured]) -> Check:
    """Compare masks and weak annotations with the same masks alone, measure by measure."""
    found = list(added(measured))
    lower = [(one, measure) for one in found for measure in one.gain.lower()]
    n_compared = len(MEASURES) * len(found)
    far = any(-one.gain.of(measure)[0] > MOST_LOWER for one, measure in lower)
    listed = [one.text([measure]) for one, measure in lower]
    detail = f"{len(lower)} of {n_compared}" + (f": {'; '.join(listed)}" if listed else "")
    claim = (
        f"Weak annotations on top of masks hurt beyond noise in at most {PART_LOWER:.0%} of the comparisons, "
        f"and by at most {100 * MOST_LOWER:g} point"
    )
    holds = len(lower) <= PART_LOWER * n_compared and not far if found else None
    return Check(claim, holds, detail if found else "")


def gap_is_closed(measured: Sequence[Measured], mix: str, part: float) -> Check:
    """Compare the recovered part of the gap in IoU with what is expected."""
    claim = f"With {FEW} masks, {mix} recover {part:g} of the gap in mean IoU"
    found = recovered(measured, mix, FEW)
    if found is None:
        return Check(claim, None)
    if np.isnan(found.parts[IOU]):
        return Check(claim, None, "all masks add nothing")
    return Check(claim, found.parts[IOU] >= part, f"{found.text[IOU]}, datasets: {found.n_datasets}")


def masks_are_replaced(measured: Sequence[Measured], mix: str, part: float) -> Check:
    """Compare IoU without masks with that of all masks."""
    claim = f"Without masks, {mix} reach {part:g} of the mean IoU of all masks, in the mean over datasets"
    shares = {one.name: share[IOU] for one in measured if (share := share_of_all(one, mix)) is not None}
    if not shares:
        return Check(claim, None)
    mean = float(np.mean(list(shares.values())))
    listed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return Check(claim, mean >= part, f"{mean:.2f}: {listed}")


def others_do_not_win(measured: Sequence[Measured], methods: Sequence[str]) -> Check:
    """Compare with plain regressions and self-training, measure by measure."""
    found = list(other_methods(measured, methods))
    wins = [one.text(higher) for one in found if (higher := one.gain.higher())]
    claim = f"No other method ({', '.join(methods)}) is better beyond noise, on any measure"
    detail = "; ".join(wins) or f"{len(found)} comparisons"
    return Check(claim, not wins if found else None, detail if found else "")


def estimates_hold(measured: Sequence[Measured]) -> Check:
    """Compare what models with masks say of themselves with what they come to."""
    claim = (
        f"Models with masks know how good they are: at least {HELD:.0%} of their 90 % intervals hold the "
        f"score, and their mean width is at most {WIDTH:g}"
    )
    found = [
        (measure, held, width)
        for one in measured
        for model in one.models
        if model.cell.method == OURS and model.cell.full != 0
        for measure, held, width in judged_estimates(model)
    ]
    if not found:
        return Check(claim, None, "no model has an estimate")
    held = float(np.mean([one for _, one, _ in found]))
    width = float(np.mean([one for _, _, one in found]))
    parts = [
        f"{measure_name(name)} {np.mean([h for m, h, _ in found if m == name]):.0%}"
        for name in MEASURES
        if any(m == name for m, _, _ in found)
    ]
    detail = f"{held:.0%}, width {width:.3f}; {', '.join(parts)}; {len(found)} intervals"
    return Check(claim, held >= HELD and width <= WIDTH, detail)


def judged_estimates(model: Result) -> Iterator[tuple[str, bool, float]]:
    """Yield for each measure that a model estimates whether its interval holds, and its width."""
    estimate = model.outcome.about_model.get("estimate") or {}
    for measure, score in zip(MEASURES, model.outcome.test.scores.tolist(), strict=True):
        if measure in estimate:
            _, low, high = estimate[measure]
            yield measure, low <= score <= high, high - low
