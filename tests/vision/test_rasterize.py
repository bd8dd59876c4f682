"""Annotations of pixels in superpixels: against the protocol's numbers, and against the pixels themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility import LabelingProblem
from multiutility.annotations import LINEAR, Annotation, Full, Joint
from multiutility.checks import check_annotation
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import clip, shrunk, union_area
from multiutility.vision.rasterize import rasterize
from pictures import Picture, pixel_loss, random_picture, random_regions

GRASS, SKY, COW, OTHER = range(4)

# 4 rows x 6 columns of pixels, superpixels of 2 x 2.
REGIONS = np.arange(6, dtype=np.int32).reshape(2, 3).repeat(2, axis=0).repeat(2, axis=1)
COW_BOX = PixelBox(COW, left=2, top=1, right=4, bottom=4)
COW_SEEDS = (PixelSeed(COW, x=2, y=2), PixelSeed(COW, x=3, y=0))
ANNOTATIONS = (
    PixelAnnotation(tags=(GRASS, SKY, COW)),
    PixelAnnotation(tags=(GRASS, SKY), boxes=(COW_BOX,)),
    PixelAnnotation(tags=(GRASS, SKY), seeds=COW_SEEDS[:1]),
    PixelAnnotation(tags=(GRASS, SKY), seeds=COW_SEEDS),
)
TABLE: dict[tuple[int, ...], tuple[float, ...]] = {
    (1, 1, 1, 0, 2, 0): (0, 1, 4.3452, 4.7234),
    (1, 1, 1, 0, 0, 0): (8, 6, 7.1516, 6.9073),
    (1, 1, 1, 0, 3, 0): (12, 10, 11.1516, 10.9073),
    (1, 1, 1, 2, 2, 0): (0, 5, 2.8658, 3.9947),
    (1, 2, 1, 0, 2, 0): (0, 0, 2.8658, 1.8769),
}


def problem_of(regions: Any, cell: float = 1.0) -> LabelingProblem:
    sizes = np.bincount(np.asarray(regions).ravel())
    return LabelingProblem(np.zeros((len(sizes), 1)), [], np.zeros((0, 1)), sizes * cell)


def known(annotation: Annotation | None) -> Annotation:
    assert annotation is not None
    return annotation


def joint_of(annotation: PixelAnnotation, regions: Any, n_labels: int = 4, **options: Any) -> Joint:
    joint = rasterize(annotation, regions, n_labels, **options)
    assert isinstance(joint, Joint)
    return joint


def full_of(mask: Any, regions: Any, n_labels: int, **options: Any) -> Full:
    full = rasterize(PixelAnnotation(mask=np.array(mask, dtype=np.uint8)), regions, n_labels, **options)
    assert isinstance(full, Full)
    return full


def allowed_of(joint: Joint, regions: Any) -> Any:
    return joint.constraints(problem_of(regions)).allowed


def pixels_of(picture: Picture) -> PixelAnnotation:
    return PixelAnnotation(
        tags=tuple(picture.tags),
        boxes=tuple(PixelBox(b.label, b.left, b.top, b.right, b.bottom) for b in picture.boxes),
        seeds=tuple(PixelSeed(*seed) for seed in picture.seeds),
    )


@pytest.mark.parametrize("labels", TABLE)
@pytest.mark.parametrize("column", range(4))
def test_numbers_of_the_protocol(labels: tuple[int, ...], column: int) -> None:
    annotation = known(rasterize(ANNOTATIONS[column], REGIONS, 4))
    expected = pytest.approx(TABLE[labels][column], abs=5e-5)
    assert annotation.loss(problem_of(REGIONS), labels) == expected
    assert -annotation.loss_energy(problem_of(REGIONS)).evaluate(labels) == expected


@pytest.mark.parametrize("parts", ["t", "tb", "ts", "tbs", "bs", "b", "s"])
def test_losses_are_those_of_the_pixels(parts: str) -> None:
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(25):
        picture = random_picture(rng, parts)
        problem, options = picture.problem(), dict(picture.options)
        joint = joint_of(pixels_of(picture), picture.regions, picture.n_labels, **options)
        if len(joint.seeds) < len(picture.seeds):
            continue  # Seeds left out are another test's.
        compared += 1
        for labels in rng.integers(picture.n_labels, size=(6, problem.n_nodes)):
            loss = pixel_loss(picture, labels.tolist())
            assert joint.loss(problem, labels) == pytest.approx(loss, abs=1e-9)
            satisfied = picture.rasterize().constraints(problem).satisfied(labels)
            assert joint.constraints(problem).satisfied(labels) == satisfied
    assert compared > 15


def exact_lines(start: int, stop: int) -> list[int]:
    # In hundredths of a pixel, so that there is no rounding.
    margin = 6 * (stop - start)
    return [x for x in range(start, stop) if 100 * start + margin <= 100 * x + 50 <= 100 * stop - margin]


def test_pixels_are_in_the_shrunk_box_if_their_centers_are() -> None:
    for width in range(1, 330):
        for left in (0, 1, 7, 1000, 123456):
            rows, columns = shrunk(PixelBox(0, left, 3, left + width, 3 + width), 0.06)
            assert list(columns) == exact_lines(left, left + width)
            assert list(rows) == exact_lines(3, 3 + width)
    # Margins of 1.5 pixels: the centers on the border are in, on both sides.
    assert shrunk(PixelBox(0, 0, 0, 25, 1), 0.06) == (range(1), range(1, 24))


def test_the_unshrunk_box_counts_if_no_center_is_left() -> None:
    assert shrunk(PixelBox(0, 3, 5, 5, 15), 0.3) == (range(5, 15), range(3, 5))
    assert shrunk(PixelBox(0, 3, 5, 5, 15), 0.2) == (range(7, 13), range(3, 5))
    assert shrunk(PixelBox(0, 3.4, 0, 3.6, 9.0), 0.06) == (range(1, 8), range(3, 4))
    with pytest.raises(ValueError, match=r"shrink is 0\.5"):
        shrunk(PixelBox(0, 0, 0, 1, 1), 0.5)


def test_boxes_are_clipped_first() -> None:
    assert clip(PixelBox(1, -9.5, 2, 3, 99), (4, 6)) == PixelBox(1, 0, 2, 3, 4)
    outside = PixelBox(COW, -20, 1, 4, 40)
    inside = PixelBox(COW, 0, 1, 4, 4)
    first, second = (joint_of(PixelAnnotation(boxes=(box,)), REGIONS).boxes[0] for box in (outside, inside))
    assert first.area == second.area == 12
    assert first.row_costs.tolist() == second.row_costs.tolist()


def test_superpixels_that_cross_the_border_are_in_if_a_shrunk_pixel_is() -> None:
    # 100 columns, superpixels of 10: the box reaches from 18 to 72, less 3.24 on each side.
    regions = np.repeat(np.arange(10), 10)[np.newaxis].repeat(30, axis=0)
    box = PixelBox(1, 18, 0, 72, 30)
    joint = joint_of(PixelAnnotation(tags=(0,), boxes=(box,)), regions, n_labels=2)
    assert joint.boxes[0].nodes.tolist() == [2, 3, 4, 5, 6]
    assert joint.outside(problem_of(regions)).tolist() == [True, True, *[False] * 5, True, True, True]
    assert allowed_of(joint, regions)[:, 1].tolist() == [False, False, *[True] * 5, False, False, False]
    whole = joint_of(PixelAnnotation(tags=(0,), boxes=(box,)), regions, n_labels=2, shrink=0.0)
    assert whole.boxes[0].nodes.tolist() == [1, 2, 3, 4, 5, 6, 7]
    # The label costs its pixels outside all boxes, and nothing where it is allowed.
    labels = np.array([1, 0, *[1] * 5, 0, 0, 0])
    assert joint.loss(problem_of(regions), labels) == 300


def test_profiles_are_over_the_box_before_shrinking() -> None:
    regions = np.arange(50 * 40).reshape(50, 40)
    box = joint_of(PixelAnnotation(boxes=(PixelBox(1, 4, 10, 29, 50),)), regions).boxes[0]
    assert (len(box.rows), len(box.columns)) == (36, 23)
    assert box.row_costs.sum() == pytest.approx(25 * 40 / 2)
    assert box.column_costs == pytest.approx(np.full(23, 25 * 40 / 2 / 23))
    annotation = PixelAnnotation(boxes=(PixelBox(1, 4, 10, 29, 50),))
    linear = joint_of(annotation, regions, profiles={1: LINEAR}).boxes[0]
    # The first row left is the third of 40: its center is 2.5 rows from the top.
    assert linear.rows.positions[0] == pytest.approx(2.5 / 40)
    assert linear.row_costs[5] / linear.row_costs[0] == pytest.approx(7.5 / 2.5)
    assert linear.row_costs.sum() == pytest.approx(25 * 40 / 2)


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 2, *[st.integers(1, 6)] * 2), min_size=1, max_size=6))
def test_union_of_boxes_counts_pixels_once(sides: list[tuple[int, int, int, int]]) -> None:
    boxes = [PixelBox(0, x, y, x + w, y + h) for x, y, w, h in sides]
    painted = np.zeros((20, 20), dtype=np.bool_)
    for x, y, w, h in sides:
        painted[y : y + h, x : x + w] = True
    assert union_area(boxes) == painted.sum()
    halves = [PixelBox(0, b.left / 2, b.top / 2, b.right / 2, b.bottom / 2) for b in boxes]
    assert union_area(halves) == painted.sum() / 4


def test_boxes_and_seeds_of_one_label_share_the_area_of_the_union() -> None:
    regions = np.arange(100).reshape(10, 10)
    boxes = (PixelBox(1, 0, 0, 4, 4), PixelBox(1, 2, 0, 6, 4))
    joint = joint_of(PixelAnnotation(tags=(0,), boxes=boxes, seeds=(PixelSeed(1, 2, 2),)), regions, 2)
    assert joint.box_areas == {1: 24}
    tau = 24 / 2
    gaussian = np.exp(-np.pi * ((np.arange(10)[:, np.newaxis] - 2) ** 2 + (np.arange(10) - 2) ** 2) / tau)
    empty = np.zeros(100, dtype=np.int64)
    lines = (16 + 16) / 2  # Each box costs its area, half for its rows and half for its columns.
    assert joint.loss(problem_of(regions), empty) == pytest.approx(lines + gaussian.sum() / 2)
    assert joint.label_sizes(problem_of(regions))[1] == 12


def test_masks_count_pixels() -> None:
    rng = np.random.default_rng(0)
    regions = random_regions(rng, 9, 12, 15)
    mask = rng.integers(4, size=(12, 15)).astype(np.uint8)
    expected = np.zeros((9, 3))
    for place in np.ndindex(12, 15):
        if mask[place]:
            expected[regions[place], mask[place] - 1] += 1
    annotation = PixelAnnotation(mask=mask, tags=(0,), boxes=(PixelBox(0, 0, 0, 1, 1),))
    full = rasterize(annotation, regions, 3)
    assert isinstance(full, Full)  # The mask wins.
    assert full.histograms.tolist() == expected.tolist()


def test_annotations_that_say_nothing() -> None:
    void = np.zeros((4, 6), dtype=np.uint8)
    assert rasterize(PixelAnnotation(), REGIONS, 4) is None
    assert rasterize(PixelAnnotation(mask=void), REGIONS, 4) is None
    assert joint_of(PixelAnnotation(mask=void, tags=(1,)), REGIONS).tags == (1,)


def test_no_tags_besides_boxes() -> None:
    alone = PixelAnnotation(boxes=(COW_BOX,))
    opened, closed = joint_of(alone, REGIONS), joint_of(alone, REGIONS, other=OTHER)
    labels = [GRASS, COW, SKY, OTHER, COW, OTHER]
    assert opened.loss(problem_of(REGIONS), labels) == 0
    assert allowed_of(opened, REGIONS)[:, [GRASS, SKY, OTHER]].all()
    assert closed.loss(problem_of(REGIONS), labels) == 8
    assert not allowed_of(closed, REGIONS)[:, [GRASS, SKY]].any()
    # With tags, other is a class like any other: absent unless it is tagged.
    tagged = joint_of(PixelAnnotation(tags=(GRASS,), boxes=(COW_BOX,)), REGIONS, other=OTHER)
    assert not allowed_of(tagged, REGIONS)[:, OTHER].any()


def test_units_do_not_matter() -> None:
    annotation = PixelAnnotation(
        tags=(GRASS,), boxes=(COW_BOX,), seeds=(PixelSeed(COW, 2, 2), PixelSeed(SKY, 0, 0))
    )
    pixels, shares = joint_of(annotation, REGIONS), joint_of(annotation, REGIONS, cell=1 / 24)
    for labels in TABLE:
        loss = pixels.loss(problem_of(REGIONS), labels)
        assert shares.loss(problem_of(REGIONS, 1 / 24), labels) == pytest.approx(loss / 24)
    mask = np.full((4, 6), 2)
    full = full_of(mask, REGIONS, 4, cell=1 / 24)
    assert full.loss(problem_of(REGIONS, 1 / 24), [0] * 6) == pytest.approx(1)


def test_seeds_share_the_regions_and_leave_them_alone() -> None:
    regions = REGIONS.copy()
    joint = joint_of(PixelAnnotation(seeds=COW_SEEDS), regions)
    masses: list[Any] = [seed.mass for seed in joint.seeds]
    assert np.shares_memory(masses[0].regions, masses[1].regions)
    assert regions.flags.writeable
    regions[:] = 0
    assert masses[0].regions.max() == 5


def test_several_seeds_of_a_label_in_one_superpixel_all_count() -> None:
    seeds = (PixelSeed(COW, 2, 2), PixelSeed(COW, 3, 3))
    joint = joint_of(PixelAnnotation(tags=(GRASS,), seeds=seeds), REGIONS)
    assert [seed.node for seed in joint.seeds] == [4, 4]
    tau = 24 / 2 / 2
    total = sum(
        np.exp(-np.pi * ((x - seed.x) ** 2 + (y - seed.y) ** 2) / tau)
        for seed in seeds
        for y, x in np.ndindex(4, 6)
    )
    assert joint.loss(problem_of(REGIONS), [GRASS] * 6) == pytest.approx(total)


def test_of_seeds_of_several_labels_the_nearest_to_the_center_decides() -> None:
    regions = np.zeros((5, 5), dtype=np.int32)
    regions[:, 4] = 1
    seeds = (PixelSeed(SKY, 0, 0), PixelSeed(COW, 2, 2), PixelSeed(COW, 3, 4), PixelSeed(GRASS, 1, 4))
    joint = joint_of(PixelAnnotation(seeds=seeds), regions)
    assert [(seed.label, seed.node) for seed in joint.seeds] == [(COW, 0), (COW, 0)]
    assert joint.tags == (GRASS, SKY)
    # Labels without seeds are still known to be there, and those that nobody named are still open.
    assert allowed_of(joint, regions).tolist() == [[False, False, True, False], [True] * 4]
    problem = problem_of(regions)
    without, with_sky = joint.loss(problem, [COW, OTHER]), joint.loss(problem, [COW, SKY])
    assert without - with_sky == pytest.approx(25 / 3)


def test_labels_without_seeds_left_do_not_push_out_other() -> None:
    seeds = (PixelSeed(SKY, 0, 0), PixelSeed(COW, 1, 1))
    joint = joint_of(PixelAnnotation(seeds=seeds), REGIONS, other=OTHER)
    assert len(joint.seeds) == 1
    assert set(joint.partition.present) == {SKY, COW, OTHER}
    assert joint.partition.absent == (GRASS,)


@pytest.mark.parametrize("other", [None, OTHER])
def test_points_of_all_labels_are_complete_whichever_are_left_out(other: int | None) -> None:
    kept, lost = (PixelSeed(SKY, 0, 0), PixelSeed(COW, 3, 3)), (PixelSeed(GRASS, 1, 1),)
    for seeds in (kept, kept + lost, lost):
        labels = tuple({seed.label for seed in seeds})
        joint = joint_of(PixelAnnotation(tags=labels, seeds=seeds), REGIONS, other=other)
        assert set(joint.partition.present) == set(labels)
        assert joint.partition.complete
        assert not allowed_of(joint, REGIONS)[:, OTHER].any()


def test_seeds_outside_the_boxes_of_their_label_are_left_out() -> None:
    seeds = (PixelSeed(COW, 0, 0), PixelSeed(COW, 3, 3))
    joint = joint_of(PixelAnnotation(tags=(GRASS,), boxes=(COW_BOX,), seeds=seeds), REGIONS)
    assert [seed.node for seed in joint.seeds] == [4]
    assert joint.tags == (GRASS,)
    # In the box, but in the margin of a superpixel that is out.
    regions = np.arange(100, dtype=np.int32)[np.newaxis].repeat(100, axis=0)
    edge = PixelAnnotation(boxes=(PixelBox(COW, 0, 0, 100, 100),), seeds=(PixelSeed(COW, 2, 50),))
    assert joint_of(edge, regions).seeds == ()


def test_boxes_keep_a_superpixel_among_seeds_of_other_labels() -> None:
    seeds = (PixelSeed(SKY, 2, 1), PixelSeed(GRASS, 3, 3), PixelSeed(SKY, 0, 0))
    joint = joint_of(PixelAnnotation(boxes=(COW_BOX,), seeds=seeds), REGIONS)
    # The box has 2 pixels of superpixel 1 and 4 of superpixel 4.
    assert [(seed.label, seed.node) for seed in joint.seeds] == [(SKY, 1), (SKY, 0)]
    assert joint.tags == (GRASS,)
    allowed = allowed_of(joint, REGIONS)
    assert allowed[4, COW]
    assert not allowed[1, COW]


@st.composite
def annotated(draw: st.DrawFn) -> tuple[PixelAnnotation, Any]:
    """Any mix of tags, boxes and seeds, however they contradict each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    regions = random_regions(rng, draw(st.integers(1, min(6, height * width))), height, width)
    label = st.integers(0, 2)
    x, y = st.integers(0, width - 1), st.integers(0, height - 1)
    box = st.builds(
        lambda k, x, y, w, h: PixelBox(k, x, y, x + w, y + h), label, x, y, st.floats(1, 15), st.floats(1, 15)
    )
    annotation = PixelAnnotation(
        tags=tuple(draw(st.lists(st.integers(0, 3), max_size=3))),
        boxes=tuple(draw(st.lists(box, max_size=4))),
        seeds=tuple(draw(st.lists(st.builds(PixelSeed, label, x, y), max_size=5))),
    )
    return annotation, regions


