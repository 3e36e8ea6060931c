"""What stands before every request: time, ambiguous heads, errors, counts."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from missfit.serve.metrics import Metrics
from missfit.serve.refusals import Limits, RefusedError
from missfit.terminal import note

# A page of another site can neither frame this one nor be sent anywhere by it.
SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
FAULT = RefusedError(
    500, "the model could not answer; the server has noted why.", close=True
)
CLOSE = (b"connection", b"close")


def json_response(content: Any, status: int = 200, *, close: bool = False) -> Response:
    """Return an answer in JSON, all of it ASCII."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    headers = {"connection": "close"} if close else {}
    return Response(text, status, headers, media_type="application/json")


def error_response(error: RefusedError) -> Response:
    """Return what is wrong with a request."""
    return json_response({"error": str(error)}, error.status, close=error.close)


class Guard:
    """Passes requests on, and sees to it that each is answered once and in time.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    metrics : Metrics
    places : set of str
        The paths that are counted by name.

    Attributes
    ----------
    stopping : bool
        Set it, and every answer from then on ends its connection.
    """

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, places: set):
        self.app, self.limits, self.metrics = app, limits, metrics
        self.places = places
        self.stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, sent = time.perf_counter(), []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent.append(message["status"])
                message["headers"] = [*message.get("headers", ()), *SAFE]
                if self.stopping and CLOSE not in message["headers"]:
                    message["headers"].append(CLOSE)
            await send(message)

        try:
            await self._answer(scope, receive, watched, sent)
        finally:
            place = scope["path"] if scope["path"] in self.places else "other"
            seconds = time.perf_counter() - start
            self.metrics.see_request(place, sent[0] if sent else 499, seconds)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, sent: list[int]
    ) -> None:
        try:
            refuse_ambiguous(scope)
            async with asyncio.timeout(self.limits.answer_seconds):
                await self.app(scope, receive, send)
            return
        except RefusedError as error:
            refused = error
        except TimeoutError:
            refused = RefusedError(
                503,
                f"there was no answer after {self.limits.answer_seconds:g} seconds; "
                "send fewer rows at once, or try again later.",
                close=True,
            )
        except Exception as error:
            note(f"an error that was not foreseen, {type(error).__name__}: {error}")
            refused = FAULT
        if sent:  # too late to say anything: the connection is cut by raising
            if sent[0] != 500:
                raise ConnectionResetError
            return
        await error_response(refused)(scope, receive, send)


def refuse_ambiguous(scope: Scope) -> None:
    """Refuse a head that two servers in a row could read in two ways.

    A request with two lengths, or with a length and a transfer coding, may hide another
    request in its body (request smuggling).
    """
    names = [name for name, _ in scope["headers"]]
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    if lengths + codings > 1 or names.count(b"host") > 1:
        raise RefusedError(
            400,
            "the head of the request gives its length, or its host, more than once.",
            close=True,
        )
