"""Arrow tables that come as bytes from someone who is not trusted.

A stream holds messages, and a file is such a stream between a mark and a footer. Every
batch is validated before a value of it is used. Compressed batches are refused, since
a few kilobytes of them can fill the memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from missfit.tables.problems import (
    TableError,
    as_line,
    needs,
    refuse_absent,
    refuse_duplicates,
)

FILE_MARK = b"ARROW1\0\0"
# Places of fields in the tables of the Arrow format (its files Message.fbs, Schema.fbs)
HEADER, COMPRESSION, DICTIONARY_DATA = 2, 3, 1


def stream_frame(
    content: bytes, columns: Sequence[str], where: str, most_rows: int
) -> Any:
    """Return some columns of an Arrow stream or file as a pandas DataFrame.

    Parameters
    ----------
    content : bytes
    columns : sequence of str
        The columns to take; others are left out.
    where : str
        What is read, for messages.
    most_rows : int
        Reading ends with the batch that goes beyond; the frame then has more rows than
        this, and at most those of one batch more.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise needs("pyarrow and pandas", error) from error
    content = content.removeprefix(FILE_MARK)
    try:
        _refuse_compressed(content, where)
        with pa.ipc.open_stream(pa.BufferReader(content)) as stream:
            refuse_duplicates(stream.schema.names, where)
            refuse_absent(columns, stream.schema.names, where)
            schema = stream.schema
            batches = list(_batches(stream, most_rows))
        table = pa.Table.from_batches(batches, schema).select(list(columns))
        return table.replace_schema_metadata().to_pandas()
    except (TableError, MemoryError):
        raise
    except Exception as error:  # whatever damaged bytes make Arrow raise
        raise TableError(
            f"{where} cannot be read as Arrow ({as_line(error)})."
        ) from error


def _batches(stream: Any, most_rows: int) -> Iterator[Any]:
    """Yield batches that are checked, and of the last no more rows than needed."""
    n_rows = 0
    for batch in stream:
        batch.validate(full=True)
        yield batch.slice(0, most_rows + 1)
        n_rows += len(batch)
        if n_rows > most_rows:
            return


def _refuse_compressed(content: bytes, where: str) -> None:
    """Raise where a message of a stream says that its values are compressed."""
    import pyarrow as pa

    with pa.BufferReader(content) as reader:
        for message in _messages(reader):
            if _is_compressed(message.metadata.to_pybytes(), message.type):
                raise TableError(
                    f"{where} holds compressed Arrow batches, which are not taken; "
                    "write it without compression."
                )


def _messages(reader: Any) -> Iterator[Any]:
    import pyarrow as pa

    while True:
        try:
            yield pa.ipc.read_message(reader)
        except EOFError:
            return
        except (pa.ArrowInvalid, OSError):  # the footer of a file, or damage
            return


def _is_compressed(metadata: bytes, kind: str) -> bool:
    """Whether the header of a message names a compression."""
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], HEADER)
    if header is not None and kind == "dictionary":
        header = _field(metadata, header, DICTIONARY_DATA)
    if header is None or kind not in ("record batch", "dictionary"):
        return False
    return _field(metadata, header, COMPRESSION) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Return the place of a table inside a FlatBuffers table, None where it is absent.

    A table begins with the distance to a list of offsets, one for each of its fields;
    an offset of 0 says that the field is absent.
    """
    offsets = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, offsets)[0]
    if 4 + 2 * number >= size:
        return None
    offset = struct.unpack_from("<H", data, offsets + 4 + 2 * number)[0]
    if not offset:
        return None
    place = table + offset
    return place + struct.unpack_from("<I", data, place)[0]
