"""Lines of text."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.batches import MAX_BATCH_RECORDS, batches_of_columns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.files.chunk import FileChunk, compression_of
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.line_estimate import bytes_per_line
from penstock.connectors.files.line_ranges import LineBlock, line_blocks

_NEWLINE = ord("\n")
_MAX_BLOCK_BYTES = (1 << 31) - 1


class TextLineFormat(FileFormat):
    r"""Each line is a string, without its line end (`\n` or `\r\n`); empty lines are empty strings."""

    def __init__(self, charset: str = "UTF-8") -> None:
        try:
            self._charset = codecs.lookup(charset).name
        except LookupError:
            raise ConfigurationError(f"text files: unknown charset {charset!r}") from None

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.STRING()

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        # UTF-16 and the like have newlines of several bytes, or a mark at the beginning of the file.
        return "\n".encode(self._charset) == b"\n"

    def bytes_per_record(self, path: str) -> float | None:  # noqa: D102
        return bytes_per_line(path)

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:  # noqa: D102
        codec = codec_for(self.produced_type)
        with chunk.opened() as file:
            if not self.is_splittable:
                yield from _decoded_as_a_whole(file, self._charset, chunk.path, codec)
                return
            end = None if compression_of(chunk.path) else chunk.end
            for block in line_blocks(file, chunk.start, end):
                try:
                    if self._charset == "utf-8":
                        yield from batches_of_columns(codec, [_utf8_lines(block, chunk.path)])
                    else:
                        yield from _in_batches(iter(_decoded_lines(block, self._charset, chunk.path)), codec)
                except _NotInCharsetError as problem:
                    if not broken.is_tolerant:
                        raise
                    yield from _in_batches(_readable_lines(block, problem.charset, chunk.path, broken), codec)


def _utf8_lines(block: LineBlock, path: str) -> pa.Array:
    """The lines as one Arrow array, made without a Python object per line."""
    data = block.data
    if len(data) > _MAX_BLOCK_BYTES:
        raise SourceError(f"{path}: the line at byte {block.offset} is longer than 2 GB")
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as problem:
        raise _not_in_charset(path, block, problem) from problem
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
    offsets = np.zeros(len(newlines) + 1, np.int32)
    # Without the newlines the text of line i ends where its newline was, less one for each newline before it.
    np.subtract(newlines, np.arange(len(newlines)), out=offsets[1:], casting="unsafe")
    text = data.replace(b"\n", b"")
    return pa.StringArray.from_buffers(len(newlines), pa.py_buffer(offsets), pa.py_buffer(text))


def _decoded_lines(block: LineBlock, charset: str, path: str) -> list[str]:
    try:
        text = block.data.decode(charset)
    except UnicodeDecodeError as problem:
        raise _not_in_charset(path, block, problem) from problem
    lines = text.removesuffix("\n").split("\n")
    if "\r\n" in text:
        ended = len(lines) if text.endswith("\n") else len(lines) - 1
        lines[:ended] = [line.removesuffix("\r") for line in lines[:ended]]
    return lines


def _decoded_as_a_whole(file: BinaryIO, charset: str, path: str, codec: RecordCodec) -> Iterator[Batch]:
    text = io.TextIOWrapper(file, charset, newline="\n")
    try:
        lines = (line[:-2] if line.endswith("\r\n") else line.removesuffix("\n") for line in text)
        yield from _in_batches(lines, codec)
    except UnicodeError as problem:
        raise SourceError(f"{path}: not in the charset {charset}: {problem}") from problem
    finally:
        # The wrapper would close the file, which belongs to the chunk.
        text.detach()


def _readable_lines(block: LineBlock, charset: str, path: str, broken: BrokenRecords) -> Iterator[str]:
    offset = block.offset
    for line in block.data.split(b"\n") if not block.data.endswith(b"\n") else block.data[:-1].split(b"\n"):
        is_ended = offset + len(line) < block.offset + len(block.data)
        try:
            text = line.decode(charset)
        except UnicodeDecodeError as problem:
            broken.add(line, f"{path}, byte {offset}", f"it is not in the charset {charset}: {problem.reason}")
        else:
            yield text.removesuffix("\r") if is_ended else text
        offset += len(line) + 1


def _in_batches(lines: Iterator[str], codec: RecordCodec) -> Iterator[Batch]:
    while values := list(islice(lines, MAX_BATCH_RECORDS)):
        yield Batch(codec, values=values)


class _NotInCharsetError(SourceError):
    charset = ""


def _not_in_charset(path: str, block: LineBlock, problem: UnicodeDecodeError) -> SourceError:
    error = _NotInCharsetError(
        f"{path}: byte {block.offset + problem.start} is not in the charset {problem.encoding}: {problem.reason}. "
        "Give the file's charset to TextLineFormat, e.g. TextLineFormat('ISO-8859-1')"
    )
    error.charset = problem.encoding
    return error
