"""Answers about training and live mode: how they stand, and that they begin and end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from multiutility.datasets.folder import DatasetFolder, training_part
from multiutility.kinds import BY_DETAIL
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import Annotations
from multiutility.studio.answers import packed_pixels, read_json_body
from multiutility.studio.held_out import held_out
from multiutility.studio.live import Live
from multiutility.studio.options import Options
from multiutility.studio.training import BusyError, Training


class LearningAnswers:
    """Answers about those who learn: one of them at a time."""

    def __init__(self, annotations: Annotations, accepted: Accepted, training: Training, live: Live) -> None:
        self.annotations, self.accepted, self.training, self.live = annotations, accepted, training, live

    def routes(self, one: str) -> list[Route]:
        """Return all addresses; the picture of live mode is below that of one image."""
        return [
            Route("/api/training", self.training_state),
            Route("/api/training", self.start_training, methods=["POST"]),
            Route("/api/training", self.cancel_training, methods=["DELETE"]),
            Route("/api/training/events", self.training_events),
            Route("/api/live", self.live_state),
            Route("/api/live", self.switch_live, methods=["PUT"]),
            Route("/api/live/open", self.open_live, methods=["PUT"]),
            Route("/api/live/events", self.live_events),
            Route(one + "/live", self.live_picture),
        ]

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


def annotated(dataset: DatasetFolder) -> dict[str, int]:
    """Return how many images there are to learn from, of each kind."""
    part = training_part(dataset)
    kinds = [sample.kinds for sample in part]
    counts = {kind.name: sum(kind.name in one for one in kinds) for kind in BY_DETAIL}
    return {"any": sum(bool(one) for one in kinds), "images": len(part), **counts}
