"""What weak annotations are expected to add, and whether they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from multiutility.experiments.cells import CellResult
from multiutility.experiments.confusions import MEASURES, Difference
from multiutility.experiments.gain_findings import Findings, Place
from multiutility.experiments.gain_report import NAMES, kinds_name
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


def checks_of(findings: Findings, methods: Sequence[str]) -> list[Check]:
    """Return all checks; those whose cells were not run are open."""
    return [
        nothing_is_lost(findings),
        *(gap_is_closed(findings, mix, part) for mix, part in RECOVERED.items()),
        *(masks_are_replaced(findings, mix, part) for mix, part in SHARES.items()),
        others_do_not_win(findings, methods),
        estimates_hold(findings),
    ]


def nothing_is_lost(findings: Findings) -> Check:
    """Compare masks and weak annotations with the same masks alone, measure by measure."""
    lower = [(place, gain, one) for place, gain in findings.added.items() for one in gain.lower()]
    n_compared = len(MEASURES) * len(findings.added)
    far = any(-gain.of(one)[0] > MOST_LOWER for _, gain, one in lower)
    claim = (
        f"Weak annotations on top of masks hurt beyond noise in at most {PART_LOWER:.0%} of the comparisons, "
        f"and by at most {100 * MOST_LOWER:g} point"
    )
    if not findings.added:
        return Check(claim, None)
    listed = "; ".join(difference_text(place, gain, [one]) for place, gain, one in lower)
    detail = f"{len(lower)} of {n_compared}" + (f": {listed}" if listed else "")
    return Check(claim, len(lower) <= PART_LOWER * n_compared and not far, detail)


def difference_text(place: Place, gain: Difference, measures: Sequence[str]) -> str:
    """Return a cell, and its difference in some measures."""
    dataset, kinds, full, method = place
    by = "" if method == OURS else f" by {method}"
    names = " / ".join(NAMES[MEASURES.index(one)] for one in measures)
    return f"{dataset}, {kinds_name(kinds)} with {full} masks{by}: {names} {gain.text(measures)}"


def gap_is_closed(findings: Findings, mix: str, part: float) -> Check:
    """Compare the recovered part of the gap in IoU with what is expected."""
    claim = f"With {FEW} masks, {mix} recover {part:g} of the gap in mean IoU"
    found = findings.recovered.get((mix, FEW))
    if found is None:
        return Check(claim, None)
    if np.isnan(found.parts[IOU]):
        return Check(claim, None, "all masks add nothing")
    return Check(claim, found.parts[IOU] >= part, f"{found.text[IOU]}, datasets: {found.n_datasets}")


def masks_are_replaced(findings: Findings, mix: str, part: float) -> Check:
    """Compare IoU without masks with that of all masks, on datasets whose labels are identified."""
    claim = (
        f"Without masks, {mix} reach {part:g} of the mean IoU of all masks, in the mean over datasets whose "
        "labels they can tell apart"
    )
    found = {one.name: one.share_of_all(mix) for one in findings.measured}
    shares = {name: share[IOU] for name, share in found.items() if share is not None}
    confused = {
        one.name: one.unidentified[mix, 0] for one in findings.measured if (mix, 0) in one.unidentified
    }
    judged = [share for name, share in shares.items() if name not in confused]
    listed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    listed += "".join(
        f"; {name} left out, as nothing tells {', '.join(labels)} apart" for name, labels in confused.items()
    )
    if not judged:
        return Check(claim, None, listed)
    mean = float(np.mean(judged))
    return Check(claim, mean >= part, f"{mean:.2f}: {listed}")


def others_do_not_win(findings: Findings, methods: Sequence[str]) -> Check:
    """Compare with plain regressions and self-training, measure by measure."""
    claim = (
        f"No other method ({', '.join(methods)}) is better beyond noise, on any measure, where annotations "
        "tell labels apart"
    )
    others = {p: gain for p, gain in findings.others.items() if p not in findings.unidentified}
    if not others:
        return Check(claim, None)
    better = {place: gain for place, gain in others.items() if gain.higher()}
    wins = [difference_text(place, gain, gain.higher()) for place, gain in better.items()]
    return Check(claim, not wins, "; ".join(wins) or f"{len(others)} comparisons")


def estimates_hold(findings: Findings) -> Check:
    """Compare what models with masks say of themselves with what they come to."""
    claim = (
        f"Models with masks know how good they are: at least {HELD:.0%} of their 90 % intervals hold the "
        f"score, and their mean width is at most {WIDTH:g}"
    )
    models = [one for measured in findings.measured for one in measured.models]
    with_masks = [one for one in models if one.cell.method == OURS and one.cell.full != 0]
    found = [judged for one in with_masks for judged in judged_estimates(one)]
    if not found:
        return Check(claim, None, "no model has an estimate")
    held = float(np.mean([inside for _, inside, _ in found]))
    width = float(np.mean([one for _, _, one in found]))
    parts = []
    for measure, name in zip(MEASURES, NAMES, strict=True):
        own = [inside for one, inside, _ in found if one == measure]
        parts += [f"{name} {np.mean(own):.0%}"] if own else []
    detail = f"{held:.0%}, width {width:.3f}; {', '.join(parts)}; {len(found)} intervals"
    return Check(claim, held >= HELD and width <= WIDTH, detail)


def judged_estimates(model: CellResult) -> Iterator[tuple[str, bool, float]]:
    """Yield for each measure that a model estimates whether its interval holds, and its width."""
    estimate = model.outcome.about_model.get("estimate") or {}
    for measure, score in zip(MEASURES, model.outcome.test.scores.tolist(), strict=True):
        if measure in estimate:
            _, low, high = estimate[measure]
            yield measure, low <= score <= high, high - low
