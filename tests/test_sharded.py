"""Learning in shards solves the same problem as learning in one place."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from learning_cases import fulls, make_risk, random_problems, tags
from multiutility.annotations.annotation import Annotation
from multiutility.inference import Exact
from multiutility.layout import Layout
from multiutility.learning import MultiUtilitySSVM
from multiutility.learning.checkpoint import journal
from multiutility.learning.checkpoint.file import CheckpointError
from multiutility.learning.cluster import backends, shards
from multiutility.learning.cluster.shard import (
    Change,
    Settings,
    Shard,
    Total,
    add_up,
    begin,
    combine,
    examine,
    no_memory,
    sweep,
)
from multiutility.learning.cluster.sharded import ShardedFrankWolfe
from multiutility.learning.cluster.shards import ShardedRisk, Shards
from multiutility.learning.examples import make_examples, slack_costs
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.solution import Record
from multiutility.learning.starts.soft import soft_start
from multiutility.parallel import Executor, Threads
from multiutility.problem import LabelingProblem


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of few examples, so that there are several."""
    monkeypatch.setattr(shards, "LEAST_EXAMPLES", 16)


def sharded_risk(
    executor: Executor, problems: list[LabelingProblem], annotations: list[Annotation]
) -> ShardedRisk:
    examples = make_examples(problems, annotations)
    starts = [one.annotation.start(one.problem) for one in examples]
    return ShardedRisk(Shards(executor, examples), slack_costs(examples, 2.0, 0.1), starts, Exact())


def test_optimum_is_that_of_one_place() -> None:
    problems, labelings = random_problems(2, 40)
    annotations = fulls(labelings)
    risk = make_risk(problems, annotations)
    whole = FrankWolfe(max_passes=1000).minimize(risk, 1e-3)
    records: list[Record] = []
    with Threads() as executor:
        cut = sharded_risk(executor, problems, annotations)
        assert len(cut.handles) == 2
        found = ShardedFrankWolfe(max_passes=1000).minimize(cut, 5e-3, callback=records.append)
        assert found.converged
        assert found.primal == pytest.approx(cut.objective(found.weights))
    # Neither the dual nor the primal is taken on trust: the exact objective is that of one place.
    primal = risk.objective(found.weights)
    assert found.primal == pytest.approx(primal)
    assert whole.dual <= primal <= whole.primal + 6e-3 * primal
    assert found.dual <= whole.primal
    duals = [record.dual for record in records]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(duals))


def test_what_goes_to_a_worker_and_back_is_small() -> None:
    """A shard is sent without what can be made again; functions leave what they are given as it is."""
    problems, labelings = random_problems(1, 20)
    examples = make_examples(problems, fulls(labelings))
    shard = Shard(examples, slack_costs(examples, 2.0, 0.1), Exact())
    fresh = len(pickle.dumps(shard))
    anchors = [one.annotation.start(one.problem) for one in examples]
    first = begin(shard, anchors, no_memory(shard), 4)
    total = add_up(shard.risk.layout, first.change)
    settings = Settings(batch_size=2, exchanges=3, rehearsals=1, company=2.0)
    sent, order = pickle.dumps((first, total)), np.arange(20, dtype=np.int64)
    once = sweep(shard, 0, first, total, order, settings)
    assert pickle.dumps((first, total)) == sent
    step, whole = pickle.loads(sent)
    again = sweep(pickle.loads(pickle.dumps(shard)), 0, step, whole, order, settings)
    assert len(pickle.dumps(shard)) == fresh
    assert np.array_equal(once.change.nodes, again.change.nodes)
    assert all(np.array_equal(a, again.state[name]) for name, a in once.state.items())


