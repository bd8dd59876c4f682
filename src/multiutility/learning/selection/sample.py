"""Strokes or points of all labels: a sample of what there is."""

from __future__ import annotations

from typing import NamedTuple

from multiutility.arrays import FloatArray
from multiutility.learning.selection.choice import GUESSED, RIDGE, Data
from multiutility.learning.selection.points import n_pointed, points_model
from multiutility.learning.selection.strokes import n_drawn, strokes_model


class Sample(NamedTuple):
    """A regression on strokes or points, and the power of class weights to go with it."""

    name: str
    model: FloatArray
    power: float


def sampled(data: Data, every: bool = True) -> Sample | None:
    """Strokes of all labels in half of the examples or more, or points; None without.

    If ``every``, all labels that are named must have some. Where much is drawn of a label, there is much of
    it, and the regression on strokes favors rare labels. Points are read with sizes that are nearer to the
    true ones, and leave a part of that to class weights.
    """
    for name, fit, count, power in (
        ("strokes", strokes_model, n_drawn, 0.0),
        ("points", points_model, n_pointed, GUESSED),
    ):
        model = fit(data, RIDGE, every) if 2 * count(data) >= len(data.weak) else None
        if model is not None:
            return Sample(name, model, power)
    return None
