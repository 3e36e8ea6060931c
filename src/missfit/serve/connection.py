"""One connection: heads that come in time, errors in JSON, an end that loses nothing.

uvicorn waits forever for the head of a request, answers a head that is no HTTP in plain
text, and when it is told to stop it closes connections that wait for their next
request, which may be on its way. This is what is changed here.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds that a connection without a request stays open after a stop: a request that
# was under way is still answered. Every answer then says that the connection ends.
LINGER = 1.0


class Connection(H11Protocol):
    """A connection of uvicorn with a time limit for heads and a patient end."""

    head_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._unwatch_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that has begun must end in time."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unwatch_head()
        elif self._timer is None and self.conn.trailing_data[0]:
            self._watch_head()

    def _watch_head(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._late)

    def _unwatch_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self._refuse(
                408, f"no whole head had come after {self.head_seconds:g} seconds."
            )

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        del msg
        self._refuse(400, "the request is no HTTP that this server understands.")

    def _refuse(self, status: int, words: str) -> None:
        """Answer in JSON, unless an answer has begun, and end the connection."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what is under way is answered here
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": words}).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (
                h11.Response(status_code=status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def shutdown(self) -> None:
        """Stay for a moment where no request is here, since one may be on its way."""
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LINGER, self._end_if_idle)
        else:
            self.cycle.keep_alive = False

    def _end_if_idle(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False
