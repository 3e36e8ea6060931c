"""What the server has done, as text that Prometheus reads."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

STATM = Path("/proc/self/statm")


class Metrics:
    """Counts requests, seconds, rows and missing values.

    Parameters
    ----------
    columns : sequence of str
        The columns of the model.
    """

    def __init__(self, columns: Sequence[str]):
        self.columns = columns
        self.start = time.time()
        self.requests: Counter[tuple[str, int]] = Counter()  # by place and status
        self.buckets = np.zeros(len(BUCKETS) + 1, dtype=np.int64)
        self.seconds = 0.0
        self.rows = 0
        self.missing = np.zeros(len(columns), dtype=np.int64)

    def see_request(self, place: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[place, status] += 1
        self.buckets[np.searchsorted(BUCKETS, seconds)] += 1
        self.seconds += seconds

    def see_rows(self, mask: NDArray[np.bool_]) -> None:
        """Count rows that were predicted, by the mask of their variables."""
        self.rows += len(mask)
        self.missing += mask.sum(axis=0)

    def text(self) -> str:
        """Return all counts in the text format of Prometheus."""
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        yield from _head("missfit_requests_total", "counter", "Requests answered.")
        for (place, status), count in sorted(self.requests.items()):
            labels = f'path="{place}",status="{status}"'
            yield f"missfit_requests_total{{{labels}}} {count}"
        yield from self._histogram()
        yield from _head("missfit_rows_total", "counter", "Rows predicted.")
        yield f"missfit_rows_total {self.rows}"
        yield from _head(
            "missfit_missing_values_total",
            "counter",
            "Missing values in the rows predicted, by column.",
        )
        for name, count in zip(self.columns, self.missing.tolist(), strict=True):
            yield f'missfit_missing_values_total{{column="{_label(name)}"}} {count}'
        yield from _head("process_start_time_seconds", "gauge", "Start of the server.")
        yield f"process_start_time_seconds {self.start:.3f}"
        if STATM.exists():
            yield from _head("process_resident_memory_bytes", "gauge", "Memory held.")
            yield f"process_resident_memory_bytes {resident_bytes()}"

    def _histogram(self) -> Iterator[str]:
        name = "missfit_request_seconds"
        yield from _head(name, "histogram", "Seconds from head to answer of requests.")
        total = np.cumsum(self.buckets).tolist()
        for bound, count in zip([*BUCKETS, "+Inf"], total, strict=True):
            yield f'{name}_bucket{{le="{bound}"}} {count}'
        yield f"{name}_sum {self.seconds:.6f}"
        yield f"{name}_count {total[-1]}"


def resident_bytes() -> int:
    """Return the memory that the process holds, on Linux."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


def _label(text: str) -> str:
    r"""Return text as the value of a label.

    >>> _label('a"b\n')
    'a\\"b\\n'
    """
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return "".join(one if one.isprintable() else "?" for one in text)
