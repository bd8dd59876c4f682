"""The instances of benchmarks/, whose optima and LP values were computed once by benchmarks/optima.py."""

from __future__ import annotations

import numpy as np
import pytest

import instances
import optima
from multiutility.energy import Energy
from multiutility.inference import Expansion
from multiutility.inference.exact import lp_bound

RECORDS = optima.load()
FAMILIES = {family.name: family for family in instances.SMALL}


def energy_of(instance: instances.Instance) -> Energy:
    return Energy.from_arrays(*instance[1:])


def test_every_small_instance_has_a_proven_optimum() -> None:
    names = {instance.name for family in instances.SMALL for instance in family.instances()}
    assert names == set(RECORDS)
    assert all(record["proven"] for record in RECORDS.values())


@pytest.mark.parametrize("name", FAMILIES)
def test_energy_and_bound_enclose_the_optimum(name: str) -> None:
    gaps = []
    for instance in FAMILIES[name].instances():
        record, energy = RECORDS[instance.name], energy_of(instance)
        assert energy.evaluate(record["labels"]) == pytest.approx(record["energy"], abs=1e-6)
        result = Expansion(bound=True).minimize(energy)
        assert result.bound is not None
        assert result.bound - 1e-6 <= record["energy"] <= result.energy + 1e-6
        assert record["lp"] * 0.99 <= result.bound <= record["lp"] + 1e-6
        gaps.append(result.energy / record["energy"] - 1)
    assert np.mean(gaps) < 0.012


def test_recorded_lp_value_is_that_of_the_linear_program() -> None:
    instance = FAMILIES["planted-200-k21-w0.5"].instance(0)
    assert lp_bound(energy_of(instance)) == pytest.approx(RECORDS[instance.name]["lp"], abs=1e-5)


@pytest.mark.parametrize("seed", [1062, 1137, 1197, 1267])
def test_strong_coupling_comes_to_an_end(seed: int) -> None:
    # Pushing excess once went round in circles on these.
    energy = energy_of(FAMILIES["random-200-k21-w0.4-c2"].instance(seed))
    result = Expansion(bound=True).minimize(energy)
    assert result.bound is not None
    assert result.bound <= result.energy <= energy.evaluate(energy.unary.argmin(axis=1))
