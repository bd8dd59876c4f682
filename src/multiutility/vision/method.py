"""Methods of learning, by name: what losses, starts and weights a segmenter takes unless they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from multiutility.inference import Pinpoint, Solver
from multiutility.inference.pinpoint import unary_loss
from multiutility.learning.multi_utility import ALPHA
from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.optimizers.solution import Optimizer
from multiutility.learning.starts.filled import Filled
from multiutility.learning.starts.masks import Masks
from multiutility.learning.starts.start import Start

MethodName: TypeAlias = Literal["auto", "paper"]
OptimizerName: TypeAlias = Literal["frank-wolfe", "cutting-plane"]
Areas: TypeAlias = Literal["uniform", "estimated"]
AREAS = ("uniform", "estimated")


@dataclass(frozen=True)
class Method:
    """What ``MultiUtilitySSVM`` is given.

    ``alpha`` None and ``class_weight`` "auto" are chosen by evidence. ``imputer`` makes one around a solver.
    """

    weak_loss: Literal["annotation", "expected"]
    alpha: float | None
    class_weight: Literal["auto"] | None
    starts: Sequence[Start] | None = None
    imputer: Callable[[Solver], Solver] = Pinpoint

    @property
    def chooses(self) -> bool:
        """Whether evidence decides what is not given."""
        return self.weak_loss == "expected"


METHODS: dict[str, Method] = {
    "auto": Method("expected", alpha=None, class_weight="auto"),
    "paper": Method(
        "annotation",
        alpha=ALPHA,
        class_weight=None,
        starts=(Masks(otherwise=Filled()),),
        imputer=partial(Pinpoint, candidates="label", loss=unary_loss),
    ),
}

# None: the usual one of the backend, which makes Frank-Wolfe steps.
OPTIMIZERS: dict[str, Optimizer[Any, Any] | None] = {
    "frank-wolfe": None,
    "cutting-plane": CuttingPlane(),
}
