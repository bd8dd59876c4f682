"""Loose boxes: the object is inside, and need not touch the sides."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from examples import EXAMPLES
from multiutility.annotations import LOOSE, Box, Boxes, Full, Profile, estimate_profiles
from multiutility.annotations.lines import MARGIN, loosened
from multiutility.datasets import Classes, DatasetFolder, NewSample, write_dataset
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.coco import read_coco
from multiutility.datasets.formats.coco_export import write_coco
from multiutility.datasets.formats.export import USUAL, without_others
from multiutility.datasets.formats.labelme import write_labelme
from multiutility.kinds import TABLES, PixelAnnotation, PixelBox
from multiutility.kinds.boxes import BOXES, box_nodes, loose, loosen
from multiutility.kinds.drawing import Sketch
from multiutility.learning.examples import make_examples
from multiutility.learning.selection.provable import provable_errors
from multiutility.learning.selection.reading import MARKS, clues_of
from multiutility.learning.starts.soft_labels import least_sizes
from multiutility.problem import LabelingProblem
from multiutility.vision.photo import photos
from multiutility.vision.rasterize import rasterize
from multiutility.vision.rehearsal import margin_of, rehearsal, styles_of
from multiutility.vision.training_set import AnnotatedPhoto, TrainingSet
from multiutility.vision.weaken import weaken
from toy import CLASSES, COW, toy_picture, toy_preset

HEADER = "image,label,left,top,right,bottom"
REGIONS = np.arange(9, dtype=np.int32).reshape(3, 3)
GRID = LabelingProblem(np.zeros((9, 1)), [], np.zeros((0, 1)))


def chance(place: float) -> float:
    """Chance that a margin, which is anywhere in 0..1/4 alike, leaves a place to the object."""
    return min(1.0, 4 * place, 4 * (1 - place))


def test_lines_cost_by_the_chance_that_the_object_reaches_them() -> None:
    places = np.linspace(0, 1, len(LOOSE.rows))
    np.testing.assert_allclose(LOOSE.rows, [0.5 * 0.75 * chance(place) for place in places], atol=1e-12)
    np.testing.assert_array_equal(LOOSE.rows, LOOSE.columns)
    box = box_nodes(PixelBox(0, 0, 0, 8, 6, tight=False), np.zeros((6, 8), dtype=np.int32), shrink=0.0)
    for costs, n in ((box.row_costs, 6), (box.column_costs, 8)):
        chances = np.array([chance((line + 0.5) / n) for line in range(n)])
        np.testing.assert_allclose(costs, 48 * 0.5 * 0.75**2 * chances / chances.sum())


def test_a_loosened_profile_is_the_mean_over_random_margins() -> None:
    tight = Profile([0.2, 0.9, 0.4], [0.7])
    rng = np.random.default_rng(0)
    before, after = rng.uniform(0, 0.25, (2, 200_000))
    for place in (0.1, 0.25, 0.5, 0.85):
        inside = (place - before) / (1 - before - after)
        shares = np.interp(inside, [0, 0.5, 1], tight.rows) * ((inside > 0) & (inside < 1))
        assert np.interp(place, np.linspace(0, 1, 21), loosened(tight).rows) == pytest.approx(
            0.75 * shares.mean(), abs=0.006
        )


def test_law_and_constraints_for_every_labeling() -> None:
    part = REGIONS[:2, :2]
    both = [Box(1, part, part.T, tight=False), Box(1, [[8]], [[8]])]
    annotation = Boxes(both, n_labels=2, tags=[0])
    energy, constraints = annotation.loss_energy(GRID), annotation.constraints(GRID)
    inside = {0, 1, 3, 4, 8}
    # The lines of the first are at a quarter and three quarters, where the chances are alike.
    line, whole = 4 * 0.5 * 0.75**2 / 2, 0.5
    for labels in product(range(2), repeat=9):
        hits = np.array(labels).reshape(3, 3) == 1
        loss = float(sum(labels[i] for i in range(9) if i not in inside))
        loss += 4.0 * all(labels)  # sigma: nodes of no box
        loss += line * sum(not hits[p, :2].any() for p in range(2))
        loss += line * sum(not hits[:2, p].any() for p in range(2))
        loss += 2 * whole * (not hits[2, 2])
        assert annotation.loss(GRID, labels) == pytest.approx(loss)
        assert energy.evaluate(labels) == pytest.approx(-loss)
        # Only the tight one must have its label.
        agrees = bool(hits[2, 2]) and not any(labels[i] for i in range(9) if i not in inside)
        assert constraints.satisfied(labels) == agrees


def test_sizes_are_those_of_tight_boxes_inside() -> None:
    part = REGIONS[:2, :2]
    sizes = [Boxes([Box(1, part, part.T, tight=t)], 2, [0]).label_sizes(GRID)[1] for t in (True, False)]
    assert sizes == [2.0, 2.0 * 0.75**2]
    mixed = Boxes([Box(1, part, part.T, tight=False), Box(1, [[8]], [[8]])], 2, [0])
    assert mixed.label_sizes(GRID)[1] == pytest.approx((4 * 0.75**2 + 1) / 2)


def test_loose_boxes_are_among_the_examples_of_the_conformance_suite() -> None:
    rng = np.random.default_rng(0)
    found = {box.tight for _ in range(20) for box in getattr(EXAMPLES["Boxes"](rng)[0], "boxes", ())}
    assert found == {True, False}


def test_profiles_are_learned_from_tight_boxes_and_loosened_for_loose_ones() -> None:
    box = Box(1, rows=[[0], [1], [2]], columns=[[0, 1, 2]], tight=False)
    line = LabelingProblem(np.zeros((3, 1)), [], np.zeros((0, 1)))
    assert estimate_profiles([[box]], [line], [Full.from_labels([0, 1, 1], n_labels=2)]) == {}
    marks = PixelAnnotation(tags=(0,), boxes=(PixelBox(1, 0, 0, 3, 3, tight=False),))
    known = Profile([0.2, 0.4], [0.3])
    joint = rasterize(marks, REGIONS, 2, profiles={1: known}, shrink=0.0)
    expected = box_nodes(marks.boxes[0], REGIONS, 0.0, loosened(known))
    np.testing.assert_array_equal(joint.boxes[0].row_costs, expected.row_costs)  # type: ignore[union-attr]


def test_provable_errors_count_lines_by_the_chance_that_they_are_reached() -> None:
    center, nothing = np.eye(9, dtype=int)[4], np.zeros(9, dtype=int)
    sides = 2 * chance(1 / 6)
    for tight, missed in ((True, (2 / 3, 1.0)), (False, (sides / (sides + 1), 1.0))):
        annotation = Boxes([Box(1, REGIONS, REGIONS.T, tight=tight)], 2, [0])
        for labels, share in zip((center, nothing), missed, strict=True):
            assert provable_errors([GRID], [annotation], [labels]).missed[1] == pytest.approx(share)


@pytest.mark.parametrize("margin", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("shrink", [0.0, 0.06])
def test_nodes_are_reached_as_often_as_tight_boxes_with_random_margins_have_them(
    margin: float, shrink: float
) -> None:
    rng, size = np.random.default_rng(1), 20
    regions = (np.arange(size) // 4 * 5 + np.arange(size)[:, np.newaxis] // 4 * 25).astype(np.int32) // 5
    box = box_nodes(PixelBox(0, 0, 0, size, size, tight=False), regions, shrink, margin=margin)
    times, n_times = np.zeros(regions.max() + 1), 4000
    for left, right, top, bottom in rng.uniform(0, margin * size, (n_times, 4)):
        inside = PixelBox(0, left, top, size - right, size - bottom)
        times[np.intersect1d(box_nodes(inside, regions, shrink).nodes, box.nodes)] += 1
    # Margins on both sides of a line are taken as apart: the middle of a very loose box is nearly sure.
    np.testing.assert_allclose(box.reached, np.maximum(times[box.nodes] / n_times, 0.01), atol=0.06)


def test_a_box_without_margins_is_read_as_a_tight_one() -> None:
    part = REGIONS[:2, :2]
    tight, loose_one = Box(1, part, part.T), Box(1, part, part.T, tight=False, margin=0.0)
    first, second = (Boxes([box], 2, [0]) for box in (tight, loose_one))
    np.testing.assert_array_equal(first.prior(GRID), second.prior(GRID))
    np.testing.assert_allclose(first.label_sizes(GRID), second.label_sizes(GRID))
    np.testing.assert_array_equal(clues_of(first, GRID).terms, clues_of(second, GRID).terms)
    assert least_sizes(make_examples([GRID], [first])[0]) == least_sizes(make_examples([GRID], [second])[0])
    with pytest.raises(ValueError, match=r"margin is 0\.5: expected a share"):
        Box(1, part, part.T, tight=False, margin=0.5)


def test_labels_are_less_likely_near_the_sides_of_loose_boxes() -> None:
    boxes = [Box(1, REGIONS, REGIONS.T, tight=False), Box(2, [[4]], [[4]])]
    joint = Boxes(boxes, 3, [0])
    reach = joint.reach(GRID)
    side, corner = chance(1 / 6), chance(1 / 6) ** 2
    expected = [corner, side, corner, side, 1.0, side, corner, side, corner]
    np.testing.assert_allclose(reach[:, 1], expected)
    assert (reach[:, [0, 2]] == 1).all()
    np.testing.assert_allclose(clues_of(joint, GRID).terms[MARKS.index("chance")], np.log(reach))
    np.testing.assert_allclose(joint.prior(GRID)[0], [1 / (1 + corner), corner / (1 + corner), 0.0])


def test_margins_are_estimated_from_masks_and_tight_boxes() -> None:
    rng = np.random.default_rng(0)
    for larger in (0.1, 0.2, 0.5):
        annotations = []
        for n in range(60):
            width, height = rng.integers(20, 60, 2)
            if n % 3:
                box = loosen(PixelBox(1, 100, 100, 100 + width, 100 + height), larger, (300, 300))
                annotations.append(PixelAnnotation(boxes=(box,)))
            else:
                mask = np.ones((300, 300), dtype=np.uint8)
                mask[100 : 100 + height, 100 : 100 + width] = 2
                annotations.append(PixelAnnotation(mask=mask))
        # A box that is larger by s has both margins, in the mean margin / 2 each, of 1 - 1 / (1 + s).
        assert margin_of(annotations) == pytest.approx(1 - 1 / (1 + larger), abs=0.07)
        (style,) = styles_of(annotations)
        assert style.margin == margin_of(annotations)
    tight = [PixelAnnotation(boxes=(PixelBox(0, 0, 0, 9, 9),))]
    assert margin_of(tight) == margin_of([]) == MARGIN


def test_masks_of_other_labels_tell_nothing_of_margins() -> None:
    loose_one = PixelAnnotation(boxes=(PixelBox(1, 0, 0, 9, 9, tight=False),) * 3)
    mask = PixelAnnotation(mask=np.full((40, 40), 3, dtype=np.uint8))
    assert margin_of([loose_one, mask]) == MARGIN


def write(folder: Path, text: str) -> DatasetFolder:
    image = np.zeros((20, 30, 3), dtype=np.uint8)
    annotation = PixelAnnotation(tags=(0,), boxes=(PixelBox(1, 2, 2, 12, 12),))
    write_dataset(folder, Classes.from_names(["grass", "cow"]), [NewSample("a", image, annotation)], {})
    assert (folder / "boxes.csv").read_text() == f"{HEADER}\na,cow,2,2,12,12\n"
    (folder / "boxes.csv").write_text(text)
    return DatasetFolder(folder)


@pytest.mark.parametrize(("field", "tight"), [("0", False), ("1", True), ("", True), (" 0 ", False)])
def test_the_column_is_read_and_written_if_needed(tmp_path: Path, field: str, tight: bool) -> None:
    dataset = write(tmp_path, f"{HEADER},tight\na,cow,2,2,12,12,{field}\na,cow,1,1,3,3,\n")
    boxes = dataset["a"].annotation().boxes
    assert [box.tight for box in boxes] == [tight, True]
    write_dataset(
        tmp_path / "again", dataset.classes, [NewSample("a", dataset["a"].path, dataset["a"].marks)]
    )
    tail = ("", "", "") if tight else (",tight", ",0", ",")
    rows = (HEADER, "a,cow,2,2,12,12", "a,cow,1,1,3,3")
    expected = "".join(f"{row}{end}\n" for row, end in zip(rows, tail, strict=True))
    assert (tmp_path / "again" / "boxes.csv").read_text() == expected


@pytest.mark.parametrize(("field", "what"), [("2", "neither 1 nor 0"), ("no", "not a number")])
def test_other_values_are_told_with_file_and_row(tmp_path: Path, field: str, what: str) -> None:
    with pytest.raises(DatasetError, match=what) as caught:
        write(tmp_path, f"{HEADER},tight\na,cow,2,2,12,12,1\na,cow,1,1,3,3,{field}\n")
    assert (caught.value.path.name, caught.value.row) == ("boxes.csv", 3)


def test_all_boxes_can_be_taken_as_loose(tmp_path: Path) -> None:
    dataset = write(tmp_path, f"{HEADER}\na,cow,2,2,12,12\n")
    changed = dataset.changed(BOXES.name, loose)
    assert changed["a"].annotation().boxes == (PixelBox(1, 2, 2, 12, 12, tight=False),)
    assert dataset["a"].annotation().boxes == (PixelBox(1, 2, 2, 12, 12),)


def test_resized_boxes_stay_loose() -> None:
    box = PixelBox(1, 2, 2, 12, 12, tight=False)
    assert BOXES.resized((box,), (20, 30), (10, 15)) == (PixelBox(1, 1, 1, 6, 6, tight=False),)
    assert TABLES["boxes"].parse(1, TABLES["boxes"].fields(box), []) == box


def test_loose_frames_have_gaps() -> None:
    shown = []
    for tight in (True, False):
        sketch = Sketch(np.zeros((60, 80, 3), dtype=np.uint8), ["cow"], np.full((2, 3), 200, dtype=np.uint8))
        BOXES.draw(sketch, (PixelBox(0, 5, 10, 70, 50, tight),))
        shown.append(np.asarray(sketch.canvas).any(axis=2))
    whole, dashed = shown
    assert not (dashed & ~whole).any()
    assert 0.3 < dashed.sum() / whole.sum() < 0.7


@pytest.mark.parametrize("side", [40.5, 41.3, 45.9, 49.99])
def test_loose_frames_that_end_between_pixels_are_drawn(side: float) -> None:
    sketch = Sketch(np.zeros((60, 80, 3), dtype=np.uint8), ["cow"], np.full((2, 3), 200, dtype=np.uint8))
    BOXES.draw(sketch, [PixelBox(0, x, x, side, side, tight=False) for x in np.linspace(0, 40, 41).tolist()])
    assert np.asarray(sketch.canvas).any()


def test_weaken_makes_boxes_larger_and_says_so(tmp_path: Path) -> None:
    mask = np.ones((20, 30), dtype=np.uint8)
    mask[5:15, 0:10] = 2
    classes = Classes.from_names(["grass", "cow"])
    one = NewSample("a", np.zeros((20, 30, 3), dtype=np.uint8), PixelAnnotation(mask=mask))
    write_dataset(tmp_path / "full", classes, [one])
    table = (tmp_path / "full" / "classes.csv").read_text().splitlines()
    table[2] = table[2].replace("stuff", "thing")
    (tmp_path / "full" / "classes.csv").write_text("\n".join(table) + "\n")
    dataset = DatasetFolder(tmp_path / "full")
    (made,) = weaken(dataset, boxes=True, loosen_boxes=0.2)
    assert made.annotation.boxes == (PixelBox(1, 0, 4, 11, 16, tight=False),)
    (tight,) = weaken(dataset, boxes=True)
    assert tight.annotation.boxes == (PixelBox(1, 0, 5, 10, 15),)
    with pytest.raises(ValueError, match="larger by 2 of their size"):
        weaken(dataset, boxes=True, loosen_boxes=2.0)


def test_rehearsals_have_loose_boxes_where_others_do() -> None:
    mask = np.ones((40, 40), dtype=np.uint8)
    mask[10:22, 10:22] = 2
    for box in (PixelBox(1, 0, 0, 9, 9), PixelBox(1, 0, 0, 9, 9, tight=False)):
        (style,) = styles_of([PixelAnnotation(boxes=(box,))])
        again = rehearsal(PixelAnnotation(mask=mask), style)
        assert again is not None
        (made,) = again.boxes
        assert made.tight == box.tight
        expected = (10, 10, 22, 22) if box.tight else (8, 8, 24, 24)
        assert (made.left, made.top, made.right, made.bottom) == pytest.approx(expected)


def test_formats_keep_loose_boxes_or_refuse_them(tmp_path: Path) -> None:
    classes, image = Classes.from_names(["grass", "cow"]), np.zeros((20, 30, 3), dtype=np.uint8)
    boxes = (PixelBox(1, 2, 3, 12, 13, tight=False), PixelBox(1, 15, 3, 20, 9))
    sample = NewSample("a", image, PixelAnnotation(boxes=boxes))
    write_coco(tmp_path / "coco", classes, [sample], {})
    (again,) = read_coco(tmp_path / "coco").samples
    assert again.annotation.boxes == boxes
    with pytest.raises(DatasetError, match="has loose boxes, which this format cannot keep"):
        write_labelme(tmp_path / "labelme", classes, [sample], {})
    (left,) = without_others([sample], USUAL)
    assert left.annotation.boxes == boxes[1:]


def test_margins_of_loosened_boxes_are_half_on_each_side() -> None:
    assert loosen(PixelBox(0, 10, 10, 20, 30), 0.5, (100, 100)) == PixelBox(0, 7.5, 5, 22.5, 35, tight=False)


def test_annotations_are_read_once_more_for_loose_boxes_only() -> None:
    rng, reads = np.random.default_rng(0), list[int]()
    pictures = [toy_picture(rng) for _ in range(3)]

    def read_all(*, tight: bool) -> list[int]:
        boxes = (PixelBox(COW, 10, 20, 30, 30, tight=tight),)
        said = [PixelAnnotation(mask=pictures[0][1]), *[PixelAnnotation(tags=(0,), boxes=boxes)] * 2]

        def read(n: int) -> PixelAnnotation:
            reads.append(n)
            return said[n]

        reads.clear()
        taken = photos([image for image, _ in pictures])
        annotated = [AnnotatedPhoto(photo, partial(read, n)) for n, photo in enumerate(taken)]
        TrainingSet.prepare(annotated, CLASSES, toy_preset(), 640).annotations(beta=1.0)
        return sorted(reads)

    assert read_all(tight=True) == [0, 1, 2]
    assert read_all(tight=False) == [0, 0, 1, 1, 2, 2]
