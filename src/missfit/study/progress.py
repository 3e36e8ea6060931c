"""A progress bar with the time left, or plain lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TextIO

from missfit.terminal import duration

WIDTH = 24
PLAIN_EVERY = 15.0  # seconds between lines
TRUSTED = 10.0  # the estimate counts like a measurement of this many seconds


class Progress:
    """Show how much is done and how long the rest will take.

    Cells count by their estimated seconds, since a few take most of the time.

    Parameters
    ----------
    seconds : dict
        Estimated seconds of each cell, by key.
    stream : file
    """

    def __init__(self, seconds: dict[str, float], stream: TextIO):
        self.seconds = seconds
        self.stream = stream
        self.total = sum(seconds.values())
        self.done, self.n_done, self.n_failed = 0.0, 0, 0
        self.start = self.shown = time.monotonic()
        self.note = ""
        self.live = stream.isatty()

    def __enter__(self) -> Progress:
        if self.seconds:
            self._show()
        return self

    def __exit__(self, *_) -> None:
        if self.seconds:
            self._show()
            if self.live:
                print(file=self.stream)

    def add(self, records: Iterable[dict]) -> None:
        """Count finished cells."""
        for record in records:
            self.done += self.seconds.get(record["key"], 0.0)
            self.n_done += 1
            self.n_failed += record["status"] != "ok"
        if self.live or time.monotonic() - self.shown > PLAIN_EVERY:
            self._show()

    def tell(self, note: str) -> None:
        """Say what is going on now."""
        self.note = note
        if self.live:
            self._show()

    def _show(self) -> None:
        self.shown = time.monotonic()
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        count = f"{self.n_done:,}/{len(self.seconds):,} cells{failed}"
        text = f"{count}, {self._time_left()}"
        if self.live:
            filled = round(WIDTH * self.share)
            bar = "#" * filled + "." * (WIDTH - filled)
            note = f" ({self.note})" if self.note else ""
            print(f"\r\x1b[K[{bar}] {text}{note}", end="", file=self.stream)
        else:
            print(f"{self.share:4.0%}  {text}", file=self.stream)
        self.stream.flush()

    @property
    def share(self) -> float:
        """Share of the estimated work that is done."""
        return self.done / self.total if self.total else 1.0

    def _time_left(self) -> str:
        passed = time.monotonic() - self.start
        if self.n_done == len(self.seconds):
            return f"took {duration(passed)}"
        # what was estimated counts until enough has been measured
        pace = (passed + TRUSTED) / (self.done + TRUSTED)
        return f"about {duration(pace * (self.total - self.done))} left"
