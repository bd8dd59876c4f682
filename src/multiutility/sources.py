"""What results depend on besides data and parameters: the code that learns, and the libraries it uses."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# Parts of the package that only show results, or ask for them: packages, and modules of others.
NOT_DECIDING = frozenset({"cli", "demo", "studio"})
SHOWING = frozenset(
    [
        "experiments/budget",
        "experiments/experiment",
        "experiments/figures",
        "experiments/gain",
        "experiments/gain_checks",
        "experiments/gain_findings",
        "experiments/gain_report",
        "experiments/next_labels",
        "experiments/plots",
        "experiments/report",
        "experiments/results_page",
        "experiments/self_training",
        "experiments/table1",
        "experiments/table2",
        "experiments/ways",
        "tuning/page",
    ]
)
# Libraries that compute, by the names that they are installed by.
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "opencv-python-headless",
    "onnxruntime",
    "pillow",
)
NATIVE = "multiutility._core"


@cache
def code_digest() -> str:
    """Hash of the code that decides on results, with its native part, and of the versions of libraries.

    Comments, docstrings and the way that code is laid out make no difference.
    """
    hasher = hashlib.sha256(repr([(name, version(name)) for name in LIBRARIES]).encode())
    for path in deciding_files():
        hasher.update(f"\n{path.name}\n".encode())
        hasher.update(meaning(path.read_bytes()).encode())
    hasher.update(native_file().read_bytes())
    return hasher.hexdigest()


def deciding_files() -> Iterator[Path]:
    """Yield the files with Python code that results may depend on, in a fixed order."""
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py"), key=lambda one: one.relative_to(root).as_posix()):
        module = path.relative_to(root).with_suffix("")
        if module.parts[0] not in NOT_DECIDING and module.as_posix() not in SHOWING:
            yield path


def native_file() -> Path:
    """Return the file of the native code."""
    spec = find_spec(NATIVE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{NATIVE} is not installed")
    return Path(spec.origin)


def meaning(source: bytes) -> str:
    """Return code as text without comments, docstrings and layout.

    >>> meaning(b"x = 1  # one") == meaning(b"x=1") != meaning(b"x = 2")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
