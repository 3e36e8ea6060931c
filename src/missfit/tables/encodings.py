"""The encoding of a text file, found by trial, and its bytes as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# In UTF-16, digits, separators and the letters of most of Europe have one byte that is
# nought, always the first or always the second of the two.
LEAST_NULS, MOST_OTHER_NULS = 0.4, 0.02
# cp1252 as browsers read it: latin-1 but for 27 of these 32 bytes; the other five mean
# nothing in cp1252
CP1252 = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0xA0)
}


class NotThisEncodingError(ValueError):
    """Bytes do not fit an encoding.

    Attributes
    ----------
    start : int
        Place of the first such byte in its block.
    """

    def __init__(self, message: str, start: int):
        super().__init__(message)
        self.start = start


def found_encoding(block: bytes, whole: bool = True) -> str | None:
    """Return the encoding that bytes of a text show, None where they are mere ASCII.

    UTF-8 is next to never valid by chance, so that it comes first; UTF-16 shows by its
    noughts; what is left can always be read as cp1252, the encoding of Excel in
    Western Europe and America, which has latin-1 within.

    Parameters
    ----------
    block : bytes
    whole : bool
        Whether the text ends with the block; if not, a character may be cut.

    Examples
    --------
    >>> found_encoding("é".encode()), found_encoding("é".encode("latin-1"))
    ('utf-8', 'cp1252')
    >>> found_encoding("a,b".encode("utf-16-le")), found_encoding(b"a,b")
    ('utf-16-le', None)
    """
    for bom, encoding in BOMS.items():
        if block.startswith(bom):
            return encoding
    if b"\0" in block:
        return _utf_16(block)
    if block.isascii():
        return None
    if _is_utf8(block, whole):
        return "utf-8"
    n_valid = len(block.decode("utf-8", "ignore").encode()) - _n_ascii(block)
    n_wrong = len(block) - _n_ascii(block) - n_valid
    return "utf-8" if n_valid > n_wrong else "cp1252"


def _utf_16(block: bytes) -> str | None:
    """Return UTF-16 where every other byte is often nought, None for other bytes."""
    half = max(1, len(block) // 2)
    shares = [block[place::2].count(0) / half for place in (0, 1)]
    if max(shares) < LEAST_NULS or min(shares) > MOST_OTHER_NULS:
        return None
    encoding = "utf-16-be" if shares[0] > shares[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder(encoding)().decode(block)
    except UnicodeDecodeError:
        return None
    return encoding


def _n_ascii(block: bytes) -> int:
    return len(block.decode("ascii", "ignore"))


def _is_utf8(block: bytes, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(block, whole)
    except UnicodeDecodeError:
        return False
    return True


class Recoder:
    """Turns the bytes of a text into UTF-8, as they come, block by block.

    Attributes
    ----------
    encoding : str or None
        The encoding; as long as it is None, all bytes were ASCII, and the first others
        decide.
    """

    def __init__(self, encoding: str | None):
        self.encoding: str | None = None
        self.decode: Callable[[bytes, bool], str] | None = None
        self.started = self.waiting = False
        if encoding is not None:
            self._set(encoding)

    def __call__(self, block: bytes, final: bool) -> bytes:
        """Return the next bytes as UTF-8, without a byte order mark."""
        plain = self.encoding in (None, "utf-8") and not self.waiting
        if plain and block.isascii():
            self.started = self.started or bool(block)
            return block
        if self.decode is None:
            self._set(found_encoding(block, final) or "utf-8")
        assert self.decode is not None
        text = self.decode(block, final)
        self.waiting = not text.isascii() or len(text) != len(block)
        if not self.started and text:
            self.started, text = True, text.removeprefix("\ufeff")
        return text.encode("utf-8", "replace")

    def _set(self, encoding: str) -> None:
        self.encoding = codecs.lookup(encoding).name
        if self.encoding == "cp1252":
            self.decode = lambda block, _: block.decode("latin-1").translate(CP1252)
            return
        decoder = codecs.getincrementaldecoder(encoding)()

        def decode(block: bytes, final: bool) -> str:
            try:
                return decoder.decode(block, final)
            except UnicodeDecodeError as error:
                raise NotThisEncodingError(error.reason, error.start) from error
            except UnicodeError as error:  # of utf-16 without a byte order mark
                raise NotThisEncodingError(str(error), 0) from error

        self.decode = decode
