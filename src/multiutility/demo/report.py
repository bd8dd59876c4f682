"""The page that the demo writes: one file, with all pictures and charts in it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes
from multiutility.datasets.files import replacing
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.demo.charts import Line, dot_chart, line_chart
from multiutility.demo.markup import (
    box,
    duration,
    figure,
    joined,
    legend,
    page,
    percent,
    row,
    section,
    share_cell,
    table,
)
from multiutility.kinds import BY_DETAIL, KINDS, Kind
from multiutility.kinds.drawing import overlay
from multiutility.kinds.mask import MASK
from multiutility.vision.evaluation import Evaluation
from multiutility.vision.render import draw_annotation

MASKS, NAIVE, OURS = "masks only", "filled in", "all annotations"

# What each method does, and its color in the page's style.
ABOUT = {
    MASKS: ("Learns from the images with masks, and leaves all others aside.", "m-masks"),
    NAIVE: ("Fills boxes, shares the rest out among the tags, and fits a regression to that.", "m-naive"),
    OURS: (
        "Learns from all images at once: weak annotations are read, and weighed, as the masks teach.",
        "m-ours",
    ),
}

N_EXAMPLES = 2
OPACITY = 0.75


@dataclass(frozen=True, eq=False)
class Contestant:
    """A way to learn, how good its model is, and the masks it gives the images shown, by name."""

    name: str
    evaluation: Evaluation
    masks: dict[str, NDArray[np.uint8]]

    @property
    def style(self) -> str:
        """Color in the page's style."""
        return ABOUT[self.name][1]


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the report tells; ``objective`` is the learning curve, ``seconds`` the time of each stage."""

    training: DatasetFolder
    validation: DatasetFolder
    methods: Sequence[Contestant]
    objective: NDArray[Any]
    seconds: dict[str, float]
    n_superpixels: int

    def method(self, name: str) -> Contestant:
        """Return the method of a name."""
        return next(one for one in self.methods if one.name == name)

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of annotation that there are."""
        return [kind for kind in BY_DETAIL if self.of_kind(kind)]

    def of_kind(self, kind: Kind) -> list[Sample]:
        """Return the training images that have this kind of annotation."""
        return [sample for sample in self.training if kind_of(sample) is kind]

    def scores(self) -> dict[str, Any]:
        """Return scores by method and seconds by stage, as JSON."""
        methods = {method.name: method.evaluation.to_dict() for method in self.methods}
        return {"methods": methods, "seconds": {**self.seconds, "together": sum(self.seconds.values())}}


def kind_of(sample: Sample) -> Kind:
    """Return what an image is annotated with besides tags."""
    return next((kind for kind in BY_DETAIL if kind.name in sample.kinds), BY_DETAIL[-1])


def effort(samples: Iterable[Sample]) -> float:
    """Return about how many seconds people need for these annotations, by published figures."""
    total = 0.0
    for sample in samples:
        seconds, weak = kind_of(sample).seconds, sample.weak()
        n_marks = sum(kind.count(weak.value(kind)) for kind in KINDS if kind.placed and kind is not MASK)
        total += seconds.image + seconds.mark * n_marks
    return total


def write_report(demo: Demo, path: Path) -> None:
    """Write the page, which opens without a network."""
    parts = (header, tiles, score_table, examples, gallery, charts, by_hand)
    with replacing(path) as file:
        file.write(page("multiutility demo", (part(demo) for part in parts)).encode())


def header(demo: Demo) -> str:
    """Title and summary."""
    *counts, last = (f"{len(demo.of_kind(kind))} {kind.words.such}" for kind in demo.kinds)
    title = f"One segmenter from {', '.join(counts)} and {last} images"
    lead = (
        "Multi-utility learning trains one model on annotations of every kind. Here it learns to label the "
        f"pixels of generated scenes with {len(demo.training.classes)} classes, and is tried on "
        f"{len(demo.validation)} scenes that it has not seen."
    )
    eyebrow = '<p class="eyebrow">multiutility demo</p>'
    return f'<header>{eyebrow}<h1>{title}</h1><p class="lead">{lead}</p></header>'


def tiles(demo: Demo) -> str:
    """Figures to remember."""
    about = {
        OURS: "of pixels right, learned from all annotations",
        MASKS: "from the masks alone",
        NAIVE: "with boxes and tags filled in naively",
    }
    figures = [(percent(demo.method(name).evaluation.accuracy), words) for name, words in about.items()]
    cheap, dear = effort(demo.training), len(demo.training) * MASK.seconds.image
    figures.append((duration(cheap), f"of annotation; masks for all images would take {duration(dear)}"))
    cells = (f'<div class="tile"><b>{number}</b><span>{words}</span></div>' for number, words in figures)
    return box("tiles", cells)


def score_table(demo: Demo) -> str:
    """Table of scores."""
    best = max(demo.methods, key=lambda method: method.evaluation.accuracy)
    rows = []
    for method in demo.methods:
        swatch, about = f'<span class="swatch {method.style}"></span>', ABOUT[method.name][0]
        used = demo.of_kind(MASK) if method.name == MASKS else demo.training
        values = (getattr(method.evaluation, name) for name in ("accuracy", "mean_recall", "mean_iou"))
        cells = [
            f"<td>{swatch}{escape(method.name)}<small>{escape(about)}</small></td>",
            f'<td class="number">{len(used)} images<small>{duration(effort(used))}</small></td>',
            *(share_cell(value, method.style) for value in values),
        ]
        rows.append(row(cells, strong=method is best))
    note = (
        "On images that no method has seen. Recall and intersection over union (IoU) are means over classes, "
        "so that a small thing counts as much as the sky. All methods have the same images and features. "
        "Times of annotation are estimates by published figures: four minutes for a mask, 20 seconds for the "
        "tags of an image, and on top seven for a box, two for a click."
    )
    heads = ("method", "learns from", "accuracy", "mean recall", "mean IoU")
    return section("Scores", note, table(heads, rows))


