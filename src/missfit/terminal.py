"""What a command shows on a terminal while it works."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TextIO

EVERY = 1.0  # seconds between two drawings of the line


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
        """Say what runs from now on, and how many seconds may be left in all."""
        with self._lock:
            self.text, self.left, self.start = text, left, time.monotonic()
            self._draw()

    def update(self, text: str) -> None:
        """Say how far it is, without starting the clock anew."""
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
        self._write(self.line(time.monotonic() - self.start, width))

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