def test_steps_are_the_same_whether_the_shard_made_the_last_ones_or_not() -> None:
    """What the oracle has seen stays with who has made steps; all others, and those who repeat, are told."""
    problems, labelings = random_problems(1, 20)
    examples = make_examples(problems, fulls(labelings))
    shard = Shard(examples, slack_costs(examples, 2.0, 0.1), Exact())
    anchors = [one.annotation.start(one.problem) for one in examples]
    first = begin(shard, anchors, no_memory(shard), 4)
    total = add_up(shard.risk.layout, first.change)
    settings, order = Settings(None, exchanges=3, rehearsals=1, company=1.0), np.arange(12, dtype=np.int64)
    second = sweep(shard, 0, first, total, order, settings)
    total = combine(shard.risk.layout, total, True, second.change)
    sent = pickle.dumps((shard, second, total))
    weights = shard.risk.layout.projected(total.sum)
    going_on = examine(shard, 0, second, total, weights, settings)
    repeated = examine(shard, 0, second, total, weights, settings)
    other, told, whole = pickle.loads(sent)
    elsewhere = examine(other, 0, told, whole, weights, settings)
    for found in (repeated, elsewhere):
        assert found.change.nodes.tobytes() == going_on.change.nodes.tobytes()
        assert all(np.array_equal(a, found.state[name]) for name, a in going_on.state.items())


def test_parts_of_steps_never_lower_the_dual() -> None:
    """Three shards whose steps would be too much together, one that would be harmful, and one of no use."""
    step = np.array([1.0, 0.5, 0.0])
    good, bad, none = (
        Change(s * step[:2], s * step[2:], loss) for s, loss in ((1, 0.8), (-1, -2.0), (0, 0.0))
    )
    total = Total(np.zeros(3), 0.0, np.ones(5), 0.0, 0.0)
    layout = Layout(n_labels=1, n_features=2, n_pairwise=1)
    found = combine(layout, total, True, good, good, good, bad, none)
    assert ((found.parts >= 0) & (found.parts <= 1)).all()
    # The best along (1, 1/2) is where its slope 0.8 - 1.25 t is zero.
    np.testing.assert_allclose(found.sum, 0.8 / 1.25 * step, atol=1e-6)
    assert found.loss - found.sum @ found.sum / 2 == pytest.approx(0.8**2 / 1.25 / 2)


@pytest.fixture
def short_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that takes little time."""
    monkeypatch.setattr(backends, "soft_start", partial(soft_start, shrinkage=[0.01], n_iterations=3))


class InterruptionError(Exception):
    """Somebody has pulled the plug."""


@pytest.mark.usefixtures("short_start")
def test_interrupted_learning_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "EVERY", 0.0)
    monkeypatch.setattr(journal, "SHARE", 0)
    problems, labelings = random_problems(4, 32)
    annotations = [*fulls(labelings[:16]), *tags(labelings[16:])]
    path, records = tmp_path / "checkpoint", []

    def interrupt(record: Record) -> None:
        records.append(record)
        if len(records) == 4:
            raise InterruptionError

    with Threads() as executor:
        model = MultiUtilitySSVM(C=2, tol=0.1, random_state=0, executor=executor)
        whole = model.fit(problems, annotations).weights_
        again = clone(model).set_params(checkpoint=path, callback=interrupt)
        with pytest.raises(InterruptionError):
            again.fit(problems, annotations)
        resumed = again.set_params(callback=None).fit(problems, annotations)
        assert path.exists()
        other = MultiUtilitySSVM(C=2, tol=0.1, random_state=0, checkpoint=path)
        with pytest.raises(CheckpointError, match="other images, annotations or parameters"):
            other.fit(problems, annotations)
    assert np.array_equal(resumed.weights_, whole)
    assert len(resumed.objective_) > 4


@pytest.mark.usefixtures("short_start")
def test_mixed_annotations_lead_as_low_as_in_one_place() -> None:
    """The procedure is not convex, but on these problems both ways end in the same place."""
    problems, labelings = random_problems(5, 32)
    annotations = [*fulls(labelings[:8]), *tags(labelings[8:])]
    whole = MultiUtilitySSVM(C=2, tol=0.02, random_state=0).fit(problems, annotations)
    with Threads(2, n_shards=2) as executor:
        cut = MultiUtilitySSVM(C=2, tol=0.02, random_state=0, executor=executor).fit(problems, annotations)
    assert cut.outer_objective_[-1] == pytest.approx(whole.outer_objective_[-1], rel=0.03)
    truth = fulls(labelings)
    assert cut.score(problems, truth) == pytest.approx(whole.score(problems, truth), abs=0.05)
