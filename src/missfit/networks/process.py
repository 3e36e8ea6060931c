"""What the networks share with the rest of the process: jax, and forks."""

from __future__ import annotations

import os
import sys
from typing import Any


def load_trainer() -> Any:
    """Import the trainer, or say how to get what it needs."""
    if _FORK.came_after_jax:
        raise RuntimeError(
            "this process was forked after jax had started in its parent. The threads "
            "of jax do not survive a fork, so that the training would never end. Start "
            'processes with multiprocessing.get_context("spawn"), with "forkserver" or '
            "with joblib's default backend, or fit the networks in threads. Models "
            "that are fitted can predict here."
        )
    try:
        from missfit.networks import trainer
    except ImportError as error:
        raise ImportError(
            f"the networks need jax and optax ({error}). Install them with "
            'pip install "missfit[networks]".'
        ) from error
    return trainer


class _Fork:
    """Whether this process was forked from one in which jax had started."""

    def __init__(self) -> None:
        self.came_after_jax = False
        if hasattr(os, "register_at_fork"):  # Windows does not fork
            os.register_at_fork(after_in_child=self._look)

    def _look(self) -> None:
        self.came_after_jax = self.came_after_jax or _jax_has_started()


def _jax_has_started() -> bool:
    """Return whether jax has devices, and so threads, without starting it.

    jax itself asks this at a fork, to warn; it has no public name.
    """
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", lambda: bridge is not None)
    return started()


_FORK = _Fork()
