"""The versions of the libraries that numbers come from."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

PACKAGES = ("numpy", "scipy", "scikit-learn", "jax")


@cache
def versions() -> str:
    """Return the versions of Python, missfit and what it computes with."""
    from missfit import __version__

    found = [f"python {platform.python_version()}", f"missfit {__version__}"]
    return ", ".join([*found, *(f"{name} {_version(name)}" for name in PACKAGES)])


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
