"""The bytes of a CSV file as characters: Arrow tells of all rows then, also of those that are no UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.kernels import pc


class BytesAsCharacters(io.RawIOBase):
    """A file in which each byte is the character with its number, without the mark of UTF-8 at its beginning."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._rest = b""
        self._has_begun = False

    def readable(self) -> bool:
        """For Arrow."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next characters, in UTF-8."""
        if not self._rest:
            data = self._file.read(max(len(buffer) // 2, len(codecs.BOM_UTF8)))
            if not self._has_begun:
                data = data.removeprefix(codecs.BOM_UTF8)
                self._has_begun = True
            self._rest = as_characters(data).encode()
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


def as_characters(text: bytes) -> str:
    """Each byte as the character with its number."""
    return text.decode("latin-1")


def as_bytes(characters: str) -> bytes:
    """The bytes that have become characters."""
    return characters.encode("latin-1", "replace")


def texts_of(characters: pa.Array) -> pa.Array:
    """The texts whose bytes have become characters; they may be no UTF-8."""
    is_other = pc.invert(pc.string_is_ascii(characters))
    if not pc.any(is_other).as_py():
        return characters
    others = pa.array([as_bytes(each.as_py()) for each in characters.filter(is_other)], pa.binary())
    return pc.replace_with_mask(characters.cast(pa.binary()), pc.fill_null(is_other, False), others).view(pa.string())
