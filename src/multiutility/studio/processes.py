"""Processes that the studio starts: how they are ended, and what they said last."""

from __future__ import annotations

import asyncio

# Seconds after which a process that was asked to end is made to.
PATIENCE = 5.0
# Lines of errors that are kept: the last ones say what happened.
ERROR_LINES = 12


async def end(process: asyncio.subprocess.Process, follower: asyncio.Task[None]) -> None:
    """Ask a process to end, make it if it does not, and wait for who follows it."""
    process.terminate()
    try:
        await asyncio.wait_for(asyncio.shield(follower), PATIENCE)
    except TimeoutError:
        process.kill()
        await follower


async def last_lines(stream: asyncio.StreamReader) -> list[str]:
    """Return the last lines of a stream when it ends."""
    lines: list[str] = []
    async for line in stream:
        lines = [*lines[1 - ERROR_LINES :], line.decode("utf-8", "replace").rstrip()]
    return lines
