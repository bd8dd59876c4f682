"""Options that several commands have."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from multiutility.outputs import Outputs, Sources
from multiutility.vision.features.names import check_features

if TYPE_CHECKING:
    from multiutility.parallel.dask import Cluster

LEARNING = "Learning"
FEATURES = "Features"
CLUSTER = "Cluster"
SHARDS = 16


class Method(StrEnum):
    """How weak annotations are learned from."""

    auto = "auto"
    paper = "paper"


class Areas(StrEnum):
    """Sizes of labels that the paper's losses assume."""

    uniform = "uniform"
    estimated = "estimated"


class Optimizer(StrEnum):
    """Who solves convex problems."""

    frank_wolfe = "frank-wolfe"
    cutting_plane = "cutting-plane"


class Metric(StrEnum):
    """What tuning looks for."""

    accuracy = "accuracy"
    mean_recall = "mean_recall"
    mean_iou = "mean_iou"
    mean = "mean"


class Protocol(StrEnum):
    """What void pixels and rare classes count as."""

    paper = "paper"
    msrc21 = "msrc21"


def known_features(text: str) -> str:
    """Return the name of features, if there are any of this name."""
    try:
        return check_features(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


DatasetArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="DIR", help="Dataset folder.")]
ModelArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="File that [b]train[/b] wrote.")
]
SplitOption: TypeAlias = Annotated[
    str | None, typer.Option("--split", metavar="NAME", help="Only the images of splits/NAME.txt.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
JobsOption: TypeAlias = Annotated[
    int, typer.Option("--jobs", "-j", min=0, help="Cores to use; 0 for all. Results do not depend on it.")
]
RandomStateOption: TypeAlias = Annotated[
    int, typer.Option("--random-state", metavar="N", help="The same number gives the same result.")
]

FeaturesOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="NAME",
        callback=known_features,
        help="deep: of a network; context: best without one; paper, scene: as published; a network of your "
        "own, by the name that [b]features add[/b] gave it; or several joined, as deep+NAME.",
        rich_help_panel=FEATURES,
    ),
]
SuperpixelsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--superpixels",
        min=1,
        help="About how many superpixels an image has in learning; by default, as the features have it, or "
        "twice as many where ten masks or more have shapes that need them. Predictions with deep features "
        "have four times as many.",
        rich_help_panel=FEATURES,
    ),
]
StoreOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FOLDER",
        help="Where computed features are kept, to be used again. By default, the user's cache folder "
        "(see MULTIUTILITY_CACHE). It may be deleted at any time.",
        rich_help_panel=FEATURES,
    ),
]
HalfOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--half",
        help="Features of half precision, which take half of the space; the same for prepare and train.",
        rich_help_panel=FEATURES,
    ),
]
MemoryLimitOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory to keep within, as 2GB: features are then read when they are needed.",
        rich_help_panel=LEARNING,
    ),
]

COption: TypeAlias = Annotated[
    float, typer.Option("--C", help="Weight of errors on training images.", rich_help_panel=LEARNING)
]
AlphaOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Weight of weakly annotated images among them.",
        show_default="chosen; 0.1 with --method paper",
        rich_help_panel=LEARNING,
    ),
]
MethodOption: TypeAlias = Annotated[
    Method,
    typer.Option(
        "--method",
        help="auto: weak annotations are read as masks teach, and weigh what held-out masks say; paper: the "
        "losses, starts and weights of the paper.",
        rich_help_panel=LEARNING,
    ),
]
BetaOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--beta",
        help="Weight of boxes and seeds in the losses, with --method paper.",
        rich_help_panel=LEARNING,
    ),
]
AreasOption: TypeAlias = Annotated[
    Areas | None,
    typer.Option(
        "--areas",
        help="Sizes of classes in the losses, with --method paper: all alike, or those of the masks.",
        show_default="uniform",
        rich_help_panel=LEARNING,
    ),
]
OptimizerOption: TypeAlias = Annotated[
    Optimizer,
    typer.Option(
        "--optimizer",
        help="Who solves convex problems; cutting-plane is the paper's, and slower.",
        rich_help_panel=LEARNING,
    ),
]
ClassWeightOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--class-weight",
        min=0,
        max=1,
        help="How much rare classes are favored: 0: all pixels weigh the same; 1: all classes do.",
        show_default="chosen; 0 with --method paper",
        rich_help_panel=LEARNING,
    ),
]
ClusterOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Work on a Dask cluster: tcp://HOST:PORT of its scheduler, or local:N for N processes here. Its "
        "machines must see images and features by the same paths.",
        rich_help_panel=CLUSTER,
    ),
]
ShardsOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--shards",
        min=1,
        help="Parts of the data on a cluster, at least as many as it has cores; models depend on it a bit.",
        rich_help_panel=CLUSTER,
    ),
]
SkipBadOption: TypeAlias = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave out images that cannot be read or used, and list them."),
]
LooseBoxesOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--loose-boxes",
        help="Take all boxes as loose: things are inside, and need not touch the sides (tight = 0).",
    ),
]
OverwriteOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Write over files that another wrote, or that have been changed since; never over what is read.",
    ),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of Segmenter in place of its default, as C=3; may be given several times.",
        rich_help_panel=LEARNING,
    ),
]


