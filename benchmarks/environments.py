"""The peers and their environments, which are created on demand.

They are apart from the project's and from each other: both GCO packages call their module `gco`, and one of
them needs an old NumPy.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

SCRIPTS = Path(__file__).parent / "peers"


class Measured(TypedDict):
    """One instance: seconds of each repeat, and labels [V] or a cut's value."""

    build: list[float]
    solve: list[float]
    answer: list[int] | float


class MissingPeerError(Exception):
    """A peer that could not be installed or that failed to run."""


@dataclass(frozen=True)
class Peer:
    """A script under peers/ and the environment that runs it."""

    name: str
    script: str
    environment: str
    module: str
    requirements: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    def run(self, directory: Path, archive: Path, repeats: int) -> list[Measured]:
        """Solve all instances of the archive in a fresh process of the peer's environment."""
        python = self.python(directory)
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "output.json"
            paths = [str(path) for path in (python, SCRIPTS / self.script, archive, output)]
            call([*paths, str(repeats), *self.arguments], f"{self.name} failed")
            measured: list[Measured] = json.loads(output.read_text())
        return measured

    def python(self, directory: Path) -> Path:
        """Find the environment's interpreter, and install it first if it is not there."""
        python = directory / self.environment / "bin" / "python"
        if not (python.exists() and succeeds([str(python), "-c", f"import {self.module}"])):
            venv.create(directory / self.environment, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *self.requirements]
            call(install, f"cannot install {self.name}")
        return python


GCO = Peer("gco 2.0.2", "gco2.py", "gco", "gco", ("gco==2.0.2", "numpy"))
GCO_WRAPPER = Peer(
    "gco-wrapper 3.0.9", "gco_wrapper.py", "gco-wrapper", "gco", ("gco-wrapper==3.0.9", "numpy<1.24")
)
FLOW_REQUIREMENTS = ("PyMaxflow==1.3.2", "ortools>=9.10", "scipy", "numpy")
PYMAXFLOW = Peer("PyMaxflow", "pymaxflow.py", "maxflow", "maxflow", FLOW_REQUIREMENTS)
PYMAXFLOW_INT = Peer("PyMaxflow (int)", "pymaxflow.py", "maxflow", "maxflow", FLOW_REQUIREMENTS, ("int",))
ORTOOLS = Peer("OR-Tools", "ortools_flow.py", "maxflow", "ortools", FLOW_REQUIREMENTS)
SCIPY = Peer("SciPy", "scipy_flow.py", "maxflow", "scipy", FLOW_REQUIREMENTS)


def save(path: Path, instances: list[dict[str, NDArray[np.generic]]]) -> None:
    """Write the arrays of every instance in the form that the peer scripts read."""
    named = enumerate(instances)
    arrays = {f"{number}/{key}": array for number, instance in named for key, array in instance.items()}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def succeeds(command: list[str]) -> bool:
    """Tell whether the command runs and exits with 0."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def call(command: list[str], complaint: str) -> None:
    """Run the command; if it fails, complain with the last line that it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        raise MissingPeerError(f"{complaint}: {said[-1]}")