@given(annotated())
def test_whatever_is_said_can_be_used(case: tuple[PixelAnnotation, Any]) -> None:
    annotation, regions = case
    if annotation.empty:
        assert rasterize(annotation, regions, 4) is None
        return
    joint, problem = joint_of(annotation, regions), problem_of(regions)
    assert len(joint.boxes) == len(annotation.boxes)
    assert set(joint.partition.present) == {
        *annotation.tags,
        *(box.label for box in annotation.boxes),
        *(seed.label for seed in annotation.seeds),
    }
    allowed = allowed_of(joint, regions)
    assert all(allowed[box.nodes, box.label].any() for box in joint.boxes)
    spoken = Counter((seed.label, int(regions[seed.y, seed.x])) for seed in annotation.seeds)
    kept = Counter((seed.label, seed.node) for seed in joint.seeds)
    assert all(kept[key] == spoken[key] for key in kept)
    for labels in (joint.start(problem), np.zeros(problem.n_nodes, dtype=np.int32)):
        assert -joint.loss_energy(problem).evaluate(labels) == pytest.approx(joint.loss(problem, labels))


def test_annotations_conform() -> None:
    regions = np.repeat([[0, 1, 1, 2, 2, 3]], 3, axis=0)
    seeds = (PixelSeed(1, 3, 1), PixelSeed(2, 0, 0))
    annotation = PixelAnnotation(tags=(0,), boxes=(PixelBox(1, 2, 0, 5, 3),), seeds=seeds)
    check_annotation(known(rasterize(annotation, regions, 3)), problem_of(regions))
    mask = np.repeat([[0, 1, 2, 3, 3, 0]], 3, axis=0)
    check_annotation(full_of(mask, regions, 3), problem_of(regions))


