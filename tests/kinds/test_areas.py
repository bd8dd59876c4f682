"""Areas: tables with percents and their checks, the loss against pixels, noise, and learning from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multiutility import LabelingProblem
from multiutility.annotations import Joint
from multiutility.annotations.sized import Area, Sized
from multiutility.checks import check_annotation
from multiutility.datasets import Classes, DatasetFolder, NewSample, write_dataset
from multiutility.datasets.validate import validate
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.areas import PixelArea, noisy
from multiutility.learning.examples import make_examples
from multiutility.learning.selection.choose import choose
from multiutility.learning.selection.proportions import Bag, shares_loss
from multiutility.learning.selection.provable import provable_errors
from multiutility.learning.selection.sizes import sized
from multiutility.learning.starts.soft import soft_start
from multiutility.vision.rasterize import rasterize
from multiutility.vision.rehearsal import rehearsal, styles_of
from multiutility.vision.weaken import weak_annotation

REGIONS = np.arange(6).reshape(2, 3).repeat(2, axis=0).repeat(2, axis=1)
NAMES = ["grass", "cow", "sky", "road"]


def folder(path: Path, rows: str) -> Path:
    """Dataset of two images with a table of areas."""
    image = np.zeros((4, 6, 3), dtype=np.uint8)
    write_dataset(path, Classes.from_names(NAMES), [NewSample(name, image) for name in ("a", "b")])
    (path / "areas.csv").write_text(rows)
    return path


def test_shares_are_fractions_or_percents(tmp_path: Path) -> None:
    rows = "image,label,share,tolerance\na,grass,12.5%,\na,cow,0.25,50%\na,sky,0,\nb,grass,1,0\n"
    dataset = DatasetFolder(folder(tmp_path / "data", rows))
    found = dataset["a"].annotation().areas
    assert found == (PixelArea(0, 0.125), PixelArea(1, 0.25, 0.5), PixelArea(2, 0.0))
    assert dataset["b"].annotation().areas == (PixelArea(0, 1.0, 0.0),)
    write_dataset(
        tmp_path / "again", dataset.classes, [NewSample(s.name, s.path, s.annotation()) for s in dataset]
    )
    again = DatasetFolder(tmp_path / "again")
    assert all(again[name].annotation().areas == dataset[name].annotation().areas for name in "ab")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("a,grass,12,", "share is 12: more than the whole image: write 12% or 0.12"),
        ("a,grass,-0.1,", "share is -0.1: not a part of the image"),
        ("a,grass,many%,", "not a number"),
        ("a,grass,120%,", "share is 1.2: more than the whole image"),
        ("a,grass,10%,3", "tolerance is 3: not a part of the share"),
        ("a,grass,10%,\na,grass,20%,", "the label has a share already: 0.1"),
        ("a,grass,90%,\na,cow,90%,", "the shares of the image add up to 1.8, and to 1.35 at least"),
    ],
)
def test_mistakes_are_named_with_their_fix(tmp_path: Path, row: str, what: str) -> None:
    path = folder(tmp_path / "data", f"image,label,share,tolerance\n{row}\n")
    texts = [str(problem) for problem in validate(path)]
    assert len(texts) == 1
    assert what in texts[0].replace("; ", ": ") or what in texts[0]
    assert "areas.csv" in texts[0]


@pytest.mark.parametrize("seed", range(20))
def test_mixes_with_other_kinds_keep_the_law(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = np.array([[0, 0, 1, 1], [2, 2, 3, 3]], dtype=np.int32)
    shares = rng.dirichlet(np.ones(3))
    areas = [
        PixelArea(k, float(s), float(rng.choice([0, 0.25])))
        for k, s in enumerate(shares)
        if rng.random() < 0.7
    ]
    seeds = (PixelSeed(1, x=int(rng.integers(4)), y=0),) if rng.random() < 0.4 else ()
    boxes = (PixelBox(0, 0, 0, 2, 2),) if rng.random() < 0.4 else ()
    tags = tuple(range(3)) if rng.random() < 0.6 or not areas else ()
    annotation = rasterize(
        PixelAnnotation(tags=tags, seeds=seeds, boxes=boxes, areas=tuple(areas)), regions, n_labels=3
    )
    assert annotation is not None
    problem = LabelingProblem(np.zeros((4, 1)), [[0, 1], [2, 3]], np.ones((2, 1)), node_sizes=np.full(4, 2))
    check_annotation(annotation, problem)


def test_the_loss_is_that_of_the_pixels() -> None:
    rng = np.random.default_rng(0)
    problem = LabelingProblem(np.zeros((6, 1)), [], np.zeros((0, 1)), node_sizes=np.full(6, 4))
    areas = (PixelArea(0, 0.5, 0.2), PixelArea(1, 0.3, 0.1))
    annotation = rasterize(PixelAnnotation(tags=(0, 1), areas=areas), REGIONS, n_labels=4)
    assert annotation is not None
    for _ in range(30):
        labels = rng.integers(4, size=6)
        pixels = labels[REGIONS].ravel()
        counts = np.bincount(pixels, minlength=4)
        loss = float(counts[2:].sum()) + 12.0 * (counts[0] == 0) + 0.3 * 24 * (counts[1] == 0)
        loss += max(0.0, 0.4 * 24 - counts[0], counts[0] - 0.6 * 24)
        loss += max(0.0, 0.27 * 24 - counts[1], counts[1] - 0.33 * 24)
        assert annotation.loss(problem, labels) == pytest.approx(loss)


def test_what_is_there_what_is_absent_and_what_is_unknown() -> None:
    some = PixelAnnotation(areas=(PixelArea(0, 0.4), PixelArea(1, 0.0)))
    assert some.partition(n_labels=4) == rasterized(some).partition
    assert (some.partition(4).tagged, some.partition(4).absent, some.partition(4).unknown) == (
        (0,),
        (1,),
        (2, 3),
    )
    whole = PixelAnnotation(areas=(PixelArea(0, 0.4), PixelArea(1, 0.6)))
    assert whole.partition(n_labels=4) == rasterized(whole).partition
    assert whole.partition(4).absent == (2, 3)
    with pytest.raises(ValueError, match="areas say that label 1 is not there, but tags name it"):
        rasterized(PixelAnnotation(tags=(0, 1), areas=(PixelArea(1, 0.0),)))


def rasterized(annotation: PixelAnnotation) -> Joint:
    """Annotation of superpixels."""
    found = rasterize(annotation, REGIONS, n_labels=4)
    assert isinstance(found, Joint)
    return found


def test_areas_of_masks_with_noise_and_rehearsed() -> None:
    mask = np.array([[1, 1, 1, 2], [1, 1, 1, 0]], dtype=np.uint8)
    classes = Classes.from_names(NAMES)
    made = weak_annotation(mask, classes, areas=True)
    assert made.tags == (0, 1)
    assert [(one.label, one.share) for one in made.areas] == [(0, 6 / 7), (1, 1 / 7)]
    assert noisy(made.areas, 0.2, "a") == noisy(made.areas, 0.2, "a") != noisy(made.areas, 0.2, "b")
    assert noisy(made.areas, 0.0, "a") == made.areas
    many = [noisy((PixelArea(0, 0.1),), 0.2, str(n))[0] for n in range(2000)]
    assert np.std(np.log([one.share for one in many])) == pytest.approx(0.2, abs=0.02)
    inside = [abs(one.share - 0.1) <= one.tolerance * one.share for one in many]
    assert 0.7 < np.mean(inside) < 0.85
    (style,) = styles_of([made])
    again = rehearsal(PixelAnnotation(mask=mask), style)
    assert again is not None
    assert again.areas == made.areas


def bags(rng: np.random.Generator, n: int) -> tuple[list[LabelingProblem], list[Sized], list[np.ndarray]]:
    """Instances that all have both labels, in shares that vary: tags tell nothing of what is what."""
    problems, areas, truths = [], [], []
    for _ in range(n):
        share = rng.uniform(0.15, 0.85)
        truth = (rng.random(60) < share).astype(np.int64)
        features = np.eye(2)[truth] + 0.3 * rng.standard_normal((60, 2))
        problems.append(LabelingProblem(features, [], np.zeros((0, 1))))
        told = np.clip(truth.mean() * np.exp(0.2 * rng.standard_normal()), 0.01, 0.99)
        areas.append(Sized([Area(1, float(told)), Area(0, float(1 - told))]))
        truths.append(truth)
    return problems, areas, truths


def test_varying_areas_tell_labels_apart_that_tags_cannot() -> None:
    rng = np.random.default_rng(0)
    problems, areas, truths = bags(rng, 30)
    examples = make_examples(problems, [Joint([0, 1], [], [], 2, terms=[one]) for one in areas])
    shares = soft_start(examples).shares
    right = np.mean(
        [(share.argmax(axis=1) == truth).mean() for share, truth in zip(shares, truths, strict=True)]
    )
    assert right > 0.9
    for example, share in zip(examples, shares, strict=True):
        limits = example.constraints.sizes
        size = share[:, limits.labels[0]].sum()
        assert limits.low[0] - 0.5 <= size <= limits.high[0] + 0.5


def test_the_model_of_shares_has_the_gradient_of_its_loss() -> None:
    rng = np.random.default_rng(2)
    possible = np.ones((7, 3), dtype=np.bool_)
    possible[:3, 2] = False
    sizes = rng.uniform(1, 2, 7)
    made = [Bag(rng.standard_normal((7, 4)), sizes, possible, rng.dirichlet(np.ones(3))) for _ in range(3)]
    flat = rng.standard_normal(12)
    gradient = shares_loss(flat, made, 0.1)[1]
    for n, step in enumerate(1e-5 * np.eye(12)):
        slope = (shares_loss(flat + step, made, 0.1)[0] - shares_loss(flat - step, made, 0.1)[0]) / 2e-5
        assert gradient[n] == pytest.approx(slope, abs=1e-7)


def test_labels_that_always_come_together_are_told_by_their_shares() -> None:
    rng = np.random.default_rng(3)
    problems, areas, truths = bags(rng, 30)
    joints = [Joint([0, 1], [], [], 2, terms=[one]) for one in areas]
    found = choose(make_examples(problems, joints), [()] * 30, soft_start).posteriors
    told = [one for one in found if one is not None]
    right = [(one.argmax(axis=1) == truth).mean() for one, truth in zip(told, truths, strict=True)]
    assert np.mean(right) > 0.9


def test_posteriors_move_into_the_ranges_and_errors_of_sizes_count() -> None:
    rng = np.random.default_rng(1)
    problem = LabelingProblem(np.zeros((50, 1)), [], np.zeros((0, 1)), node_sizes=rng.uniform(1, 3, 50))
    joint = Joint([0, 1, 2], [], [], 3, terms=[Sized([Area(0, 0.6, 0.1), Area(1, 0.1, 0.1)])])
    (example,) = make_examples([problem], [joint])
    before = rng.dirichlet([1, 5, 3], 50)
    after = sized(example, before)
    parts = problem.node_sizes @ after / problem.node_sizes.sum()
    assert 0.54 - 2e-3 < parts[0] < 0.57
    assert 0.09 - 2e-3 < parts[1] < 0.11 + 2e-3
    # One multiplier a label: odds of two labels change by the same factor in all nodes.
    factors = (after[:, 0] / after[:, 1]) / (before[:, 0] / before[:, 1])
    np.testing.assert_allclose(factors, factors[0])
    plain = make_examples([problem], [Joint([0, 1, 2], [], [], 3)])[0]
    assert sized(plain, before) is before
    errors = provable_errors([problem], [joint], [np.zeros(50, dtype=np.int64)])
    assert errors.missed[0] == pytest.approx((1 - 0.66) / 1)
    assert errors.missed[1] == pytest.approx(2)
    assert errors.asked.tolist() == [2, 2, 1]
