"""Answers about the whole dataset: its classes, what can be chosen, and the list of its images."""

from __future__ import annotations

import threading
from dataclasses import asdict
from itertools import product
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from multiutility.datasets.classes import KINDS, color_text
from multiutility.datasets.errors import DatasetError
from multiutility.kinds import BY_DETAIL, INDEX_IMAGES, TABLES
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import Annotations, UnknownImageError, classes_version
from multiutility.studio.answers import answer, packed_json
from multiutility.studio.pictures import REGION_COUNTS
from multiutility.studio.places import Places
from multiutility.studio.review import Review
from multiutility.studio.stamps import stamp
from multiutility.vision.features.names import offered


class Overview:
    """Answers about all images at once; index images are read in a thread of its own."""

    def __init__(self, places: Places, annotations: Annotations, accepted: Accepted, review: Review) -> None:
        self.places, self.annotations, self.accepted, self.review = places, annotations, accepted, review
        self._reader = threading.Thread()
        self._damaged: set[str] = set()

    def routes(self) -> list[Route]:
        """Return all addresses."""
        return [Route("/api/dataset", self.dataset), Route("/api/images", self.images)]

    async def dataset(self, _request: Request) -> Response:
        """Classes, splits, and what can be chosen."""
        return await answer(self._dataset)

    def _dataset(self) -> dict[str, Any]:
        dataset = self.annotations.dataset()
        return {
            "name": self.places.folder.resolve().name,
            "classes": [
                {"name": c.name, "color": color_text(c.color), "kind": c.kind, "rare": c.rare}
                for c in dataset.classes
            ],
            "classes_version": classes_version(dataset.classes),
            "splits": list(dataset.splits),
            "missing": [{"name": name, "files": dict(rows)} for name, rows in dataset.missing.items()],
            "unused": [str(error.within(dataset.path)) for error in dataset.unused],
            "kinds": [
                {
                    "name": one.name,
                    "columns": one.table and one.table.columns,
                    "placed": one.placed,
                    "single": one.table is not None and one.table.single,
                    **asdict(one.page),
                }
                for one in BY_DETAIL
            ],
            "class_kinds": KINDS,
            "features": offered(),
            "region_levels": len(REGION_COUNTS),
            "model": self.review.model(),
            "model_trouble": self.review.trouble(),
        }

    async def images(self, _request: Request) -> Response:
        """All images, with what each has."""
        return packed_json(await run_in_threadpool(self._images))

    def _images(self) -> dict[str, Any]:
        dataset = self.annotations.dataset()
        confidence, accepted = self.review.confidence(dataset.names), self.accepted.names()
        unread = []
        rows = []
        for sample in dataset:
            marks, labels = sample.marks, set[int]()
            states = {kind: self.annotations.known_pixels(sample, kind) for kind in INDEX_IMAGES}
            if None in states.values() and sample.name not in self._damaged:
                unread.append(sample.name)
            labels.update(marks.labels, *(state.labels for state in states.values() if state))
            # Who opens an image with others is told.
            known = sorted(label for label in labels if label < len(dataset.classes))
            row: dict[str, Any] = {"name": sample.name, "labels": known}
            row |= {"stamp": (stamp(sample.path) or (0,))[0], "accepted": sample.name in accepted}
            row |= {kind: len(getattr(marks, kind)) for kind in TABLES}
            row |= {kind: True if state is None else state.count for kind, state in states.items()}
            if sample.name in confidence:
                row["confidence"] = confidence[sample.name]
            rows.append(row)
        # What is in index images is for filter and badges: they are read while the page is shown already.
        if unread and not self._reader.is_alive():
            self._reader = threading.Thread(target=self._read_pixels, args=(unread,), daemon=True)
            self._reader.start()
        return {"images": rows, "unread": len(unread)}

    def _read_pixels(self, names: list[str]) -> None:
        for name, kind in product(names, INDEX_IMAGES):
            try:
                self.annotations.pixel_state(name, kind)
            except (DatasetError, UnknownImageError):
                self._damaged.add(name)  # who opens the image is told
