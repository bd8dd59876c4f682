from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.exact import Exact
from multiutility.inference.pinpoint import Pinpoint, UnmetCoverWarning, flip_loss, unary_loss
from multiutility.inference.reference import Reference
from multiutility.inference.solver import Result, Solver, allowed_mask
from strategies import (
    allowed_labelings,
    constraints_for,
    energies,
    labelings_of,
    planar_energy,
    random_instances,
    unmet_by_definition,
)

VARIANTS = [
    Pinpoint(Exact()),
    Pinpoint(Exact(), candidates="label"),
    Pinpoint(Exact(), loss=flip_loss),
    Pinpoint(Reference()),
    Pinpoint(Reference(), candidates="label", loss=flip_loss),
]


@dataclass
class Recorder:
    """A solver that remembers what it was asked, and claims a fixed amount of work."""

    solver: Solver
    batches: list[list[tuple[Energy, Constraints | None, Any]]] = field(default_factory=list)

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        return self.minimize_many([energy], [constraints], [start])[0]

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        assert constraints is not None
        assert starts is not None
        self.batches.append(list(zip(energies, constraints, starts, strict=True)))
        results = self.solver.minimize_many(energies, constraints, starts)
        bound = -float(len(self.batches))
        return [Result(result.labels, result.energy, bound, moves=10, flows=3) for result in results]


