"""The structured SVM, for full labelings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from multiutility.annotations.annotation import Annotation
from multiutility.inference import Solver
from multiutility.learning.cccp import convex_fit
from multiutility.learning.estimator import Estimator
from multiutility.learning.examples import ClassWeight, slack_costs
from multiutility.learning.fitting import one_blas_thread
from multiutility.learning.optimizers.solution import Callback, Optimizer
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem


class SSVM(Estimator):
    """Structured support vector machine for full labelings: eq. ssvm-obj.

    ``min |w|^2 / 2 + C / N sum_n max_y (Delta_n(y) + F(x_n, y; w) - F(x_n, y_n; w))`` over weights w whose
    pairwise part is not negative. Nodes that are all void are left out, with their edges.

    Parameters
    ----------
    C : float
        Weight of the slacks.
    tol : float
        Duality gap, as part of the primal objective, at which learning ends. With an approximate solver the
        primal is a lower estimate, so that the gap is not certified.
    class_weight : None, "balanced", float or dict
        Weights of labels in the losses, scaled to the mean 1 over all annotated nodes; a number from 0 to 1
        is a power of balanced ones.
    optimizer : Optimizer
        By default ``FrankWolfe()``.
    solver : Solver
        By default ``Expansion(n_jobs=n_jobs)``.
    random_state : int, RandomState or None
        Order of the instances.
    n_jobs : int
        Threads of the default solver, and of the start; results do not depend on it.
    verbose : int
        Print the objective after every pass.
    callback : callable
        Called with a ``Record`` after every pass.
    checkpoint : path or None
        File that keeps the state of learning, about twice a minute. If it is there, learning goes on from it,
        and ends with bit for bit the same weights; one of other problems or parameters is refused. It is
        left behind, to be removed when the result is safe. ``random_state`` must be a number then.
    memory_limit : int, str or None
        Memory that the process may have, in bytes or as ``"2GB"``: products of features that are kept from
        one pass to the next take a quarter of it at most. Features themselves take what is left if the
        problems read them through an ``ArrayCache``, as those of ``Segmenter`` do. The weights are bit for
        bit the same, whatever the limit.
    executor : Executor or None
        Who learns, such as a ``Cluster``: examples go there in shards, and an ``optimizer`` must know how to
        work with shards, as ``ShardedFrankWolfe`` does. The weights do not depend on the number of workers.

    Attributes
    ----------
    weights_ : ndarray [K D + e]
        Weights: K rows of D weights of node features, then weights of edge features, see ``Potts``.
    objective_ : structured ndarray
        After every pass: ``iteration`` (outer; 0 for trials of starts), ``passes``, ``primal``, ``dual``,
        ``gap``, ``seconds``, and ``exact``: whether the primal was computed or estimated on the way.
    imputed_ : list
        Labelings that the instances were fitted to.

    >>> from multiutility.annotations import Full
    >>> problem = LabelingProblem([[1.0, 0.0], [0.0, 1.0], [0.1, 0.9]], [[0, 1], [1, 2]], [[1.0], [1.0]])
    >>> model = SSVM(C=10).fit([problem], [Full.from_labels([0, 1, 1], n_labels=2)])
    >>> model.predict([problem])
    [array([0, 1, 1], dtype=int32)]
    >>> model.score([problem], [Full.from_labels([0, 1, -1], n_labels=2)])
    1.0
    """

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        *,
        tol: float = 0.01,
        class_weight: ClassWeight = None,
        optimizer: Optimizer[Any, Any] | None = None,
        solver: Solver | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int = 1,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        memory_limit: int | str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.executor = executor

    def fit(self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]) -> Self:
        """Learn weights from problems with full labelings; those whose annotation is None are left out."""
        given, fitting = self._begin(problems, annotations)
        examples = [one.without_open_nodes() for one in given]
        for one in examples:
            if not one.annotation.strong:
                raise ValueError(f"annotations[{one.index}] is weak: use MultiUtilitySSVM")
        with one_blas_thread():
            solution = fitting.solve(examples, slack_costs(examples, self.C, 1.0), self.tol)
        return self._keep(fitting, len(problems), examples, convex_fit(examples, solution, self.tol))
