"""The studio's server: on this machine only."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from multiutility.studio.annotations import opened
from multiutility.studio.app import make_app
from multiutility.studio.lock import only_studio
from multiutility.studio.places import Places
from multiutility.studio.security import address, new_token

HOST = "127.0.0.1"
# A page that is still open goes on saving when the studio is started again at the same place.
PORT = 8765
# Seconds for the head of a request; the page is on this machine, and sends it at once.
HEAD_SECONDS = 10.0
# Connections at a time; a page has about six.
MAX_CONNECTIONS = 128


def serve(folder: Path, port: int | None, browser: bool, tell: Callable[[str], None]) -> None:
    """Serve the studio of a dataset folder until it is interrupted; ``tell`` is told the address."""
    opened(folder)  # what is wrong with it is told before anything is opened
    with only_studio(Places(folder).own), listening(port) as listener:
        number, token = listener.getsockname()[1], new_token()
        place = address(number, token)
        app = make_app(folder, token, number)
        server = Server(app, place, browser)
        tell(f"The studio of {folder} is at {place}")
        tell("Everything is saved as you go. Ctrl-C ends it.")
        # The server raises it once it has ended, unless the shell that started it has signals ignored.
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
        tell("The studio is closed.")


class Punctual(H11Protocol):
    """A connection that is closed if the head of a request takes too long, however its bytes trickle in."""

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop()
        super().connection_lost(exc)

    @property
    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        if self._at_work:
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._end)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._deadline = None
        if not self._at_work:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that opens the browser as soon as it answers, and ends without waiting for open pages."""

    def __init__(self, app: Starlette, place: str, browser: bool) -> None:
        config = uvicorn.Config(
            app,
            host=HOST,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
            http=Punctual,
            limit_concurrency=MAX_CONNECTIONS,
            server_header=False,
        )
        super().__init__(config)
        self._app = app
        self._place = place
        self._browser = browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self._browser:
            webbrowser.open(self._place)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; pages that follow a training would keep their connections open."""
        await self._app.state.farewell()
        await super().shutdown(sockets)


def listening(port: int | None) -> socket.socket:
    """Return a socket at the port; without one, at the usual port, or any free one if that is taken."""
    if port is not None:
        return bound(port)
    try:
        return bound(PORT)
    except OSError:  # another studio, of another folder
        return bound(0)


def bound(port: int) -> socket.socket:
    """Return a socket at a port of this machine, or any free one for 0."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OSError(f"port {port} cannot be used: {error.strerror}; choose another by --port") from error
    return listener
