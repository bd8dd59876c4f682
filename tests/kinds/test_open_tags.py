"""Open tags: some labels that are there are named, and some that are not; of others nothing is said."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.annotations import Box, Full, Joint, Tags
from multiutility.annotations.boxed import Boxed
from multiutility.annotations.opentagged import OpenTagged
from multiutility.annotations.partition import Partition
from multiutility.checks import check_annotation
from multiutility.datasets import Classes, DatasetFolder, NewSample, write_dataset
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.export import check_loss, without_others
from multiutility.kinds import KINDS, PixelAnnotation, PixelBox
from multiutility.kinds.tags import TAGS, OpenTag, drop_tags
from multiutility.learning.examples import Example, make_examples
from multiutility.learning.selection.provable import provable_errors
from multiutility.learning.selection.reading import MARKS, clues_of
from multiutility.learning.starts.openness import odds_of, opened, silence_of
from multiutility.learning.starts.soft import soft_start
from multiutility.problem import LabelingProblem
from multiutility.vision.rasterize import rasterize
from multiutility.vision.rehearsal import rehearsal, styles_of
from multiutility.vision.render import draw_annotation
from multiutility.vision.suggestions import Known, Patch, left
from multiutility.vision.weaken import weaken

PROBLEM = LabelingProblem(
    np.zeros((4, 1)), [[0, 1], [1, 2], [2, 3]], np.ones((3, 1)), node_sizes=[3, 1, 2, 5]
)
CHANCES = [0.3, 0.6, 0.25, 0.5]


@pytest.mark.parametrize("chances", [None, CHANCES])
@pytest.mark.parametrize("boxed", [False, True])
def test_law_for_every_labeling(chances: list[float] | None, boxed: bool) -> None:
    part = np.array([[0, 1]])
    terms = [OpenTagged([0], absent=[3], strict=True), *([Boxed([Box(1, part, part.T)], {})] * boxed)]
    joint = Joint.of(terms, n_labels=4)
    joint = joint if chances is None else joint.expecting(chances)
    check_annotation(joint, PROBLEM)


def test_the_loss_is_the_mean_over_complete_tags_that_fit() -> None:
    joint = Joint.of([OpenTagged([0], absent=[3])], n_labels=4).expecting(CHANCES)
    likely = 1 + CHANCES[1] + CHANCES[2]
    for labels in product(range(4), repeat=4):
        mean = 0.0
        for there in product((0, 1), repeat=2):
            chance = np.prod([p if t else 1 - p for p, t in zip(CHANCES[1:3], there, strict=True)])
            tags = [0, *(k for k, t in zip((1, 2), there, strict=True) if t)]
            mean += chance * sum(c for c, y in zip(PROBLEM.node_sizes, labels, strict=True) if y not in tags)
        missing = 11 / likely if 0 not in labels else 0.0
        assert joint.loss(PROBLEM, labels) == pytest.approx(mean + missing)


def test_without_chances_unknown_labels_cost_nothing_and_are_as_likely() -> None:
    joint = Joint.of([OpenTagged([0], absent=[3])], n_labels=4)
    assert joint.loss(PROBLEM, [0, 1, 2, 0]) == 0.0
    np.testing.assert_allclose(joint.prior(PROBLEM), [[1 / 3, 1 / 3, 1 / 3, 0]] * 4)
    told = joint.expecting([1.0, 0.25, 0.75, 0.5])
    np.testing.assert_allclose(told.prior(PROBLEM), [[1 / 2, 1 / 8, 3 / 8, 0]] * 4)
    with pytest.raises(ValueError, match=r"chances\[1\] is 2: expected 0 to 1"):
        joint.expecting([0.5, 2.0, 0.0, 0.0])


def test_what_is_absent_cannot_be_there() -> None:
    with pytest.raises(ValueError, match="open tags say that label 1 is not there, but open tags name it"):
        Joint.of([OpenTagged([1], absent=[1])], n_labels=2)


HEADER = "image,label,present"


def write(folder: Path, text: str) -> DatasetFolder:
    image = np.zeros((20, 30, 3), dtype=np.uint8)
    samples = [NewSample("a", image, PixelAnnotation(tags=(0,))), NewSample("b", image)]
    write_dataset(folder, Classes.from_names(["grass", "cow", "sky"]), samples)
    assert (folder / "tags.csv").read_text() == "image,label\na,grass\n"
    (folder / "tags.csv").write_text(text)
    return DatasetFolder(folder)


def test_the_column_is_read_and_written_if_needed(tmp_path: Path) -> None:
    text = f"{HEADER}\na,grass,1\na,cow,0\nb,sky,\n"
    dataset = write(tmp_path, text)
    open_, complete = dataset["a"].annotation(), dataset["b"].annotation()
    assert (open_.tags, complete.tags) == ((OpenTag(0), OpenTag(1, present=False)), (2,))
    assert (set(open_.labels), set(complete.labels)) == ({0}, {2})
    assert open_.partition(3).unknown == (2,)
    assert complete.partition(3).absent == (0, 1)
    samples = [NewSample(one.name, one.path, one.marks) for one in dataset]
    write_dataset(tmp_path / "again", dataset.classes, samples)
    assert (tmp_path / "again" / "tags.csv").read_text() == text


@pytest.mark.parametrize(
    ("rows", "what", "row"),
    [
        ("a,grass,1\na,cow,\n", "blank for some tags of the image, and filled for others", 3),
        ("a,grass,1\na,grass,0\n", "both 1 and 0", 3),
        ("a,grass,2\n", "neither 1 nor 0", 2),
    ],
)
def test_what_cannot_be_is_told_with_file_and_row(tmp_path: Path, rows: str, what: str, row: int) -> None:
    with pytest.raises(DatasetError, match=what) as caught:
        write(tmp_path, f"{HEADER}\n{rows}")
    assert (caught.value.path.name, caught.value.row) == ("tags.csv", row)


def test_dropped_tags_depend_on_the_name_and_one_stays() -> None:
    kept = [drop_tags(range(4), 0.3, f"image {n}") for n in range(500)]
    assert kept == [drop_tags(range(4), 0.3, f"image {n}") for n in range(500)]
    assert min(map(len, kept)) >= 1
    assert np.mean([len(one) for one in kept]) == pytest.approx(4 * 0.7, abs=0.1)
    assert all(len(drop_tags((5,), 0.99, str(n))) == 1 for n in range(20))


def masked_samples() -> list[PixelAnnotation]:
    mask = np.repeat(np.arange(1, 5, dtype=np.uint8), 8)[np.newaxis].repeat(8, axis=0)
    return [PixelAnnotation(mask=mask)] * 3


def test_rehearsals_are_as_open_as_the_others() -> None:
    masks, tags = masked_samples(), [PixelAnnotation(tags=(OpenTag(0), OpenTag(1)))] * 3
    (style,) = styles_of([*masks, *tags])
    assert (style.opened, style.dropped) == (True, 0.5)
    again = [rehearsal(masks[0], style, str(n)) for n in range(200)]
    assert all(isinstance(tag, OpenTag) for one in again if one for tag in one.tags)
    assert np.mean([len(one.tags) for one in again if one]) == pytest.approx(2.0, abs=0.3)
    both = styles_of([*masks, *tags, PixelAnnotation(tags=(0,))])
    assert [style.opened for style in both] == [False, True]


def test_weaken_drops_tags(tmp_path: Path) -> None:
    image = np.zeros((8, 32, 3), dtype=np.uint8)
    samples = [NewSample(str(n), image, masked_samples()[0]) for n in range(5)]
    write_dataset(tmp_path, Classes.from_names(["a", "b", "c", "d"]), samples)
    made = [one.annotation.tags for one in weaken(DatasetFolder(tmp_path), drop_tags=0.5)]
    assert made == [drop_tags(range(4), 0.5, str(n)) for n in range(5)]
    with pytest.raises(ValueError, match="dropped with probability 1"):
        weaken(DatasetFolder(tmp_path), drop_tags=1.0)


def test_formats_refuse_open_tags_or_leave_them_out() -> None:
    image = np.zeros((8, 8, 3), dtype=np.uint8)
    sample = NewSample("a", image, PixelAnnotation(tags=(OpenTag(0),), boxes=(PixelBox(1, 0, 0, 2, 2),)))
    with pytest.raises(DatasetError, match="has open tags, which this format cannot keep"):
        check_loss(sample, KINDS, loose=True)
    (left_over,) = without_others([sample], KINDS)
    assert (left_over.annotation.tags, left_over.annotation.boxes) == ((), sample.annotation.boxes)


def test_open_tags_leave_doubt_unless_they_deny() -> None:
    patch = Patch(label=0, rival=1, area=0.5, doubt=0.4)
    assert left(patch, Known(tags=[0])) == 0.0
    assert left(patch, Known(tags=[0], opened=True)) == 1.0
    assert left(patch, Known(tags=[0], opened=True, absent=[1])) == 0.0


def said(example: Example) -> Partition:
    assert isinstance(example.annotation, Joint)
    return example.annotation.partition


def scenes(
    rng: np.random.Generator, missing: float, n: int = 60
) -> tuple[list[Example], list[NDArray[np.int_]]]:
    """Examples of 2 to 4 of 6 labels, told apart by features, with each tag but one missing by a chance."""
    problems, annotations, truths = [], [], []
    for k in range(n):
        there = rng.choice(6, size=rng.integers(2, 5), replace=False)
        labels = np.repeat(there, 4)
        features = np.eye(6)[labels] + 0.15 * rng.standard_normal((len(labels), 6))
        problems.append(
            LabelingProblem(features, [], np.zeros((0, 1)), np.full(len(labels), 1 / len(labels)))
        )
        tags = [tag.label for tag in drop_tags(there.tolist(), missing, str(k))]
        annotations.append(Joint.of([OpenTagged(tags)], n_labels=6))
        truths.append(labels)
    return make_examples(problems, annotations), truths


def test_chances_are_those_of_bayes() -> None:
    examples, truths = scenes(np.random.default_rng(0), 0.4, n=2000)
    odds = sum(len(set(y.tolist())) for y in truths) / sum(len(said(e).present) for e in examples) - 1
    chances = silence_of(examples).chances(0.0 if odds < 0 else odds)
    for k in range(6):
        silent = [k in y for y, e in zip(truths, examples, strict=True) if k in said(e).unknown]
        assert chances[k] == pytest.approx(np.mean(silent), abs=0.04)


def test_examples_that_name_all_tell_how_often_labels_go_unnamed() -> None:
    examples, truths = scenes(np.random.default_rng(1), 0.4, n=400)
    fulls = [Full.from_labels(y, n_labels=6) for y in truths[:200]]
    complete = [
        replace(e, annotation=f, constraints=f.constraints(e.problem))
        for e, f in zip(examples[:200], fulls, strict=True)
    ]
    named = np.mean([len(said(e).present) for e in examples[200:]])
    usual = np.mean([len(set(y.tolist())) for y in truths[:200]])
    odds = odds_of([*complete, *examples[200:]])
    assert odds == pytest.approx(usual / named - 1, abs=0.02)
    assert odds_of(examples) is None
    assert odds_of(complete) is None


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.5])
def test_soft_labels_find_what_is_unnamed_and_how_often(missing: float) -> None:
    examples, truths = scenes(np.random.default_rng(2), missing)
    start = soft_start(examples)
    assert start.chances is not None
    right = np.mean([(s.argmax(axis=1) == y).mean() for s, y in zip(start.shares, truths, strict=True)])
    assert right > 0.9
    unnamed = [len(set(y.tolist())) - len(said(e).present) for y, e in zip(truths, examples, strict=True)]
    expected = [start.chances[list(said(e).unknown)].sum() for e in examples]
    assert np.mean(expected) == pytest.approx(np.mean(unnamed), abs=0.5)


def test_clues_and_expected_errors_have_the_chances() -> None:
    joint = Joint.of([OpenTagged([0], absent=[3])], n_labels=4).expecting(CHANCES)
    clues = clues_of(joint, PROBLEM)
    assert not clues.placed
    np.testing.assert_allclose(clues.terms[MARKS.index("chance")][0], [0, np.log(0.6), np.log(0.25), 0])
    errors = provable_errors([PROBLEM], [joint], [np.array([0, 1, 2, 3])])
    np.testing.assert_allclose(errors.wrong, [0, 0.4, 2 * 0.75, 5])
    (known,) = opened(make_examples([PROBLEM], [Joint.of([OpenTagged([0])], 4)]), np.array(CHANCES))
    assert known.annotation.loss(PROBLEM, [0, 0, 0, 1]) == pytest.approx(5 * 0.4)


def test_superpixels_have_open_tags_and_only_absent_ones_say_nothing() -> None:
    regions = np.arange(4, dtype=np.int32).reshape(2, 2)
    joint = rasterize(PixelAnnotation(tags=(OpenTag(0), OpenTag(2, present=False))), regions, n_labels=4)
    assert isinstance(joint, Joint)
    assert (joint.partition.tagged, joint.partition.absent, joint.partition.unknown) == ((0,), (2,), (1, 3))
    assert rasterize(PixelAnnotation(tags=(OpenTag(2, present=False),)), regions, n_labels=4) is None
    assert TAGS.labels((OpenTag(0), OpenTag(2, present=False))) == (0,)
    assert not Tags([0, 2], n_labels=4).open


def test_pictures_list_labels_that_are_not_there() -> None:
    image, classes = np.zeros((60, 200, 3), dtype=np.uint8), Classes.from_names(["grass", "cow"])
    drawn = [
        draw_annotation(image, PixelAnnotation(tags=tags), classes)
        for tags in ((OpenTag(0),), (OpenTag(0), OpenTag(1)), (OpenTag(0), OpenTag(1, present=False)))
    ]
    widths = [int(np.flatnonzero((one > 0).any(axis=(0, 2))).max()) for one in drawn]
    assert widths[0] < widths[1] < widths[2]
