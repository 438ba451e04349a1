"""Lines of a byte range of a file: each line belongs to the range that holds its first byte."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

BLOCK_BYTES = 8 << 20


class LineBlock(NamedTuple):
    """Whole lines, with their line ends (the last line of a file may have none), and where they begin."""

    offset: int
    data: bytes


def line_blocks(file: BinaryIO, start: int, end: int | None, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """The lines of a newly opened file that begin in [start, end); `end` None: up to the end of the file.

    Lines end with a newline byte. However a file is cut into ranges, each line is in exactly one of them: a range
    that starts inside a line leaves it to the range before, and reads its own last line to its end.
    """
    position = start
    if start > 0:
        file.seek(start - 1)
        position = start - 1 + _skip_line(file, block_bytes)
        file.seek(position)
    if end is not None and position >= end:
        return
    parts: list[bytes] = []
    offset = position
    while True:
        wanted = block_bytes if end is None else max(0, min(block_bytes, end - position))
        block = file.read(wanted) if wanted else b""
        position += len(block)
        if not block:
            break
        last_newline = block.rfind(b"\n")
        if last_newline < 0:
            parts.append(block)
            continue
        parts.append(block[: last_newline + 1])
        data = b"".join(parts)
        yield LineBlock(offset, data)
        offset += len(data)
        parts = [block[last_newline + 1 :]] if last_newline + 1 < len(block) else []
    if parts:
        # The last line began inside the range: it is read to its end, wherever that is.
        parts.extend(_rest_of_line(file, block_bytes))
        yield LineBlock(offset, b"".join(parts))


def _skip_line(file: BinaryIO, block_bytes: int) -> int:
    return sum(map(len, _rest_of_line(file, block_bytes)))


def _rest_of_line(file: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    """What is left of the line at the file's position, its newline included."""
    while block := file.read(min(block_bytes, io.DEFAULT_BUFFER_SIZE)):
        newline = block.find(b"\n")
        if newline >= 0:
            yield block[: newline + 1]
            return
        yield block
