"""Scribbles: in nodes by enumeration, from pixels by loops over them, and strokes that are made of masks."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy import ndimage

from multiutility import LabelingProblem
from multiutility.annotations import Box, Joint, Seed
from multiutility.annotations.scribbled import Scribbled, Stroke
from multiutility.checks import check_annotation
from multiutility.datasets import (
    Classes,
    DatasetFolder,
    NewSample,
    PixelAnnotation,
    PixelBox,
    PixelSeed,
    summarize,
    validate,
    write_dataset,
)
from multiutility.datasets.bags import bag_of
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.export import USUAL, without_others
from multiutility.identifiability import Bag
from multiutility.kinds.grid import Grid
from multiutility.kinds.medial import medial_path, thickened
from multiutility.kinds.objects import objects_of
from multiutility.kinds.scribbles import SHARE, resize_strokes, scribbles_term
from multiutility.learning.selection.provable import provable_errors
from multiutility.learning.selection.reading import clues_of
from multiutility.vision.rasterize import rasterize
from multiutility.vision.rehearsal import rehearsal, styles_of
from multiutility.vision.render import draw_annotation
from multiutility.vision.weaken import weak_annotation
from pictures import Picture, pixel_loss, random_picture, random_regions

GRASS, SKY, COW, OTHER = range(4)
CLASSES = Classes.from_names(["grass", "sky", "cow", "other"])
# 4 rows x 6 columns of pixels, superpixels of 2 x 2.
REGIONS = np.arange(6, dtype=np.int32).reshape(2, 3).repeat(2, axis=0).repeat(2, axis=1)


def strokes(*places: tuple[int, int, int], shape: tuple[int, int] = (4, 6)) -> Any:
    """Strokes of a label, row and column each."""
    value = np.zeros(shape, dtype=np.uint8)
    for label, row, column in places:
        value[row, column] = label + 1
    return value


def problem_of(regions: Any, edges: Any = ()) -> LabelingProblem:
    sizes = np.bincount(regions.ravel())
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return LabelingProblem(np.zeros((len(sizes), 1)), pairs, np.ones((len(pairs), 1)), sizes)


def joint_of(annotation: PixelAnnotation, regions: Any = REGIONS, n_labels: int = 4, **options: Any) -> Joint:
    joint = rasterize(annotation, regions, n_labels, **options)
    assert isinstance(joint, Joint)
    return joint


def random_case(rng: np.random.Generator, parts: str) -> tuple[Picture, list[Stroke], Joint]:
    """Tags, boxes and seeds, with strokes that contradict none of them."""
    while True:
        picture = random_picture(rng, parts, max_nodes=4, max_labels=3)
        alone = picture.rasterize()
        free = set(range(int(picture.regions.max()) + 1)) - {seed.node for seed in alone.seeds}
        found = []
        for node in sorted(free):
            homes = {
                k: {n for box in alone.boxes if box.label == k for n in box.nodes.tolist()} for k in range(3)
            }
            fitting = [k for k in range(picture.n_labels) if not homes[k] or node in homes[k]]
            if fitting and rng.random() < 0.6:
                found.append(Stroke(node, int(rng.choice(fitting))))
        if found:
            boxes = [picture.box(box) for box in picture.boxes]
            seeds = [Seed.in_grid(k, (y, x), picture.regions) for k, x, y in picture.seeds]
            areas = {box.label: float(picture.union(box.label)) for box in picture.boxes}
            options = {"box_areas": areas} | picture.options
            terms = [Scribbled(found)]
            return picture, found, Joint(picture.tags, boxes, seeds, picture.n_labels, terms=terms, **options)


@pytest.mark.parametrize("parts", ["t", "tb", "ts", "tbs", "bs", "b", "s"])
def test_the_loss_is_that_of_the_others_and_hamming_on_the_strokes(parts: str) -> None:
    rng, compared = np.random.default_rng(7), 0
    for _ in range(30):
        picture, found, joint = random_case(rng, parts)
        if joint.partition != picture.rasterize().partition:
            continue  # Strokes that name labels which nobody else does are another test's.
        compared += 1
        problem, omega = picture.problem(), rng.uniform(0.2, 3, picture.n_labels)
        for labels in rng.integers(picture.n_labels, size=(8, problem.n_nodes)):
            others = pixel_loss(picture, labels.tolist(), omega.tolist())
            wrong = sum(omega[k] * problem.node_sizes[node] for node, k, _ in found if labels[node] != k)
            assert joint.weighted(omega).loss(problem, labels) == pytest.approx(others + wrong)
    assert compared > 5


@pytest.mark.parametrize("parts", ["t", "tb", "ts", "tbs", "bs", "b", "s"])
def test_scribbles_conform_beside_all_others(parts: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(6):
        picture, _, joint = random_case(rng, parts)
        edges = [(n, n + 1) for n in range(int(picture.regions.max()))]
        check_annotation(joint, picture.problem(edges))


def test_scribbles_alone_conform_and_leave_all_else_open() -> None:
    joint = Joint.of([Scribbled([Stroke(0, COW), Stroke(3, GRASS)])], n_labels=4)
    problem = LabelingProblem(np.zeros((4, 1)), [[0, 1]], np.ones((1, 1)), node_sizes=[1, 2, 3, 4])
    check_annotation(joint, problem)
    assert joint.partition.absent == ()
    assert joint.loss(problem, [COW, OTHER, SKY, GRASS]) == 0
    # A stroke that is missed, and a label that is nowhere, which costs the half of all that there is.
    assert joint.loss(problem, [SKY, SKY, SKY, GRASS]) == 1 + 5
    consistent = [y for y in product(range(4), repeat=4) if joint.constraints(problem).satisfied(y)]
    assert len(consistent) == 4**2
    assert {(y[0], y[3]) for y in consistent} == {(COW, GRASS)}
    # Not even "other" is what the rest is: nobody has said so.
    other = Joint.of([Scribbled([Stroke(0, COW)])], n_labels=4, other=OTHER)
    assert other.partition.unknown == (GRASS, SKY, OTHER)


def test_tags_stay_tags_and_strokes_add_labels() -> None:
    """One stroke of a cow: the tags and points of the image still count."""
    annotation = PixelAnnotation(
        tags=(GRASS, SKY), seeds=(PixelSeed(SKY, 0, 0),), scribbles=strokes((COW, 2, 2), (COW, 2, 3))
    )
    joint = joint_of(annotation)
    assert joint.partition.present == [SKY, GRASS, COW]
    assert joint.partition.absent == (OTHER,)
    assert [(mark.node, mark.label) for mark in joint.marks] == [(0, SKY), (4, COW)]
    allowed = joint.constraints(problem_of(REGIONS)).allowed
    assert allowed is not None
    assert allowed[4].tolist() == [False, False, True, False]
    assert allowed[1].tolist() == [True, True, True, False]


def test_of_strokes_in_one_superpixel_the_longest_is_right_and_wins_over_points() -> None:
    value = strokes((COW, 2, 2), (COW, 2, 3), (SKY, 3, 2), (GRASS, 0, 0))
    joint = joint_of(PixelAnnotation(scribbles=value, seeds=(PixelSeed(SKY, 1, 1), PixelSeed(SKY, 5, 0))))
    assert [(mark.node, mark.label) for mark in joint.marks] == [(2, SKY), (0, GRASS), (4, COW)]
    # Labels whose strokes or points are all left out are there nevertheless.
    lost = joint_of(PixelAnnotation(scribbles=strokes((COW, 2, 2), (COW, 2, 3), (SKY, 3, 2))))
    assert lost.partition.present == [SKY, COW]
    assert lost.partition.unknown == (GRASS, OTHER)


def test_strokes_outside_the_boxes_of_their_label_are_left_out() -> None:
    box = PixelBox(COW, left=2, top=1, right=4, bottom=4)
    value = strokes((COW, 0, 0), (COW, 3, 3), (GRASS, 1, 2))
    joint = joint_of(PixelAnnotation(tags=(GRASS,), boxes=(box,), scribbles=value))
    assert [(mark.node, mark.label) for mark in joint.marks] == [(1, GRASS), (4, COW)]
    # Where strokes of others have all of a box, it keeps the superpixel that it has most of.
    taken = strokes((GRASS, 1, 2), (SKY, 2, 2), (SKY, 0, 0))
    kept = joint_of(PixelAnnotation(boxes=(box,), scribbles=taken))
    assert [(mark.node, mark.label) for mark in kept.marks] == [(0, SKY), (1, GRASS)]


def test_a_mask_wins_and_nothing_is_nothing() -> None:
    empty, mask = np.zeros((4, 6), dtype=np.uint8), np.ones((4, 6), dtype=np.uint8)
    assert rasterize(PixelAnnotation(scribbles=empty), REGIONS, 4) is None
    assert joint_of(PixelAnnotation(scribbles=empty, tags=(SKY,))).tags == (SKY,)
    assert not isinstance(rasterize(PixelAnnotation(mask, scribbles=mask), REGIONS, 4), Joint)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.full((4, 6), 9, np.uint8), "cow_7: scribbles: has the index 9: there are 4 classes; use 0 where"),
        (np.ones((6, 4), np.uint8), "cow_7: scribbles: has width 4 and height 6"),
    ],
)
def test_errors_name_the_image(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rasterize(PixelAnnotation(scribbles=value), REGIONS, 4, name="cow_7")


def test_contradictions_are_errors() -> None:
    box = Box(1, rows=[[1, 2]], columns=[[1], [2]])
    for terms, message in (
        ([Stroke(0, 5)], r"labels of scribbles\[0\] is 5"),
        ([Stroke(0, 2), Stroke(0, 2)], r"scribbles\[1\] is in node 0 with label 2: it is there already"),
        ([Stroke(0, 2), Stroke(0, 0)], r"scribbles\[1\] is in node 0, which has scribbles of two labels"),
        ([Stroke(0, 1)], r"scribbles\[0\] is in node 0: outside all boxes of its label, 1"),
    ):
        with pytest.raises(ValueError, match=message):
            Joint([0], [box], [], 3, terms=[Scribbled(terms)])


def test_strokes_are_places_for_those_who_choose() -> None:
    """Clues and provable errors of strokes are those of seeds on their nodes."""
    problem = LabelingProblem(np.eye(4), [[0, 1], [1, 2], [2, 3]], np.ones((3, 1)))
    stroke = Joint([0, 1], [], [], 2, terms=[Scribbled([Stroke(0, 1), Stroke(1, 1)])])
    seeds = [Seed.in_grid(1, (node,), np.arange(4)) for node in (0, 1)]
    same = clues_of(Joint([0, 1], [], seeds, 2), problem)
    assert np.array_equal(clues_of(stroke, problem).terms, same.terms)
    errors = provable_errors([problem], [stroke], [np.array([0, 1, 0, 0])])
    # Asked are two nodes and a tag of label 1, and a tag of label 0; one of the nodes is missed.
    assert (errors.missed.tolist(), errors.asked.tolist()) == ([0, 1], [1, 3])
    assert not errors.merged.any()


def test_extents_are_parts_of_the_pixels_of_the_image() -> None:
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, 4, REGIONS.shape).astype(np.uint8)
    regions = np.arange(REGIONS.size).reshape(REGIONS.shape) // 3  # of few pixels each
    term = scribbles_term(drawn, Grid(regions.astype(np.int32), 3))
    found = {(mark.node, mark.label): mark.extent for mark in term.strokes}
    for node in range(int(regions.max()) + 1):
        for label in range(3):
            share = np.mean((regions == node) & (drawn == label + 1))
            assert found.get((node, label), 0.0) == pytest.approx(share)
    assert term.extents is not None
    assert Scribbled([*term.strokes, Stroke(10**6, 0)]).extents is None


def test_bags_have_strokes_as_places() -> None:
    annotation = PixelAnnotation(tags=(GRASS, SKY), scribbles=strokes((SKY, 0, 0), (COW, 1, 1)))
    assert bag_of(annotation, 4, None) == Bag(frozenset({GRASS}), frozenset({SKY, COW}))


@st.composite
def masks(draw: st.DrawFn) -> Any:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    regions = random_regions(rng, draw(st.integers(1, min(8, height * width))), height, width)
    return rng.integers(5, size=8)[regions].astype(np.uint8)


@given(masks())
def test_every_segment_has_a_stroke_inside_of_its_share(mask: Any) -> None:
    weak = weak_annotation(mask, CLASSES, scribbles=True)
    assert weak.tags == tuple(k for k in range(4) if (mask == k + 1).any())
    if not mask.any():
        assert weak.scribbles is None
        return
    value = weak.scribbles
    assert value is not None
    assert (value[value > 0] == mask[value > 0]).all()
    for segment in objects_of(mask, range(4)):
        part = value[segment.rows, segment.columns] * segment.pixels
        assert np.count_nonzero(part) == max(1, round(SHARE * segment.pixels.sum()))
    again: Any = weak_annotation(mask, CLASSES, scribbles=True).scribbles
    assert np.array_equal(value, again)


@given(arrays(np.bool_, st.tuples(st.integers(1, 25), st.integers(1, 25))))
def test_paths_are_connected_within_the_segment(pixels: Any) -> None:
    if not pixels.any():
        return
    path = medial_path(pixels)
    assert pixels[tuple(path.T)].all()
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()
    assert len({tuple(place) for place in path.tolist()}) == len(path)


def test_strokes_keep_off_the_border() -> None:
    y, x = np.mgrid[:90, :140]
    ellipse = ((y - 45) / 40) ** 2 + ((x - 70) / 65) ** 2 < 1
    stroke = thickened(medial_path(ellipse), ellipse, 250)
    inner = ndimage.distance_transform_edt(ellipse)
    assert inner[stroke].mean() > 2 * inner[ellipse].mean()
    assert ndimage.label(stroke, np.ones((3, 3)))[1] == 1
    assert np.ptp(np.nonzero(stroke)[1]) > 60


def test_smaller_images_keep_thin_strokes() -> None:
    value = np.zeros((90, 120), dtype=np.uint8)
    value[:, 31] = 2
    value[44, 31] = 3
    small = resize_strokes(value, (30, 40))
    assert (small[:, 10] == 2).all()
    assert np.count_nonzero(small) == 30
    assert resize_strokes(small, (90, 120)).shape == (90, 120)


def test_rehearsals_scribble_as_others_do() -> None:
    mask = np.repeat([[1, 1, 1, 1, 2, 2, 2, 3, 3]], 9, axis=0).astype(np.uint8)
    other = PixelAnnotation(tags=(GRASS, SKY), scribbles=strokes((GRASS, 0, 0), (SKY, 1, 1)))
    (style,) = styles_of([other])
    again = rehearsal(PixelAnnotation(mask), style)
    assert again is not None
    assert again.scribbles is not None
    # Nobody has scribbled on cows.
    assert set(np.unique(again.scribbles).tolist()) == {0, 1, 2}
    assert again.tags == (GRASS, SKY, COW)


def test_folders_keep_scribbles(tmp_path: Path) -> None:
    image, value = np.zeros((4, 6, 3), dtype=np.uint8), strokes((COW, 2, 2), (SKY, 0, 0), (SKY, 0, 5))
    annotation = PixelAnnotation(tags=(SKY, COW), scribbles=value)
    write_dataset(tmp_path / "data", CLASSES, [NewSample("one", image, annotation), NewSample("two", image)])
    dataset = DatasetFolder(tmp_path / "data")
    assert dataset["one"].kinds == {"tags", "scribbles"}
    read: Any = dataset["one"].annotation().scribbles
    assert np.array_equal(read, value)
    summary = summarize(dataset)
    assert summary.mix == {"tags + scribbles": 1, "none": 1}
    assert [one.counts["scribbles"] for one in summary.classes] == [0, 1, 1, 0]
    assert validate(tmp_path / "data") == []
    drawn = draw_annotation(dataset["one"].image(), annotation, CLASSES)
    assert drawn.shape == (4, 6, 3)
    Image.fromarray(np.full((4, 6), 7, np.uint8)).save(tmp_path / "data" / "scribbles" / "one.png")
    Image.fromarray(np.ones((2, 2), np.uint8)).save(tmp_path / "data" / "scribbles" / "two.png")
    Image.fromarray(np.ones((2, 2), np.uint8)).save(tmp_path / "data" / "scribbles" / "three.png")
    told = [str(finding) for finding in validate(tmp_path / "data")]
    assert len(told) == 3
    assert "scribbles/one.png: has the index 7: there are 4 classes; use 0 where nothing is said" in told[0]
    assert "scribbles/three.png: there is no image of this name" in told[1]
    assert "scribbles/two.png: has width 2 and height 2" in told[2]


def test_formats_refuse_to_lose_scribbles_and_read_label_images(tmp_path: Path) -> None:
    image, value = np.zeros((4, 6, 3), dtype=np.uint8), strokes((COW, 2, 2), (GRASS, 0, 0))
    samples = [NewSample("one", image, PixelAnnotation(tags=(GRASS, COW), scribbles=value))]
    for name, form in FORMATS.items():
        if form.write is not None and not form.scribbles:
            with pytest.raises(DatasetError, match="scribbles, which this format cannot keep"):
                form.write(tmp_path / name, CLASSES, samples)
            assert not (tmp_path / name).exists()
    (kept,) = without_others(samples, USUAL)
    assert kept.annotation.scribbles is None
    assert kept.annotation.tags == (GRASS, COW)
    for part in ("images", "labels"):
        (tmp_path / part).mkdir()
    Image.fromarray(image).save(tmp_path / "images" / "one.png")
    Image.fromarray(value).save(tmp_path / "labels" / "one.tif")
    (tmp_path / "classes.txt").write_text("grass\nsky\ncow\nother\n", encoding="utf-8")
    (read,) = FORMATS["scribbles"].read(tmp_path).samples
    again: Any = read.annotation.scribbles
    assert np.array_equal(again, value)
    assert read.annotation.mask is None
