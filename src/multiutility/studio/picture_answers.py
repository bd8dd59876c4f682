"""Answers that are made of the pixels of photographs: pictures, regions to paint, and cutouts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from multiutility.studio.annotations import Annotations
from multiutility.studio.answers import packed, packed_pixels, read_json_body
from multiutility.studio.cutouts import Cutouts, Window
from multiutility.studio.pictures import REGION_COUNTS, Pictures

# Pictures are asked for under names that change with the file.
LASTING = {"cache-control": "private, max-age=86400, immutable"}


class PictureAnswers:
    """Answers about the images of a dataset."""

    def __init__(self, annotations: Annotations, pictures: Pictures) -> None:
        self._annotations = annotations
        self._pictures = pictures
        self._cutouts = Cutouts()

    def routes(self, one: str) -> list[Route]:
        """Return all addresses, below that of one image."""
        return [
            Route(one + "/thumbnail", self.thumbnail),
            Route(one + "/picture", self.picture),
            Route(one + "/regions/{level:int}", self.regions),
            Route(one + "/cutout", self.cutout, methods=["POST"]),
        ]

    async def thumbnail(self, request: Request) -> Response:
        """A small JPEG."""
        path = (await run_in_threadpool(self._annotations.sample, request.path_params["name"])).path
        return Response(await run_in_threadpool(self._pictures.thumbnail, path), 200, LASTING, "image/jpeg")

    async def picture(self, request: Request) -> Response:
        """A JPEG of the size of a screen."""
        path = (await run_in_threadpool(self._annotations.sample, request.path_params["name"])).path
        return Response(await run_in_threadpool(self._pictures.screen, path), 200, LASTING, "image/jpeg")

    async def regions(self, request: Request) -> Response:
        """Regions to paint: 16 bits for each pixel of a smaller image."""
        level = request.path_params["level"]
        if level >= len(REGION_COUNTS):
            raise HTTPException(404, f"levels are 0..{len(REGION_COUNTS) - 1}")
        path = (await run_in_threadpool(self._annotations.sample, request.path_params["name"])).path
        content, (height, width) = await run_in_threadpool(self._pictures.regions, path, level)
        return packed(content, {"x-height": str(height), "x-width": str(width), **LASTING})

    async def cutout(self, request: Request) -> Response:
        """Which pixels of a window, 1 or 0, are of the thing that was boxed or clicked."""
        name, data = request.path_params["name"], await read_json_body(request)
        return packed_pixels(await run_in_threadpool(self._cutout, name, data))

    def _cutout(self, name: str, data: Any) -> NDArray[np.uint8]:
        sample = self._annotations.sample(name)
        return self._cutouts.cut(sample.path, Window.from_json(data, sample.size())).astype(np.uint8)
