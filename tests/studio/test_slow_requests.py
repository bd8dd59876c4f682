"""Requests that are aborted, or come in slowly: told in no traceback, and ended in time."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from multiutility.studio import security, server
from studio_cases import TOKEN, running

WATCHDOG = 30.0


def head(origin: str, first: str, *more: str) -> bytes:
    """The head of a request that is let in, without its last line."""
    own = f"Host: {origin.removeprefix('http://')}", f"X-Studio-Token: {TOKEN}", f"Origin: {origin}"
    return "\r\n".join([f"{first} HTTP/1.1", *own, *more, ""]).encode()


def connection(origin: str) -> socket.socket:
    host, port = origin.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), WATCHDOG)


def test_aborted_requests_are_no_errors(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with running(folder) as origin:
        for first in ("PUT /api/images/one/marks", "PUT /api/images/one/mask", "POST /api/training"):
            with connection(origin) as one:
                one.sendall(head(origin, first, "Content-Length: 100") + b'\r\n{"tags"')
                time.sleep(0.1)
        for first in ("GET /api/training/events", "GET /api/images/one/picture", "GET /api/images"):
            with connection(origin) as one:
                one.sendall(head(origin, first) + b"\r\n")
        with connection(origin) as one:
            one.sendall(head(origin, "GET /")[:30])
        assert httpx.get(f"{origin}/api/dataset", headers={"x-studio-token": TOKEN}).status_code == 200
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("sent", [0, 5, 40])
def test_half_a_head_is_waited_for_only_so_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with running(folder) as origin, connection(origin) as one:
        one.sendall(head(origin, "GET /api/dataset")[:sent])
        assert one.recv(100) == b""


def test_bytes_that_trickle_in_win_no_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with running(folder) as origin, connection(origin) as one:
        one.sendall(head(origin, "GET /api/dataset"))
        one.settimeout(0.05)
        end = time.monotonic() + WATCHDOG
        while time.monotonic() < end:
            try:
                assert one.recv(100) == b""
                break
            except TimeoutError:
                one.sendall(b"X-More: a\r\n")
            except ConnectionError:
                break
        assert time.monotonic() < end


def test_half_a_body_is_waited_for_only_so_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.3)
    with running(folder) as origin, connection(origin) as one:
        one.sendall(head(origin, "PUT /api/images/one/marks", "Content-Length: 100") + b"\r\n{")
        assert one.recv(1000).startswith(b"HTTP/1.1 408")


def test_work_and_streams_are_given_their_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with running(folder) as origin, connection(origin) as one:
        one.sendall(head(origin, "GET /api/training/events") + b"\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        end = time.monotonic() + 0.8
        one.settimeout(0.1)
        while time.monotonic() < end:
            with suppress(TimeoutError):
                assert one.recv(1000)
