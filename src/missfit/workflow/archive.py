"""What may stand in a model file, checked before anything is made from it.

A model file is a zip archive: ``missfit.json`` (the header), ``schema.json`` (the
objects, as skops writes them) and the arrays ``0.npy``, ``1.npy``, ... Nothing here
makes an object of the file; sizes, names, types and array headers are read as data.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

HEADER = "missfit.json"
SCHEMA = "schema.json"
ARRAY = re.compile(r"\d{1,7}\.npy")
DIGEST = "sha256"
MOST_JSON = 32 << 20  # bytes; the schema of six candidates takes 0.02 to 0.13 MB
MOST_UNPACKED = 64 << 20  # bytes that any file may unpack to; beyond that ...
MOST_RATIO = 20  # ... as many for each byte of the file, so that a bomb is large itself
MOST_DEPTH = 80  # lists and dicts inside each other; an imputer in a pipeline has 23
MOST_EMPTY = 1 << 20  # the longest side of an array without items
PROTOCOL = 2  # that of skops 0.14; the readers of older protocols are less strict

NUMBERS = ("bool", "float32", "float64", "int32", "int64", "uint64")
LOADERS = {  # of skops, and what each may make; those of objects come from the caller
    "DictNode": {"builtins.dict"},
    "DTypeNode": {"numpy.dtype"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", *(f"numpy.{name}" for name in NUMBERS)},
    "ObjectNode": set(),
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {"builtins.float", "builtins.int", "builtins.str"},
}
HOLD_OBJECTS = ("ObjectNode", "TupleNode")
# Numbers that a loop at predict counts to; other integers cost nothing there.
LARGEST = {"depth": 100}


class RefusedError(ValueError):
    """The reason why an archive is not loaded as a model file."""


class Node(NamedTuple):
    """An object as the schema describes it."""

    content: dict[str, Any]
    name: str  # of the attribute that holds it
    depth: int

    @property
    def loader(self) -> str:
        """Return the kind of node."""
        return self.content.get("__loader__", "")

    @property
    def type(self) -> str:
        """Return the full name of the type that would be made."""
        return f"{self.content.get('__module__')}.{self.content.get('__class__')}"


def packed(content: bytes, header: dict[str, Any]) -> bytes:
    """Return the archive of a model file.

    Parameters
    ----------
    content : bytes
        What skops dumps. Its objects are told apart by their addresses in memory;
        those are left out and arrays are numbered, so that equal models give equal
        files, and no object of a file is a reference to another.
    header : dict
        Gets the digest of all members.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as dump:
        schema = json.loads(dump.read(SCHEMA))
        files: dict[str, str] = {}
        for node in _nodes(schema):
            node.content.pop("__id__", None)
            if "file" in node.content:
                new = files.setdefault(node.content["file"], f"{len(files)}.npy")
                node.content["file"] = new
        members = {new: dump.read(old) for old, new in files.items()}
    members[SCHEMA] = json.dumps(schema, separators=(",", ":")).encode()
    members[HEADER] = signed_header(header, members)
    archive = zipped(members.items(), zipfile.ZIP_DEFLATED)
    if sum(map(len, members.values())) > _most_unpacked(len(archive)):
        archive = zipped(members.items(), zipfile.ZIP_STORED)
    return archive


def signed_header(header: dict[str, Any], members: dict[str, bytes]) -> bytes:
    """Return the text of a header with the digest of itself and of other members."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    return json.dumps({**header, DIGEST: digest(header, hashes)}, indent=1).encode()


def zipped(members: Iterable[tuple[str, bytes]], compression: int) -> bytes:
    """Return an archive that depends on nothing but its members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)  # without the time of writing
            info.compress_type = compression
            archive.writestr(info, data)
    return buffer.getvalue()


def _most_unpacked(size: int) -> int:
    return max(MOST_UNPACKED, MOST_RATIO * size)


def digest(header: dict[str, Any], hashes: dict[str, str]) -> str:
    """Return the SHA-256 of a header and of the hashes of the other members."""
    rest = {name: value for name, value in header.items() if name != DIGEST}
    text = json.dumps([rest, hashes], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checked_header(file: BinaryIO) -> dict[str, Any]:
    """Return the header of an archive whose members are as they may be."""
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if HEADER not in names:
            raise RefusedError("it holds no missfit.json")
        for info in infos:
            _check_member(info)
        twice = len(names) - len(set(names))
        if twice or SCHEMA not in names:
            raise RefusedError(
                f"it has {twice} members twice" if twice else "it has no schema"
            )
        unpacked = sum(info.file_size for info in infos)
        most = _most_unpacked(file.seek(0, io.SEEK_END))
        if unpacked > most:
            raise RefusedError(
                f"it would unpack to {unpacked:,} bytes; at most {most:,} are read"
            )
        header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict):
        raise RefusedError("its header is no table of names and values")
    return header


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.filename[:80]
    is_json = info.filename in (HEADER, SCHEMA)
    if not is_json and not ARRAY.fullmatch(info.filename):
        raise RefusedError(f"it holds {name!r}, which missfit does not write")
    if is_json and info.file_size > MOST_JSON:
        raise RefusedError(
            f"{name} is {info.file_size:,} bytes long; at most {MOST_JSON:,} are read"
        )
    known = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not known or info.flag_bits & 1:
        raise RefusedError(f"{name} is packed in a way that missfit does not write")


