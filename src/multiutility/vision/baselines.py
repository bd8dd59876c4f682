"""Baselines that one would try first: weak annotations filled in as if they were masks, and a regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from multiutility.arrays import FloatArray, IndexArray
from multiutility.kinds import KINDS, PixelAnnotation
from multiutility.kinds.boxes import BOXES
from multiutility.kinds.mask import label_histograms
from multiutility.learning.fitting import one_blas_thread
from multiutility.learning.selection.choice import evenly
from multiutility.learning.selection.evidence import confusion, folds_of, merit
from multiutility.models import Potts
from multiutility.vision.features.preset import Prepared
from multiutility.vision.predictor import Predictor
from multiutility.vision.refinements import chosen_refinement
from multiutility.vision.training_set import TrainingSet

# Weights [K, D] of features [V, D] of images, for pixels of each region and label [V, K], and a penalty.
Regression: TypeAlias = Callable[[Sequence[NDArray[np.float32]], Sequence[FloatArray], float], FloatArray]

# Steps of the logistic regression, at most.
N_STEPS = 100


class Penalties(NamedTuple):
    """Weights of the squares of a model's weights to choose from, as shares of the mean square of features.

    The usual one is for data without two masks, which cannot tell.
    """

    tried: tuple[float, ...]
    usual: float


# Parts of the masks that take turns, and images that penalties are compared on, at most.
N_FOLDS, MOST_MASKS, MOST_WEAK = 3, 60, 48


@dataclass(frozen=True)
class Naive:
    """Fill in all annotations, and fit a regression to the superpixels, each on its own."""

    regression: Regression
    penalties: Penalties

    def learn(self, training: TrainingSet, _parameters: Mapping[str, Any]) -> Predictor:
        """Learn with the penalty that held-out masks are in favor of."""
        n_labels, weighted = len(training.classes), training.preset.preset.weighted
        annotations = [training.small_annotation(n) for n in range(len(training.prepared))]
        features = [plain_features(one, weighted) for one in training.prepared]
        pairs = zip(annotations, training.prepared, strict=True)
        targets = [filled(annotation, one.regions, n_labels) for annotation, one in pairs]
        masks = [n for n, one in enumerate(annotations) if one.mask is not None and one.mask.any()]
        merits = self.compare(features, targets, masks)
        penalty = max(merits, key=lambda one: merits[one]) if merits else self.penalties.usual
        weights = self.regression(features, targets, penalty)
        flat = Potts(n_labels).layout(training.prepared[0].problem).local(weights)
        chosen = {
            "penalty": penalty,
            "merit": {f"{one:g}": round(value, 4) for one, value in merits.items()},
        }
        plainly = Predictor(
            training.classes,
            training.preset,
            flat,
            training.max_side,
            typical_margin=1.0,
            refine=None,
            about={"chosen": chosen},
        )
        refinement = chosen_refinement(plainly, training, masks)
        return replace(plainly, preset=training.preset.for_prediction(), refine=refinement)

    def compare(
        self, features: Sequence[NDArray[np.float32]], targets: Sequence[FloatArray], masks: Sequence[int]
    ) -> dict[float, float]:
        """Return the mean of accuracy, recall and IoU on held-out masks, by penalty; none without two masks.

        All other images are always learned from.
        """
        if len(masks) < 2:
            return {}
        judges = evenly(masks, MOST_MASKS)
        rest = evenly(sorted(set(range(len(targets))) - set(masks)), MOST_WEAK)
        folds = folds_of(len(judges), N_FOLDS).tolist()
        merits = {}
        for penalty in self.penalties.tried:
            confusions = []
            for fold in range(max(folds) + 1):
                held_out = [n for n, f in zip(judges, folds, strict=True) if f == fold]
                known = [*(n for n in judges if n not in held_out), *rest]
                weights = self.regression([features[n] for n in known], [targets[n] for n in known], penalty)
                single = weights.T.astype(np.float32)
                confusions += [confusion(targets[n], (features[n] @ single).argmax(axis=1)) for n in held_out]
            merits[penalty] = merit(confusions)
        return merits


def plain_features(prepared: Prepared, weighted: bool) -> NDArray[np.float32]:
    """Features of nodes, not weighted by their sizes: a classifier would take the large for the certain."""
    problem = prepared.problem
    sizes = problem.node_sizes[:, np.newaxis] / problem.node_sizes.mean()
    return np.asarray(problem.node_features / sizes if weighted else problem.node_features, dtype=np.float32)


def filled(annotation: PixelAnnotation, regions: IndexArray, n_labels: int) -> FloatArray:
    """Return how many pixels of each region [V] would have which label, [V, K].

    Boxes are filled, the smaller over the larger; the regions of seeds are filled. All other pixels are
    shared out evenly among all labels named that have no boxes (without any, among the labels of boxes).

    >>> regions = np.array([[0, 0, 1, 1]], dtype=np.int32)
    >>> filled(PixelAnnotation(tags=(0, 2)), regions, n_labels=3)
    array([[1., 0., 1.],
           [1., 0., 1.]])
    >>> filled(PixelAnnotation(mask=np.array([[0, 1, 3, 3]], dtype=np.uint8)), regions, n_labels=3)
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    if annotation.mask is not None:
        return label_histograms(annotation.mask, regions, n_labels)
    mask = np.zeros(regions.shape, dtype=np.uint8)
    named: dict[bool, set[int]] = {False: set(), True: set()}
    for kind in KINDS:
        value = annotation.value(kind)
        named[kind.says == BOXES.says].update(kind.labels(value))
        if kind.there(value):
            for places, label in kind.fill(value, regions):
                mask[places] = label + 1
    rest = named[False] - named[True] or named[True]
    counts = label_histograms(mask, regions, n_labels)
    open_ = np.bincount(regions.ravel(), mask.ravel() == 0, len(counts))
    counts[:, sorted(rest)] += open_[:, np.newaxis] / len(rest)
    return counts


