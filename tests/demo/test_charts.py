"""Charts: round numbers, all inside the picture, and no word that is taken for markup."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility.demo.charts import Line, dot_chart, line_chart, ticks

numbers = st.floats(1e-3, 1e6)


@given(low=st.floats(-1e5, 1e5), span=numbers, about=st.integers(3, 10))
def test_ticks_are_round_even_and_few(low: float, span: float, about: int) -> None:
    found = ticks(low, low + span, about)
    assert 1 <= len(found) <= about + 1
    slack = 1e-6 * (abs(low) + span)
    assert low - slack <= min(found)
    assert max(found) <= low + span + slack
    steps = {round(after - before, 6) for before, after in pairwise(found)}
    assert max(steps, default=0.0) - min(steps, default=0.0) <= slack
    for step in steps:
        digits = f"{step:.3e}".split("e")[0]
        assert digits in ("1.000", "2.000", "2.500", "5.000")


def test_ticks_of_nothing() -> None:
    assert ticks(3.0, 3.0) == [3.0]


@given(st.lists(st.tuples(numbers, numbers), max_size=20))
def test_curves_stay_inside(points: list[tuple[float, float]]) -> None:
    chart = ElementTree.fromstring(line_chart([Line("a", points, "s")], "title", "x", "y", size=(500, 300)))
    (curve,) = chart.iter("polyline")
    for place in (curve.get("points") or "").split():
        x, y = map(float, place.split(","))
        assert 0 <= x <= 500
        assert 0 <= y <= 300


def test_higher_values_are_higher_and_later_ones_to_the_right() -> None:
    chart = ElementTree.fromstring(line_chart([Line("a", [(0, 1), (1, 3), (4, 2)], "s")], "title", "x", "y"))
    (curve,) = chart.iter("polyline")
    (x0, y0), (x1, y1), (x2, y2) = (map(float, p.split(",")) for p in (curve.get("points") or "").split())
    assert x0 < x1 < x2
    assert y1 < y2 < y0
    assert math.isclose((x2 - x1) / (x1 - x0), 3, rel_tol=0.01)
    assert math.isclose((y0 - y1) / (y2 - y1), 2, rel_tol=0.01)


def test_words_are_no_markup() -> None:
    name = '<b>&"'
    for chart in (
        line_chart([Line(name, [(0, 1)], "s")], name, name, name),
        dot_chart({name: [0.5]}, [(name, "s")], name, name),
    ):
        tree = ElementTree.fromstring(chart)
        assert tree.get("aria-label") == name
        assert name in [text.text for text in tree.iter("text")]


def test_dots_are_at_their_values() -> None:
    chart = ElementTree.fromstring(
        dot_chart({"cow": [0.0, 1.0], "car": [0.25, None]}, [("a", "s"), ("b", "t")], "", "")
    )
    places = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in chart.iter("circle")]
    (left, top), (right, same), (quarter, below) = places
    assert top == same < below
    assert quarter == pytest.approx(left + 0.25 * (right - left), abs=0.1)
