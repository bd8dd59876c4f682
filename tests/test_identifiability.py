"""Labels that cannot be told apart: against all permutations, by hand, and with what is advised done."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility import identifiability
from multiutility.identifiability import LEAST, SHARE, Bag, Group, unidentified, warn_unidentified

N_LABELS = 4
ALL = frozenset(range(N_LABELS))


def tags(*labels: int) -> Bag:
    return Bag(frozenset(labels))


def clicked(bag: Bag, labels: frozenset[int]) -> Bag:
    """The bag with a point of each of the labels that it names."""
    return Bag(bag.tagged - labels, bag.placed | (bag.tagged & labels))


@st.composite
def bags(draw: st.DrawFn, max_size: int = 14) -> list[Bag]:
    """Some different bags, each several times: labels often come together then."""
    some = st.frozensets(st.sampled_from(sorted(ALL)))
    kinds = draw(st.lists(st.tuples(some, st.sampled_from([frozenset(), frozenset({0}), ALL])), max_size=5))
    chosen = [Bag(named - placed, named & placed) for named, placed in kinds]
    return draw(st.lists(st.sampled_from(chosen or [Bag()]), max_size=max_size))


def renamed(bag: Bag, names: tuple[int, ...]) -> tuple[frozenset[int], tuple[int, ...]]:
    """Tags by their new names, and what now has each of the places."""
    return frozenset(names[k] for k in bag.tagged), tuple(names[k] for k in sorted(bag.placed))


def groups_of(pairs: set[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Connected components of pairs, by merging until nothing changes."""
    parts = [{label} for label in sorted(ALL)]
    for first, second in sorted(pairs):
        one, other = (next(part for part in parts if label in part) for label in (first, second))
        if one is not other:
            one |= other
            parts.remove(other)
    return sorted(tuple(sorted(part)) for part in parts if len(part) > 1)


@given(bags())
def test_without_allowances_groups_are_what_can_be_permuted(some: list[Bag]) -> None:
    named = frozenset[int]().union(*(bag.tagged | bag.placed for bag in some))
    same = tuple(sorted(ALL))
    exchanged: set[tuple[int, int]] = set()
    for names in permutations(same):
        if all(renamed(bag, names) == renamed(bag, same) for bag in some):
            exchanged |= {(min(k, m), max(k, m)) for k, m in enumerate(names) if k != m and k in named}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifiability, "LEAST", 1)
        patch.setattr(identifiability, "SHARE", 0.0)
        assert [group.labels for group in unidentified(some, N_LABELS)] == groups_of(exchanged)


@given(bags(max_size=60))
def test_pairs_that_too_few_tell_apart(some: list[Bag]) -> None:
    pairs = set()
    for a, b in combinations(sorted(ALL), 2):
        either = [bag for bag in some if {a, b} & (bag.tagged | bag.placed)]
        together = [bag for bag in either if {a, b} <= bag.tagged]
        places = [bag for bag in either if {a, b} & bag.placed]
        telling = len(either) - len(together)
        few = telling < LEAST and telling < len(together)
        if few or (telling < SHARE * len(either) and len(places) < LEAST):
            pairs.add((a, b))
    found = unidentified(some, N_LABELS)
    assert [group.labels for group in found] == groups_of(pairs)
    for group in found:
        labels = set(group.labels)
        named = [bag for bag in some if labels & (bag.tagged | bag.placed)]
        assert group.n_together + group.n_apart == len(named)
        assert group.n_together == sum(labels <= bag.tagged for bag in named)
        assert group.n_placed == sum(bool(labels & bag.placed) for bag in named)


@given(bags(max_size=60))
def test_what_is_advised_is_enough_and_not_more(some: list[Bag]) -> None:
    for group in unidentified(some, N_LABELS):
        labels = frozenset(group.labels)
        whole = [n for n, bag in enumerate(some) if labels <= bag.tagged]
        for n_clicked in range(1, min(group.n_wanted, len(whole)) + 1):
            chosen = whole[:n_clicked]
            more = [clicked(bag, labels) if n in chosen else bag for n, bag in enumerate(some)]
            left = [one for one in unidentified(more, N_LABELS) if labels & set(one.labels)]
            assert bool(left) == (n_clicked < group.n_wanted)


def test_labels_that_always_come_together() -> None:
    assert unidentified([tags(0, 1, 2), tags(0, 1)] * 6, 3) == [Group((0, 1), n_together=12)]
    assert unidentified([tags(0, 1), tags(2, 3)], 4) == [
        Group((0, 1), n_together=1, n_wanted=1),
        Group((2, 3), n_together=1, n_wanted=1),
    ]


def test_a_label_among_those_of_another_is_told_by_where_the_other_is_alone() -> None:
    cows, meadows = [tags(0, 1)] * 20, [tags(0)]
    assert unidentified(cows + meadows * 2, 2) == [Group((0, 1), n_together=20, n_apart=2, n_wanted=1)]
    assert unidentified(cows + meadows * 3, 2) == []


def test_three_of_very_many_are_too_few_unless_they_give_a_place() -> None:
    many = [tags(0, 1)] * 97
    assert unidentified([*many, *[tags(0)] * 3], 2) == [Group((0, 1), n_together=97, n_apart=3)]
    assert unidentified([*many, *[Bag(frozenset({1}), frozenset({0}))] * 3], 2) == []


def test_labels_that_never_come_together_need_nothing() -> None:
    assert unidentified([tags(0, 2), tags(1, 3)] * 5, 4) == [
        Group((0, 2), n_together=5),
        Group((1, 3), n_together=5),
    ]
    assert unidentified([tags(0), tags(1)], 3) == []
    assert unidentified([], 3) == []


def test_the_last_label_is_told_by_elimination() -> None:
    field = Bag(tagged=frozenset({0}), placed=frozenset({1, 2}))
    assert unidentified([field] * 24, 3) == []
    assert unidentified([tags(0, 1, 2)] * 24, 3) == [Group((0, 1, 2), n_together=24)]
    # Two that nothing places are left, whatever is known of the third.
    half = Bag(tagged=frozenset({0, 1}), placed=frozenset({2}))
    assert unidentified([half] * 24, 3) == [Group((0, 1), n_together=24)]


def test_one_click_is_left_after_two_masks() -> None:
    masks = [Bag(placed=frozenset({0, 1}))] * 2
    assert unidentified([tags(0, 1)] * 9 + masks, 2) == [
        Group((0, 1), n_together=9, n_apart=2, n_placed=2, n_wanted=1)
    ]
    assert unidentified([tags(0, 1)] * 9 + masks + masks, 2) == []


def test_labels_must_be_there() -> None:
    with pytest.raises(ValueError, match=r"bags\[1\] names label 3: expected labels in 0..2"):
        unidentified([tags(0, 1), tags(2, 3)], 3)


def test_a_single_image_is_told_as_such() -> None:
    (group,) = unidentified([tags(0, 1, 2)], 3)
    assert group.advice(["sky", "road", "car"]) == (
        "sky, road and car come together in the only image that has them, and nothing says where they are: "
        "click one point of each in one image"
    )


def test_warnings_have_names() -> None:
    with pytest.warns(identifiability.UnidentifiedLabelsWarning, match="^sky and road come together") as told:
        warn_unidentified([Group((0, 1), 9)], ["sky", "road"])
    assert len(told) == 1