BOXES_OF_ALL = (PixelBox(0, 0, 0, 2, 2), PixelBox(1, 2, 0, 4, 2))


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (PixelAnnotation(tags=(2,)), r"cow_7: tags\[0\] is 2: labels must be in 0\.\.1"),
        (PixelAnnotation(boxes=(PixelBox(5, 0, 0, 1, 1),)), r"cow_7: labels of boxes\[0\] is 5"),
        (PixelAnnotation(boxes=(PixelBox(0, 6, 0, 9, 3),)), r"cow_7: boxes\[0\]: no pixel is in the box"),
        (PixelAnnotation(boxes=(PixelBox(0, 3, 0, 2, 3),)), r"cow_7: boxes\[0\]: inverted or empty box"),
        (
            PixelAnnotation(seeds=(PixelSeed(0, 6, 1),)),
            r"cow_7: seeds\[0\]: the seed \(x 6, y 1\) is outside",
        ),
        (PixelAnnotation(seeds=(PixelSeed(0, -1, 1),)), r"seeds\[0\]"),
        (PixelAnnotation(mask=np.full((4, 6), 3, np.uint8)), "cow_7: mask: has the index 3"),
        (PixelAnnotation(mask=np.full((6, 4), 1, np.uint8)), "cow_7: mask: has width 4 and height 6"),
        (PixelAnnotation(boxes=BOXES_OF_ALL), "cow_7: every class has a box"),
    ],
)
def test_errors_name_the_image_and_the_record(annotation: PixelAnnotation, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rasterize(annotation, REGIONS, 2, name="cow_7")


def test_bad_regions_are_errors() -> None:
    tags = PixelAnnotation(tags=(0,))
    with pytest.raises(ValueError, match=r"regions has shape \(4,\)"):
        rasterize(tags, np.arange(4), 2)
    with pytest.raises(ValueError, match=r"regions\[0, 0\] is -1"):
        rasterize(tags, REGIONS - 1, 2)
    with pytest.raises(ValueError, match="regions is empty"):
        rasterize(tags, np.zeros((0, 3), dtype=np.int32), 2)


def test_boxes_of_all_classes_may_fill_the_image() -> None:
    boxes = (PixelBox(0, 0, 0, 3, 4), PixelBox(1, 3, 0, 6, 4))
    joint = joint_of(PixelAnnotation(boxes=boxes), REGIONS, n_labels=2)
    assert allowed_of(joint, REGIONS).any(axis=1).all()
