"""Features and predictions that are computed elsewhere, by workers that see the same files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from multiutility.parallel import Executor, in_order
from multiutility.vision.features.preset import FittedPreset, Progress
from multiutility.vision.photo import Photo
from multiutility.vision.predictor import Prediction, Predictor, ignore
from multiutility.vision.store import FeatureStore

# Photographs of one task: enough that sending it does not matter, few enough that all have something to do.
CHUNK = 4
# Tasks that wait, for each shard of the executor.
WAITING = 2


def fill(
    executor: Executor,
    store: FeatureStore,
    fitted: FittedPreset,
    photos: Sequence[Photo],
    progress: Progress | None = None,
) -> None:
    """Compute the features of photos that are not in the store yet, and put them there."""
    if store.folder is None:
        raise ValueError("a cluster needs a store for features: a folder that all of its machines share")
    chunks, done = chunks_of(photos), 0
    shelf, preset = executor.put(store), executor.put(fitted)
    calls = ((store_some, shelf, preset, chunk) for chunk in chunks)
    for count in in_order(executor, calls, WAITING * executor.n_shards):
        done += count
        (progress or ignore)(done, len(photos))


def store_some(store: FeatureStore, fitted: FittedPreset, photos: Sequence[Photo]) -> int:
    """Put the features of some photos into the store, unless they are there; return how many photos."""
    return len(store.prepare(fitted, photos))


def predictions(
    executor: Executor, predictor: Predictor, photos: Sequence[Photo], progress: Progress | None = None
) -> Iterator[Prediction]:
    """Yield the predictions one by one, in order."""
    sent, done = executor.put(predictor), 0
    calls = ((predict_some, sent, chunk) for chunk in chunks_of(photos))
    for found in in_order(executor, calls, WAITING * executor.n_shards):
        yield from found
        done += len(found)
        (progress or ignore)(done, len(photos))


def predict_some(predictor: Predictor, photos: Sequence[Photo]) -> list[Prediction]:
    """Return the predictions of some photos, without these: whoever asks has them."""
    return [replace(one, image=None) for one in predictor.predict(photos)]


def chunks_of(photos: Sequence[Photo]) -> list[Sequence[Photo]]:
    """Cut photos into those of tasks."""
    return [photos[first : first + CHUNK] for first in range(0, len(photos), CHUNK)]
