"""A new kind of annotation is two files and one line: it is put into a copy of the package, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import multiutility
from multiutility.sources import native_file
from toy import write_toy

TERM = """
from multiutility.annotations.scribbled import Scribbled


class Ringed(Scribbled):
    name = "rings"
"""

KIND = """
from dataclasses import dataclass, replace
from operator import attrgetter

from multiutility.annotations.ringed import Ringed
from multiutility.annotations.scribbled import Stroke
from multiutility.kinds.kind import FromMask, Inaccuracy, Kind, Page, Seconds, Table, Words
from multiutility.kinds.seeds import seed_of


@dataclass(frozen=True)
class Ring:
    label: int
    x: float
    y: float
    radius: float


def term(rings, grid):
    return Ringed(list({Stroke(int(grid.regions[int(r.y), int(r.x)]), r.label): 0 for r in rings}))


def make(content):
    return tuple(Ring(s.label, s.x, s.y, 2.0) for s in map(seed_of, content.objects))


def shrink(rings, share, _shape, _name, _random_state):
    return tuple(replace(ring, radius=ring.radius * (1 - share)) for ring in rings)


def check(share):
    if not 0 <= share < 1:
        raise ValueError("too much")


def draw(sketch, rings):
    for ring in rings:
        sketch.draw.circle((ring.x, ring.y), ring.radius, outline=sketch.color(ring.label))


def resize(ring, down, across):
    return Ring(ring.label, ring.x * across, ring.y * down, ring.radius * down)


RINGS = Kind(
    "rings",
    Words("ring", "rings", "Rings", "A ring in each thing.", "ringed"),
    Page("rings", "With rings", "with rings", "with rings"),
    Seconds(each=4.0, image=20.0, mark=4.0),
    level=1,
    mended=0.6,
    draw=draw,
    weaken=(FromMask("rings", make, "Make rings in things."),),
    inaccuracy=Inaccuracy("shrink_rings", "SHARE", 0.9, "Make rings that are smaller.", check, shrink),
    says=Ringed.says,
    term=term,
    table=Table(
        "rings.csv",
        ("x", "y", "radius"),
        lambda label, numbers, wrong: Ring(label, *numbers),
        lambda ring: (ring.x, ring.y, ring.radius),
        attrgetter("label"),
        resize,
    ),
)
"""

LAST = "    instances: NDArray[Any] | None = None\n"
LINE = '    rings: tuple[Any, ...] = field(default=(), metadata={"kind": RINGS})\n'
IMPORT = "from multiutility.kinds.seeds import"

# Finders of editable installs would find the package itself.
COMMAND = """
import sys
usual = ("BuiltinImporter", "FrozenImporter", "PathFinder")
sys.meta_path[:] = [one for one in sys.meta_path if getattr(one, "__name__", "") in usual]
from multiutility.cli import app
from multiutility.vision import features
from multiutility.vision.features import presets
from toy import toy_preset
presets.PRESETS["deep"] = toy_preset
features.KINDS["MeanColor"] = "toy"
app(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a copy of the package that has rings."""
    root = tmp_path_factory.mktemp("package")
    copy = root / "multiutility"
    shutil.copytree(Path(multiutility.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(native_file(), copy)
    (copy / "annotations" / "ringed.py").write_text(TERM, encoding="utf-8")
    (copy / "kinds" / "rings.py").write_text(KIND, encoding="utf-8")
    listed = copy / "kinds" / "annotation.py"
    text = listed.read_text(encoding="utf-8")
    assert (text.count(LAST), text.count(IMPORT)) == (1, 1)
    text = text.replace(LAST, LINE + LAST).replace(
        IMPORT, f"from multiutility.kinds.rings import RINGS\n{IMPORT}"
    )
    listed.write_text(text, encoding="utf-8")
    return root


def run(package: Path, *arguments: object, code: int = 0) -> str:
    """Run a command of the copy."""
    paths = [str(package), str(Path(__file__).parents[1])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "MULTIUTILITY_CACHE": str(package / "cache"),
    }
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, check=False, cwd=package
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_all_commands_know_a_kind_of_two_files_and_one_line(package: Path, tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "toy", n_train=8, n_validation=2).path
    weak = tmp_path / "weak"
    options = run(package, "weaken", "--help")
    assert "--rings" in options
    assert "--shrink-rings" in options
    made = ("--keep-masks", 2, "--tags", "--shrink-rings", 0.5)
    run(package, "weaken", folder, weak, "--split", "train", *made)
    header, *rows = (weak / "rings.csv").read_text(encoding="utf-8").splitlines()
    assert header == "image,label,x,y,radius"
    assert len(rows) == 6
    assert all(row.endswith(",1") for row in rows)
    assert json.loads(run(package, "validate", weak, "--json")) == []
    summary = json.loads(run(package, "summary", weak, "--json", "--picture", tmp_path / "samples.png"))
    assert summary["mix"] == {"tags + rings": 6, "mask": 2}
    assert sum(one["rings"] for one in summary["classes"]) == 6
    model = tmp_path / "model.safetensors"
    run(package, "train", weak, "--out", model, "--jobs", 1)
    scores = json.loads(run(package, "evaluate", model, folder, "--split", "validation", "--json"))
    assert scores["accuracy"] > 0.8
    # Wrong rows are found like those of other kinds.
    (weak / "rings.csv").write_text(f"{header}\n{rows[0]}\npicture00,ship,1,1,1\n", encoding="utf-8")
    (problem,) = json.loads(run(package, "validate", weak, "--json", code=1))
    assert (Path(problem["file"]).name, problem["row"]) == ("rings.csv", 3)
