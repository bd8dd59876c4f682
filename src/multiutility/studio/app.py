"""The pages and answers of the studio."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from multiutility.datasets.classes import KINDS, color_text
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, training_part
from multiutility.kinds import BY_DETAIL, INDEX_IMAGES, TABLES
from multiutility.kinds.mask import MASK
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import (
    Annotations,
    ChangedClassesError,
    StaleWriteError,
    UnknownImageError,
    classes_version,
)
from multiutility.studio.answers import (
    answer,
    failure,
    http_failure,
    nobody_there,
    packed_json,
    packed_pixels,
    read_json_body,
    unpacked,
)
from multiutility.studio.commands import Commands
from multiutility.studio.held_out import held_out
from multiutility.studio.live import Live
from multiutility.studio.many_tags import put_back, tag_many
from multiutility.studio.options import Options
from multiutility.studio.picture_answers import PictureAnswers
from multiutility.studio.pictures import REGION_COUNTS, Pictures
from multiutility.studio.places import Places
from multiutility.studio.review import Review
from multiutility.studio.security import Guard, read_body
from multiutility.studio.stamps import stamp
from multiutility.studio.training import BusyError, Training
from multiutility.studio.upkeep import Upkeep
from multiutility.vision.features.names import offered

STATIC = Path(__file__).parent / "static"
MAX_PIXELS = 32 * 2**20


class Studio:
    """Answers to the page's requests, for one dataset folder."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder)
        self.annotations = Annotations(folder)
        self.pictures = PictureAnswers(self.annotations, Pictures(self.places.pictures))
        self.accepted = Accepted(self.places)
        self.review = Review(self.annotations, self.places, self.accepted)
        self.training = Training(self.places)
        self.live = Live(self.places)
        self.commands = Commands(self.places)
        self.upkeep = Upkeep(self.annotations, self.training, self.live, self.places)
        self._reader = threading.Thread()
        self._damaged: set[str] = set()

    def routes(self) -> list[Route | Mount]:
        """Return all addresses."""
        one = "/api/images/{name}"
        return [
            Route("/", self.page),
            Route("/api/dataset", self.dataset),
            *self.upkeep.routes(),
            *self.commands.routes(),
            Route("/api/images", self.images),
            Route("/api/tags", partial(self.tags, tag_many), methods=["POST"]),
            Route("/api/tags", partial(self.tags, put_back), methods=["PUT"]),
            Route(one, self.image),
            Route(one + "/marks", self.put_marks, methods=["PUT"]),
            *(Route(f"{one}/{kind}", partial(self.pixels, kind)) for kind in INDEX_IMAGES),
            *(
                Route(f"{one}/{kind}", partial(self.put_pixels, kind), methods=["PUT"])
                for kind in INDEX_IMAGES
            ),
            *self.pictures.routes(one),
            Route(one + "/prediction", self.prediction),
            Route(one + "/confidence", self.confidence),
            Route("/api/model", self.model),
            Route("/api/scores", self.scores),
            Route("/api/suggestions", self.suggestions),
            Route("/api/training", self.training_state),
            Route("/api/training", self.start_training, methods=["POST"]),
            Route("/api/training", self.cancel_training, methods=["DELETE"]),
            Route("/api/training/events", self.training_events),
            Route("/api/live", self.live_state),
            Route("/api/live", self.switch_live, methods=["PUT"]),
            Route("/api/live/open", self.open_live, methods=["PUT"]),
            Route("/api/live/events", self.live_events),
            Route(one + "/live", self.live_picture),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    async def page(self, _request: Request) -> Response:
        """The page itself."""
        return FileResponse(STATIC / "index.html")

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

    async def tags(self, change: Callable[..., Any], request: Request) -> Response:
        """Change tags of many images."""
        data = await read_json_body(request)
        written = await answer(change, self.annotations, data)
        await self.live.changed()
        return written

    async def image(self, request: Request) -> Response:
        """Size, marks and versions of an image."""
        return await answer(self._image, request.path_params["name"])

    def _image(self, name: str) -> dict[str, Any]:
        sample = self.annotations.sample(name)
        height, width = sample.size()
        return {
            "name": name,
            "width": width,
            "height": height,
            "stamp": (stamp(sample.path) or (0,))[0],
            "marks": self.annotations.marks(name),
            "versions": {kind: self.annotations.pixel_state(name, kind).version for kind in INDEX_IMAGES},
            "accepted": name in self.accepted.names(),
        }

    async def put_marks(self, request: Request) -> Response:
        """Write tags, boxes and seeds; a stale version is answered with the current ones."""
        name, data = request.path_params["name"], await read_json_body(request)
        version = request.headers.get("if-match", "")
        try:
            written = await answer(self.annotations.write_marks, name, data, version, labels_of(request))
        except StaleWriteError:
            return await answer(self.annotations.marks, name, status=409)
        await self.live.changed()
        return written

    async def pixels(self, kind: str, request: Request) -> Response:
        """Values of an index image, a byte for each pixel; nothing if there is none."""
        return await self._pixels(kind, request.path_params["name"])

    async def _pixels(self, kind: str, name: str, status: int = 200) -> Response:
        pixels, version = await run_in_threadpool(self.annotations.pixels, name, kind)
        headers = {"etag": version, "x-accepted": str(int(name in self.accepted.names()))}
        return packed_pixels(np.zeros(0, np.uint8) if pixels is None else pixels, headers, status)

    async def put_pixels(self, kind: str, request: Request) -> Response:
        """Write an index image: a byte for each pixel, packed by zlib.

        The header ``x-accepted`` says whether a mask is a prediction that was accepted; without it, that
        stays as it is.
        """
        name, accepted = request.path_params["name"], request.headers.get("x-accepted")
        body, version = await read_body(request, MAX_PIXELS), request.headers.get("if-match", "")
        try:
            labels = labels_of(request)
            written = await answer(self._put_pixels, kind, name, body, version, accepted, labels)
        except StaleWriteError:
            return await self._pixels(kind, name, status=409)
        await self.live.changed()
        return written

    def _put_pixels(
        self, kind: str, name: str, body: bytes, version: str, accepted: str | None, labels: str
    ) -> dict[str, Any]:
        pixels = unpacked(body, self.annotations.sample(name).size())
        with self.accepted.noting(name, accepted if kind == MASK.name else None, bool(pixels.any())):
            written = self.annotations.write_pixels(name, kind, pixels, version, labels)
        return {"version": written}

    async def prediction(self, request: Request) -> Response:
        """Predicted values of all pixels."""
        mask, _ = await run_in_threadpool(self.review.prediction, request.path_params["name"])
        return packed_pixels(mask)

    async def confidence(self, request: Request) -> Response:
        """Confidence in the prediction of all pixels, 0..255."""
        _, scores = await run_in_threadpool(self.review.prediction, request.path_params["name"])
        return packed_pixels(scores)

    async def model(self, _request: Request) -> Response:
        """Which model there is now, if any, by the hash of its file, and how far a training is."""
        key = await run_in_threadpool(self.review.key)
        return JSONResponse({"key": key, "training": self.training.progress()})

    async def scores(self, _request: Request) -> Response:
        """Scores on images with masks."""
        return await answer(self.review.scores)

    async def suggestions(self, _request: Request) -> Response:
        """What to label next."""
        # A training is about to bring another model, and needs the cores.
        if not self.training.running:
            await run_in_threadpool(self.review.catch_up)
        return await answer(self.review.suggestions)

    async def training_state(self, _request: Request) -> Response:
        """How the last training stands, and what there is to learn from."""
        dataset = await run_in_threadpool(self.annotations.dataset)
        kept = held_out(training_part(dataset), self.accepted.names())
        return JSONResponse({**self.training.state(), "annotated": annotated(dataset), "held_out": kept})

    async def start_training(self, request: Request) -> Response:
        """Start training."""
        options = Options.from_json(await read_json_body(request))
        await self._check_annotated()
        if self.live.on:
            raise BusyError("Live is on: switch it off to train in full")
        await self.training.start(options)
        return JSONResponse(self.training.state(), 202)

    async def _check_annotated(self) -> None:
        if not annotated(await run_in_threadpool(self.annotations.dataset))["any"]:
            raise ValueError(
                "nothing is annotated yet: give some images tags, boxes, points, scribbles or masks first"
            )

    async def live_state(self, _request: Request) -> Response:
        """How the live learner stands."""
        return JSONResponse(self.live.state())

    async def switch_live(self, request: Request) -> Response:
        """Switch the live learner on, with the options of the last training, or off."""
        wanted = await read_json_body(request)
        if not isinstance(wanted, dict) or not isinstance(wanted.get("on"), bool):
            raise ValueError("expected an object with 'on', true or false")
        if not wanted["on"]:
            await self.live.stop()
        else:
            await self._check_annotated()
            if self.training.running:
                raise BusyError("training is under way: wait for it, or cancel it")
            options = Options.from_json(self.training.state().get("options", {}))
            await self.live.start(replace(options, resume=False))
        return JSONResponse(self.live.state())

    async def open_live(self, request: Request) -> Response:
        """Take note of the picture that is looked at."""
        wanted = await read_json_body(request)
        name = str(wanted.get("name")) if isinstance(wanted, dict) else ""
        await run_in_threadpool(self.annotations.sample, name)
        await self.live.open(name)
        return JSONResponse(self.live.state())

    async def live_events(self, _request: Request) -> Response:
        """Server-sent events: how the live learner stands, now and whenever that changes."""

        async def stream() -> AsyncIterator[str]:
            async for state in self.live.events():
                yield f"data: {json.dumps(state)}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def live_picture(self, request: Request) -> Response:
        """Live prediction of the picture that is open: values of all pixels."""
        return packed_pixels(await run_in_threadpool(self.live.picture, request.path_params["name"]))

    async def cancel_training(self, _request: Request) -> Response:
        """End training, or forget one that was interrupted."""
        if self.training.running:
            await self.training.cancel()
        else:
            await self.training.dismiss()
        return JSONResponse(self.training.state())

    async def training_events(self, request: Request) -> Response:
        """Server-sent events of the training, from the first one that the page does not have."""
        last = request.headers.get("last-event-id", "")

        async def stream() -> AsyncIterator[str]:
            yield ": here they come\n\n"
            async for name, event in self.training.events(last):
                yield f"id: {name}\ndata: {json.dumps(event)}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")


