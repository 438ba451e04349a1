"""One JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError
from penstock.common.serialization import DeserializationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.batches import MAX_BATCH_RECORDS, batches_of_columns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.chunk import FileChunk, compression_of
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.line_estimate import bytes_per_line
from penstock.connectors.files.line_ranges import LineBlock, line_blocks
from penstock.connectors.json.columns import JsonColumns
from penstock.connectors.json.documents import JsonError
from penstock.connectors.tolerant_reading import readable_parts


class JsonLinesFormat(FileFormat):
    """Each line is a JSON object in UTF-8; empty lines are skipped.

    With a type that has named fields (`Types.ROW_NAMED`, a dataclass, a NamedTuple, DDL text) the objects are read
    into its columns: a field that an object lacks is None, a field that the type lacks is ignored. Without a type each
    record is what `json.loads` makes of its line.
    """

    def __init__(self, type_info: RowDescription | None = None) -> None:
        self._type_info: TypeInformation | None = None
        if isinstance(type_info, TypeInformation) and type_info.is_pickled:
            self._type_info = type_info
        elif type_info is not None:
            self._type_info = row_type_of("JsonLinesFormat", type_info)
            # Made here for its errors: the user's line is where they belong.
            JsonColumns(self._type_info)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.PICKLED_BYTE_ARRAY() if self._type_info is None else self._type_info

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        return True

    def bytes_per_record(self, path: str) -> float | None:  # noqa: D102
        return bytes_per_line(path)

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:  # noqa: D102
        codec = codec_for(self.produced_type)
        columns = None if codec.schema is None else JsonColumns(self.produced_type)
        with chunk.opened() as file:
            end = None if compression_of(chunk.path) else chunk.end
            for block in line_blocks(file, chunk.start, end):
                try:
                    if columns is not None:
                        yield from batches_of_columns(codec, columns.of_lines(block.data)[0])
                        continue
                    values = _objects(block.data)
                except JsonError as problem:
                    if not broken.is_tolerant:
                        raise _located(problem, block, chunk.path) from None
                    yield from _readable(block, columns, codec, chunk.path, broken)
                    continue
                for start in range(0, len(values), MAX_BATCH_RECORDS):
                    yield Batch(codec, values=values[start : start + MAX_BATCH_RECORDS])


def _readable(
    block: LineBlock, columns: JsonColumns | None, codec: RecordCodec, path: str, broken: BrokenRecords
) -> Iterator[Batch]:
    """The records of a block that has broken lines in it."""
    lines = block.data.split(b"\n")

    def read(start: int, end: int) -> Batch:
        part = b"\n".join(lines[start:end])
        try:
            if columns is None:
                return Batch(codec, values=_objects(part))
            return Batch(codec, columns=columns.of_lines(part)[0])
        except JsonError as problem:
            raise DeserializationError(problem.index, problem.reason) from None

    parts, broken_places = readable_parts(len(lines), read)
    ends = list(accumulate(len(line) + 1 for line in lines))
    for bad in broken_places:
        line = lines[bad.place]
        broken.add(line, f"{path}, byte {block.offset + ends[bad.place] - len(line) - 1}", bad.reason)
    for _, _, batch in parts:
        for start in range(0, len(batch), MAX_BATCH_RECORDS):
            yield batch.part(start, min(start + MAX_BATCH_RECORDS, len(batch)))


def _objects(data: bytes) -> list[object]:
    values: list[object] = []
    for index, line in enumerate(data.split(b"\n")):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as problem:
            raise JsonError(index, line, f"no valid JSON: {problem}") from None
    return values


def _located(problem: JsonError, block: LineBlock, path: str) -> SourceError:
    before = sum(len(line) + 1 for line in block.data.split(b"\n")[: problem.index])
    return SourceError(
        f"{path}: the line at byte {block.offset + before} cannot be read: {problem.reason}\n  line: {problem.shown()}"
    )
