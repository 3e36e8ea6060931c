"""The addresses of the server, and what each of them answers."""

from __future__ import annotations

import asyncio
import csv
import io
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from missfit import __version__
from missfit.serve.answers import Answer, Answers
from missfit.serve.asking import Asking
from missfit.serve.batches import Batches
from missfit.serve.bodies import CSV, JSON, Reader, content_type, frames_of
from missfit.serve.guard import FAULT, Guard, error_response, json_response
from missfit.serve.json_rows import json_columns, parsed_rows
from missfit.serve.metrics import Metrics
from missfit.serve.page import CONTENT_POLICY, trial_page
from missfit.serve.refusals import Limits, RefusedError
from missfit.tables.columns import Column
from missfit.workflow.model_file import TableModel
from missfit.workflow.predict import NAMES
from missfit.workflow.verdict import verdict
from missfit.workflow.watch import Watch

# Bodies and rows beyond these are parsed and answered in a thread of their own, so that
# single rows do not wait for them: 64 kB of JSON are parsed in half a millisecond.
SMALL_BODY, SMALL_ROWS = 2**16, 100
INFINITE = {"lower": "-inf", "upper": "inf"}


class Service:
    """A model behind addresses of HTTP.

    Parameters
    ----------
    model : TableModel
    limits : Limits, optional

    Attributes
    ----------
    app : ASGI application
    """

    def __init__(self, model: TableModel, limits: Limits | None = None):
        self.model, self.limits = model, limits or Limits()
        self.metrics = Metrics(model.columns)
        self.watch, self.lock = Watch(model), threading.Lock()
        self.answers = Answers(model, self._see)
        self.asking = Asking(model)
        self.reader = Reader(self.limits)
        self.batches = Batches(self.answers.of_jobs)
        self.aside = ThreadPoolExecutor(1, thread_name_prefix="aside")
        routes = [
            Route("/", self.page),
            Route("/predict", self.predict, methods=["POST"]),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/schema", self.schema),
            Route("/watch", self.watched),
            Route("/health", self.health),
            Route("/metrics", self.count),
        ]
        handlers: dict[Any, Callable[..., Any]] = {
            HTTPException: _not_here,
            RefusedError: _refused,
            Exception: _fault,
        }
        inner = Starlette(routes=routes, exception_handlers=handlers)
        places = {route.path for route in routes}
        self.app = Guard(inner, self.limits, self.metrics, places)

    def close(self) -> None:
        """End the threads when what they have begun is done."""
        self.batches.close()
        self.aside.shutdown()

    async def predict(self, request: Request) -> Response:
        """Answer rows by predictions and intervals."""
        kind = content_type(request)
        async with self.reader.body(request) as body:
            answer = await self._answer(body, kind)
        if CSV in request.headers.get("accept", ""):
            return PlainTextResponse(
                _as_csv(answer, self.answers.classes), media_type=CSV
            )
        content = {"predictions": answer.rows, "warnings": answer.warnings}
        return json_response(content)

    async def _answer(self, body: bytes, kind: str) -> Answer:
        if kind == JSON and len(body) <= SMALL_BODY:
            rows = parsed_rows(body, self.limits.rows)
            if len(rows) <= SMALL_ROWS:
                return await self.batches.answer(rows)
        return await self._in_thread(self._answer_aside, body, kind)

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.aside, work, *arguments)

    def _answer_aside(self, body: bytes, kind: str) -> Answer:
        if kind == JSON:
            return self.answers.of_rows(parsed_rows(body, self.limits.rows))
        frames, notes = frames_of(body, kind, self.model, self.limits.rows)
        answer = self.answers.of_frames(frames)
        return Answer(answer.rows, notes + answer.warnings)

    async def ask(self, request: Request) -> Response:
        """Answer one row, and say which of its missing fields to ask for next."""
        if content_type(request) != JSON:
            raise RefusedError(415, f"one row is asked about; send it as {JSON}.")
        async with self.reader.body(request) as body:
            rows = parsed_rows(body, self.limits.rows)
            if len(rows) != 1:
                raise RefusedError(
                    422, f"the body has {len(rows):,} rows; one is asked about."
                )
            return json_response(await self._in_thread(self._ask_aside, rows))

    def _ask_aside(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        answer = self.answers.of_rows(rows)
        columns = json_columns(rows, self.model.columns)
        X, _ = self.model.encoder.transform_columns(columns)
        return {
            **answer.rows[0],
            **self.asking.of_row(X),
            "warnings": answer.warnings,
        }

    async def schema(self, request: Request) -> Response:
        """Say what a row is."""
        del request
        plain = self.model.schema()
        columns = [
            {**column, "missing": column["missing"] / plain["rows"], "example": example}
            for column, example in zip(
                plain["columns"],
                [one.example for one in self.model.reading.columns],
                strict=True,
            )
        ]
        content = {
            "target": self.model.target,
            "classes": self.answers.classes,
            "predictor": self.model.predictor,
            "coverage": 1 - self.model.regressor.alpha,
            "rows": plain["rows"],
            "columns": columns,
            "most_rows": self.limits.rows,
            "most_bytes": self.limits.body,
            "missfit": __version__,
        }
        return json_response(content)

    async def health(self, request: Request) -> Response:
        """Say whether requests are welcome."""
        del request
        if self.app.stopping:
            return json_response({"status": "stopping"}, 503)
        return json_response({"status": "ok"})

    async def count(self, request: Request) -> Response:
        """Say what was done so far."""
        del request
        kind = "text/plain; version=0.0.4"
        return Response(self.metrics.text(), media_type=kind)

    async def page(self, request: Request) -> Response:
        """Show a page on which a row can be tried by hand."""
        del request
        headers = {"content-security-policy": CONTENT_POLICY}
        return HTMLResponse(trial_page(self.model), headers=headers)

    async def watched(self, request: Request) -> Response:
        """Say how the rows so far differ from those of the fit, and what it means."""
        del request
        return json_response(await self._in_thread(self._watch_aside))

    def _watch_aside(self) -> dict[str, Any]:
        with self.lock:
            seen = self.watch.seen()
            seen = seen._replace(patterns=dict(seen.patterns))
        try:
            found = verdict(self.model, seen)
        except ValueError as error:
            raise RefusedError(404, str(error)) from error
        return {
            "rows": found.n_rows,
            "changes": [one._asdict() for one in found.changes],
            "loss": found.loss,
            "at_fit": found.then,
            "expected": found.now if found.n_rows else None,
            "words": found.lines() if found.n_rows else ["no rows have come yet"],
        }

    def _see(self, columns: Sequence[Column], X: NDArray[np.float64]) -> None:
        with self.lock:  # of the threads for small and for large requests
            self.metrics.see_rows(self.model.encoder.mask(X))
            self.watch.see_columns(columns, X)


async def _refused(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RefusedError)
    return error_response(error)


async def _fault(request: Request, error: Exception) -> Response:
    """Answer where the model failed; the guard meets the error next, and notes it."""
    del request, error
    return error_response(FAULT)


async def _not_here(request: Request, error: Exception) -> Response:
    """Answer an address or a method that is not there."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:100]
    words = {
        404: f"there is nothing at {path!r}; see /, /predict, /ask, /schema, /watch, "
        "/health and /metrics.",
        405: f"{path!r} does not take {request.method[:20]}; rows are sent by POST, "
        "and everything else is asked for by GET.",
    }
    text = words.get(error.status_code, str(error.detail))
    response = error_response(RefusedError(error.status_code, text))
    response.headers.update(error.headers or {})
    return response


def _as_csv(answer: Answer, classes: list[Any] | None) -> str:
    """Return predictions as the CSV file that the command would write."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if classes is None:
        writer.writerow(NAMES)
        for row in answer.rows:
            ends = [INFINITE.get(k, "") if v is None else v for k, v in row.items()]
            writer.writerow(ends)
    else:
        writer.writerow([NAMES[0], *(f"probability_{label}" for label in classes)])
        for row in answer.rows:
            writer.writerow([row[NAMES[0]], *row["probabilities"].values()])
    return text.getvalue()
