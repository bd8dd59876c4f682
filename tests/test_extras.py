"""The core alone, and what is said when an extra is missing, where other packages cannot be imported."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from documents import ROOT
from multiutility.extras import EXTRAS

# With what scikit-learn and joblib need themselves; other dependencies are for files and limits of memory.
CORE = ("cloudpickle", "joblib", "multiutility", "narwhals", "numpy", "scipy", "sklearn", "threadpoolctl")
INSTALLED = packages_distributions()
WITHOUT = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in MISSING:
            return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path = [Without(finder) for finder in sys.meta_path]
"""
LEARN = """
import numpy as np
import multiutility
from multiutility import LabelingProblem, MultiUtilitySSVM, SSVM, Constraints, Energy
from multiutility.annotations import Full, Tags
from multiutility.inference import Exact, Expansion, Pinpoint, Reference, min_cut

energy = Energy([[0, 2], [2, 1]], edges=[[0, 1]], weights=[1])
best = Exact().minimize(energy, Constraints(covers=[([0], 1)])).energy
for solver in (Expansion(), Reference()):
    assert Pinpoint(solver).minimize(energy, Constraints(covers=[([0], 1)])).energy == best == 3
rng = np.random.default_rng(0)
truth = [rng.permutation([0, 0, 1, 1]) for _ in range(8)]
problems = [LabelingProblem(np.eye(2)[y], [[0, 1], [1, 2], [2, 3]], np.ones((3, 1))) for y in truth]
full = [Full.from_labels(y, n_labels=2) for y in truth]
tags = [Tags([0, 1], n_labels=2) for _ in truth]
assert SSVM(C=10, random_state=0).fit(problems, full).score(problems, full) == 1
assert MultiUtilitySSVM(C=10, random_state=0).fit(problems, full[:2] + tags[2:]).score(problems, full) == 1
print("learned", multiutility.__version__)
"""


def alone(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where the standard library and the core are found, and no other package that is installed."""
    return without([name for name in INSTALLED if name not in CORE], code)


def without(missing: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code where some packages are not found."""
    code = WITHOUT.replace("MISSING", repr(missing)) + code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_core_learns_with_numpy_scipy_and_scikit_learn_alone() -> None:
    done = alone(LEARN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("learned ")


@pytest.mark.parametrize("part", ["datasets", "kinds", "vision", "demo.run", "studio.server"])
def test_parts_name_the_extra_that_is_missing(part: str) -> None:
    done = alone(f"import multiutility.{part}")
    told = done.stderr.splitlines()[-1]
    assert re.match(r"multiutility\.extras\.MissingExtraError: multiutility\.\w+ needs PIL, cv2, ", told), (
        told
    )
    assert told.endswith("which are not installed: pip install 'multiutility[vision]'")


def test_the_command_line_names_the_extra_in_one_line() -> None:
    done = alone("from multiutility.cli import main\nmain()")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"Error: the command line needs PIL.*: pip install 'multiutility\[vision\]'\n", done.stderr
    )


def test_commands_name_the_extra_that_they_need(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    code = (
        f"import sys\nsys.argv[1:] = ['studio', {str(tmp_path)!r}]\nfrom multiutility.cli import main\nmain()"
    )
    done = without(["uvicorn"], code)
    assert done.returncode == 2, done.stderr
    what = "multiutility.studio needs uvicorn, which is not installed"
    assert done.stderr == f"Error: {what}: pip install 'multiutility[studio]'\n"


def test_clusters_name_their_extra() -> None:
    done = without(["distributed"], "from multiutility.parallel.dask import Cluster\nCluster('local:1')")
    assert done.stderr.splitlines()[-1].endswith("pip install 'multiutility[cluster]'")


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_extras_are_those_of_the_package(extra: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wanted = {normalized(re.split(r"[\[<>=]", one)[0]) for one in declared[extra]} - {"multiutility"}
    found = {normalized(name) for module in EXTRAS[extra] for name in INSTALLED[module]}
    # Weights are looked for where they are used.
    assert found == {name for name in wanted if not name.endswith("pytorch-model")}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
