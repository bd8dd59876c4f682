"""The studio: its parts, their addresses, and the application that serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from multiutility.datasets.errors import DatasetError
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotation_answers import AnnotationAnswers
from multiutility.studio.annotations import Annotations, ChangedClassesError, UnknownImageError
from multiutility.studio.answers import failure, http_failure, nobody_there
from multiutility.studio.commands import Commands
from multiutility.studio.learning_answers import LearningAnswers
from multiutility.studio.live import Live
from multiutility.studio.overview import Overview
from multiutility.studio.picture_answers import PictureAnswers
from multiutility.studio.pictures import Pictures
from multiutility.studio.places import Places
from multiutility.studio.review import Review
from multiutility.studio.review_answers import ReviewAnswers
from multiutility.studio.security import Guard
from multiutility.studio.training import BusyError, Training
from multiutility.studio.upkeep import Upkeep

STATIC = Path(__file__).parent / "static"


class Studio:
    """All parts of the studio of one dataset folder."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder)
        self.annotations = Annotations(folder)
        self.accepted = Accepted(self.places)
        self.review = Review(self.annotations, self.places, self.accepted)
        self.training = Training(self.places)
        self.live = Live(self.places)
        self.commands = Commands(self.places)

    def routes(self) -> list[Route | Mount]:
        """Return all addresses."""
        one = "/api/images/{name}"
        return [
            Route("/", page),
            *Overview(self.places, self.annotations, self.accepted, self.review).routes(),
            *Upkeep(self.annotations, self.training, self.live, self.places).routes(),
            *self.commands.routes(),
            *AnnotationAnswers(self.annotations, self.accepted, self.live).routes(one),
            *PictureAnswers(self.annotations, Pictures(self.places.pictures)).routes(one),
            *ReviewAnswers(self.review, self.training).routes(one),
            *LearningAnswers(self.annotations, self.accepted, self.training, self.live).routes(one),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]


async def page(_request: Request) -> Response:
    """The page itself."""
    return FileResponse(STATIC / "index.html")


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
