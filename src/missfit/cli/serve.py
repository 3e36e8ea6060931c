"""``missfit serve MODEL``: answer rows that come by HTTP."""

from __future__ import annotations

import argparse

from missfit.cli.options import positive
from missfit.tables.columns import shown
from missfit.terminal import Status, note, tell

LOCAL = ("127.0.0.1", "localhost", "::1")
MEGABYTE = 2**20


def port(text: str) -> int:
    """Return the port that a text is.

    >>> port("8000")
    8000
    """
    if not (text.isascii() and text.isdecimal()) or int(text[:6]) > 65_535:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no port; give a whole number between 0 and 65535"
        )
    return int(text)


def add_serve(commands) -> None:
    """Add `missfit serve MODEL [--host HOST] [--port PORT]`."""
    parser = commands.add_parser(
        "serve",
        help="Answer rows that come by HTTP with a model file.",
        description="Serve a model file by HTTP: rows are sent to /predict by POST, as "
        "JSON, CSV or Arrow, and any of their values may be missing. The page at / "
        "lets you try a row by hand; /schema says what a row is, /ask which missing "
        "value to ask for next, /health and /metrics how the server does. It ends at "
        "SIGTERM or Ctrl-C, when all requests that it has taken are answered.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="The address to listen at. The default, 127.0.0.1, is reached from this "
        "machine alone; 0.0.0.0 is reached from everywhere, and there is no password.",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=8000,
        help="The port to listen at. The default is 8000; 0 takes one that is free.",
    )
    parser.add_argument(
        "--max-rows",
        type=positive,
        default=10_000,
        metavar="N",
        help="The most rows of one request. The default is 10000.",
    )
    parser.add_argument(
        "--max-megabytes",
        type=positive,
        default=10,
        metavar="N",
        help="The largest body of one request. The default is 10.",
    )
    parser.set_defaults(command=_serve)


def _serve(arguments) -> None:
    try:
        from missfit.serve.server import Limits, serve_model
    except ImportError as error:
        raise ImportError(
            f'serving takes starlette and uvicorn: pip install "missfit[serve]" '
            f"({error})."
        ) from error
    from missfit.workflow.model_file import load_model

    with Status() as status:
        status.show(f"loading {arguments.model}")
        model = load_model(arguments.model)
    body = arguments.max_megabytes * MEGABYTE
    limits = Limits(body=body, bodies=10 * body, rows=arguments.max_rows)
    if arguments.host not in LOCAL:
        note(
            f"warning: whoever reaches {arguments.host} can send rows; there is no "
            "password. Put a server with one in front of it where that is not wanted."
        )

    def ready(address: str) -> None:
        tell(f"{arguments.model}: predictions of {model.target} at {address}")
        note("press Ctrl-C to stop")

    serve_model(model, arguments.host, arguments.port, limits, on_start=ready)
    note("stopped; all requests that were taken are answered")