def ridge_weights(
    features: Sequence[NDArray[np.float32]], targets: Sequence[FloatArray], penalty: float
) -> FloatArray:
    """Weights [K, D] of the regression of labels on features, with pixels shared out among labels [V, K].

    ``min mean_i |W x_i - (t_i - t)|^2 + penalty |W|^2 mean_i |x_i|^2`` over all pixels, with the part
    ``t_ik`` of each label in the pixel's region, and ``t`` their mean: what is common is common everywhere,
    and no reason to say so.
    """
    total = sum(float(one.sum()) for one in targets)
    mean = np.sum([one.sum(axis=0) for one in targets], axis=0) / total
    n_features = features[0].shape[1]
    gram, products = np.zeros((n_features, n_features)), np.zeros((n_features, len(mean)))
    for x, counts in zip(features, targets, strict=True):
        sizes = counts.sum(axis=1, keepdims=True)
        gram += x.T @ (x * (sizes / total).astype(np.float32))
        products += x.T @ ((counts - sizes * mean) / total)
    gram += penalty * gram.trace() * np.eye(n_features)
    return np.asarray(np.linalg.solve(gram, products).T)


def logistic_weights(
    features: Sequence[NDArray[np.float32]], targets: Sequence[FloatArray], penalty: float
) -> FloatArray:
    """Weights [K, D] of the logistic regression of labels on features, with pixels shared out [V, K].

    ``min -mean_i sum_k t_ik log p_k(x_i) + penalty / 2 |W|^2 mean_i |x_i|^2`` over all pixels, with the part
    ``t_ik`` of each label in the pixel's region.
    """
    total = sum(float(one.sum()) for one in targets)
    parts = [counts / total for counts in targets]
    sizes = [one.sum(axis=1, keepdims=True) for one in parts]
    squares = sum(float(s[:, 0] @ np.square(x).sum(axis=1)) for x, s in zip(features, sizes, strict=True))
    shape = targets[0].shape[1], features[0].shape[1]
    ridge = penalty * squares

    def value(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        single = weights.T.astype(np.float32)
        loss, gradient = ridge * float(flat @ flat) / 2, ridge * weights
        for x, part, size in zip(features, parts, sizes, strict=True):
            logs = log_softmax((x @ single).astype(np.float64), axis=1)
            loss -= float(np.vdot(part, logs))
            gradient += (size * np.exp(logs) - part).T.astype(np.float32) @ x
        return loss, gradient.ravel()

    start = np.zeros(shape[0] * shape[1])
    with one_blas_thread():
        found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": N_STEPS})
    return np.asarray(found.x).reshape(shape)


# The usual penalties are the best of a few for masks, boxes and tags together, on MSRC's training images.
RIDGE = Naive(ridge_weights, Penalties((1e-3, 1e-2, 1e-1), usual=1e-2))
LOGISTIC = Naive(logistic_weights, Penalties((1e-4, 1e-3, 1e-2), usual=1e-3))
