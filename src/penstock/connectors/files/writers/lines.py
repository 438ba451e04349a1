"""Lines of text and of JSON: files that can be put one behind the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from penstock.common.batch import Batch
from penstock.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from penstock.connectors.files.sink.compaction import CONCATENATION
from penstock.connectors.json.encoding import json_lines
from penstock.connectors.print_text import print_text


class _JsonWriter(BulkWriter):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, batch: Batch) -> None:
        self._file.write(json_lines(batch))


class _EncodingWriter(BulkWriter):
    def __init__(self, file: BinaryIO, encoder: Encoder) -> None:
        self._file = file
        self._encoder = encoder

    def write(self, batch: Batch) -> None:
        self._file.write(b"".join([self._encoder.encode(value) for value in batch.values]))


class _TextWriter(BulkWriter):
    def __init__(self, file: BinaryIO, charset: str, *, flink_text: bool) -> None:
        self._file = file
        self._charset = charset
        self._flink_text = flink_text

    def write(self, batch: Batch) -> None:
        text = print_text if self._flink_text and batch.codec.schema is not None else str
        self._file.write("".join([f"{text(value)}\n" for value in batch.values]).encode(self._charset))


@dataclass(frozen=True)
class LineWriterFactory(BulkWriterFactory):
    """One line, or what an encoder makes, per record."""

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:  # noqa: D102
        CONCATENATION.compact(inputs, output, self)


@dataclass(frozen=True)
class JsonLinesWriters(LineWriterFactory):
    """One JSON document per line."""

    suffix = ".json"

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        return _JsonWriter(file)


@dataclass(frozen=True)
class TextWriters(LineWriterFactory):
    """The `str` of each record on a line."""

    charset: str = "utf-8"

    suffix = ".txt"

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        return _TextWriter(file, self.charset, flink_text=False)


@dataclass(frozen=True)
class EncoderWriters(LineWriterFactory):
    """What an encoder makes of each record; the text of `simple_string_encoder` is Flink's: `(a,1)`, `+I[a, 1]`."""

    encoder: Encoder

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        if self.encoder.charset is not None:
            return _TextWriter(file, self.encoder.charset, flink_text=True)
        return _EncodingWriter(file, self.encoder)