def examples(demo: Demo) -> str:
    """Examples of what was learned from."""
    columns = []
    for kind in demo.kinds:
        samples, words = demo.of_kind(kind), kind.words
        telling = sorted(samples, key=lambda sample: (-n_named(sample), sample.name))[:N_EXAMPLES]
        shown = [example(sample, demo.training.classes) for sample in telling]
        columns.append(
            box("kind", [f"<h3>{words.title}: {len(samples)} images</h3><p>{words.about}</p>", *shown])
        )
    note = (
        "Each training image has one kind of annotation, as they come about: a few careful ones, many quick "
        "ones. The images with masks are chosen so that the classes appear in proportion."
    )
    return section("What it learned from", note, legend(demo.training.classes), box("kinds", columns))


def n_named(sample: Sample) -> int:
    """Return how many classes an annotation names, apart from masks."""
    return len(sample.weak().labels)


def example(sample: Sample, classes: Classes) -> str:
    """Picture of an annotated image."""
    picture = draw_annotation(sample.image(), sample.annotation(), classes)
    return figure(picture, f"{sample.name} with its annotation")


def gallery(demo: Demo) -> str:
    """Some images, the truth, and what the methods say."""
    heads = ("image", "truth", *(method.name for method in demo.methods))
    cells = [f'<div class="head">{escape(name)}</div>' for name in heads]
    for name in demo.methods[0].masks:
        cells += compared(demo, demo.validation[name])
    note = (
        f"From the best to the worst of the {len(demo.validation)} images, in even steps, by the accuracy of "
        "the model that has learned from all annotations. Under each mask: how many pixels are right."
    )
    return section("Predictions", note, legend(demo.validation.classes), box("scroll", [box("rows", cells)]))


def compared(demo: Demo, sample: Sample) -> Iterator[str]:
    """Yield an image, its true mask, and those of the methods."""
    image, truth, palette = sample.image(), sample.mask(), demo.validation.classes.palette
    yield figure(image, sample.name, sample.name)
    if truth is not None:
        yield figure(overlay(image, truth, palette, OPACITY), f"{sample.name}: truth")
    for method in demo.methods:
        right = percent(method.evaluation.accuracies[sample.name])
        drawn = overlay(image, method.masks[sample.name], palette, OPACITY)
        yield figure(drawn, f"{sample.name}: {method.name}", right)


def charts(demo: Demo) -> str:
    """Charts side by side, where there is room."""
    return box("charts", [class_chart(demo), learning_chart(demo)])


def class_chart(demo: Demo) -> str:
    """Recall of each class."""
    found = [method.evaluation.to_dict()["classes"] for method in demo.methods]
    rows = {name: [one[name]["recall"] for one in found] for name in demo.validation.classes.names}
    names = [(method.name, method.style) for method in demo.methods]
    note = (
        "What part of each class was found. A class that the few masks hardly show is learned from the rest."
    )
    return section("Class by class", note, dot_chart(rows, names, "Recall of each class", "recall"))


def learning_chart(demo: Demo) -> str:
    """Learning curve."""
    lines = (
        Line("objective", best_so_far(demo.objective, "primal", np.minimum), "c-primal"),
        Line("lower bound", best_so_far(demo.objective, "dual", np.maximum), "c-dual"),
    )
    note = (
        "What weak annotations say is read first, as the masks teach. Then the model is fitted to all of it, "
        "a convex problem: the lower bound rises until the best objective so far is near."
    )
    chart = line_chart(lines, "Objective and lower bound over time", "seconds", "objective")
    return section("Learning", note, chart)


def best_so_far(objective: NDArray[Any], name: str, better: np.ufunc) -> list[tuple[float, float]]:
    """Return (seconds, value) after every pass, with the best value until then.

    >>> curve = np.array([(0.5, 5.0), (1.0, 6.0)], dtype=[("seconds", float), ("primal", float)])
    >>> best_so_far(curve, "primal", np.minimum)
    [(0.5, 5.0), (1.0, 5.0)]
    """
    best = better.accumulate(objective[name]).tolist()
    return list(zip(objective["seconds"].tolist(), best, strict=True))


def by_hand(demo: Demo) -> str:
    """How to do it by hand, and what took how long."""
    folder, model = demo.training.path, "model.safetensors"
    commands = (
        f"multiutility summary {folder} --split train",
        f"multiutility train {folder} --split train --superpixels {demo.n_superpixels} --out {model}",
        f"multiutility evaluate {model} {folder} --split validation",
        f"multiutility predict {model} {folder / 'images'} --out results --overlay",
    )
    note = (
        "The images with their annotations are in a dataset folder, as your own would be. These commands do "
        "the same by hand, and the table tells what the demo took its time for."
    )
    stages = {**demo.seconds, "together": sum(demo.seconds.values())}
    rows = [
        row([f"<td>{escape(stage)}</td>", f'<td class="number">{seconds:.1f} s</td>'], stage == "together")
        for stage, seconds in stages.items()
    ]
    made = f"multiutility {version('multiutility')}, Python {platform.python_version()}, {platform.machine()}"
    code = f"<pre>{escape(joined(commands))}</pre>"
    times = box("stages", [table(("stage", "time"), rows)])
    return section("Once more, by hand", note, code, times, f"<footer>{made}</footer>")
