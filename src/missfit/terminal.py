"""What a command shows on a terminal: lines of output, and one status line."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

EVERY = 1.0  # seconds between two drawings of the line


def printable(text: str) -> str:
    r"""Return text that a terminal shows and does not obey.

    A column may be named ``\x1b[2J``, which would clear the screen: every character
    that is not printed is written as Python writes it. Line breaks stay.

    >>> printable("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else _escape(one) for one in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def tell(text: str) -> None:
    """Print lines of the result on standard output."""
    print(printable(text), flush=True)


def note(text: str) -> None:
    """Print a note that is not part of the result, on one line of standard error."""
    print(f"missfit: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)


def note_lines(text: str) -> None:
    """Print lines that are not part of the result, as they are, on standard error."""
    print(printable(text), file=sys.stderr, flush=True)


class PatientStream:
    """A stream whose loss does not stop the work.

    A reader such as ``head`` that has gone away, a closed standard output or a full
    disk: what is written afterwards goes nowhere, and ``error`` says why.

    Parameters
    ----------
    stream : file or None
        None is what Python has for a standard stream that is closed.
    """

    def __init__(self, stream: TextIO | None):
        self.stream = stream
        self.error: OSError | None = None
        if stream is None:
            self.error = OSError(errno.EBADF, os.strerror(errno.EBADF))
        elif isinstance(stream, io.TextIOWrapper):  # a name may hold any character
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text, or drop it where the stream is lost."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, unless it is lost."""
        self._try("flush")

    def isatty(self) -> bool:
        """Return whether the stream is a terminal that is still there."""
        return self.error is None and self.stream is not None and self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _try(self, method: str, *arguments: str) -> None:
        if self.error is not None or self.stream is None:
            return
        try:
            getattr(self.stream, method)(*arguments)
        except OSError as error:
            self.error = error
            _send_nowhere(self.stream)


def _send_nowhere(stream: TextIO) -> None:
    """Send what is left in a lost stream's buffer to the null device."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def patient_streams() -> Iterator[PatientStream]:
    """Make standard output and error `PatientStream`; yield standard output."""
    old = sys.stdout, sys.stderr
    out, error = PatientStream(sys.stdout), PatientStream(sys.stderr)
    sys.stdout, sys.stderr = out, error  # type: ignore[assignment]
    try:
        yield out
    finally:
        out.flush()
        error.flush()
        sys.stdout, sys.stderr = old


class Status:
    """One line at the end of a terminal: what runs, for how long, and what is left.

    It is drawn anew every second and taken away at the end. Where the stream is no
    terminal, nothing is written.

    Parameters
    ----------
    stream : file, optional
        Standard error by default.

    Examples
    --------
    >>> with Status() as status:
    ...     status.show("reading table.csv")
    """

    def __init__(self, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.text, self.left, self.start = "", None, time.monotonic()
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Status:
        if self.live:
            self._clock.start()
        return self

    def __exit__(self, *_) -> None:
        self.clear()
        self._end.set()
        if self.live:
            self._clock.join()

    def show(self, text: str, left: float | None = None) -> None:
        """Show what runs from now on, and the seconds that may be left in all."""
        with self._lock:
            self.text, self.left, self.start = text, left, time.monotonic()
            self._draw()

    def update(self, text: str) -> None:
        """Change the text without starting the clock anew."""
        with self._lock:
            self.text = text
            self._draw()

    def clear(self) -> None:
        """Take the line away, so that something else can be printed."""
        with self._lock:
            if self.text:
                self.text = ""
                self._write("")

    def line(self, passed: float, width: int) -> str:
        """Return the line after so many seconds, no wider than the terminal.

        >>> Status().line(3, 80)
        ''
        """
        if not self.text:
            return ""
        text = f"{self.text} ({duration(passed)})" if passed >= EVERY else self.text
        if self.left is not None and self.left > passed:
            text += f", about {duration(self.left - passed)} left"
        return text if len(text) < width else text[: max(0, width - 2)] + "…"

    def _tick(self) -> None:
        while not self._end.wait(EVERY):
            with self._lock:
                if self.text:
                    self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        self._write(printable(self.line(time.monotonic() - self.start, width)))

    def _write(self, text: str) -> None:
        if self.live:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()


def duration(seconds: float) -> str:
    """Return seconds for people.

    >>> duration(7.2), duration(75), duration(7500)
    ('7 s', '1 min 15 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
