"""Parameters of the experiments: fixed by preset and kind of supervision.

Those of ``multiutility.vision.defaults`` hold for ``deep``: the best, or within half a point, by the mean of
both measures over three folds of MSRC's training images, in both protocols, of C = 0.3 and 1, and of class
weights 0, 0.25 and 0.5; for tags alone 0 is as good or better. Masks do best with C = 1; tags, with boxes and
without, with 0.3, which is what alpha = 0.3 makes of it. Most constants in ``learning.starts.soft`` were
chosen on the same folds. For ``paper`` and ``context``, C = 1 was better than 0.1 and 0.3 for tags and for
masks; class weights 0.25 and 0.5 were compared. docs/results.md has the searches, by ``multiutility tune``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multiutility.vision import defaults

# Of all presets and kinds.
COMMON: dict[str, Any] = {
    "C": defaults.C,
    "alpha": defaults.ALPHA,
    "beta": defaults.BETA,
    "class_weight": defaults.CLASS_WEIGHT,
    "tol": defaults.TOL,
    "max_iter": defaults.MAX_ITER,
}

# By preset: features that tell little need more of all that is annotated.
HARD: dict[str, Any] = {"C": 1.0, "alpha": 1.0, "class_weight": 0.5}
BY_FEATURES: dict[str, dict[str, Any]] = {"deep": {}, "context": HARD, "paper": HARD, "scene": HARD}

# By preset, and by what images without masks have ("none" is for masks alone).
# Where nothing tells where labels are, class weights help the wrong ones; where masks do, they need less.
BY_KIND: dict[tuple[str, str], dict[str, Any]] = {
    ("deep", "tags"): {"class_weight": 0.0},
    ("paper", "none"): {"class_weight": 0.25},
}

# Weights of the squares of the naive models' weights, as shares of the mean square of features: the best of a
# few for masks, boxes and tags together, by the mean of both measures on MSRC's training images (60 to learn
# from, 36 others to judge by).
PENALTIES: dict[str, float] = {"ridge": 0.01, "logistic": 1e-3}


def learning_parameters(features: str, kinds: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of ``Segmenter`` for features and kinds of weak annotations, with changes.

    >>> learning_parameters("deep", "tags", {"alpha": 0.3})["alpha"]
    0.3
    """
    return {**COMMON, **BY_FEATURES.get(features, {}), **BY_KIND.get((features, kinds), {}), **changes}


def feature_parameters(features: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those parameters of ``Segmenter`` that features depend on."""
    found = {**BY_FEATURES.get(features, {}), **changes}
    return {name: found[name] for name in ("n_superpixels", "max_side") if name in found}
