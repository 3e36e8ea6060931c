"""Damaged bytes, hostile text files, archives and workbooks, for `hostile_files`."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from functools import cache

BOMB = 60_000_000  # bytes, of few kB


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return content with one kind of damage."""
    data = bytearray(content)
    spot = rng.randrange(len(data))
    what = rng.randrange(8)
    if what == 0:
        return bytes(data[:spot])
    if what == 1:  # a few bytes flipped
        for _ in range(rng.choice([1, 1, 2, 5, 50])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif what == 2:  # a run of one byte
        width = rng.choice([1, 4, 8, 64, 512])
        data[spot : spot + width] = bytes([rng.choice([0, 255, 127])]) * width
    elif what == 3:
        del data[spot : spot + rng.choice([1, 8, 100])]
    elif what == 4:
        data[spot:spot] = rng.randbytes(rng.choice([1, 8, 100]))
    elif what == 5:  # numbers of the footer, of a length or an offset
        spot = max(0, len(data) - rng.randrange(1, 400))
        number = rng.choice([2**31 - 1, 2**40, 2**63 - 1, 0])
        data[spot : spot + 8] = number.to_bytes(8, "little")
    elif what == 6:
        return bytes(data[spot:]) + bytes(data[:spot])
    else:
        spot -= spot % 8
        number = rng.choice([-1, 2**31, 2**62, 1 << rng.randrange(60)])
        data[spot : spot + 8] = number.to_bytes(8, "little", signed=True)
    return bytes(data)


def odd_text(rng: random.Random, text: str) -> bytes:
    """Return a text file that is laid out, encoded or cut in a strange way."""
    made = rng.choice(TEXTS)(rng, text)
    content = made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
    if content and rng.random() < 0.3:
        content = content[: rng.randrange(1, len(content) + 1)]
    return content


def _encoded(rng: random.Random, text: str) -> bytes:
    text = text.replace("Paris", "Orl\u00e9ans")
    names = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp037", "utf-7"]
    content = text.encode(rng.choice(names))
    return content + rng.choice([b"", b"\0", b"\xff", b"\xd8\x00", "é".encode()])


def _two_encodings(rng: random.Random, text: str) -> bytes:
    lines = text.replace("Paris", "Orl\u00e9ans").splitlines(keepends=True)
    return b"".join(line.encode(rng.choice(["utf-8", "latin-1"])) for line in lines)


def _line_ends(rng: random.Random, text: str) -> str:
    ends = ["\n", "\r", "\r\n", "\n\r", "\x0b", "\u2028", "\n\n\n", "\x1a"]
    return "".join(line + rng.choice(ends) for line in text.splitlines())


def _quotes(rng: random.Random, text: str) -> str:
    odd = ['"Pa\nris"', '"Pa\r\n\nris"', '"Paris', 'Par"is', '"Par"is"', '"""', '"']
    return text.replace("Paris", rng.choice(odd), rng.choice([1, 3, 99]))


def _nuls(rng: random.Random, text: str) -> bytes:
    content = bytearray(text.encode())
    for _ in range(rng.choice([1, 5, 1000])):
        content[rng.randrange(len(content))] = 0
    return bytes(content)


def _wide(rng: random.Random, text: str) -> str:
    n, name = rng.choice([(1_000_000, "c"), (60_000, "c"), (200_000, ""), (20_000, "")])
    names = ",".join(f"{name}{j}" if name else "a" for j in range(n))
    return f"{names},y\n" + f"{'1,' * n}2\n" * 3


def _giant(rng: random.Random, text: str) -> str:
    field = rng.choice(["x" * 3_000_000, '"' + "x\n" * 1_500_000 + '"', "9" * 900_000])
    return text.replace("Paris", field, 1)


def _ragged(rng: random.Random, text: str) -> str:
    lines = text.splitlines()
    for _ in range(rng.choice([1, 20])):
        k = rng.randrange(len(lines))
        lines[k] = rng.choice([lines[k] + ",7", lines[k] + ",,", "1", "  ", ",,,,,,,"])
    return "\n".join(lines * rng.choice([1, 500]))


def _above(rng: random.Random, text: str) -> str:
    above = ["Report", "sep=,", "sep=", "sep=\0", "# note", ",,,,", '"', "a,b", "1,2,3"]
    lines = [rng.choice(above) for _ in range(rng.choice([1, 3, 300]))]
    return "\n".join([*lines, text])


def _binary(rng: random.Random, text: str) -> bytes:
    starts = [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"%PDF-1.7\n",
        b"\x7fELF",
        b"SQLite",
    ]
    return rng.choice(starts) + rng.randbytes(rng.choice([20, 5000, 2_000_000]))


def _names(rng: random.Random, text: str) -> str:
    _, _, body = text.partition("\n")
    headers = [
        '""""',
        '""',
        "y",
        ",,,,",
        "y,y,y,y,y",
        "1,2,3,4,5",
        " , , , ,y",
        "\u202e",
    ]
    return rng.choice(headers) + "\n" + body


TEXTS: list[Callable] = [_encoded, _two_encodings, _line_ends, _quotes, _nuls, _wide]
TEXTS += [_giant, _ragged, _above, _binary, _names]


def odd_archive(rng: random.Random, text: str) -> tuple[str, bytes]:
    """Return the name and the content of a packed file."""
    if rng.random() < 0.2:
        ending = rng.choice(["gz", "bz2", "xz", "zip"])
        return f"odd.csv.{ending}", _bomb(ending)
    content = odd_text(rng, text) if rng.random() < 0.4 else text.encode()
    ending = rng.choice(["gz", "bz2", "xz", "zip", "zip"])
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    packed = pack[ending](content) if ending in pack else _zipped(rng, content)
    if rng.random() < 0.5:
        packed = _hurt(rng, packed)
    return f"odd.csv.{ending}", packed


@cache
def _bomb(ending: str) -> bytes:
    """Return lines without end, packed."""
    lines = b"age,city,y,dose,day\n" + b"1,a,2,3,2020-01-01\n" * (BOMB // 19)
    if ending == "zip":
        return zip_of({"a.csv": lines})
    if ending == "gz":
        return gzip.compress(lines, 1)
    pack = {"bz2": lambda part: bz2.compress(part, 1), "xz": lzma.compress}[ending]
    return pack(lines[: 10**7]) * 6  # packed parts may follow each other


def zip_of(members: dict[str, bytes]) -> bytes:
    """Return an archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _zipped(rng: random.Random, content: bytes) -> bytes:
    members = rng.choice(
        [
            {"a.csv": content},
            {"a.csv": content, "b.csv": content},
            {"../../a.csv": content},
            {"a.zip": zip_of({"a.csv": content})},
            {"\x1b[31m.csv": content, "\u202e.csv": b""},
            {f"{j}.csv": b"" for j in range(2000)},
            {},
            {"folder/": b""},
        ]
    )
    packed = bytearray(zip_of(members))
    if rng.random() < 0.3:  # flags, the method and sizes of the directory
        spot = packed.find(b"PK\x01\x02") + rng.choice([8, 10, 20, 24, 28, 42])
        packed[spot : spot + 2] = rng.choice([b"\x01\0", b"\xff\xff", b"\x0c\0"])
    return bytes(packed)


def _hurt(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    if rng.random() < 0.5:
        return bytes(data[: rng.randrange(1, len(data) + 1)])
    for _ in range(rng.choice([1, 3, 30])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def odd_workbook(rng: random.Random, content: bytes) -> bytes:
    """Return a workbook that is cut, or of which a part is strange."""
    if rng.random() < 0.3:
        return _hurt(rng, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    rng.choice(WORKBOOKS)(rng, parts)
    return zip_of(parts)


SHEET = "xl/worksheets/sheet1.xml"


def _any_part(rng: random.Random, parts: dict[str, bytes]) -> None:
    name = rng.choice(sorted(parts))
    change: list[Callable] = [lambda part: _hurt(rng, part), lambda _: b""]
    change += [lambda part: part * 2, lambda _: b"<" * 1000, lambda _: b"\xff\xfe" * 9]
    parts[name] = rng.choice(change)(parts[name])
    if rng.random() < 0.2:
        del parts[name]


def _cells(rng: random.Random, parts: dict[str, bytes]) -> None:
    new = [b'r="XFD1048576"', b'r="A99999999"', b'r="ZZZZZZZ1"', b'r="A0"', b'r=""']
    new += [b"", b'r="1A"', b"r='XFD1048576'", b'r="A4294967296"', b'r="\xc3\xa9"']
    new += [b'r ="XFD1048576"', b'r="xfd1048576"', b'x:r="XFD1048576"', b'r="B2"']
    spot = rng.choice([b'r="A2"', b'r="C5"', b'r="2"', b'r="81"', b'r="C81"'])
    value = rng.choice(new)
    if b"A" not in spot and b"C" not in spot:
        value = rng.choice([b'r="1048576"', b'r="-1"', b'r="4294967295"', b'r="x"'])
    parts[SHEET] = parts[SHEET].replace(spot, value, 1)


def _dimension(rng: random.Random, parts: dict[str, bytes]) -> None:
    sizes = [b"A1:XFD1048576", b"A1", b"", b"ZZZZ1:A1", b"A1:A99999999999999999999"]
    start, _, rest = parts[SHEET].partition(b'<dimension ref="')
    _, _, end = rest.partition(b'"')
    parts[SHEET] = start + b'<dimension ref="' + rng.choice(sizes) + b'"' + end


def _entities(rng: random.Random, parts: dict[str, bytes]) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "9999999999">'
    for letter, before in zip(b"bcdefghij", b"abcdefghi", strict=True):
        bomb += b'<!ENTITY %c "%s">' % (letter, b"&%c;" % before * 10)
    bomb += b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    name = rng.choice([SHEET, "xl/sharedStrings.xml", "xl/workbook.xml"])
    head, _, rest = parts.get(name, b"").partition(b"?>")
    used = rng.choice([b"&j;", b"&f;"])
    rest = rest.replace(b"</v>", used + b"</v>").replace(b"</t>", used + b"</t>")
    parts[name] = head + b"?>" + bomb + rest


def _many(rng: random.Random, parts: dict[str, bytes]) -> None:
    row = rng.choice([b"<row><c><v>1</v></c></row>", b"<row/>", b"<c><v>1</v></c>"])
    start, end = parts[SHEET].split(b"</sheetData>")
    parts[SHEET] = start + row * (BOMB // len(row)) + b"</sheetData>" + end


def _values(rng: random.Random, parts: dict[str, bytes]) -> None:
    new = [b"1e999", b"nan", b"", b"-99999999999", b"\xff", b"1" * 100_000, b"<v>"]
    kinds = [b't="s"', b't="d"', b't="b"', b't="e"', b't="inlineStr"', b't="x"']
    parts[SHEET] = parts[SHEET].replace(b't="n"', rng.choice(kinds))
    parts[SHEET] = parts[SHEET].replace(b"<v>", b"<v>" + rng.choice(new), 5)


def _deep(rng: random.Random, parts: dict[str, bytes]) -> None:
    name = rng.choice([SHEET, "xl/sharedStrings.xml", "xl/styles.xml"])
    parts[name] = b"<a>" * 1_000_000 + parts.get(name, b"")


WORKBOOKS: list[Callable] = [_any_part, _any_part, _cells, _cells, _dimension]
WORKBOOKS += [_entities, _many, _values, _deep]
