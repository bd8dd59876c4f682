"""Flipped bits in files that are kept: noticed, or without effect; never another result."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.runner import Attempt, Outcome, Part
from multiutility.array_file import DTYPES
from multiutility.kinds import PixelAnnotation
from multiutility.learning.checkpoint import journal
from multiutility.vision import Segmenter, features
from multiutility.vision.features.networks.network import EfficientNet
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import FittedPreset
from multiutility.vision.fitted_presets import fitted_preset
from multiutility.vision.photo import ArrayPhoto
from multiutility.vision.store import FeatureStore
from toy import CLASSES, mixed_annotations, toy_picture, toy_preset

Rng = np.random.Generator
Image = NDArray[np.uint8]
Values = list[NDArray[Any]]

PASSES = 5
"""Passes of the training whose checkpoint is kept."""


@dataclass(frozen=True)
class Subject:
    """A file with its content, and what a user gets who has it: values that must stay the same."""

    name: str
    path: Path
    content: bytes
    use: Callable[[], Values]
    wanted: Values


class StoppedError(Exception):
    """The training whose checkpoint is attacked ends here."""


def begin(folder: Path) -> Attempt:
    """Make a file of each kind."""
    os.environ["MULTIUTILITY_CACHE"] = str(folder / "cache")
    features.KINDS["MeanColor"] = "toy"
    journal.EVERY = journal.SHARE = 0
    warnings.simplefilter("ignore")  # that files are made anew, and of arithmetic with damaged numbers
    pairs = [toy_picture(np.random.default_rng(seed)) for seed in range(5)]
    images, annotations = [image for image, _ in pairs], mixed_annotations([mask for _, mask in pairs])
    subjects = [
        *(stored(folder, images, **options) for options in ({}, {"half": True}, {"piecewise": True})),
        preset(folder, images),
        model(folder, images, annotations),
        checkpoint(folder, images, annotations),
        network(folder, images[0]),
    ]

    def attempt(rng: Rng) -> Outcome:
        return attack(subjects[int(rng.integers(len(subjects)))], rng)

    return attempt


def subject(name: str, path: Path, use: Callable[[], Values]) -> Subject:
    """Return the subject of a file that is there, or is made by its first use."""
    wanted = use()
    return Subject(name, path, path.read_bytes(), use, wanted)


def stored(folder: Path, images: Sequence[Image], **options: bool) -> Subject:
    """Features of an image in a store."""
    name = "-".join(["features", *options])
    store, photo = FeatureStore(folder / name, **options), ArrayPhoto("photo", images[0])
    fitted = toy_preset().fit(images, 0)

    def use() -> Values:
        (found,) = store.prepare(fitted, [photo])
        problem = found.problem
        parts = problem.node_features, problem.edges, problem.edge_features, problem.node_sizes
        return [np.array(part) for part in (*parts, found.regions)]

    use()
    return subject(name, next((folder / name).rglob("*.safetensors")), use)


def preset(folder: Path, images: Sequence[Image]) -> Subject:
    """The fitted state of features in a store."""
    photos = [ArrayPhoto(str(n), image) for n, image in enumerate(images)]

    def use() -> Values:
        fitted: FittedPreset = fitted_preset(toy_preset(), photos, 0, folder=folder / "preset")
        return [np.array(fitted.state[name]) for name in sorted(fitted.state)]

    use()
    return subject("preset", next((folder / "preset").iterdir()), use)


def model(folder: Path, images: Sequence[Image], annotations: Sequence[PixelAnnotation]) -> Subject:
    """A model, and what it predicts."""
    path = folder / "model.safetensors"
    Segmenter(toy_preset(), C=1).fit(images, annotations, classes=CLASSES).save(path)
    return subject("model", path, lambda: [*Segmenter.load(path).predict(images[:1])])


def checkpoint(folder: Path, images: Sequence[Image], annotations: Sequence[PixelAnnotation]) -> Subject:
    """A checkpoint, and the weights of the model that is learned from there."""
    path = folder / "checkpoint"
    passes: list[str] = []

    def stop(stage: str, _done: int, _total: int) -> None:
        passes.append(stage)
        if passes.count(stage) > PASSES and path.exists():
            raise StoppedError

    segmenter = partial(Segmenter, toy_preset(), C=1, checkpoint=path)
    try:
        segmenter(progress=stop).fit(images, annotations, classes=CLASSES)
    except StoppedError:
        content = path.read_bytes()

    def use() -> Values:
        return [segmenter().fit(images, annotations, classes=CLASSES).predictor_.weights]

    wanted = use()
    return Subject("checkpoint", path, content, use, wanted)


def network(folder: Path, image: Image) -> Subject:
    """The kept network, and its maps of an image."""
    regions = np.arange(image.shape[0] * image.shape[1], dtype=np.int32).reshape(image.shape[:2]) // 64
    # The first stages only: what is kept of all of them is 100 times as long.
    descriptor = EfficientNet(strides=(2,), scale=1.0)
    picture = partial(Picture, image, regions)
    descriptor.backbone()
    path = next((folder / "cache" / "networks").glob("*.onnx"))
    return subject("network", path, lambda: [descriptor.backbone().means(picture())])


def attack(subject: Subject, rng: Rng) -> Outcome:
    """Change a file, and use it."""
    outcome, (how, damaged) = Outcome(), changed(subject.content, rng)
    if damaged == subject.content:
        return outcome
    outcome.counts["flips"] += 1
    subject.path.unlink(missing_ok=True)
    subject.path.write_bytes(damaged)
    try:
        found = subject.use()
    except (ValueError, OSError) as error:
        outcome.counts["noticed"] += 1
        named = subject.path.name in str(error)
        outcome.check(named, f"{subject.name}: {how}: an error that does not name the file: {error!r}"[:300])
        return outcome
    finally:
        anew = subject.path.exists() and subject.path.read_bytes() == subject.content
    same = len(found) == len(subject.wanted) and all(map(np.array_equal, found, subject.wanted))
    outcome.counts["made anew" if anew and same else "without meaning" if same else "unnoticed"] += 1
    outcome.check(same, f"{subject.name}: {how}: another result, and nothing is said")
    return outcome


def changed(content: bytes, rng: Rng) -> tuple[str, bytes]:
    """Return how the content is changed, and to what: a bit or a byte; half of the time in the header."""
    damaged = bytearray(content)
    header = min(len(content), 8 + int.from_bytes(content[:8], "little"), 4096)
    place = int(rng.integers(header if rng.random() < 0.5 else len(content)))
    way = int(rng.integers(10))
    if way < 7:
        bit = int(rng.integers(8))
        damaged[place] ^= 1 << bit
        return f"bit {bit} of byte {place}", bytes(damaged)
    if way < 9:
        damaged[place] = int(rng.choice([0, 255, int(rng.integers(256)), ord("0"), ord(" ")]))
        return f"byte {place} is {damaged[place]}", bytes(damaged)
    return retyped(content, rng)


def retyped(content: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change the type of an array to one of the same size, as several bits at once may do."""
    found = [*re.finditer(rb'"dtype":"([A-Z]+)(\d+)"', content[:4096])]
    if not found:
        return "nothing", content
    one = found[int(rng.integers(len(found)))]
    others = [name for name in DTYPES if name.encode() != one[1] + one[2] and name.endswith(one[2].decode())]
    name = str(rng.choice(others or ["I8"]))
    return f"type {name}", content[: one.start(1)] + name.encode() + content[one.end(2) :]


PART = Part("flips", begin, share=0.15, short=40, patience=60)
