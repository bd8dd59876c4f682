"""Where learning by the losses of annotations begins."""

from __future__ import annotations

import numpy as np
import pytest

from learning_cases import fulls, random_problems, tags
from multiutility.annotations import Annotation, Box, Boxes, Tags
from multiutility.inference import Expansion, Pinpoint
from multiutility.inference.pinpoint import unary_loss
from multiutility.learning import SSVM, MultiUtilitySSVM
from multiutility.learning.cluster.backends import LocalBackend
from multiutility.learning.examples import make_examples
from multiutility.learning.starts.filled import Filled
from multiutility.learning.starts.masks import Masks
from multiutility.learning.starts.soft import Soft
from multiutility.learning.starts.start import Beginning
from multiutility.problem import LabelingProblem

LOCAL = LocalBackend(Expansion(), Pinpoint(Expansion()))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def no_weights() -> np.ndarray:
    raise AssertionError("there are no full labelings")


def test_boxes_are_filled_and_the_rest_is_that_of_soft_labels() -> None:
    rng = np.random.default_rng(0)
    large = Box(2, rows=[[0, 1], [2, 3]], columns=[[0, 2], [1, 3]])
    small = Box(3, rows=[[3]], columns=[[3]])
    problems = [LabelingProblem(rng.normal(size=(8, 3)), [], np.zeros((0, 1))) for _ in range(3)]
    annotations: list[Annotation] = [
        Boxes([small, large], n_labels=4, tags=[0, 1]),
        Boxes([large], n_labels=4, tags=[1]),
        Tags([0, 1], n_labels=4),
    ]
    beginning = Beginning(make_examples(problems, annotations), LOCAL, no_weights)
    soft, filled = Soft()(beginning), Filled()(beginning)
    assert filled[0][:4].tolist() == [2, 2, 2, 3]
    assert filled[1][:4].tolist() == [2, 2, 2, 2]
    assert all(np.array_equal(a[4:], b[4:]) for a, b in zip(soft, filled, strict=True))
    assert np.array_equal(soft[2], filled[2])
    otherwise = Masks(otherwise=Filled())(beginning)
    assert otherwise is not None
    assert all(np.array_equal(a, b) for a, b in zip(otherwise, filled, strict=True))
    assert Masks()(beginning) is None


def test_masks_impute_by_the_model_of_the_masks() -> None:
    problems, labelings = random_problems(3, 10)
    annotations = [*fulls(labelings[:5]), *tags(labelings[5:])]
    weights = SSVM(C=5.0, random_state=0).fit(problems[:5], annotations[:5]).weights_
    examples = make_examples(problems, annotations)
    found = Masks(otherwise=Filled())(Beginning(examples, LOCAL, lambda: weights))
    assert found is not None
    assert all(np.array_equal(a, b) for a, b in zip(found, labelings[:5], strict=False))
    from_start = [one.annotation.start(one.problem) for one in examples]
    expected = LOCAL.imputer(examples).impute(weights, from_start).labelings
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_learning_goes_on_from_the_best_start() -> None:
    problems, labelings = random_problems(5, 12)
    annotations = [*fulls(labelings[:4]), *tags(labelings[4:])]
    usual = MultiUtilitySSVM(C=5.0, random_state=0).fit(problems, annotations)
    named = MultiUtilitySSVM(C=5.0, starts=(Soft(), Masks()), random_state=0).fit(problems, annotations)
    assert np.array_equal(usual.weights_, named.weights_)
    with pytest.raises(ValueError, match=r"starts is \(Masks\(otherwise=None\),\): none of them can begin"):
        MultiUtilitySSVM(starts=(Masks(),)).fit(problems, tags(labelings))


def test_what_checkpoints_are_known_by_is_the_same_in_every_process() -> None:
    paper = Pinpoint(Expansion(n_jobs=3), candidates="label", loss=unary_loss)
    assert repr(paper) == f"Pinpoint({Expansion()!r}, candidates='label', loss=unary_loss)"
    assert repr((Masks(otherwise=Filled()), Soft())) == "(Masks(otherwise=Filled()), Soft())"
