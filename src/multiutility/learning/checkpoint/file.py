"""Checkpoints: all that a fit has found so far, in one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import (
    ArrayFileError,
    Arrays,
    decode_text,
    encode_text,
    part,
    prefixed,
    read_arrays,
    write_arrays,
)
from multiutility.learning.examples import Example

FORMAT = 1
FACTS = "facts"
# Counts of steps, which are few: what is beyond is a mistake, or meant to take time.
MAX_STEPS = 100_000


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: says why, and what to do."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}; remove it to begin anew")


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written."""


def write_checkpoint(path: Path, key: str, steps: Sequence[Arrays], live: Arrays) -> None:
    """Write the results of steps, and the state of the one that is under way.

    ``key`` names what is learned from and how, see ``fit_key``.
    """
    facts = {"format": FORMAT, "key": key, "n_steps": len(steps)}
    arrays: Arrays = {FACTS: encode_text(json.dumps(facts)), **prefixed("live", live)}
    for n, step in enumerate(steps):
        arrays.update(prefixed(f"step{n}", step))
    write_arrays(path, arrays, durable=True)


def read_checkpoint(path: Path, key: str) -> tuple[list[Arrays], Arrays]:
    """Return the steps and the live state of a checkpoint; raise if it is damaged, or of anything else."""
    try:
        arrays = read_arrays(path)
        facts = json.loads(decode_text(arrays[FACTS]))
        number, found, n_steps = facts["format"], facts["key"], facts["n_steps"]
    except (ArrayFileError, KeyError, TypeError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise CheckpointError(path, f"damaged, or no checkpoint ({error})") from None
    if number != FORMAT:
        raise CheckpointError(path, f"a checkpoint of another version (format {number!r}, not {FORMAT})")
    if found != key:
        what = (
            "a checkpoint of other images, annotations or parameters, or of another version of multiutility"
        )
        raise CheckpointError(path, what)
    if type(n_steps) is not int or not 0 <= n_steps <= MAX_STEPS:
        raise CheckpointError(path, f"damaged, or no checkpoint (it has {n_steps!r} steps)")
    # Copies: the file is replaced while the fit goes on.
    own = {name: np.array(array) for name, array in arrays.items()}
    return [part(own, f"step{n}") for n in range(n_steps)], part(own, "live")


def fit_key(examples: Sequence[Example], parameters: Mapping[str, Any]) -> str:
    """Hash of all that the result of a fit depends on."""
    hasher = hashlib.sha256()
    # One after another: features of all examples may not fit in memory.
    for value in chain((version("multiutility"), sorted(parameters.items())), facts_of(examples)):
        hasher.update(b"\n")
        if isinstance(value, np.ndarray):
            hasher.update(f"{value.dtype.str} {value.shape}".encode())
            hasher.update(np.ascontiguousarray(value).data)
        else:
            hasher.update(repr(value).encode())
    return hasher.hexdigest()


def facts_of(examples: Sequence[Example]) -> Iterable[NDArray[Any] | object]:
    """Yield all that learning knows of the examples: arrays, and values whose text tells them apart."""
    for one in examples:
        problem, annotation = one.problem, one.annotation
        yield from (problem.node_features, problem.edges, problem.edge_features, problem.node_sizes)
        loss, limits = annotation.loss_energy(problem), one.constraints
        yield from (loss.unary, loss.edges, loss.weights, loss.offset)
        yield from (loss.subset_starts, loss.subset_nodes, loss.subset_labels, loss.subset_costs)
        yield from (*loss.sizes.arrays, loss.size_gains)
        yield from (limits.allowed, limits.cover_starts, limits.cover_nodes, limits.cover_labels)
        yield from limits.sizes.arrays
        yield from (annotation.start(problem), annotation.prior(problem), annotation.strong)
