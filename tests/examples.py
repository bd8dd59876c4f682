"""Random small annotations of every kind, with their problems; a kind without examples fails the tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import multiutility.annotations
from multiutility import LabelingProblem
from multiutility.annotations import (
    LINEAR,
    Annotation,
    Boxes,
    Expected,
    Full,
    Joint,
    Profile,
    Seed,
    Seeds,
    Tags,
)
from multiutility.annotations.sized import Area, Sized
from pictures import Picture, random_picture
from strategies import random_edges

Example: TypeAlias = tuple[Annotation, LabelingProblem]


def kinds() -> list[str]:
    """Names of all kinds of annotations that the package exports."""
    exports = {name: getattr(multiutility.annotations, name) for name in multiutility.annotations.__all__}
    return [
        name
        for name, value in exports.items()
        if inspect.isclass(value) and hasattr(value, "loss_energy") and value is not Annotation
    ]


def random_sizes(rng: np.random.Generator, n_labels: int) -> dict[int, float]:
    """Sizes of some labels."""
    return {k: float(rng.uniform(0.5, 20)) for k in range(n_labels) if rng.random() < 0.5}


def drawn(rng: np.random.Generator, parts: str) -> tuple[Picture, LabelingProblem, dict[str, Any]]:
    """Picture, its problem, and options that its annotation may have."""
    picture = random_picture(rng, parts, max_nodes=4)
    problem = picture.problem(random_edges(rng, int(picture.regions.max()) + 1))
    options: dict[str, Any] = {
        "strict": picture.options["strict"],
        "areas": random_sizes(rng, picture.n_labels) if rng.random() < 0.3 else {},
        "shares": random_sizes(rng, picture.n_labels) if rng.random() < 0.3 else {},
    }
    return picture, problem, options


def random_full(rng: np.random.Generator) -> Example:
    """Mixed nodes and void; every second one by labels."""
    n_nodes, n_labels = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    edges = random_edges(rng, n_nodes)
    sizes = rng.uniform(0.5, 5, n_nodes)
    problem = LabelingProblem(np.zeros((n_nodes, 1)), edges, np.ones((len(edges), 1)), sizes)
    if rng.random() < 0.5:
        return Full.from_labels(rng.integers(-1, n_labels, n_nodes), n_labels), problem
    shares = rng.dirichlet(np.ones(n_labels + 1), n_nodes)[:, 1:] * (rng.random((n_nodes, 1)) < 0.8)
    return Full(shares * sizes[:, np.newaxis]), problem


def random_tags(rng: np.random.Generator) -> Example:
    """Tags with all options."""
    picture, problem, options = drawn(rng, "t")
    return Tags(picture.tags, picture.n_labels, **options), problem


def random_boxes(rng: np.random.Generator) -> Example:
    """Boxes with all options and profiles."""
    picture, problem, options = drawn(rng, "tb")
    profile = Profile(rng.random(3), rng.random(2)) if rng.random() < 0.5 else LINEAR
    boxes = [picture.box(box, tight=rng.random() < 0.7) for box in picture.boxes]
    boxes = [box.with_profile(profile) if rng.random() < 0.5 else box for box in boxes]
    options |= {name: picture.options.get(name) for name in ("other", "tight")}
    return Boxes(boxes, picture.n_labels, picture.tags, picture.options["beta"], **options), problem


def random_seeds(rng: np.random.Generator) -> Example:
    """Seeds with all options."""
    picture, problem, options = drawn(rng, "ts")
    seeds = [Seed.in_grid(k, (y, x), picture.regions) for k, x, y in picture.seeds]
    options["other"] = picture.options.get("other")
    if rng.random() < 0.3 and seeds:
        options["complete"] = True
    return Seeds(seeds, picture.n_labels, picture.tags, picture.options["beta"], **options), problem


def random_areas(rng: np.random.Generator, n_labels: int) -> Sized:
    """Areas of some labels, of which one is there, and some may be absent."""
    shares = rng.dirichlet(np.ones(n_labels)) * rng.choice([0.5, 1.0])
    chosen = sorted({int(shares.argmax()), *np.flatnonzero(rng.random(n_labels) < 0.6).tolist()})
    absent = [k != shares.argmax() and rng.random() < 0.2 for k in chosen]
    tolerance = float(rng.choice([0.0, 0.25, 0.5]))
    pairs = zip(chosen, absent, strict=True)
    return Sized([Area(k, 0.0 if gone else float(shares[k]), tolerance) for k, gone in pairs])


def random_joint(rng: np.random.Generator) -> Example:
    """Tags, boxes and seeds, any of which may be missing; every fourth has areas, with tags or without."""
    if rng.random() < 0.25:
        picture, problem, options = drawn(rng, "t")
        areas = random_areas(rng, picture.n_labels)
        tags = [k for k in picture.tags if k not in areas.absent] if rng.random() < 0.7 else []
        return Joint(tags, [], [], picture.n_labels, terms=[areas], **options), problem
    picture, problem, options = drawn(rng, str(rng.choice(["tbs", "tbs", "bs", "tb", "ts", "b", "s"])))
    return Picture(
        picture.regions,
        picture.n_labels,
        picture.tags,
        picture.boxes,
        picture.seeds,
        picture.options | options,
    ).rasterize(), problem


def random_expected(rng: np.random.Generator) -> Example:
    """Shares of labels, of which some are zero, over any kind of weak annotation."""
    annotation, problem = random_joint(rng)
    shares = rng.dirichlet(np.full(annotation.n_labels, 0.5), problem.n_nodes)
    return Expected(annotation, shares), problem


EXAMPLES: dict[str, Callable[[np.random.Generator], Example]] = {
    "Boxes": random_boxes,
    "Expected": random_expected,
    "Full": random_full,
    "Joint": random_joint,
    "Seeds": random_seeds,
    "Tags": random_tags,
}
