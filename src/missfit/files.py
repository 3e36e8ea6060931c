"""Files that are whole or not there: written beside their place, then renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of ``path`` when all went well.

    Whatever happens (an error, a full disk, a kill), ``path`` is the old file or the
    new one, never a part of it. The folder is made where it is missing, and the suffix
    kept, since writers choose a format by it.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with whole_file(target) as part:
    ...     _ = part.write_text("x1,y")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('x1,y', 1)
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}-{secrets.token_hex(4)}.part{path.suffix}")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            error.errno, f"{reason}; {path} is as it was before", str(path)
        ) from error
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError:  # some network file systems refuse; the file itself is synced
            pass
        finally:
            os.close(descriptor)
