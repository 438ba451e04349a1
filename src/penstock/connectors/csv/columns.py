"""Many lines of CSV as Arrow columns, where Arrow gives them the meaning that we give them."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo

_ARROW_READS = frozenset(
    {
        BasicType.STRING,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.DOUBLE,
    }
)


@dataclass(frozen=True)
class CsvColumns:
    """Parses lines, each one message, into columns. What Arrow does not take is left to whoever reads one by one."""

    schema: pa.Schema
    delimiter: str
    quote: str | None
    null_literal: str | None

    @staticmethod
    def of(
        type_info: CompositeTypeInfo, delimiter: str, *, quote: str | None, escape: str | None, null_literal: str | None
    ) -> CsvColumns | None:
        """None where there are types or settings that Arrow reads in another way."""
        types = type_info.get_field_types()
        if escape is not None or not all(
            isinstance(each, BasicTypeInfo) and each.basic_type in _ARROW_READS for each in types
        ):
            return None
        return CsvColumns(pa.schema(type_info.arrow_fields()), delimiter, quote, null_literal)

    def of_lines(self, lines: Sequence[bytes]) -> list[pa.Array] | None:
        """The columns; None when a line is not as Arrow expects it."""
        data = b"\n".join(lines)
        # One line a message: line ends inside or behind one, and empty ones, are for the careful reader.
        if not lines or data.count(b"\n") != len(lines) - 1 or b"\r" in data or not all(lines):
            return None
        if self.quote is not None and self.quote.encode() in data:
            return None
        # The one Arrow takes for the beginning of a file, of the others it makes integers.
        if data.startswith(codecs.BOM_UTF8) or b"0x" in data or b"0X" in data:
            return None
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(data),
                read_options=pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=self.schema.names
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, quote_char=False, ignore_empty_lines=False
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=self.schema,
                    null_values=[] if self.null_literal is None else [self.null_literal],
                    strings_can_be_null=self.null_literal is not None,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != len(lines):
            return None
        return [column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns]
