"""The reference of the Python interface: a page for each public package, all of whose names are on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mkdocs.structure.files import File

from docstrings import markdown
from multiutility.vision import features

FOLDER = "reference"


@dataclass(frozen=True)
class Page:
    """A package, or module; and what of it is public, if it has no ``__all__``."""

    module: str
    names: Sequence[str] = ()

    @property
    def uri(self) -> str:
        """Where the page is."""
        return f"{FOLDER}/{self.module.removeprefix('multiutility.').replace('.', '-')}.md"

    def public(self) -> list[str]:
        """Names of all that is public."""
        return [*(self.names or import_module(self.module).__all__)]

    def text(self) -> str:
        """Return the page: what the docstrings say."""
        module = import_module(self.module)
        # Descriptors are fetched when asked for, which reading the sources does not tell.
        places: dict[str, str] = features.KINDS if module is features else {}
        blocks = [
            f"::: {places.get(name, self.module)}.{name}\n"
            for name in self.public()
            if not name.startswith("__")
        ]
        words = "\n".join(markdown((module.__doc__ or "").splitlines()))
        return "\n".join([f"# {self.module}\n", f"{words}\n", *blocks])


CONFUSIONS = ("confusion", "mask_confusion", "total_confusion")
SCORES = ("accuracy", "recall", "mean_recall", "intersection_over_union", "mean_iou")

PAGES = (
    Page("multiutility"),
    Page("multiutility.annotations"),
    Page("multiutility.inference"),
    Page("multiutility.models"),
    Page("multiutility.learning"),
    Page("multiutility.checks", ("check_annotation", "check_model", "check_solver")),
    Page("multiutility.metrics", (*CONFUSIONS, *SCORES)),
    Page(
        "multiutility.identifiability",
        ("unidentified", "Bag", "Group", "UnidentifiedLabelsWarning", "warn_unidentified"),
    ),
    Page("multiutility.memory", ("ArrayCache", "CachedArray", "MemoryLimit", "NoLimit", "MemoryLimitError")),
    Page("multiutility.parallel"),
    Page("multiutility.parallel.dask", ("Cluster", "ClusterError")),
    Page("multiutility.kinds"),
    Page("multiutility.datasets"),
    Page("multiutility.datasets.formats"),
    Page("multiutility.vision"),
    Page("multiutility.vision.features"),
    Page(
        "multiutility.vision.suggestions",
        ("suggestions", "Suggestion", "Belief", "Patch", "Known", "Effort"),
    ),
)


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Add the pages."""
    for page in PAGES:
        files.append(File.generated(config, page.uri, content=page.text()))
    return files
