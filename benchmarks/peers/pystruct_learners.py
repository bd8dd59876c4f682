"""Peer: PyStruct's learners, with our Expansion as their oracle. Run by a Python that has both packages.

    python pystruct_learners.py INSTANCES.npz OUTPUT.json LEARNER LABELS C TOLERANCE SECONDS

LEARNER is OneSlackSSVM or FrankWolfeSSVM; C is PyStruct's, the weight of a single slack. Learning ends at the
relative duality gap TOLERANCE, or after SECONDS. The output has the seconds, passes and objectives, and for
each of PyStruct's own oracles the seconds of as many calls, by what a few of them took at the last weights.
"""

import contextlib
import json
import sys
import time

import numpy as np
from peer import load
from pystruct import learners
from pystruct.inference import get_installed, inference_dispatch
from pystruct.models.base import StructuredModel

from multiutility import LabelingProblem
from multiutility.annotations import Full
from multiutility.inference import Expansion
from multiutility.models import Potts

OWN_ORACLES = ("max-product", "ad3")
OWN_SECONDS = 5.0


class Reached(Exception):  # noqa: N818
    """The gap or the time is reached."""


class PottsModel(StructuredModel):
    """Our features, losses and loss-augmented inference, as PyStruct calls them.

    An input is a problem with the energy of its loss. PyStruct does not keep pairwise weights from going
    negative; the oracle, which cannot do with them, sees zeros instead.
    """

    def __init__(self, problem, n_labels):
        self.potts = Potts(n_labels)
        self.size_joint_feature = self.potts.n_weights(problem)
        self.pairwise = self.potts.nonnegative(problem)
        self.solver = Expansion()
        self.calls, self.seconds = 0, 0.0

    def joint_feature(self, x, y):
        """Return the features of the labeling."""
        return self.potts.joint_feature(x[0], y)

    def loss(self, y, y_hat):
        """Return the share of wrong nodes."""
        return np.mean(y != y_hat)

    def energy(self, x, w):
        """Return the loss-augmented energy."""
        weights = w.copy()
        np.maximum(weights[self.pairwise], 0, out=weights[self.pairwise])
        return self.potts.energy(x[0], weights) + x[1]

    def loss_augmented_inference(self, x, y, w, relaxed=False, return_energy=False):  # noqa: ARG002
        """Return the most violated labeling, and count the time."""
        start = time.perf_counter()
        labels = self.solver.minimize(self.energy(x, w)).labels
        self.calls += 1
        self.seconds += time.perf_counter() - start
        return labels


class Clock:
    """Called by the learner after every pass: ends the learning, and does not count what it takes itself."""

    def __init__(self, gap, tolerance, limit):
        self.gap, self.tolerance, self.limit = gap, tolerance, limit
        self.passes, self.primal, self.dual = 0, np.inf, -np.inf
        self.start, self.seconds = time.perf_counter(), 0.0

    def __call__(self, learner, _iteration):
        """Count a pass, and stop if the gap or the time is reached."""
        self.seconds += time.perf_counter() - self.start
        self.passes += 1
        primal, dual = self.gap(learner)
        self.primal, self.dual = min(primal, self.primal), max(dual, self.dual)
        if self.converged or self.seconds > self.limit:
            raise Reached
        self.start = time.perf_counter()

    @property
    def converged(self):
        """Whether the gap of the best objectives so far is small enough."""
        return self.primal - self.dual <= self.tolerance * self.primal


def learn(name, model, inputs, labelings, cost, tolerance, limit):
    """Run the learner; return it with its clock."""

    def one_slack_gap(learner):
        return learner.primal_objective_curve_[-1], learner.objective_curve_[-1]

    def frank_wolfe_gap(learner):
        calls, seconds = model.calls, model.seconds
        dual, _, primal = learner._calc_dual_gap(inputs, labelings)
        model.calls, model.seconds = calls, seconds
        return primal, dual

    if name == "OneSlackSSVM":
        clock = Clock(one_slack_gap, tolerance, limit)
        learner = learners.OneSlackSSVM(model, C=cost, tol=-np.inf, logger=clock)
    else:
        # Its own check, which takes a pass, is put off: the clock's is not counted.
        clock = Clock(frank_wolfe_gap, tolerance, limit)
        options = {
            "check_dual_every": sys.maxsize,
            "tol": -np.inf,
            "max_iter": sys.maxsize,
            "random_state": 0,
        }
        learner = learners.FrankWolfeSSVM(model, C=cost, logger=clock, **options)
    with contextlib.suppress(Reached):
        learner.fit(inputs, labelings)
    return learner, clock


def own_oracle_seconds(method, model, inputs, weights):
    """Mean time of PyStruct's own loss-augmented inference, over as many calls as fit in a few seconds."""
    start, seconds = time.perf_counter(), []
    for x in inputs:
        energy = model.energy(x, weights)
        agreement = energy.weights[:, None, None] * np.eye(model.potts.n_labels)
        inference_dispatch(-energy.unary, agreement, energy.edges, method)
        seconds.append(time.perf_counter() - start)
        if seconds[-1] > OWN_SECONDS:
            break
    return seconds[-1] / len(seconds)


def main():
    """Read, learn, write."""
    source, target, name, n_labels, *numbers = sys.argv[1:]
    cost, tolerance, limit = map(float, numbers)
    inputs, labelings = [], []
    for arrays in load(source):
        sizes = np.full(len(arrays["labels"]), 1 / len(arrays["labels"]))
        problem = LabelingProblem(arrays["features"], arrays["edges"], arrays["edge_features"], sizes)
        loss = Full.from_labels(arrays["labels"], int(n_labels)).loss_energy(problem)
        inputs.append((problem, loss))
        labelings.append(arrays["labels"])
    model = PottsModel(inputs[0][0], int(n_labels))
    learner, clock = learn(name, model, inputs, labelings, cost, tolerance, limit)
    own = {
        method: own_oracle_seconds(method, model, inputs, learner.w) for method in get_installed(OWN_ORACLES)
    }
    rest = clock.seconds - model.seconds
    output = {
        "seconds": clock.seconds,
        "passes": clock.passes,
        "primal": clock.primal,
        "dual": clock.dual,
        "converged": bool(clock.converged),
        "calls": model.calls,
        "own_oracles": {method: rest + model.calls * seconds for method, seconds in own.items()},
    }
    with open(target, "w") as file:
        json.dump(output, file)


main()
