"""Weak annotations: against numbers worked out by hand, against pixels, and against themselves permuted."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from examples import EXAMPLES, kinds
from multiutility import LabelingProblem
from multiutility.annotations import (
    LINEAR,
    UNIFORM,
    Annotation,
    Box,
    Boxes,
    Full,
    Gaussian,
    Joint,
    Profile,
    Seed,
    Seeds,
    Tags,
    estimate_areas,
    estimate_profiles,
)
from multiutility.annotations.lines import Lines
from multiutility.checks import enumerate_labelings
from pictures import Picture, PixelBox, pixel_loss, random_picture

GRASS, SKY, COW, OTHER = range(4)

# 4 rows x 6 columns of pixels, superpixels of 2 x 2.
REGIONS = np.arange(6, dtype=np.int32).reshape(2, 3).repeat(2, axis=0).repeat(2, axis=1)
COW_BOX = PixelBox(COW, left=2, top=1, right=4, bottom=4)
COW_SEEDS = [(COW, 2, 2), (COW, 3, 0)]
PICTURES = {
    "tags": Picture(REGIONS, 4, [GRASS, SKY, COW]),
    "box": Picture(REGIONS, 4, [GRASS, SKY], [COW_BOX]),
    "seed": Picture(REGIONS, 4, [GRASS, SKY], [], COW_SEEDS[:1]),
    "two seeds": Picture(REGIONS, 4, [GRASS, SKY], [], COW_SEEDS),
}
TABLE: dict[tuple[int, ...], tuple[float, ...]] = {
    (1, 1, 1, 0, 2, 0): (0, 1, 4.3452, 4.7234),
    (1, 1, 1, 0, 0, 0): (8, 6, 7.1516, 6.9073),
    (1, 1, 1, 0, 3, 0): (12, 10, 11.1516, 10.9073),
    (1, 1, 1, 2, 2, 0): (0, 5, 2.8658, 3.9947),
    (1, 2, 1, 0, 2, 0): (0, 0, 2.8658, 1.8769),
}
PROBLEM = PICTURES["tags"].problem()


def line_problem(n_nodes: int, sizes: Any = None) -> LabelingProblem:
    return LabelingProblem(np.zeros((n_nodes, 1)), [], np.zeros((0, 1)), sizes)


def permuted_picture(picture: Picture, nodes: Any, labels: Any) -> Picture:
    """The picture with node i called nodes[i] and label k called labels[k]."""
    options = dict(picture.options)
    if "other" in options:
        options["other"] = int(labels[options["other"]])
    return Picture(
        np.asarray(nodes, dtype=np.int32)[picture.regions],
        picture.n_labels,
        [int(labels[k]) for k in picture.tags],
        [replace(box, label=int(labels[box.label])) for box in picture.boxes],
        [(int(labels[k]), x, y) for k, x, y in picture.seeds],
        options,
    )


@pytest.mark.parametrize("labels", TABLE)
@pytest.mark.parametrize("column", range(4))
def test_numbers_of_the_protocol(labels: tuple[int, ...], column: int) -> None:
    picture = list(PICTURES.values())[column]
    expected = pytest.approx(TABLE[labels][column], abs=5e-5)
    assert picture.rasterize().loss(PROBLEM, labels) == expected
    assert -picture.rasterize().loss_energy(PROBLEM).evaluate(labels) == expected
    assert pixel_loss(picture, labels) == expected


def test_kinds_are_cases_of_joint() -> None:
    seeds = [Seed.in_grid(k, (y, x), REGIONS) for k, x, y in COW_SEEDS]
    cases: dict[str, Joint] = {
        "tags": Tags([GRASS, SKY, COW], 4),
        "box": Boxes([PICTURES["box"].box(COW_BOX)], 4, tags=[GRASS, SKY]),
        "seed": Seeds(seeds[:1], 4, tags=[GRASS, SKY]),
        "two seeds": Seeds(seeds, 4, tags=[GRASS, SKY]),
    }
    for name, case in cases.items():
        for labels in TABLE:
            assert case.loss(PROBLEM, labels) == PICTURES[name].rasterize().loss(PROBLEM, labels)


def test_equal_cliques_are_merged() -> None:
    energy = PICTURES["box"].rasterize().loss_energy(PROBLEM)
    nodes = np.split(energy.subset_nodes, energy.subset_starts[1:-1])
    cliques = {
        (int(label), tuple(group.tolist())): float(cost)
        for label, group, cost in zip(energy.subset_labels, nodes, energy.subset_costs, strict=True)
    }
    everywhere = tuple(range(6))
    assert cliques == {
        (COW, (1,)): 1,
        (COW, (4,)): 2,
        (COW, (1, 4)): 3,
        (GRASS, everywhere): 8,
        (SKY, everywhere): 8,
    }
    assert energy.n_subsets == len(cliques)


@pytest.mark.parametrize("parts", ["t", "tb", "ts", "tbs", "bs", "b", "s"])
def test_losses_are_those_of_the_pixels(parts: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        picture = random_picture(rng, parts)
        problem, joint = picture.problem(), picture.rasterize()
        omega = rng.uniform(0.2, 3, picture.n_labels)
        for labels in rng.integers(picture.n_labels, size=(6, problem.n_nodes)):
            assert joint.loss(problem, labels) == pytest.approx(pixel_loss(picture, labels), abs=1e-9)
            weighted = pixel_loss(picture, labels, omega.tolist())
            assert joint.weighted(omega).loss(problem, labels) == pytest.approx(weighted, abs=1e-9)


@pytest.mark.parametrize("kind", kinds())
def test_law_for_every_labeling(kind: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        annotation, problem = EXAMPLES[kind](rng)
        omega = rng.uniform(0, 3, annotation.n_labels)
        labelings = enumerate_labelings(problem.n_nodes, annotation.n_labels)
        for case in (annotation, annotation.weighted(omega)):
            losses = [case.loss(problem, labels) for labels in labelings]
            np.testing.assert_allclose(
                case.loss_energy(problem).evaluate_many(labelings), np.negative(losses), atol=1e-9
            )


@pytest.mark.parametrize("parts", ["t", "tb", "ts", "tbs"])
def test_names_of_nodes_and_labels_do_not_matter(parts: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(25):
        picture = random_picture(rng, parts)
        problem = picture.problem()
        nodes, names = rng.permutation(problem.n_nodes), rng.permutation(picture.n_labels)
        other = permuted_picture(picture, nodes, names)
        omega = rng.random(picture.n_labels)
        here, there = picture.rasterize(), other.rasterize().weighted(omega[np.argsort(names)])
        for labels in enumerate_labelings(problem.n_nodes, picture.n_labels)[::3]:
            renamed = names[labels[np.argsort(nodes)]]
            loss = here.weighted(omega).loss(problem, labels)
            assert there.loss(other.problem(), renamed) == pytest.approx(loss, abs=1e-9)
            satisfied = there.constraints(other.problem()).satisfied(renamed)
            assert satisfied == here.constraints(problem).satisfied(labels)


def test_consistent_labelings_of_the_box() -> None:
    constraints = PICTURES["box"].rasterize().constraints(PROBLEM)
    assert constraints.n_covers == 3  # left and right side are the same superpixels
    consistent = {y for y in product(range(4), repeat=6) if constraints.satisfied(y)}
    expected = {(a, COW, b, c, COW, d) for a, b, c, d in product([GRASS, SKY], repeat=4)}
    assert consistent == expected
    loose = replace_options("box", tight=False).constraints(PROBLEM)
    assert not loose.has_covers
    assert loose.satisfied([0, 1, 0, 0, 0, 0])
    assert not loose.satisfied([2, 2, 0, 0, 2, 0])


def replace_options(name: str, **options: Any) -> Joint:
    return replace(PICTURES[name], options=options).rasterize()


def test_strict_tags_must_appear() -> None:
    constraints = Tags([GRASS, SKY], 4, strict=True).constraints(PROBLEM)
    assert constraints.satisfied([0, 0, 0, 0, 0, 1])
    assert not constraints.satisfied([0, 0, 0, 0, 0, 0])
    assert Tags([GRASS, SKY], 4).constraints(PROBLEM).satisfied([0, 0, 0, 0, 0, 0])


def test_seed_nodes_are_fixed() -> None:
    constraints = PICTURES["two seeds"].rasterize().constraints(PROBLEM)
    consistent = [y for y in product(range(4), repeat=6) if constraints.satisfied(y)]
    assert len(consistent) == 3**4
    assert {(y[1], y[4]) for y in consistent} == {(COW, COW)}


def test_start_fills_boxes_small_over_large() -> None:
    problem = line_problem(5)
    large = Box(1, rows=[[1, 2, 3]], columns=[[1], [2], [3]])
    small = Box(2, rows=[[2]], columns=[[2]])
    for boxes in ([large, small], [small, large]):
        assert Boxes(boxes, 4, tags=[0]).start(problem).tolist() == [0, 1, 2, 1, 0]


def test_start_has_all_tags_in_equal_runs() -> None:
    assert Tags([0, 2, 3], 4).start(line_problem(6)).tolist() == [0, 0, 2, 2, 3, 3]
    assert Tags([3, 1], 4).start(line_problem(1)).tolist() == [1]


def test_start_spreads_seeds_over_their_mass() -> None:
    seeds = Seeds([Seed.in_grid(1, (4,), np.arange(12))], 3, tags=[0])
    # tau = 12 / 2, and exp(-pi d^2 / tau) is 0.59 at distance 1 and 0.12 at distance 2.
    assert seeds.start(line_problem(12)).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_a_box_or_seed_wins_over_a_tag() -> None:
    for name in ("box", "seed"):
        repeated = replace(PICTURES[name], tags=[COW, GRASS, SKY]).rasterize()
        for labels in product(range(4), repeat=6):
            if labels[0] == labels[1] == labels[2]:
                assert repeated.loss(PROBLEM, labels) == PICTURES[name].rasterize().loss(PROBLEM, labels)


def test_tags_of_seeded_labels_say_that_all_is_named() -> None:
    seeds = [Seed.in_grid(COW, (2, 2), REGIONS), Seed.in_grid(GRASS, (3, 5), REGIONS)]
    opened, closed = Seeds(seeds, 4), Seeds(seeds, 4, complete=True)
    for tags in ([COW, GRASS], [COW], [GRASS]):
        # Other takes the place of tags that are missing, and none are.
        repeated = Seeds(seeds, 4, tags=tags, other=OTHER)
        assert repeated.partition == closed.partition
        for labels in product(range(4), repeat=6):
            assert repeated.loss(PROBLEM, labels) == closed.loss(PROBLEM, labels)
    assert opened.partition.unknown == closed.partition.absent == (SKY, OTHER)


def test_tags_of_boxed_labels_alone_leave_room_outside_of_the_boxes() -> None:
    box = PICTURES["box"].box(COW_BOX)
    assert Boxes([box], 4, tags=[COW]).partition == Boxes([box], 4).partition
    assert Boxes([box], 4, tags=[COW], other=OTHER).partition == Boxes([box], 4, other=OTHER).partition
    # Here, grass may be there, and nothing else.
    seeded = Joint([COW], [box], [Seed.in_grid(GRASS, (3, 5), REGIONS)], 4)
    assert seeded.partition.absent == (SKY, OTHER)
    assert seeded.constraints(PROBLEM).allowed is not None


def test_boxes_without_tags_say_nothing_about_the_rest() -> None:
    boxes = Boxes([PICTURES["box"].box(COW_BOX)], 4)
    # Rows and columns cost, and cows outside; all other labels are free, and so is their absence.
    assert boxes.loss(PROBLEM, [0, COW, 1, 3, COW, 3]) == 0
    assert boxes.loss(PROBLEM, [0, 1, 1, 3, 3, 3]) == 6
    assert boxes.loss(PROBLEM, [COW, COW, 1, 3, COW, 3]) == 4
    allowed = boxes.constraints(PROBLEM).allowed
    assert allowed is not None
    assert allowed[:, [GRASS, SKY, OTHER]].all()
    assert allowed[:, COW].tolist() == [False, True, False, False, True, False]


def test_other_is_the_tag_if_there_is_none() -> None:
    box = PICTURES["box"].box(COW_BOX)
    alone = Boxes([box], 4, other=OTHER)
    tagged = Boxes([box], 4, tags=[OTHER])
    for labels in ([3, 2, 3, 3, 2, 3], [0, 2, 0, 0, 2, 0], [2] * 6, [3, 0, 3, 3, 0, 1]):
        assert alone.loss(PROBLEM, labels) == tagged.loss(PROBLEM, labels)
    assert alone.loss(PROBLEM, [0, 2, 0, 0, 2, 0]) == 16 + 16
    # Where there are tags, other is a label like any other.
    assert Boxes([box], 4, tags=[GRASS], other=OTHER).loss(PROBLEM, [3, 2, 0, 0, 2, 0]) == 4


def test_seeds_without_tags() -> None:
    seed = Seed.in_grid(COW, (2, 2), REGIONS)
    cows, mixed = [COW] * 6, [0, COW, 1, 3, COW, 3]
    opened, closed = Seeds([seed], 4), Seeds([seed], 4, complete=True)
    assert opened.loss(PROBLEM, cows) == closed.loss(PROBLEM, cows) == 0
    assert closed.loss(PROBLEM, mixed) - opened.loss(PROBLEM, mixed) == pytest.approx(16)
    assert opened.constraints(PROBLEM).satisfied(mixed)
    assert not closed.constraints(PROBLEM).satisfied(mixed)


def test_boxes_and_seeds_of_one_label_count_half_each_or_in_full() -> None:
    half = Picture(REGIONS, 4, [GRASS, SKY], [COW_BOX], COW_SEEDS)
    full = replace(half, options={"sum_box_and_seed": True})
    labels = (1, 1, 1, 0, 2, 0)
    # Half the box is 3 pixels, for two seeds: tau = 3 / 2; all but node 4 is missed.
    missed = [(x, y) for y, x in np.ndindex(4, 6) if REGIONS[y, x] != 4]
    distances = [(x - a) ** 2 + (y - b) ** 2 for a, b in ((2, 2), (3, 0)) for x, y in missed]
    mass = float(np.exp(-np.pi * np.array(distances) / 1.5).sum())
    assert half.rasterize().loss(PROBLEM, labels) == pytest.approx(0.5 * 1 + 0.5 * mass)
    assert full.rasterize().loss(PROBLEM, labels) == pytest.approx(1 + mass)


def test_class_weights_by_hand() -> None:
    omega = [1.0, 2.0, 6.0, 100.0]
    weighted = PICTURES["box"].rasterize().weighted(omega)
    # Mean of the labels present: 3. Node 4 has an absent label, node 3 a cow outside; no grass, empty rows.
    labels = (1, 1, 1, 2, 3, 1)
    assert weighted.loss(PROBLEM, labels) == 3 * 4 + 3 * 4 + 1 * 8 + 6 * (1 + 2 + 3)
    seeded = PICTURES["seed"].rasterize()
    gain = 6 * (seeded.loss(PROBLEM, (1, 1, 1, 0, 0, 0)))
    assert seeded.weighted(omega).loss(PROBLEM, (1, 1, 1, 0, 0, 0)) == pytest.approx(gain)


def test_beta_weighs_boxes_and_seeds_only() -> None:
    for name in ("box", "seed"):
        picture = PICTURES[name]
        labels = (1, 1, 1, 3, 1, 2)
        losses = {beta: replace_options(name, beta=beta).loss(PROBLEM, labels) for beta in (0.0, 1.0, 3.0)}
        assert losses[0.0] == (4 + 4 + 8 if picture.boxes else 4 + 8)
        assert losses[3.0] - losses[0.0] == pytest.approx(3 * (losses[1.0] - losses[0.0]))


def test_known_and_estimated_areas() -> None:
    problem = line_problem(4, [1, 2, 3, 4])
    tags = Tags([0, 1, 2], 4, areas={0: 4.0})
    assert [tags.loss(problem, [k] * 4) for k in range(3)] == [3 + 3, 4 + 3, 4 + 3]
    shared = Tags([0, 1, 2], 4, shares={0: 0.1, 1: 0.3})
    assert shared.label_sizes(problem) == pytest.approx([10 / 6, 5, 20 / 6, 0])
    excess = Tags([0, 1], 4, areas={0: 12.0})
    assert [excess.loss(problem, [k] * 4) for k in range(2)] == [0, 12]


def test_areas_are_estimated_where_labels_are_present() -> None:
    problems = [line_problem(3, [1, 2, 5]), line_problem(2, [30, 10])]
    fulls = [Full.from_labels([0, 0, 2], 4), Full.from_labels([0, -1], 4)]
    assert estimate_areas(problems, fulls) == {0: pytest.approx((3 / 8 + 1) / 2), 2: pytest.approx(5 / 8)}


def test_profiles_add_up_to_half_the_box_whatever_the_shrink() -> None:
    box = Picture(np.arange(400, dtype=np.int32).reshape(20, 20), 2).box(PixelBox(0, 0, 0, 18, 20))
    assert (len(box.rows), len(box.columns)) == (18, 16)
    for profile in (UNIFORM, LINEAR):
        assert box.with_profile(profile).row_costs.sum() == pytest.approx(180)
        assert box.with_profile(profile).column_costs.sum() == pytest.approx(180)
    assert box.row_costs == pytest.approx(np.full(18, 9 * 20 / 18))
    linear = box.with_profile(LINEAR).row_costs
    # Rows 1 and 9 of 20, the first and the ninth left: their centers are at 0.075 and 0.475.
    assert linear[8] / linear[0] == pytest.approx(0.475 / 0.075)
    assert np.argmax(linear) in (8, 9)
    # A share of 0 everywhere along the rows costs nothing, and gives no NaN.
    assert box.with_profile(Profile([0.0], [0.0])).row_costs.tolist() == [0.0] * 18


def test_profiles_are_learned_by_label() -> None:
    regions = np.arange(12, dtype=np.int32).reshape(3, 4)
    rows = regions[:, 1:3]
    box = Box(1, rows, rows.T)
    truth = np.zeros((3, 4), dtype=np.int64)
    truth[0, 1] = truth[1, 1] = truth[1, 2] = 1
    truth[2, 1] = -1
    full = Full.from_labels(truth.ravel(), 2)
    learned = estimate_profiles([[box], []], [line_problem(12)] * 2, [full, full], n_places=3)
    # Rows: half, full, and none of the one pixel that is not void; their places are 1/6, 1/2 and 5/6.
    assert list(learned) == [1]
    assert learned[1].rows == pytest.approx([0.5, 1.0, 0.0])
    assert learned[1].columns == pytest.approx([1.0, (1 + 1 / 3) / 2, 1 / 3])
    costs = box.with_profile(learned[1]).row_costs
    # At these places the curve through 0.5, 1 and 0 is 2/3, 1 and 1/3; its mean is 5/8, of 6 pixels.
    assert costs == pytest.approx(6 * 5 / 8 * np.array([1 / 3, 1 / 2, 1 / 6]))


def test_profiles_count_cells_not_superpixels() -> None:
    # The row has one cell of node 0, which is all cow, and three of node 1, which is not.
    box = Box(1, rows=[[0, 1, 1, 1]], columns=[[0], [1], [1], [1]])
    problem, full = line_problem(2, [50, 3]), Full.from_labels([1, 0], 2)
    learned = estimate_profiles([[box]], [problem], [full], n_places=2)
    assert learned[1].rows == pytest.approx([0.25, 0.25])
    void = estimate_profiles([[box]], [line_problem(2)], [Full.from_labels([-1, -1], 2)])
    assert void == {}


def test_units_do_not_matter() -> None:
    """Sizes as shares of the picture, in place of pixels, scale the loss and nothing else."""
    part, cell = REGIONS[1:4, 2:4], 1 / 24
    seeds = [Seed.in_grid(COW, (y, x), REGIONS, cell=cell) for _, x, y in COW_SEEDS]
    scaled = Joint([GRASS, SKY], [Box(COW, part, part.T, area=6 * cell)], seeds, 4)
    pixels = Picture(REGIONS, 4, [GRASS, SKY], [COW_BOX], COW_SEEDS).rasterize()
    problem = line_problem(6, np.full(6, 4 * cell))
    for labels in TABLE:
        assert scaled.loss(problem, labels) == pytest.approx(cell * pixels.loss(PROBLEM, labels))


def test_boxes_over_everything_leave_no_area() -> None:
    whole = Box(1, rows=[[0, 1]], columns=[[0], [1]])
    joint = Joint([0], [whole], [Seed.in_grid(2, (0,), np.arange(2))], 3)
    problem = line_problem(2)
    # sigma and tau are 0: only the seed's own cell counts.
    assert joint.loss(problem, [1, 1]) == 1
    assert joint.loss_energy(problem).evaluate([2, 2]) == -joint.loss(problem, [2, 2])
    assert joint.constraints(problem).satisfied([2, 1]) is False  # the box cannot touch its left side
    assert joint.start(problem).tolist() == [2, 1]


def test_gaussian_is_that_of_the_pixels() -> None:
    rng = np.random.default_rng(0)
    regions = rng.integers(4, size=(5, 7, 3))
    regions[0, 0, 0] = 3
    mass = Gaussian(regions, (1, 2, 0))(6.0)
    expected = np.zeros(4)
    for place in np.ndindex(*regions.shape):
        distance = sum((a - b) ** 2 for a, b in zip(place, (1, 2, 0), strict=True))
        expected[regions[place]] += np.exp(-np.pi * distance / 6.0)
    np.testing.assert_allclose(mass, expected)


def test_gaussians_share_the_regions() -> None:
    regions = REGIONS.copy()
    regions.flags.writeable = False
    first, second = Gaussian(regions, (0, 0)), Gaussian(regions, (1, 1))
    assert np.shares_memory(first.regions, second.regions)
    assert not np.shares_memory(Gaussian(REGIONS, (0, 0)).regions, REGIONS)


@pytest.mark.parametrize("kind", kinds())
def test_annotations_travel_between_processes(kind: str) -> None:
    rng = np.random.default_rng(4)
    annotation, problem = EXAMPLES[kind](rng)
    weighted = annotation.weighted(rng.random(annotation.n_labels))
    restored = pickle.loads(pickle.dumps(weighted))
    labels = np.zeros(problem.n_nodes, dtype=np.int32)
    assert restored.loss(problem, labels) == weighted.loss(problem, labels)
    assert type(restored) is type(annotation)


def test_weights_replace_earlier_ones_and_leave_the_original_alone() -> None:
    tags = Tags([0], 2)
    heavy = tags.weighted([5.0, 1.0])
    assert [case.loss(line_problem(1), [1]) for case in (tags, heavy, heavy.weighted([1, 1]))] == [2, 10, 2]


def annotated(**arguments: Any) -> Annotation:
    defaults: dict[str, Any] = {"tags": [], "boxes": [], "seeds": [], "n_labels": 3}
    return Joint(**(defaults | arguments))


BOX = Box(1, rows=[[1, 2]], columns=[[1], [2]])
GRID = np.arange(4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no tags, boxes or seeds"),
        ({"other": 0}, "no tags, boxes or seeds"),
        ({"tags": [0, 3]}, r"tags\[1\] is 3: labels must be in 0..2"),
        ({"tags": [-1]}, r"tags\[0\] is -1"),
        ({"tags": [0], "other": 7}, r"other\[0\] is 7"),
        ({"boxes": [Box(4, [[0]], [[0]])]}, r"labels of boxes\[0\] is 4"),
        ({"seeds": [Seed.in_grid(5, (0,), GRID)]}, r"labels of seeds\[0\] is 5"),
        (
            {"boxes": [BOX], "seeds": [Seed.in_grid(1, (3,), GRID)]},
            r"seeds\[0\] is in node 3: outside all boxes of its label, 1",
        ),
        (
            {"seeds": [Seed.in_grid(0, (3,), GRID), Seed.in_grid(1, (3,), GRID)]},
            r"seeds\[1\] is in node 3, which has seeds of two labels: 0 and 1",
        ),
        ({"tags": [0], "beta": -1.0}, "beta"),
        ({"tags": [0], "beta": np.nan}, "beta"),
        ({"tags": [0], "n_labels": 0}, "n_labels is 0"),
        ({"tags": [0], "areas": {0: -1.0}}, "areas"),
        ({"tags": [0], "areas": {0: np.nan}}, "areas"),
        ({"tags": [0], "areas": {9: 1.0}}, "areas"),
        ({"tags": [0], "shares": {0: 0.0}}, "shares must be > 0"),
        ({"tags": [0], "box_areas": {0: np.inf}}, "box_areas"),
    ],
)
def test_contradictions_are_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        annotated(**arguments)


def test_lines_of_a_matrix_are_its_rows() -> None:
    matrix = np.random.default_rng(0).integers(9, size=(4, 6)).astype(np.int32)
    for table in (matrix, matrix.T):
        found, listed = Lines(table), Lines(table.tolist())
        for name in ("starts", "nodes", "counts", "positions"):
            assert np.array_equal(getattr(found, name), getattr(listed, name))
    for wrong in (
        np.zeros((0, 3), dtype=int),
        np.zeros((2, 0), dtype=int),
        -matrix[1:],
        matrix.astype(float),
    ):
        with pytest.raises((TypeError, ValueError)) as told:
            Lines(wrong)
        with pytest.raises(type(told.value), match=re.escape(str(told.value))):
            Lines(list(wrong))


def test_more_contradictions_are_errors() -> None:
    with pytest.raises(ValueError, match="tags are empty"):
        Tags([], 3)
    with pytest.raises(TypeError, match="tags must hold integers"):
        annotated(tags=[0.5])
    with pytest.raises(ValueError, match="rows is empty"):
        Box(0, rows=[], columns=[])
    with pytest.raises(ValueError, match=r"rows\[1\] has no nodes"):
        Box(0, rows=[[1], []], columns=[[1]])
    with pytest.raises(ValueError, match=r"columns\[0\] has negative nodes"):
        Box(0, rows=[[1]], columns=[[-1]])
    with pytest.raises(ValueError, match="rows and columns have different nodes"):
        Box(0, rows=[[1]], columns=[[2]])
    with pytest.raises(ValueError, match="area"):
        Box(0, rows=[[1]], columns=[[1]], area=-1)
    with pytest.raises(ValueError, match=r"positions must be in 0\.\.1"):
        Box(0, rows=[[1]], columns=[[1]], row_positions=[1.5])
    with pytest.raises(ValueError, match="a profile needs at least one share"):
        Profile([], [1.0])
    with pytest.raises(ValueError, match="n_places"):
        estimate_profiles([], [], [], n_places=1)
    with pytest.raises(ValueError, match="it must be inside regions"):
        Gaussian(GRID, (4,))
    with pytest.raises(ValueError, match="it must be inside regions"):
        Gaussian(GRID, (0, 0))
    with pytest.raises(ValueError, match="the size of a cell must be > 0"):
        Gaussian(GRID, (0,), cell=0.0)
    with pytest.raises(ValueError, match=r"regions\[0\] is -1"):
        Gaussian(GRID - 1, (0,))


def test_annotations_of_another_problem_are_errors() -> None:
    small = line_problem(2)
    with pytest.raises(ValueError, match=r"boxes\[0\].nodes\[1\] is 2: nodes must be in 0..1"):
        Boxes([BOX], 3).loss_energy(small)
    with pytest.raises(ValueError, match=r"boxes\[0\].nodes"):
        Boxes([BOX], 3).constraints(small)
    seeds = Seeds([Seed.in_grid(0, (3,), GRID)], 3)
    with pytest.raises(ValueError, match=r"mass of Seed\(label=0, node=3\) has shape"):
        seeds.loss(small, [0, 0])
    with pytest.raises(ValueError, match=r"nodes of seeds\[0\] is 3"):
        seeds.start(small)
    with pytest.raises(ValueError, match="no label is left for the nodes outside the boxes"):
        Boxes([BOX], 3, complete=True).prior(line_problem(4))
    nan = Seed(0, 0, lambda _tau: np.full(2, np.nan))
    with pytest.raises(ValueError, match="must be finite"):
        Seeds([nan], 3).loss(small, [0, 0])
