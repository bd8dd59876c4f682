"""What experiments say about results: checks that can say no, and what budgets buy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from multiutility.experiments.budget import MIXES, Budget, Costs, Mix, buy
from multiutility.experiments.cells import Cell, CellResult
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.experiment import EXPERIMENTS
from multiutility.experiments.figures import AlphaFigure, BetaFigure, RateFigure
from multiutility.experiments.methods import method_parameters
from multiutility.experiments.plots import COLORS, Series, curves
from multiutility.experiments.report import Report, Sheet
from multiutility.experiments.self_training import SelfTrainingComparison
from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.experiments.supervision import LabeledImages
from multiutility.experiments.table1 import Table1
from multiutility.experiments.table2 import PAPER, Table2
from multiutility.vision.method import METHODS
from toy import toy_preset, write_toy

N_IMAGES = 30


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    toy = write_toy(tmp_path_factory.mktemp("toy") / "toy", n_train=30, n_validation=4)
    return Study.open(Setup(toy.path, "train", "validation", toy_preset(), n_seeds=2))


def outcome(accuracy: float, recall: float) -> Outcome:
    """Confusions of equal images: most pixels are of the first class, a few of the second."""
    # accuracy = (99 a + b) / 100 and recall = (a + b) / 2, for the parts a and b that are right.
    a = (100 * accuracy - 2 * recall) / 98
    b = 2 * recall - a
    assert 0 <= a <= 1
    assert 0 <= b <= 1
    right = np.array([99 * a, b]) * 10_000
    matrix = np.diag(right) + (np.array([99, 1]) * 10_000 - right)[:, np.newaxis] * (1 - np.eye(2))
    confusions = Confusions.of([matrix.round()] * N_IMAGES)
    return Outcome(confusions, confusions, np.zeros(2), 1.0, 1.0)


def reported(study: Study, name: str, cells: Iterable[tuple[Cell, float, float]]) -> Report:
    results = [
        CellResult(cell, "toy", "paper", 30, {}, outcome(accuracy, recall))
        for cell, accuracy, recall in cells
    ]
    return EXPERIMENTS[name]().report(Sheet(results), study)


def iou(accuracy: float, recall: float) -> float:
    """Mean IoU of such confusions."""
    return outcome(accuracy, recall).test.mean_iou


def answers(report: Report) -> list[bool | None]:
    return [check.holds for check in report.checks]


def ideal(study: Study) -> dict[Cell, tuple[float, float]]:
    """Table 2 as it should be: ours above the paper and all others, and more is better."""
    order = {"none": 0.0, "tags": 0.01, "tags+seeds": 0.02, "tags+boxes": 0.03, "tags+boxes+seeds": 0.04}
    scores = {}
    for cell in Table2().cells(study):
        extra = 0.1 if cell.full == "all" else (0.05 if cell.full else 0.0)
        value = 0.75 + order[cell.annotations] + extra - (0.2 if cell.method != "ours" else 0.0)
        scores[cell] = (value, value)
    return scores


def test_table2_as_it_should_be(study: Study) -> None:
    report = reported(study, "table2", [(cell, *pair) for cell, pair in ideal(study).items()])
    assert answers(report) == [True, True, True, True]
    page = "\n".join(report.sections)
    assert f"| tags | 0.760 / 0.760 / {iou(0.76, 0.76):.3f} | 0.385 / 0.178 |" in page
    assert f"0.810 ± 0.000 / 0.810 ± 0.000 / {iou(0.81, 0.81):.3f} ± 0.000" in page


def test_table2_says_no(study: Study) -> None:
    scores = ideal(study)
    worse = Cell("tags+boxes+seeds", 0, 0)
    report = reported(study, "table2", [(c, *(p if c != worse else (0.76, 0.79))) for c, p in scores.items()])
    assert answers(report) == [False, True, True, True]
    assert "tags+boxes with 0 full to tags+boxes+seeds with 0 full -2.0 ± 0.0" in report.checks[0].detail
    winner = Cell("tags+seeds", 5, 0, "ridge")
    report = reported(study, "table2", [(c, *(p if c != winner else (0.7, 0.84))) for c, p in scores.items()])
    assert answers(report) == [True, False, True, True]
    assert report.checks[1].detail == "ridge at tags+seeds with 5 full, mean recall 0.840 to 0.820"
    winner = Cell("tags", 0, 0, "self-training")
    report = reported(study, "table2", [(c, *(p if c != winner else (0.9, 0.5))) for c, p in scores.items()])
    assert answers(report) == [True, True, False, True]
    below = {cell: (0.59, 0.59) if cell.full == "all" else pair for cell, pair in scores.items()}
    assert answers(reported(study, "table2", [(c, *p) for c, p in below.items()]))[3] is False


def test_masks_alone_are_a_baseline(study: Study) -> None:
    pairs = [(cell, *(p if cell.annotations != "none" else (0.9, 0.9))) for cell, p in ideal(study).items()]
    assert "masks only at tags with 5 full" in reported(study, "table2", pairs).checks[1].detail


def test_the_papers_table_is_left_out_of_other_protocols(study: Study) -> None:
    other = replace(study, setup=replace(study.setup, protocol="msrc21"))
    report = reported(other, "table2", [(cell, *pair) for cell, pair in ideal(study).items()])
    assert len(report.checks) == 3
    assert "paper" not in report.sections[0]
    assert len(PAPER) == 10


@pytest.mark.parametrize(("gain", "holds"), [(0.12, True), (0.05, False)])
def test_what_tags_add(study: Study, gain: float, holds: bool) -> None:
    cells = RateFigure().cells(study)
    assert {cell.full for cell in cells} == {0, 5, 10, 20, "all"}
    scored = [
        (c, 0.6 + gain * (c.annotations == "tags"), 0.6 + gain * (c.annotations == "tags")) for c in cells
    ]
    assert answers(reported(study, "figure-rate", scored)) == [holds]


@pytest.mark.parametrize(("best", "holds"), [(0.1, True), (1.0, False), (3.0, False)])
def test_where_the_best_alpha_is(study: Study, best: float, holds: bool) -> None:
    cells = AlphaFigure().cells(study)
    assert {cell.full for cell in cells} == {4, 9}  # 40 and 80 of 276
    scored = [(cell, 0.7 + 0.05 * (cell.changes == (("alpha", best),)), 0.7) for cell in cells]
    assert answers(reported(study, "figure-alpha", scored)) == [holds]


@pytest.mark.parametrize(("best", "holds"), [(1.0, True), (3.0, False)])
def test_whether_beta_matters(study: Study, best: float, holds: bool) -> None:
    cells = BetaFigure().cells(study)
    scored = [(cell, 0.7, 0.7 + 0.05 * (("beta", best) in cell.changes)) for cell in cells]
    assert answers(reported(study, "figure-beta", scored)) == [holds, holds]


@pytest.mark.parametrize(
    ("weak", "holds"), [((0.79, 0.77), True), ((0.77, 0.8), False), ((0.8, 0.75), False)]
)
def test_how_near_a_tenth_of_the_masks_comes(study: Study, weak: tuple[float, float], holds: bool) -> None:
    cells = Table1().cells(study)
    ours = [cell for cell in cells if cell.method in ("local", "ours")]
    assert {(cell.full, cell.method) for cell in ours} == {(3, "local"), (3, "ours"), ("all", "ours")}
    scored = [(cell, *(weak if cell.annotations == "tags" else (0.8, 0.8))) for cell in ours]
    scored += [(cell, 0.7, 0.6) for cell in cells if cell not in ours]
    report = reported(study, "table1", scored)
    assert answers(report) == [holds]
    for method in ("logistic", "ridge", "self-training"):
        row = f"| 3 masks, tags on all others, {method} | 0.700 / 0.600 / {iou(0.7, 0.6):.3f} | - |"
        assert row in report.sections[0]


def test_self_training_may_win(study: Study) -> None:
    cells = SelfTrainingComparison().cells(study)
    scores = {"ours": (0.8, 0.8), "self-training": (0.7, 0.7), "self-training, weak loss": (0.7, 0.84)}
    report = reported(study, "self-training", [(cell, *scores[cell.method]) for cell in cells])
    assert answers(report) == [False, True]


def test_one_thing_at_a_time_is_changed(study: Study) -> None:
    experiment = SelfTrainingComparison()
    alike = experiment.quick_cells(study)
    assert [cell for cell in experiment.cells(study) if cell.seed == 0] == [Cell("tags+boxes", 5, 0), *alike]
    assert [cell.method for cell in alike] == ["ours", "self-training, weak loss", "self-training"]
    first, *others = [method_parameters(cell.method, dict(cell.changes)) for cell in alike]
    shared = ("method", "C", "alpha", "class_weight")
    assert [[one[name] for name in shared] for one in others] == [[first[name] for name in shared]] * 2
    usual = METHODS["paper"]
    assert (first["method"], first["alpha"], usual.class_weight) == ("paper", usual.alpha, None)


def test_checks_of_cells_that_were_not_run_are_open(study: Study) -> None:
    for name in EXPERIMENTS:
        if name != "qualitative":
            assert set(answers(reported(study, name, []))) == {None}


def test_costs_are_counted(study: Study) -> None:
    images, costs = study.images, Costs(tags=2, seeds=3, boxes=10, mask=240)
    # Sky and grass have tags, the cow or boat a box or a point.
    assert costs.weak(images, 0, "tags") == 6
    assert costs.weak(images, 0, "tags+seeds") == 7
    assert costs.weak(images, 0, "tags+boxes") == 14
    assert costs.weak(images, 0, "tags+boxes+seeds") == 17
    # Marks name their labels: nobody writes these once more.
    assert costs.weak(images, 0, "points") == 9
    assert Costs(scribbles=5).weak(images, 0, "scribbles") == 15
    assert Costs(areas=4).weak(images, 0, "tags+areas") == 12
    with pytest.raises(ValueError, match="a box costs 0"):
        Costs(boxes=0)


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: mix.name)
@pytest.mark.parametrize("seconds", [60.0, 500.0, 1500.0, 4000.0, 1e5])
def test_purchases_keep_to_the_budget(study: Study, mix: Mix, seconds: float) -> None:
    images, costs = study.images, Costs()
    bought = buy(images, mix, seconds, costs, seed=1)
    masks, weak = bought.choice.masks, bought.choice.weak
    assert not set(masks) & set(weak)
    prices = [costs.weak(images, n, mix.kinds) for n in weak]
    assert bought.seconds == pytest.approx(len(masks) * 240 + sum(prices))
    assert bought.seconds <= seconds
    left = seconds - bought.seconds
    if mix.kinds == "none":
        assert left < 240 or len(masks) == len(images)
    else:
        # All that is left is too little for another image, or for a mask in place of a weak annotation.
        assert left < 240 or not weak
        assert len(masks) + len(weak) == len(images) or left < max(price_list(images, mix, costs))
    if mix.masks and len(masks) < len(images):
        assert len(masks) >= int(mix.masks * seconds // 240)


def price_list(images: LabeledImages, mix: Mix, costs: Costs) -> list[float]:
    return [costs.weak(images, n, mix.kinds) for n in range(len(images))]


def test_budgets(study: Study) -> None:
    assert Budget().budgets(study)[-1] == 30 * 4 / 4
    cells = [cell for cell in Budget(minutes=(1.0, 20.0)).cells(study) if "mix" in dict(cell.about)]
    assert {dict(cell.about)["budget"] for cell in cells} == {1.0, 20.0}
    # A minute is too little for a mask.
    assert not any(dict(cell.about)["mix"] == "masks" for cell in cells if dict(cell.about)["budget"] == 1.0)
    scored = [(cell, 0.8 if cell.full == 0 else 0.7, 0.7) for cell in cells]
    results = [CellResult(cell, "toy", "paper", 9, {}, outcome(a, r)) for cell, a, r in scored]
    report = Budget(minutes=(1.0, 20.0)).report(Sheet(results), study)
    assert "| **best** | tags |" in report.sections[0]


def test_mixes_need_no_more_than_three_subsets(study: Study) -> None:
    many = replace(study, setup=replace(study.setup, n_seeds=5))
    cells = Budget(minutes=[20.0]).cells(many)
    assert {cell.seed for cell in cells if "mix" in dict(cell.about)} == {0, 1, 2}
    assert {cell.seed for cell in cells if "next" in dict(cell.about)} == {0, 1, 2, 3, 4}


def test_more_curves_than_colors_are_all_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = set()

    def errorbar(_axes: Axes, *_values: object, color: str, linestyle: str, **_look: object) -> None:
        looks.add((color, linestyle))

    monkeypatch.setattr(Axes, "errorbar", errorbar)
    many = [Series(str(n), [1.0], [(0.5, 0.5)], [(0.0, 0.0)]) for n in range(len(COLORS) + 3)]
    curves(many, "minutes", "Many")(tmp_path / "many.png")
    assert len(looks) == len(many)