def check_content(file: BinaryIO, header: dict[str, Any], types: set[str]) -> None:
    """Raise unless the content is what was written and holds only these types.

    Parameters
    ----------
    file : binary file
        Its header must be checked before.
    header : dict
    types : set of str
        Full names of the objects that may be made, beside numbers, texts, lists,
        tuples, dicts and arrays.
    """
    with zipfile.ZipFile(file) as archive:
        others = [name for name in archive.namelist() if name != HEADER]
        found = digest(header, {name: _hash(archive, name) for name in others})
        if header.get(DIGEST) != found:
            raise RefusedError("its content is not what its checksum says")
        schema = json.loads(archive.read(SCHEMA))
        most = _most_unpacked(file.seek(0, io.SEEK_END))
        used = _check_schema(schema, types, archive, most)
    if used != {name for name in others if name != SCHEMA}:
        raise RefusedError("it holds arrays that no object uses")


def _hash(archive: zipfile.ZipFile, name: str) -> str:
    value = hashlib.sha256()
    with archive.open(name) as member:
        while chunk := member.read(1 << 20):
            value.update(chunk)
    return value.hexdigest()


def _nodes(schema: Any) -> Iterator[Node]:
    """Yield all objects of a schema, each after the object that holds it."""
    stack = [(schema, "", 0)]
    while stack:
        item, name, depth = stack.pop()
        if depth > MOST_DEPTH:
            raise RefusedError(f"its objects are nested deeper than {MOST_DEPTH}")
        if isinstance(item, dict):
            if "__loader__" in item:
                yield Node(item, name, depth)
            stack += [(value, key, depth + 1) for key, value in item.items()]
        elif isinstance(item, list):
            stack += [(value, name, depth + 1) for value in item]


def _check_schema(schema: Any, types: set[str], archive, most: int) -> set[str]:
    """Check all nodes; return the names of the arrays that they use."""
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if type(protocol) is not int or protocol < PROTOCOL:
        raise RefusedError(f"its schema is not of skops protocol {PROTOCOL} or later")
    used: set[str] = set()
    size, n_names, n_types = 0, 0, 0
    for node in _nodes(schema):
        _check_node(node, types)
        if node.loader == "DictNode":
            n_names += _n_names(node)
        elif node.loader == "TypeNode":
            n_types += 1
        elif node.loader == "JsonNode":
            _check_scalar(node)
        elif node.loader == "NdArrayNode" and "file" in node.content:
            size += _array_size(archive, node)
            used.add(node.content["file"])
    if n_types != n_names:
        raise RefusedError("it holds a type where a value belongs")
    if size > most:
        raise RefusedError(f"its arrays would take {size:,} bytes; at most {most:,}")
    return used


def _check_node(node: Node, types: set[str]) -> None:
    """Check the kind, type and fields of one object."""
    allowed = LOADERS.get(node.loader)
    if allowed is None:
        raise RefusedError(f"its objects ask for {str(node.loader)[:80]!r}")
    if node.type not in allowed and not (
        node.loader in HOLD_OBJECTS and node.type in types
    ):
        raise RefusedError(
            f"it asks for the type {node.type[:80]!r}, which model files may not hold"
        )
    if "__id__" in node.content:
        raise RefusedError("its objects refer to each other, as missfit never writes")


def _n_names(node: Node) -> int:
    """Return how many names a dict has; each comes with its type."""
    content, key_types = node.content.get("content"), node.content.get("key_types")
    kinds = key_types.get("content") if isinstance(key_types, dict) else None
    if not isinstance(content, dict) or not isinstance(kinds, list):
        raise RefusedError("a table of names and values in it is neither")
    if len(content) != len(kinds):
        raise RefusedError(f"{len(kinds)} types stand for {len(content)} names")
    if any(kind.get("__loader__") != "TypeNode" for kind in kinds):
        raise RefusedError("a name in it has no type")
    return len(kinds)


def _check_scalar(node: Node) -> None:
    value = json.loads(node.content["content"])
    if isinstance(value, (list, dict)):
        raise RefusedError("it holds a list where missfit writes a number or text")
    most = LARGEST.get(node.name)
    if most is not None and isinstance(value, (int, float)) and not value <= most:
        raise RefusedError(f"{node.name} is {value}; at most {most} is read")


def _array_size(archive: zipfile.ZipFile, node: Node) -> int:
    """Check the header of an array against its bytes; return how many they are."""
    name = node.content["file"]
    if not isinstance(name, str) or not ARRAY.fullmatch(name):
        raise RefusedError(f"it looks for an array in {str(name)[:80]!r}")
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise RefusedError(f"{name} is an array of a format never written")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        size -= member.tell()
    if dtype.kind not in "biufU" or not dtype.itemsize:
        raise RefusedError(f"{name} is an array of {dtype}, which is never written")
    count = int(np.prod([int(n) for n in shape], dtype=object))
    if min(shape, default=0) < 0 or count * dtype.itemsize != size:
        raise RefusedError(f"{name} says shape {shape} and has {size:,} bytes")
    if not count and max(shape) > MOST_EMPTY:
        raise RefusedError(f"{name} says shape {shape}")
    if node.type != "numpy.ndarray" and shape != ():
        raise RefusedError(f"{name} has shape {shape} where one number is written")
    return size


def short_reason(error: Exception) -> str:
    """Return what an error says in one short line."""
    text = " ".join(str(error).split())[:200].rstrip(".")
    if isinstance(error, RefusedError):
        return text
    if isinstance(error, (zipfile.BadZipFile, zlib.error, EOFError)):
        return f"it is truncated or damaged ({text})"
    return f"it is damaged ({type(error).__name__}{': ' if text else ''}{text})"


def skops_io() -> Any:
    """Return the module that writes and reads objects, imported on use."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'model files need skops: pip install "missfit[table]"'
        ) from error
    return skops.io
