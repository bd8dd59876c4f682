"""What to label next: gains against brute force over what may be true."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility.datasets.classes import Kind
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.predictor import margins, per_size
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.store import FeatureStore
from multiutility.vision.suggestions import (
    SECONDS,
    Belief,
    Effort,
    Known,
    Patch,
    presence,
    suggestions,
    tag_gain,
)
from toy import toy_preset, write_mixed, write_toy

KINDS: tuple[Kind, ...] = ("stuff", "stuff", "thing", "thing")
PATCHES = st.builds(
    lambda pair, area, doubt: Patch(pair[0], pair[1], area, doubt),
    st.sampled_from(list(itertools.permutations(range(4), 2))),
    st.floats(0.01, 1.0),
    st.floats(0.0, 1.0),
)
BELIEFS = st.lists(PATCHES, min_size=1, max_size=4).map(lambda patches: Belief(tuple(patches)))


@given(BELIEFS)
def test_gains_are_no_more_than_the_error(belief: Belief) -> None:
    error = sum(patch.error for patch in belief.patches)
    assert -1e-12 <= tag_gain(belief.patches) <= error + 1e-12
    for one in suggestions({"a": belief}, {}, KINDS):
        assert 0 < one.gain <= error + 1e-12


@given(PATCHES, PATCHES)
def test_tag_gain_of_two_patches_by_enumeration(one: Patch, two: Patch) -> None:
    # Over what is true of both: an error of the first counts as mended unless the image has both its labels,
    # the other one of them in the second patch.
    def mended(patch: Patch, other: Patch) -> float:
        total = 0.0
        for wrong, chance in ((False, 1 - patch.p_error), (True, patch.p_error)):
            here, rest = (patch.rival, patch.label) if wrong else (patch.label, patch.rival)
            assert here != rest
            chances = {other.label: 1 - other.p_error, other.rival: other.p_error}
            total += chance * (1 - chances.get(rest, 0.0))
        return patch.error * total

    assert tag_gain([one, two]) == pytest.approx(mended(one, two) + mended(two, one))


def test_presence_is_the_largest_probability() -> None:
    patches = [Patch(0, 1, 0.5, 0.4), Patch(1, 2, 0.5, 1.0)]
    assert [presence(label, patches) for label in range(4)] == [0.8, 0.5, 0.5, 0.0]


def test_tags_of_doubtful_images_come_first_then_objects_then_masks() -> None:
    belief = Belief((Patch(2, 0, 0.3, 0.8), Patch(0, 1, 0.7, 0.3)))
    first = suggestions({"a": belief}, {}, KINDS)[0]
    assert (first.action, first.seconds) == ("tags", 2 * SECONDS["tags"])
    tagged = Known(tags=frozenset({0, 1, 2}))
    second = suggestions({"a": belief}, {"a": tagged}, KINDS)[0]
    assert (second.action, second.label, second.confused) == ("seeds", 2, (2, 0))
    seeded = Known(tags=frozenset({0, 1, 2}), seeds=frozenset({2}), boxes=frozenset({2}))
    third = suggestions({"a": belief}, {"a": seeded}, KINDS)[0]
    assert third.action == "mask"
    assert suggestions({"a": belief}, {"a": Known(mask=True)}, KINDS) == []


def test_nobody_is_asked_for_objects_that_are_not_there() -> None:
    belief = Belief((Patch(2, 3, 0.6, 0.5), Patch(0, 3, 0.4, 0.9)))
    dear = Effort(seconds={**SECONDS, "tags": 1e6, "mask": 1e6})
    assert {one.action for one in suggestions({"a": belief}, {}, KINDS, dear)} <= {"tags", "mask"}
    named = Known(tags=frozenset({0, 2, 3}))
    assert suggestions({"a": belief}, {"a": named}, KINDS, dear)[0].label == 3


def test_tags_that_settle_a_patch_leave_nothing_to_ask() -> None:
    belief = Belief((Patch(2, 0, 1.0, 0.8),))
    assert suggestions({"a": belief}, {"a": Known(tags=frozenset({2}))}, KINDS) == []


def test_the_most_doubtful_image_first_whatever_the_order() -> None:
    beliefs = {f"image{n}": Belief((Patch(0, 1, 1.0, n / 10),)) for n in range(1, 10)}
    names = [one.name for one in suggestions(beliefs, {}, KINDS)]
    assert names == sorted(beliefs, reverse=True)
    assert names == [one.name for one in suggestions(dict(reversed(beliefs.items())), {}, KINDS)]


def test_other_costs_change_what_is_best() -> None:
    belief = {"a": Belief((Patch(2, 3, 1.0, 1.0),))}
    dear = Effort(seconds={**dict.fromkeys(SECONDS, 1000.0), "boxes": SECONDS["boxes"]})
    tagged = {"a": Known(tags=frozenset({2, 3}))}
    assert suggestions(belief, tagged, KINDS, dear)[0].action == "boxes"
    dear = Effort(seconds={**dict.fromkeys(SECONDS, 1000.0), "seeds": SECONDS["seeds"]})
    assert suggestions(belief, tagged, KINDS, dear)[0].action == "seeds"


def test_images_unlike_the_others_come_before_those_that_are_alike() -> None:
    patch = Patch(0, 1, 1.0, 0.5)
    angles = {"known": 0.0, "twin": 0.01, "near": 0.5, "far": 1.5, "next to far": 1.45, "between": 0.9}
    beliefs = {name: Belief((patch,), (np.cos(a), np.sin(a))) for name, a in angles.items()}
    known = {"known": Known(tags=frozenset({0, 1}))}
    dear = Effort(seconds={**SECONDS, "mask": 1e9})
    found = [one for one in suggestions(beliefs, known, KINDS, dear) if one.action == "tags"]
    # As farthest-first search would go through these angles, one by one.
    left, taken, order = {n: a for n, a in angles.items() if n != "known"}, [0.0], []
    while left:
        best = max(left, key=lambda name: min(1 - np.cos(left[name] - one) for one in taken))
        order.append(best)
        taken.append(left.pop(best))
    assert order[:2] == ["far", "between"]
    assert [one.name for one in found] == order
    worths = [one.worth for one in found]
    assert worths == sorted(worths, reverse=True)
    assert [one.name for one in suggestions(beliefs, known, KINDS, dear, count=2)] == order[:2]


def test_tags_take_as_long_as_they_have_so_far() -> None:
    beliefs = {"a": Belief((Patch(0, 1, 0.5, 0.5), Patch(2, 1, 0.5, 0.5)))}
    known = {"b": Known(tags=frozenset({0, 1, 2})), "c": Known(boxes=frozenset({3})), "d": Known(mask=True)}
    (before,), (after,) = suggestions(beliefs, {}, KINDS), suggestions(beliefs, known, KINDS)
    assert (before.action, before.seconds) == ("tags", 2 * SECONDS["tags"])
    assert (after.action, after.seconds) == ("tags", (3 + 1) / 2 * SECONDS["tags"])
    four = {"b": Known(tags=frozenset({0, 1, 2, 3}))}
    assert suggestions(beliefs, four, KINDS)[0].seconds == 4 * SECONDS["tags"]


def test_a_mask_is_compared_with_masks_only() -> None:
    patch = Patch(0, 1, 1.0, 0.5)
    beliefs = {"a": Belief((patch,), (1.0, 0.0)), "b": Belief((patch,), (1.0, 0.0)), "c": Belief((patch,))}
    tags, mask = Known(tags=frozenset({0, 1})), Known(mask=True)
    (first, *_) = suggestions({name: beliefs[name] for name in "ab"}, {"a": tags, "b": tags}, KINDS)
    assert (first.action, first.novelty) == ("mask", 1.0)
    (only,) = suggestions({name: beliefs[name] for name in "ab"}, {"a": tags, "b": mask}, KINDS)
    assert (only.action, only.novelty) == ("mask", 0.0)
    # Nobody knows what it looks like: it may be anything.
    assert suggestions(beliefs, {"a": mask}, KINDS)[0].name == "c"


def test_beliefs_of_a_model(tmp_path: Path) -> None:
    dataset = write_toy(tmp_path / "toy", n_train=8, n_validation=2)
    model = Segmenter(toy_preset()).fit(write_mixed(tmp_path / "mixed", dataset)).predictor_
    photos = [Shrunk(FilePhoto(one.name, one.path), model.max_side) for one in dataset.split("validation")]
    prepared = FeatureStore(None).prepare(model.preset, photos)
    for one, labels in zip(prepared, model.labelings(prepared), strict=True):
        belief = Belief.of(model, one, labels)
        shares = one.problem.node_sizes / one.problem.node_sizes.sum()
        doubt = 1 - model.scores(one.problem, model.energy(one), labels)
        assert sum(patch.area for patch in belief.patches) == pytest.approx(1.0)
        assert sum(p.area * p.doubt for p in belief.patches) == pytest.approx(float(shares @ doubt), rel=1e-4)
        for label in range(4):
            area = sum(patch.area for patch in belief.patches if patch.label == label)
            assert area == pytest.approx(float(shares[labels == label].sum()))
        assert Belief.from_json(belief.to_json()).to_json() == belief.to_json()
        assert np.linalg.norm(belief.place) == pytest.approx(1.0)
        errors = [patch.error for patch in belief.patches]
        assert errors == sorted(errors, reverse=True)
        found = per_size(margins(one.problem, model.weights, labels, 4), one.problem)
        assert np.all(found >= 0)
