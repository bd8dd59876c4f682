"""Seeds of things, with tags for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiutility.annotations.joint import Joint
from multiutility.annotations.seed import Seed


# A subclass, not a wrapper: Seeds is a Joint without boxes, and only its arguments differ.
class Seeds(Joint):
    """One point in every thing of some labels, and tags: eq. kappa-il-os.

    Besides the terms of the tags, a node costs ``beta`` times its mass in the Gaussian around each seed whose
    label it does not have. The sizes ``tau`` of the Gaussians split the instance's size over its labels, and
    over the seeds of each label. In consistent labelings, the node of a seed has its label. Without tags, the
    rest is the label ``other`` if given, or else anything; see ``Joint`` for this and the other arguments.

    >>> import numpy as np
    >>> from multiutility import LabelingProblem
    >>> problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)))
    >>> seed = Seed.in_grid(1, (2,), regions=np.arange(4))
    >>> seeds = Seeds([seed], n_labels=3, tags=[0])
    >>> round(seeds.loss(problem, [0, 0, 1, 0]), 4), round(seeds.loss(problem, [0, 0, 1, 1]), 4)
    (0.4176, 0.2097)
    >>> seeds.constraints(problem).allowed[2]
    array([False,  True, False])
    """

    def __init__(
        self,
        seeds: Sequence[Seed],
        n_labels: int,
        tags: Sequence[int] = (),
        beta: float = 1.0,
        *,
        other: int | None = None,
        complete: bool | None = None,
        strict: bool = False,
        areas: Mapping[int, float] | None = None,
        shares: Mapping[int, float] | None = None,
    ) -> None:
        super().__init__(
            tags,
            (),
            seeds,
            n_labels,
            beta,
            other=other,
            complete=complete,
            strict=strict,
            areas=areas or {},
            shares=shares or {},
        )
