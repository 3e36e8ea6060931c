"""Files that are whole or not there: written beside their place, then renamed."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LONGEST_SUFFIX = 12  # characters that a part file takes over from its file's name
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def kind_of_place(path: str | os.PathLike[str]) -> str:
    """Return "a file", "a folder", "a pipe", ..., or "" where there is nothing.

    >>> kind_of_place(os.devnull), kind_of_place("/nowhere/at/all")
    ('a device', '')
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return next((kind for is_kind, kind in KINDS if is_kind(mode)), "a file")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError where a file could not be written, before any work for it.

    The folder need not exist: then it must be possible to make it.
    """
    place = _destination(path)
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(f"{path} is write-protected; give another place.")
    folder = next(one for one in place.parents if one.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"nothing can be written to {folder} ({error.strerror or error}); give "
            f"another place than {path}."
        ) from error


def same_file(
    path: str | os.PathLike[str], others: Iterable[str | os.PathLike[str]]
) -> Path | None:
    """Return which of the others is the very file of a path, by any of its names."""
    for other in others:
        with suppress(OSError):
            if os.path.samefile(path, other):
                return Path(other)
    return None


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of ``path`` when all went well.

    Whatever happens (an error, a full disk, a kill), ``path`` is the old file or the
    new one, never a part of it. The folder is made where it is missing, and the suffix
    kept, since writers choose a format by it. A link stays a link, to the new content;
    the permissions of the old file are those of the new one. What a killed process left
    of the same file is removed.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with whole_file(target) as part:
    ...     _ = part.write_text("x1,y")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('x1,y', 1)
    """
    place = _destination(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    _clear_parts(place)
    part, descriptor = _new_part(place)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, place)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            error.errno, f"{reason}; {path} is as it was before", str(path)
        ) from error
    finally:
        part.unlink(missing_ok=True)
        os.close(descriptor)
    sync_folder(place.parent)


def _destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path stands for, behind links; refuse what is no file."""
    kind = kind_of_place(path)
    if kind not in ("", "a file"):
        raise OSError(f"{path} is {kind}; give the name of a file.")
    return Path(os.path.realpath(path))


def _part_name(place: Path, which: str) -> str:
    """Return the name of a part: one length, however long the name of the file is."""
    name = hashlib.sha256(os.fsencode(place.name)).hexdigest()[:8]
    suffix = place.suffix if len(place.suffix) <= LONGEST_SUFFIX else ""
    return f".missfit-{name}-{which}.part{suffix}"


def _new_part(place: Path) -> tuple[Path, int]:
    """Make a part file, with the permissions of the old file, and hold its lock."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    while True:
        part = place.with_name(_part_name(place, secrets.token_hex(4)))
        try:
            descriptor = os.open(part, flags, 0o600 if place.exists() else 0o666)
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror}; {place} is as it was before", str(part)
            ) from error
        hold(descriptor)
        if place.exists():
            _copy_permissions(place.stat(), descriptor)
        if fcntl is None or os.fstat(descriptor).st_nlink:
            return part, descriptor
        os.close(descriptor)  # another process took it for one of the dead


def _copy_permissions(old: os.stat_result, descriptor: int) -> None:
    if hasattr(os, "fchmod"):
        with suppress(OSError):  # the file of another user
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _clear_parts(place: Path) -> None:
    """Remove the parts of this file whose writers are dead: nobody holds their lock."""
    if fcntl is None:
        return
    for part in place.parent.glob(_part_name(place, "*")):
        remove_dead(part)


def remove_dead(path: Path) -> bool:
    """Remove a file that its process held while it lived; whether it was dead."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if hold(descriptor):
                path.unlink(missing_ok=True)
                return True
        finally:
            os.close(descriptor)
    return False


def hold(descriptor: int) -> bool:
    """Take the lock of an open file until it is closed; False where another has it.

    The system lets go of it when the process ends, however it ends. Where there are no
    locks (some network file systems, Windows), nobody has it.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def wait_for(folder: Path) -> Iterator[None]:
    """Have a folder to oneself for a moment, where the system has locks."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


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
