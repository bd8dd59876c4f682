"""Changes of the whole folder from the page: of classes, and of what images that are gone leave behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from multiutility.datasets.class_changes import NewClass, change_classes
from multiutility.datasets.classes import KINDS, Classes, LabelClass, parse_color
from multiutility.datasets.folder import Sample
from multiutility.datasets.missing import images_aside, put_back, rename_image, set_aside
from multiutility.kinds import TABLES
from multiutility.studio.annotations import Annotations, classes_version
from multiutility.studio.answers import answer, read_json_body
from multiutility.studio.live import Live
from multiutility.studio.marks import listed, mapping
from multiutility.studio.places import Places
from multiutility.studio.training import BusyError, Training
from multiutility.transactions import undo, undoable


class Upkeep:
    """Changes that rewrite many files at once, one at a time, and not while a training reads them.

    Live mode follows: where labels mean something else then, it learns everything anew.
    """

    def __init__(self, annotations: Annotations, training: Training, live: Live, places: Places) -> None:
        self._annotations = annotations
        self._training = training
        self._live = live
        self._folder = places.folder
        self._kept = places.kept

    def routes(self) -> list[Route]:
        """Return all addresses."""
        return [
            Route("/api/classes", self.add, methods=["POST"]),
            Route("/api/classes", self.change, methods=["PUT"]),
            Route("/api/upkeep", self.state),
            Route("/api/upkeep", self.repair, methods=["POST"]),
            Route("/api/undo", self.undo, methods=["POST"]),
        ]

    async def add(self, request: Request) -> Response:
        """Add a class; a training that is under way does without it."""
        await run_in_threadpool(self._annotations.add_class, await read_json_body(request), self._kept)
        await self._live.changed()
        return await answer(self._state, status=201)

    async def change(self, request: Request) -> Response:
        """Make these the classes."""
        return await self._done(self._change, await read_json_body(request))

    async def state(self, _request: Request) -> Response:
        """What is missing, what is set aside, and whether the last change can be undone."""
        return await answer(self._state)

    async def repair(self, request: Request) -> Response:
        """Set rows of missing images aside, put them back, or give them to an image."""
        return await self._done(self._repair, await read_json_body(request))

    async def undo(self, _request: Request) -> Response:
        """Take back the last change."""
        return await self._done(lambda _: undo(self._folder, self._kept), None)

    async def _done(self, work: Callable[[Any], None], data: Any) -> Response:
        if self._training.running:
            raise BusyError("training is under way: wait for it, or cancel it, then change labels and files")
        await run_in_threadpool(self._alone, work, data)
        await self._live.changed()
        return await answer(self._state)

    def _alone(self, work: Callable[[Any], None], data: Any) -> None:
        with self._annotations.alone():
            work(data)

    def _change(self, data: Any) -> None:
        classes = self._annotations.dataset().classes
        fields = mapping(data, ("classes", "version"))
        if fields["version"] != classes_version(classes):
            raise ValueError("labels were changed elsewhere meanwhile: look at them again")
        wanted = [new_class(one, classes) for one in listed(fields["classes"], "classes")]
        looked = data.get("looked") is True
        change_classes(self._folder, wanted, looked=looked, keep=self._kept, about="change of labels")

    def _repair(self, data: Any) -> None:
        fields = mapping(data, ("action", "names"))
        names = [str(name) for name in listed(fields["names"], "names")]
        if fields["action"] == "aside":
            set_aside(self._folder, names, self._kept)
        elif fields["action"] == "back":
            put_back(self._folder, names, self._kept)
        elif fields["action"] == "rename" and len(names) == 1:
            rename_image(self._folder, names[0], str(mapping(data, ("to",))["to"]), self._kept)
        else:
            raise ValueError(
                f"{fields['action']!r} is no repair: expected aside, back, or rename of one image"
            )

    def _state(self) -> dict[str, Any]:
        with self._annotations.alone():
            dataset = self._annotations.dataset()
            aside = images_aside(self._folder)
            tagged = sum(says_all(sample) for sample in dataset)
            return {
                "missing": [{"name": name, "files": dict(rows)} for name, rows in dataset.missing.items()],
                "aside": [
                    {"name": name, "files": dict(rows), "here": name in dataset}
                    for name, rows in aside.items()
                ],
                "complete": tagged,
                "undo": undoable(self._folder, self._kept),
            }


def says_all(sample: Sample) -> bool:
    """Whether annotations of an image say that a class is absent only because they do not name it."""
    return any(TABLES[kind].says_all([entry for _, entry in rows]) for kind, rows in sample.rows.items())


def new_class(data: Any, classes: Classes) -> NewClass:
    """Return a class that a page sent; raises ``ValueError`` if it cannot be."""
    fields = mapping(data, ("name", "color", "kind", "of"))
    name, kind, of = fields["name"], fields["kind"], tuple(map(str, listed(fields["of"], "of")))
    if not isinstance(name, str) or kind not in KINDS:
        raise ValueError(f"expected a name, and a kind that is one of {', '.join(KINDS)}")
    rare = any(classes[classes.label(one)].rare for one in of if one in classes.names)
    return NewClass(LabelClass(name.strip(), parse_color(str(fields["color"])), kind, rare), of)