def minimize_quietly(
    solver: Pinpoint, energy: Energy, constraints: Constraints, start: ArrayLike | None = None
) -> Result:
    """The result; a warning must come if, and only if, covers are unmet."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solver.minimize(energy, constraints, start)
    assert [warning.category for warning in caught] == ([UnmetCoverWarning] if result.unmet else [])
    return result


@pytest.mark.parametrize("solver", VARIANTS)
def test_meets_what_can_be_met_and_never_beats_the_optimum(solver: Pinpoint) -> None:
    unmeetable, optimal, total = 0, 0, 0
    for instance in random_instances(seed=0, count=250, max_nodes=5, max_labels=3, max_covers=5):
        energy, constraints = instance.energy, instance.constraints
        result = minimize_quietly(solver, energy, constraints)
        everywhere = allowed_labelings(energy, constraints)
        fewest = min(len(unmet_by_definition(constraints, labels)) for labels in everywhere)
        assert list(result.unmet) == unmet_by_definition(constraints, tuple(result.labels.tolist()))
        assert len(result.unmet) == fewest
        assert result.energy == energy.evaluate(result.labels)
        assert constraints.allowed is None or Constraints(constraints.allowed).satisfied(result.labels)
        if fewest:
            unmeetable += 1
            continue
        optimum = Exact().minimize(energy, constraints).energy
        assert result.energy >= optimum - 1e-9 * instance.unit
        total += 1
        optimal += result.energy <= optimum + 1e-9 * instance.unit
    assert unmeetable > 20
    assert optimal > 0.85 * total


@settings(max_examples=60)
@given(st.data())
def test_ends_and_is_never_worse_than_the_start(data: st.DataObject) -> None:
    energy = data.draw(energies())
    constraints = data.draw(constraints_for(energy, max_covers=6))
    start = np.array(data.draw(labelings_of(energy, constraints)), dtype=np.int32)
    result = minimize_quietly(data.draw(st.sampled_from(VARIANTS)), energy, constraints, start)
    before = (len(constraints.unmet(start)), energy.evaluate(start))
    assert (len(result.unmet), result.energy) <= before


def test_without_covers_it_is_the_solver() -> None:
    for instance in random_instances(seed=1, count=30):
        result = Pinpoint(Reference()).minimize(instance.energy, instance.constraints)
        plain = Reference().minimize(instance.energy, instance.constraints)
        assert result.labels.tolist() == plain.labels.tolist()
        assert (result.energy, result.moves) == (plain.energy, plain.moves)
        assert Pinpoint(Exact()).minimize(instance.energy).energy == Exact().minimize(instance.energy).energy


def test_the_node_of_the_least_loss_is_pinned() -> None:
    # Relative to its best allowed label, node 1 loses 1, node 0 loses 2, although its unary cost is less.
    energy = Energy([[0.0, 2.0, 9.0], [5.0, 4.0, 3.0]])
    constraints = Constraints([[True, True, True], [True, True, True]], [([0, 1], 1)])
    assert Pinpoint(Reference()).minimize(energy, constraints).labels.tolist() == [0, 1]
    # Once label 2 is forbidden, label 1 is the best of node 1 and the cover is met without a pin.
    narrower = Constraints([[True, True, True], [True, True, False]], [([0, 1], 1)])
    recorder = Recorder(Reference())
    assert Pinpoint(recorder).minimize(energy, narrower).labels.tolist() == [0, 1]
    assert len(recorder.batches) == 1


def test_losses() -> None:
    # By unary costs node 0 is cheaper to pin; counting its heavy edges, node 2 is.
    energy = Energy([[0, 1], [0, 9], [0, 2]], [[0, 1], [1, 2]], [5.0, 1.0])
    constraints = Constraints(covers=[([0, 2], 1)])
    assert Pinpoint(Reference(), loss=unary_loss).minimize(energy, constraints).labels.tolist() == [1, 0, 0]
    assert Pinpoint(Reference(), loss=flip_loss).minimize(energy, constraints).labels.tolist() == [0, 0, 1]


def test_candidates() -> None:
    # Cover 0 is met by node 0; the open cover has node 2 only, but node 1 of the same label loses less.
    energy = Energy([[5.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    constraints = Constraints(covers=[([0, 1], 1), ([2], 1)])
    cover, label = Recorder(Reference()), Recorder(Reference())
    assert Pinpoint(cover).minimize(energy, constraints).labels.tolist() == [1, 0, 1, 0]
    assert Pinpoint(label, candidates="label").minimize(energy, constraints).labels.tolist() == [1, 0, 1, 0]
    assert len(cover.batches) == 2
    # Node 1 is pinned first, then node 2; the needless pin is released at the end.
    assert [batch[0][2].tolist() for batch in label.batches[1:]] == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    unknown: Any = "box"
    with pytest.raises(ValueError, match="candidates is 'box': expected 'cover' or 'label'"):
        Pinpoint(Reference(), candidates=unknown)


def test_needless_pins_are_released() -> None:
    energy = Energy([[0.0, 1.0], [0.0, 2.0]])
    constraints = Constraints(covers=[([0, 1], 1), ([1], 1)])
    assert Pinpoint(Reference()).minimize(energy, constraints).labels.tolist() == [0, 1]


def test_pins_that_block_a_cover_are_chosen_anew() -> None:
    # Node 0 loses least for label 1, but cover 1 needs it for label 2.
    energy = Energy([[0.0, 1.0, 5.0], [0.0, 3.0, 3.0]])
    constraints = Constraints(covers=[([0, 1], 1), ([0], 2)])
    for solver in VARIANTS:
        result = solver.minimize(energy, constraints)
        assert (result.labels.tolist(), result.unmet) == ([2, 1], ())


def test_a_cover_that_cannot_be_met_is_reported() -> None:
    energy = Energy([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    together = Constraints(covers=[([0], 1), ([1], 0), ([0], 2), ([0], 1)])
    with pytest.warns(UnmetCoverWarning, match=r"problem 0: cannot meet covers\[2\] \(label 2\)$"):
        result = Pinpoint(Reference()).minimize(energy, together)
    assert (result.labels.tolist(), result.unmet) == ([1, 0], (2,))
    alone = Constraints([[True, True, False]] * 2, [([0, 1], 2), ([1], 1)])
    with pytest.warns(UnmetCoverWarning, match=r"problem 1: cannot meet covers\[0\] \(label 2\)$"):
        results = Pinpoint(Reference()).minimize_many([energy, energy], [None, alone])
    assert (results[1].labels.tolist(), results[1].unmet) == ([0, 1], (0,))
    assert results[0].unmet == ()


def test_start_goes_to_the_first_solve_and_later_ones_are_warm() -> None:
    energy = planar_energy(np.random.default_rng(0), 4, 4, 3)
    constraints = Constraints(covers=[([0, 5], k) for k in (0, 1)] + [([3, 9], k) for k in (1, 2)])
    recorder, start = Recorder(Reference()), np.full(16, 2)
    result = Pinpoint(recorder).minimize(energy, constraints, start)
    assert constraints.satisfied(result.labels)
    assert len(recorder.batches) > 2
    assert recorder.batches[0][0][2] is start
    before = Reference().minimize(energy, start=start).labels
    first_pinned = recorder.batches[1][0]
    assert first_pinned[1] is not None
    assert first_pinned[1].satisfied(first_pinned[2])
    assert (before != first_pinned[2]).sum() == 1


def test_a_better_start_is_kept() -> None:
    # The pins of least unary loss are far from the best, which the start is.
    energy = Energy([[0, 1], [0, 2], [0, 9]], [[0, 2]], [9.0])
    constraints = Constraints(covers=[([0, 1], 1)])
    solver = Pinpoint(Reference(), loss=unary_loss)
    assert solver.minimize(energy, constraints).labels.tolist() == [1, 0, 0]
    assert solver.minimize(energy, constraints, [0, 1, 0]).labels.tolist() == [0, 1, 0]
    assert Pinpoint(Reference()).minimize(energy, constraints).labels.tolist() == [0, 1, 0]


def test_work_is_summed_and_the_bound_is_the_first() -> None:
    energy = Energy([[0.0, 1.0], [0.0, 2.0]])
    recorder = Recorder(Reference())
    result = Pinpoint(recorder).minimize(energy, Constraints(covers=[([0], 1), ([1], 1)]))
    assert (result.moves, result.flows, result.bound) == (30, 9, -1.0)
    assert len(recorder.batches) == 3


def test_a_batch_is_solved_in_rounds() -> None:
    problems = [i for i in random_instances(seed=2, count=60, max_covers=3) if i.scale == "real"]
    energies, limits = [i.energy for i in problems], [i.constraints for i in problems]
    together = Recorder(Reference())
    alone = [Recorder(Reference()) for _ in problems]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetCoverWarning)
        results = Pinpoint(together).minimize_many(energies, limits)
        singles = [Pinpoint(r).minimize(e, c) for r, e, c in zip(alone, energies, limits, strict=True)]
    for result, single in zip(results, singles, strict=True):
        assert result.labels.tolist() == single.labels.tolist()
        assert (result.moves, result.unmet) == (single.moves, single.unmet)
    rounds = [len(recorder.batches) for recorder in alone]
    assert [len(batch) for batch in together.batches] == [
        sum(r > m for r in rounds) for m in range(max(rounds))
    ]
    assert max(rounds) > 2
    assert Pinpoint(Reference()).minimize_many([]) == []


def test_flip_loss_is_the_rise_of_the_energy() -> None:
    rng = np.random.default_rng(3)
    for instance in random_instances(seed=3, count=200, max_nodes=6):
        energy = instance.energy
        labels = rng.integers(energy.n_labels, size=energy.n_nodes).astype(np.int32)
        losses = flip_loss(energy, allowed_mask(energy, None), labels)
        for i, k in np.ndindex(energy.unary.shape):
            other = labels.copy()
            other[i] = k
            rise = energy.evaluate(other) - energy.evaluate(labels)
            assert losses[i, k] == pytest.approx(rise, abs=1e-11 * instance.unit)


def test_inputs_are_checked() -> None:
    energy = Energy(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"cover_nodes\[0\] is 2: nodes must be in 0..1"):
        Pinpoint(Reference()).minimize(energy, Constraints(covers=[([2], 1)]))
    with pytest.raises(ValueError, match=r"start\[0\] is 5"):
        Pinpoint(Reference()).minimize(energy, Constraints(covers=[([1], 1)]), [5, 0])
    with pytest.raises(ValueError, match="starts has 2 elements: expected 1"):
        Pinpoint(Reference()).minimize_many([energy], None, [None, None])
