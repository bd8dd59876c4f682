"""Parameters of the experiments: fixed by preset and kind of supervision.

Those of ``multiutility.vision.defaults`` hold for ``deep``. C = 0.3 was the best, or close to it, of 0.1, 0.3
and 1 for tags, tags and boxes, tags and seeds, on two of three folds of MSRC's training images, in both
protocols; most constants in ``learning.initial`` were chosen on the same folds. For ``paper`` and
``context``, C = 1 was better than 0.1 and 0.3 for tags, and than 0.3 for masks, on average over the folds of
``multiutility tune --protocol paper --metric mean --grid C=0.1,0.3,1 [--weaken tags]``, on training images.
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
    "class_weight": None,
    "tol": defaults.TOL,
    "max_iter": defaults.MAX_ITER,
}

# By preset.
BY_FEATURES: dict[str, dict[str, Any]] = {"deep": {}, "context": {"C": 1.0}, "paper": {"C": 1.0}, "scene": {}}

# By preset, and by what images without masks have ("none" is for masks alone).
BY_KIND: dict[tuple[str, str], dict[str, Any]] = {}

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
