"""Who may talk to the studio: pages that it served itself, to the person who has the token."""

from __future__ import annotations

import asyncio
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "x-studio-token"
SAFE_METHODS = frozenset({"GET", "HEAD"})
# The largest mask, of 80 million pixels, packs into far less.
MAX_BODY = 32 * 2**20
# Seconds for all of a body; the page is on this machine.
BODY_SECONDS = 60.0

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
REFUSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>multiutility studio</title>
<h1>This address does not open the studio</h1>
<p>Use the whole address that <code>multiutility studio</code> printed in the terminal,
with its token. It changes whenever the studio is started.</p></html>"""


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets requests through that name this server, carry the token, and if they write, come from its page.

    The token comes once in the address, and from then on in a cookie, or in the header ``X-Studio-Token``.
    The host is checked, since another site may have a name that leads to this machine.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # Cookies are the same for all ports of a host: two studios must not overwrite each other's.
        self._cookie = f"studio-{port}"
        self._hosts = frozenset(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer: ASGIApp = self._refusal(Request(scope)) or self._app
        await answer(scope, receive, with_headers(send))

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host", "") not in self._hosts:
            return JSONResponse({"error": "this host name does not lead to the studio"}, 421)
        if request.url.path == "/" and "token" in request.query_params:
            return self._entrance(request)
        if not self._has_token(request):
            page = request.url.path == "/"
            return HTMLResponse(REFUSED, 403) if page else JSONResponse({"error": "wrong token"}, 403)
        if request.method not in SAFE_METHODS and not self._from_page(request):
            return JSONResponse({"error": "this request does not come from the studio's page"}, 403)
        if int(request.headers.get("content-length", "0") or 0) > MAX_BODY:
            return JSONResponse({"error": "too much at once"}, 413)
        return None

    def _entrance(self, request: Request) -> Response:
        given = parse_qs(request.url.query).get("token", [""])[0]
        if not self._right(given):
            return HTMLResponse(REFUSED, 403)
        # On to an address without the token, so that it is not in the browser's history.
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer

    def _has_token(self, request: Request) -> bool:
        return self._right(request.headers.get(HEADER) or request.cookies.get(self._cookie, ""))

    def _right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _from_page(self, request: Request) -> bool:
        return request.headers.get("origin", "") in {f"http://{host}" for host in self._hosts}


def with_headers(send: Send) -> Send:
    """Return the way to send answers, with the headers that protect the page."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sent


async def read_body(request: Request, limit: int) -> bytes:
    """Return what was sent, unless it is more than the limit, whatever its header says, or takes too long."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise HTTPException(413, "too much at once")
    except TimeoutError:
        raise HTTPException(408, "the request took too long") from None
    return bytes(body)


def address(port: int, token: str) -> str:
    """Return the address that opens the studio."""
    return f"http://127.0.0.1:{port}/?token={token}"
