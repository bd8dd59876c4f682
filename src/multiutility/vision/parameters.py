"""Parameters of a segmenter: what they may be, which of them a model keeps, and what the learner gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from multiutility.annotations import Annotation
from multiutility.datasets.classes import Classes
from multiutility.inference import Expansion
from multiutility.learning.examples import balance
from multiutility.learning.optimizers.solution import Callback
from multiutility.memory import MemoryLimit, n_bytes
from multiutility.vision.learning import PassProgress, tell_all
from multiutility.vision.method import AREAS, METHODS, OPTIMIZERS

if TYPE_CHECKING:
    from multiutility.vision.segmenter import Segmenter

ClassWeight: TypeAlias = Literal["balanced", "auto"] | float | Mapping[str, float] | None

# Parameters that say how a model is made, and not how fast or where: they are kept in its file.
MADE_BY = (
    "C",
    "method",
    "alpha",
    "beta",
    "areas",
    "optimizer",
    "class_weight",
    "tol",
    "max_iter",
    "max_side",
    "refine",
    "half",
    "random_state",
)


def check_parameters(segmenter: Segmenter) -> None:
    """Raise now, rather than after minutes of work."""
    for name in ("C", "alpha", "beta", "tol", "max_iter", "max_side", "n_jobs"):
        value = getattr(segmenter, name)
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}: expected a positive number")
    known = (("method", METHODS), ("optimizer", OPTIMIZERS), ("areas", AREAS))
    for name, values in known:
        if getattr(segmenter, name) not in values:
            expected = " or ".join(map(repr, values))
            raise ValueError(f"{name} is {getattr(segmenter, name)!r}: expected {expected}")
    if segmenter.areas != "uniform" and METHODS[segmenter.method].chooses:
        raise ValueError(f"areas is {segmenter.areas!r}: sizes are learned, unless method is 'paper'")
    if segmenter.executor is not None and OPTIMIZERS[segmenter.optimizer] is not None:
        raise ValueError(f"optimizer is {segmenter.optimizer!r}: a cluster learns by 'frank-wolfe' only")
    if not isinstance(segmenter.class_weight, Mapping) and segmenter.class_weight != "auto":
        balance(segmenter.class_weight)
    if segmenter.memory_limit is not None:
        MemoryLimit(n_bytes(segmenter.memory_limit)).check(0, "this program alone")
    if segmenter.executor is not None and segmenter.store is None:
        raise ValueError("store is None: a cluster needs a folder for features that its machines share")


def learner_parameters(
    segmenter: Segmenter,
    classes: Classes,
    annotations: Sequence[Annotation | None],
    slack_weight: float,
) -> dict[str, Any]:
    """Return the parameters of ``MultiUtilitySSVM``; ``slack_weight`` is C in the unit of the features."""
    method = METHODS[segmenter.method]
    weights: Any = method.class_weight if segmenter.class_weight == "auto" else segmenter.class_weight
    weak = any(annotation is not None and not annotation.strong for annotation in annotations)
    steps = segmenter.max_iter + 1 if weak and not method.chooses else 1
    if isinstance(weights, Mapping):
        weights = {find_label(classes, name): weight for name, weight in weights.items()}
    return {
        **({"warm_start": True} if segmenter.warm_start else {}),
        "C": slack_weight,
        "alpha": method.alpha if segmenter.alpha is None else segmenter.alpha,
        "weak_loss": method.weak_loss,
        "starts": method.starts,
        "tol": segmenter.tol,
        "max_iter": segmenter.max_iter,
        "class_weight": weights,
        "optimizer": OPTIMIZERS[segmenter.optimizer],
        "imputer": method.imputer(Expansion(n_jobs=segmenter.n_jobs if segmenter.executor is None else 1)),
        "random_state": segmenter.random_state,
        "n_jobs": segmenter.n_jobs,
        "callback": follower(segmenter, steps),
        "checkpoint": segmenter.checkpoint,
        "memory_limit": segmenter.memory_limit,
        "executor": segmenter.executor,
    }


def follower(segmenter: Segmenter, n_steps: int) -> Callback | None:
    """Return who is told of passes: the progress, the callback, or both."""
    told = [] if segmenter.callback is None else [segmenter.callback]
    if segmenter.progress is not None:
        told.append(PassProgress(segmenter.progress, segmenter.tol, n_steps))
    return partial(tell_all, told) if told else None


def find_label(classes: Classes, name: str) -> int:
    """Return the label of a class that has a weight."""
    try:
        return classes.label(name)
    except KeyError as error:
        raise ValueError(f"class_weight: {error.args[0]}") from None
