"""The process that serves a model: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits

from missfit.serve.app import Service
from missfit.serve.connection import Connection
from missfit.serve.refusals import Limits
from missfit.workflow.model_file import TableModel

SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048  # connections that wait to be taken
STOP_SECONDS = 30  # for requests that are under way; what takes longer is cut off


class ServeError(ValueError):
    """Why no server was started."""


def serve_model(
    model: TableModel,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    *,
    on_start: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a model until the process is told to stop.

    At SIGTERM or SIGINT no further connection is taken, and the server ends when all
    requests that it has taken are answered.

    Parameters
    ----------
    model : TableModel
        The model, see `missfit.load_model`.
    host : str
        The address to listen at. By default it is reached from this machine alone.
    port : int
        The port; 0 takes one that is free.
    limits : Limits, optional
        What one request may take.
    on_start : callable
        Called with the address, such as http://127.0.0.1:8000, when requests are
        welcome.
    """
    ModelServer(model, host, port, limits, on_start=on_start).run()


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; raise `ServeError` where it is not.

    >>> with listening_socket("127.0.0.1", 0) as found:
    ...     found.getsockname()[0]
    '127.0.0.1'
    """
    found = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except (OSError, OverflowError, UnicodeError) as error:
        if found is not None:
            found.close()
        raise ServeError(
            f"nothing can be served at {host}, port {port} ({error}); choose another "
            "host or port."
        ) from error
    found.setblocking(False)
    return found


def _config(service: Service, limits: Limits) -> uvicorn.Config:
    protocol = type("Timed", (Connection,), {"head_seconds": limits.head_seconds})
    return uvicorn.Config(
        service.app,
        http=protocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )


class ModelServer(uvicorn.Server):
    """A server of one model, which loses no request that it has taken when it stops.

    Its parameters are those of `serve_model`.
    """

    def __init__(
        self,
        model: TableModel,
        host: str,
        port: int,
        limits: Limits | None = None,
        *,
        on_start: Callable[[str], None] = lambda address: None,
    ):
        limits = limits or Limits()
        self.listener = listening_socket(host, port)
        self.service, self.on_start = Service(model, limits), on_start
        super().__init__(_config(self.service, limits))
        # what it would log is told by answers, or in one line
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)

    def run(self, sockets: Any = None) -> None:
        """Serve until a signal, or `stop`."""
        # matrices of a few rows are slower on several threads than on one
        with threadpool_limits(1), contextlib.closing(self.service):
            super().run(sockets=sockets or [self.listener])

    def stop(self) -> None:
        """Take no more connections, and end when all requests are answered."""
        self.service.app.stopping = True
        self.should_exit = True

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        host, port = self.listener.getsockname()[:2]
        self.on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        """Take the connections that wait already, then no more."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.listener.fileno())
        with contextlib.suppress(OSError):  # there are no more
            while True:
                taken, _ = self.listener.accept()
                await loop.connect_accepted_socket(self._connection, taken)
        await super().shutdown(sockets)

    def _connection(self) -> Connection:
        make: Any = self.config.http_protocol_class
        return make(self.config, self.server_state, self.lifespan.state)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and end without it: the process has done as it was told."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._signalled) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self.service.app.stopping = True
        self.handle_exit(number, frame)  # a second Ctrl-C ends at once
