"""Answers about annotations: what images have, and what is written for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from multiutility.kinds import INDEX_IMAGES
from multiutility.kinds.mask import MASK
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import Annotations, StaleWriteError
from multiutility.studio.answers import answer, packed_pixels, read_json_body, unpacked
from multiutility.studio.live import Live
from multiutility.studio.many_tags import put_back, tag_many
from multiutility.studio.security import read_body
from multiutility.studio.stamps import stamp

MAX_PIXELS = 32 * 2**20


class AnnotationAnswers:
    """Answers about the annotations of images; live mode is told of all that is written."""

    def __init__(self, annotations: Annotations, accepted: Accepted, live: Live) -> None:
        self.annotations, self.accepted, self.live = annotations, accepted, live

    def routes(self, one: str) -> list[Route]:
        """Return all addresses, most of them below that of one image."""
        return [
            Route("/api/tags", partial(self.tags, tag_many), methods=["POST"]),
            Route("/api/tags", partial(self.tags, put_back), methods=["PUT"]),
            Route(one, self.image),
            Route(one + "/marks", self.put_marks, methods=["PUT"]),
            *(Route(f"{one}/{kind}", partial(self.pixels, kind)) for kind in INDEX_IMAGES),
            *(
                Route(f"{one}/{kind}", partial(self.put_pixels, kind), methods=["PUT"])
                for kind in INDEX_IMAGES
            ),
        ]

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


def labels_of(request: Request) -> str:
    """Return the version of the classes that a page means."""
    return request.headers.get("x-labels", "")
