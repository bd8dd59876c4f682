"""Answers about the model: what it predicts, how good that is, and where it needs help."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multiutility.studio.answers import answer, packed_pixels
from multiutility.studio.review import Review
from multiutility.studio.training import Training


class ReviewAnswers:
    """Answers about what the current model makes of the images."""

    def __init__(self, review: Review, training: Training) -> None:
        self.review, self.training = review, training

    def routes(self, one: str) -> list[Route]:
        """Return all addresses."""
        return [
            Route(one + "/prediction", self.prediction),
            Route(one + "/confidence", self.confidence),
            Route("/api/model", self.model),
            Route("/api/scores", self.scores),
            Route("/api/suggestions", self.suggestions),
        ]

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