def n_jobs(jobs: int) -> int:
    """Return the number of cores that 0 stands for."""
    return jobs or os.cpu_count() or 1


@contextmanager
def workers(cluster: str | None, shards: int) -> Iterator[Cluster | None]:
    """A cluster for as long as it is needed; None if none is asked for."""
    if cluster is None:
        yield None
        return
    from multiutility.parallel.dask import Cluster  # noqa: PLC0415

    with Cluster(cluster, shards) as executor:
        yield executor


def numbers(option: str, text: str, *, zero: bool = False) -> list[float]:
    """Return positive numbers of a text with commas, or zero where it may be one.

    >>> numbers("--minutes", "15,30"), numbers("--minutes", "")
    ([15.0, 30.0], [])
    """
    try:
        found = [float(part) for part in text.split(",") if part]
    except ValueError:
        raise ValueError(f"{option} {text!r}: expected numbers with commas, such as 15,30,60") from None
    if any(not 0 < one < float("inf") and not (zero and one == 0) for one in found):
        raise ValueError(f"{option} {text!r}: expected positive numbers{' or 0' * zero}")
    return found


def parsed(settings: list[str]) -> dict[str, Any]:
    """Return parameters of texts such as ``C=3``.

    >>> parsed(["C=3", "method=paper"])
    {'C': 3, 'method': 'paper'}
    """
    found = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not (name and sign and value):
            raise ValueError(f"--set {setting!r}: expected NAME=VALUE, such as C=3")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def learning_options(
    method: Method, alpha: float | None, class_weight: float | None, areas: Areas | None
) -> dict[str, Any]:
    """Return parameters of ``Segmenter``; what is None is left to the method.

    >>> learning_options(Method.auto, None, 0.5, None)
    {'method': 'auto', 'class_weight': 0.5}
    """
    if areas is not None and method is not Method.paper:
        raise ValueError(
            f"--areas {areas.value}: the sizes of --method {method.value} are learned; leave it out"
        )
    given = {"alpha": alpha, "class_weight": class_weight, "areas": None if areas is None else areas.value}
    return {"method": method.value, **{name: one for name, one in given.items() if one is not None}}


def check_writable(out: Path) -> None:
    """Raise unless a file can be written there: now, rather than after minutes of work."""
    if out.is_dir():
        raise ValueError(f"{out}: is a folder; give the name of a file in it")
    if not os.access(out.resolve().parent, os.W_OK):
        raise ValueError(
            f"{out}: its folder does not exist, or cannot be written to; make it, or give another"
        )


def parts_of(folder: Path) -> list[Path]:
    """Return all that commands read of a dataset; whether it is there, or not."""
    from multiutility.datasets.contents import PARTS, root_images  # noqa: PLC0415

    return [*(folder / part for part in PARTS), *root_images(folder)]


def file_outputs(command: str, files: Sequence[Path], sources: Sources, overwrite: bool) -> Outputs:
    """Return files of one folder that a command writes; raise if it may not: now, rather than after hours."""
    for file in files:
        check_writable(file)
    outputs = Outputs(command, files[0].parent, [file.name for file in files], sources, overwrite)
    outputs.check_all(files)
    return outputs


def store_of(store: Path | None, sources: Sources) -> Path:
    """Return where features are kept: by default, a folder in the user's cache."""
    from multiutility.vision.cache import cache_folder  # noqa: PLC0415

    place = (store or cache_folder() / "features").absolute()
    sources.check_place(place)
    return place