def make_app(folder: Path, token: str, port: int) -> Starlette:
    """Return the application for a dataset folder; raises ``DatasetError`` if it cannot be used."""
    studio = Studio(folder)
    studio.annotations.dataset()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await studio.live.stop()
        await studio.commands.close()
        await studio.training.close()

    app = Starlette(
        routes=studio.routes(),
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={
            UnknownImageError: failure(404),
            LookupError: failure(404),
            DatasetError: failure(422),
            ValueError: failure(400),
            BusyError: failure(409),
            ChangedClassesError: failure(412),
            HTTPException: http_failure,
            ClientDisconnect: nobody_there,
        },
        lifespan=lifespan,
    )

    async def farewell() -> None:
        await studio.training.farewell()
        await studio.live.farewell()

    app.state.farewell = farewell
    return app


def labels_of(request: Request) -> str:
    """Return the version of the classes that a page means."""
    return request.headers.get("x-labels", "")


def annotated(dataset: DatasetFolder) -> dict[str, int]:
    """Return how many images there are to learn from, of each kind."""
    part = training_part(dataset)
    kinds = [sample.kinds for sample in part]
    counts = {kind.name: sum(kind.name in one for one in kinds) for kind in BY_DETAIL}
    return {"any": sum(bool(one) for one in kinds), "images": len(part), **counts}
