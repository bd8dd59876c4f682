"""How the studio answers: JSON, pixels that the browser unpacks, and errors as their text."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from multiutility.studio.annotations import UnknownImageError
from multiutility.studio.security import read_body

MAX_JSON = 2 * 2**20


def failure(status: int) -> Callable[[Request, Exception], Response]:
    """Return what answers an error: its text."""

    def answered(_request: Request, error: Exception) -> Response:
        text = f"there is no image {error}" if isinstance(error, UnknownImageError) else str(error)
        return JSONResponse({"error": text}, status)

    return answered


def http_failure(_request: Request, error: Exception) -> Response:
    """Answer an error of HTTP with its text."""
    assert isinstance(error, HTTPException)  # the only one that this is called for
    return JSONResponse({"error": error.detail}, error.status_code)


def nobody_there(_request: Request, _error: Exception) -> Response:
    """Answer a request that was aborted: nobody hears it, and nothing was done."""
    return Response(status_code=400)


async def answer(work: Callable[..., Any], *args: Any, status: int = 200) -> Response:
    """Do some work in a thread, and return its result as JSON."""
    return JSONResponse(await run_in_threadpool(work, *args), status)


async def read_json_body(request: Request) -> Any:
    """Return the JSON that was sent; raises ``ValueError`` if it is none."""
    try:
        return json.loads(await read_body(request, MAX_JSON))
    except (ValueError, RecursionError):
        raise ValueError("expected JSON") from None


def packed(content: bytes, headers: dict[str, str], kind: str = "application/octet-stream") -> Response:
    """Return an answer that the browser unpacks."""
    small = gzip.compress(content, compresslevel=1)
    return Response(small, 200, {"content-encoding": "gzip", **headers}, kind)


def packed_json(data: Any) -> Response:
    """Return a long list."""
    return packed(json.dumps(data).encode(), {}, "application/json")


def packed_pixels(
    pixels: NDArray[np.uint8], headers: dict[str, str] | None = None, status: int = 200
) -> Response:
    """Return the values of pixels, row by row."""
    found = packed(np.ascontiguousarray(pixels).tobytes(), headers or {})
    found.status_code = status
    return found


def unpacked(body: bytes, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the pixels [H, W] that a page sent; never unpacks more than there should be."""
    height, width = size
    unpack = zlib.decompressobj()
    try:
        content = unpack.decompress(body, height * width + 1)
    except zlib.error as error:
        raise ValueError(f"expected pixels, packed by zlib ({error})") from None
    if len(content) != height * width:
        raise ValueError(f"expected {height * width} pixels")
    return np.frombuffer(content, np.uint8).reshape(height, width)
