"""Requests that are refused: a status of HTTP, and one clear sentence."""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHARACTERS = 1_000  # of a message; a name in it may have a million


class RefusedError(Exception):
    """Why a request gets no prediction.

    Attributes
    ----------
    status : int
        The status code of HTTP.
    close : bool
        Whether the connection ends with the answer, since the rest of the request is
        not read.
    """

    def __init__(self, status: int, message: str, *, close: bool = False):
        text = " ".join(message.split())
        if len(text) > MOST_CHARACTERS:
            text = f"{text[:MOST_CHARACTERS]} ..."
        super().__init__(text)
        self.status, self.close = status, close


@dataclass(frozen=True)
class Limits:
    """What one request may take.

    Attributes
    ----------
    body : int
        Bytes of the body of a request.
    bodies : int
        Bytes of all bodies that are held at once; requests beyond wait for no room and
        are told to come again.
    rows : int
        Rows of a request.
    connections : int
        Connections at once.
    head_seconds, body_seconds : float
        Time in which the head, and the body, of a request must have come.
    answer_seconds : float
        Time in which a request must be answered and the answer taken.
    idle_seconds : float
        Time that a connection may wait for its next request.
    """

    body: int = 10 * 2**20
    bodies: int = 100 * 2**20
    rows: int = 10_000
    connections: int = 512
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 60.0
    idle_seconds: float = 15.0
