"""The first thing that runs: what must hold while the library itself is loaded.

Loading numpy, scipy and scikit-learn takes about two seconds. An interrupt in that time
would end in a traceback through their files, or, inside a compiled module, in an error
about something else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED = 130


def is_command() -> bool:
    """Whether this process is the command ``missfit``, or ``python -m missfit``."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    module = name == "-m" and "missfit" in sys.orig_argv
    return module or name.removesuffix(".exe") == "missfit"


def prepare_command() -> None:
    """End quietly on an interrupt from now on, until the command takes over.

    And keep the numbers of closed standard streams from the files that are opened next,
    which would receive what other libraries print.
    """
    if not is_command() or threading.current_thread() is not threading.main_thread():
        return
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave at once: nothing has been written, and nothing may be half loaded."""
    os.write(2, b"missfit: interrupted\n")
    os._exit(INTERRUPTED)
