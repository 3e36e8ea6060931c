"""The body of a request: read within its limits, and taken for rows by its type."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request

from missfit.serve.refusals import Limits, RefusedError
from missfit.tables.arrow_stream import stream_frame
from missfit.tables.problems import Problems, TableError
from missfit.workflow.model_file import TableModel

JSON, CSV = "application/json", "text/csv"
ARROW = (
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
)
TYPES = (JSON, CSV, *ARROW)
# A body that is too large is read to its end, up to this many times the limit, since
# many clients read no answer before they have sent all; what is more is cut off.
PATIENCE = 20
WHERE = "the body"


def content_type(request: Request) -> str:
    """Return the type of the body of a request, one of `TYPES`."""
    said = request.headers.get("content-type", "")
    kind, _, parameters = said.partition(";")
    kind = kind.strip().lower()
    if kind not in TYPES:
        what = f"{said[:100]!r}" if said else "no type at all"
        raise RefusedError(
            415,
            f"the header Content-Type says {what}; send rows as {', '.join(TYPES)}.",
        )
    charset = parameters.lower().replace(" ", "").replace('"', "")
    if kind == JSON and "charset=" in charset and "charset=utf-8" not in charset:
        raise RefusedError(415, f"the charset of {said[:100]!r} is not UTF-8.")
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() not in ("", "identity"):
        raise RefusedError(
            415, f"the body is packed ({coding[:100]!r}); send it as it is."
        )
    return kind


class Reader:
    """Reads bodies, one at most so large, and all that are held together.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.held = 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body of a request, which counts among those held inside."""
        self._refuse_announced(request)
        content = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                await self._fill(content, request)
            yield bytes(content)
        except TimeoutError as error:
            raise RefusedError(
                408,
                f"the body had not come whole after {self.limits.body_seconds:g} "
                "seconds; send it faster, or in parts.",
                close=True,
            ) from error
        except ClientDisconnect as error:
            raise RefusedError(400, "the sender has gone away.", close=True) from error
        finally:
            self.held -= len(content)

    async def _fill(self, content: bytearray, request: Request) -> None:
        n_bytes = 0
        async for part in request.stream():
            n_bytes += len(part)
            if n_bytes > PATIENCE * self.limits.body:
                raise self._too_large()
            if n_bytes > self.limits.body:
                continue
            if self.held + len(part) > self.limits.bodies:
                raise RefusedError(
                    503, "too much is being sent at once; try again soon.", close=True
                )
            self.held += len(part)
            content += part
        if n_bytes > self.limits.body:
            raise self._too_large()

    def _refuse_announced(self, request: Request) -> None:
        """Refuse a large body before it is sent, where its sender waits to be asked."""
        said = request.headers.get("content-length", "0")
        large = said.isdecimal() and int(said[:20]) > self.limits.body
        if large and "expect" in request.headers:
            raise self._too_large()

    def _too_large(self) -> RefusedError:
        return RefusedError(
            413,
            f"the body is larger than {self.limits.body / 2**20:g} MB; send its rows "
            "in parts.",
            close=True,
        )


def frames_of(
    body: bytes, kind: str, model: TableModel, most_rows: int
) -> tuple[list[Any], list[str]]:
    """Return the rows of a body of CSV or Arrow as frames, read as a file would be.

    Returns
    -------
    frames : list of DataFrame
    notes : list of str
        What was decided when they were read.
    """
    if not body.strip():
        raise RefusedError(422, "the body is empty; send a header and rows.")
    problems = Problems()
    try:
        if kind == CSV:
            frames = _csv_frames(body, model, most_rows, problems)
        else:
            frames = [stream_frame(body, model.columns, WHERE, most_rows)]
    except TableError as error:
        raise RefusedError(422, str(error)) from error
    if sum(map(len, frames)) > most_rows:
        raise RefusedError(
            413,
            f"the body has more than {most_rows:,} rows, which are the most that are "
            "taken at once; send them in parts.",
        )
    return frames, problems.notes


def _csv_frames(
    body: bytes, model: TableModel, most_rows: int, problems: Problems
) -> list[Any]:
    """Read CSV by way of a file, as `missfit predict` does."""
    with tempfile.TemporaryDirectory(prefix="missfit-") as folder:
        path = Path(folder) / "body.csv"
        path.write_bytes(body)
        try:
            return list(_first(model.rows(path, problems=problems), most_rows))
        except TableError as error:
            raise TableError(str(error).replace(str(path), WHERE)) from error


def _first(frames: Iterator[Any], most_rows: int) -> Iterator[Any]:
    """Yield frames until there are more rows than this."""
    n_rows = 0
    for frame in frames:
        yield frame
        n_rows += len(frame)
        if n_rows > most_rows:
            return
