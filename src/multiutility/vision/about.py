"""What a model tells of itself: what learning has chosen, and how good it will be on new images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from multiutility.annotations import Annotation
from multiutility.learning.selection.choice import MOST_FULL
from multiutility.learning.selection.evidence import MEASURES, Estimate

NAMES = {"accuracy": "accuracy", "mean_recall": "mean recall", "mean_iou": "mean IoU"}


def about_model(
    method: str, chosen: Mapping[str, Any], estimate: Estimate | None, n_masks: int
) -> dict[str, Any]:
    """Return all of it in plain values, for JSON; ``n_masks`` were held out in turns."""
    judged = None if estimate is None else estimate.facts
    return {"method": method, "chosen": finite(dict(chosen)), "estimate": finite(judged), "n_masks": n_masks}


def n_judges(annotations: Sequence[Annotation | None]) -> int:
    """Return how many masks take turns in being held out when something is chosen."""
    return min(sum(one is not None and one.strong for one in annotations), MOST_FULL)


def finite(value: Any) -> Any:
    """Return a value with None for numbers that JSON does not have.

    >>> finite({"a": [1.0, math.nan]})
    {'a': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def estimate_of(about: Mapping[str, Any]) -> Estimate | None:
    """Return the estimate that a model has kept."""
    kept = about.get("estimate")
    return None if kept is None else Estimate(**{name: tuple(kept[name]) for name in MEASURES})


def about_lines(about: Mapping[str, Any]) -> list[str]:
    """Return what there is to tell in plain sentences, without their ends."""
    chosen = chosen_text(about.get("chosen") or {})
    return [*([f"chosen: {chosen}"] if chosen else []), *expected_lines(about)]


def chosen_text(chosen: Mapping[str, Any]) -> str:
    """Return what was chosen, and why.

    >>> weights = (0.0, [0.9, 0.7, 0.56]), (0.1, [0.9, 0.71, 0.565])
    >>> trials = [{"alpha": alpha, "class_weight": 0.5, "scores": scores} for alpha, scores in weights]
    >>> facts = {"start": "read by the masks", "alpha": 0.1, "class_weight": 0.5, "trials": trials}
    >>> print(chosen_text(facts))  # doctest: +NORMALIZE_WHITESPACE
    weak annotations read by the masks, weight 0.1, class weights 0.5, because held-out masks score 0.725 with
    and 0.720 without
    >>> print(chosen_text({**facts, "start": "masks only", "alpha": 0.0}))  # doctest: +NORMALIZE_WHITESPACE
    masks only, class weights 0.5, because held-out masks score 0.720 without weak annotations, and not surely
    more with them (0.725)
    >>> for trial, rate in zip(trials, (0.16, 0.12), strict=True):
    ...     trial["provable_error"] = rate
    >>> print(chosen_text(facts))  # doctest: +NORMALIZE_WHITESPACE
    weak annotations read by the masks, weight 0.1, class weights 0.5, because held-out masks score 0.725 with
    and 0.720 without, and held-out weak annotations show errors of 12.0 % with and 16.0 % without
    >>> errors = {"soft labels, 0": 0.15, "soft labels, 0.5": 0.12, "certain places, 0.5": 0.2}
    >>> print(chosen_text({"start": "soft labels", "provable_error": errors}))
    weak annotations read by soft labels, because other images show errors of 12.0 % (certain places: 20.0 %)
    """
    if not chosen:
        return ""
    parts = [start_text(str(chosen.get("start", "")), chosen.get("alpha"))]
    if chosen.get("class_weight") is not None:
        parts.append(f"class weights {chosen['class_weight']:g}")
    if chosen.get("penalty") is not None:
        parts.append(f"penalty {chosen['penalty']:g}")
    reason = reason_text(chosen)
    learned = ", ".join(part for part in parts if part) + (f", because {reason}" if reason else "")
    others = left_out_text(chosen), superpixels_text(chosen), borders_text(chosen)
    return "; ".join(part for part in (learned, *others) if part)


def left_out_text(chosen: Mapping[str, Any]) -> str:
    """Return how many images with names of labels only were left out, if any.

    >>> left_out_text({"start": "points", "left_out": 12})
    'the tags of 12 images without places are left out: they do not tell labels apart'
    """
    if not chosen.get("left_out") or chosen.get("start") == "masks only":
        return ""
    n_images = chosen["left_out"]
    what = "the tags of 1 image" if n_images == 1 else f"the tags of {n_images} images"
    return f"{what} without places are left out: they do not tell labels apart"


def superpixels_text(chosen: Mapping[str, Any]) -> str:
    """Return how many superpixels images are cut into, if that was chosen.

    >>> facts = {"number": 400, "bounds": {"200": 0.65, "400": 0.7131}}
    >>> superpixels_text({"superpixels": facts})
    '400 superpixels, whose best labels fit masks with an IoU of 0.713 (200: 0.650)'
    """
    if "superpixels" not in chosen:
        return ""
    facts = chosen["superpixels"]
    number, bounds = facts["number"], dict(facts["bounds"])
    own = bounds.pop(str(number))
    others = ", ".join(f"{other}: {bound:.3f}" for other, bound in bounds.items())
    return f"{number} superpixels, whose best labels fit masks with an IoU of {own:.3f} ({others})"


def borders_text(chosen: Mapping[str, Any]) -> str:
    """Return how predicted borders are refined; nothing if that is unknown.

    >>> borders_text({"refinement": {"reach": 4.0, "window": 5, "pull": 1.0}})
    'borders are moved to where colors change in 5 x 5 pixels, by at most 4'
    >>> borders_text({"refinement": None})
    'borders are those of superpixels'
    """
    if "refinement" not in chosen:
        return ""
    how = chosen["refinement"]
    if how is None:
        return "borders are those of superpixels"
    return (
        f"borders are moved to where colors change in {how['window']} x {how['window']} pixels, "
        f"by at most {how['reach']:g}"
    )


def start_text(start: str, alpha: float | None) -> str:
    """Return what is learned from."""
    if start in ("", "masks only"):
        return start
    read = start if start.startswith("read") else f"read by {start}"
    return f"weak annotations {read}" + (f", weight {alpha:g}" if alpha is not None else "")


def reason_text(chosen: Mapping[str, Any]) -> str:
    """Return why it was chosen; nothing if there was nothing to compare."""
    alpha = chosen.get("alpha")
    scores = {key: score for key, score in trial_scores(chosen).items() if score > 0}
    without = max((score for (weight, _), score in scores.items() if weight == 0), default=None)
    best = max((score for (weight, _), score in scores.items() if weight > 0), default=None)
    if without is not None and best is not None:
        other = shown_errors(chosen)
        if alpha:
            own = scores.get((alpha, chosen.get("class_weight")), best)
            return f"held-out masks score {own:.3f} with and {without:.3f} without{other}"
        more = f"not surely more with them ({best:.3f})" if best > without else f"{best:.3f} with them"
        return f"held-out masks score {without:.3f} without weak annotations, and {more}{other}"
    errors = provable_errors(chosen)
    rate = errors.pop(str(chosen.get("start")), None)
    if rate is None or not errors:
        return ""
    others = ", ".join(f"{name}: {percent(value)}" for name, value in errors.items())
    return f"other images show errors of {percent(rate)} ({others})"


def shown_errors(chosen: Mapping[str, Any]) -> str:
    """Return what the other judge says, weak annotations that were held out; nothing if it was not asked."""
    alpha, rates = chosen.get("alpha"), dict[bool, list[float]]()
    for one in chosen.get("trials") or []:
        if "provable_error" in one and one["alpha"] in (0, alpha or one["alpha"]):
            rates.setdefault(one["alpha"] > 0, []).append(one["provable_error"])
    if len(rates) < 2:
        return ""
    with_them, without = percent(min(rates[True])), percent(rates[False][0])
    return f", and held-out weak annotations show errors of {with_them} with and {without} without"


def trial_scores(chosen: Mapping[str, Any]) -> dict[tuple[float, float | None], float]:
    """Mean of the measures on held-out masks, by weight of weak annotations and power of class weights."""
    found = {}
    for one in chosen.get("trials") or []:
        values = [value for value in one["scores"] if value is not None]
        if values:
            found[one["alpha"], one.get("class_weight")] = sum(values) / len(values)
    return found


def provable_errors(chosen: Mapping[str, Any]) -> dict[str, float]:
    """Least rate of provable errors of each way to read annotations, whatever the class weights."""
    found: dict[str, float] = {}
    for key, rate in (chosen.get("provable_error") or {}).items():
        # Names may have commas; what follows the last one is the power of class weights.
        name = key.rpartition(", ")[0] or key
        found[name] = min(rate, found.get(name, rate))
    return found


def expected_lines(about: Mapping[str, Any]) -> list[str]:
    """Return what is expected on new images, in a line; nothing if nothing is known.

    >>> expected_lines({"estimate": {"accuracy": [0.95, 0.93, 0.97]}, "n_masks": 5})
    ['expected on new images: accuracy 0.950 (0.930 to 0.970); by cross-validation over 5 masks']
    """
    estimate = about.get("estimate")
    if estimate is not None:
        values = (f"{NAMES[name]} {interval_text(estimate[name])}" for name in MEASURES if name in estimate)
        how = f"by cross-validation over {about.get('n_masks')} masks"
        return [f"expected on new images: {', '.join(values)}; {how}"]
    chosen = about.get("chosen") or {}
    own = provable_errors(chosen).get(str(chosen.get("start")))
    if own is None:
        return []
    return [
        f"expected on new images: errors of {percent(own)} by their annotations; for scores, masks are needed"
    ]


def interval_text(values: list[float | None]) -> str:
    """Return a value with its interval.

    >>> interval_text([0.95, 0.93, 0.97])
    '0.950 (0.930 to 0.970)'
    """
    value, low, high = ("?" if one is None else f"{one:.3f}" for one in values)
    return f"{value} ({low} to {high})"


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.125)
    '12.5 %'
    """
    return f"{100 * share:.1f} %"


def judged(about: Mapping[str, Any], scores: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Compare scores with what a model expected of itself, measure by measure.

    >>> judged({"estimate": {"accuracy": [0.95, 0.93, 0.97]}}, {"accuracy": 0.9})
    {'accuracy': {'expected': 0.95, 'low': 0.93, 'high': 0.97, 'inside': False}}
    """
    found = {}
    for name, values in (about.get("estimate") or {}).items():
        if scores.get(name) is not None and None not in values:
            value, low, high = values
            inside = bool(low <= scores[name] <= high)
            found[name] = {"expected": value, "low": low, "high": high, "inside": inside}
    return found


def judged_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the comparison in a line.

    >>> judged_text({"accuracy": {"expected": 0.95, "low": 0.93, "high": 0.97, "inside": False}})
    'the model expected accuracy 0.950 (0.930 to 0.970): outside'
    """
    parts = [
        f"{NAMES[name]} {interval_text([one['expected'], one['low'], one['high']])}: "
        + ("inside" if one["inside"] else "outside")
        for name, one in found.items()
    ]
    return f"the model expected {'; '.join(parts)}" if parts else ""
