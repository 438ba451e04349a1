"""Records that are reduced to one, field by field, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.kernels import pc
from penstock.runtime.columnar_windows.parts import FIRST_ORDER, LAST_ORDER, Columns, Ids, Part, PartialRows
from penstock.windows.field_reduction import FieldCombination, FieldReduction, depends_on_first

_COMPUTED = (FieldCombination.SUM, FieldCombination.MIN, FieldCombination.MAX)


class PartialRecords(PartialRows):
    """A record, or what some of them were reduced to.

    Where a field is that of the first or the last record, a column says where in the order of arrival that one is.
    """

    def __init__(self, reduction: FieldReduction, *, counts_records: bool = False) -> None:
        schema = codec_for(reduction.record_type).schema
        assert schema is not None
        self._types = [field.type for field in schema]
        self.reduction = reduction
        self._fields = reduction.fields
        self._is_floating = list(map(depends_on_first, reduction.fields, reduction.types))
        names = reduction.names
        parts = [part_of(*each) for each in zip(self._fields, self._types, names, strict=True)]
        parts += [Part("first", each) for each in compress(self._types, self._is_floating)]
        functions = {part.function for part in parts}
        self._orders = [order for order in (FIRST_ORDER, LAST_ORDER) if order.function in functions]
        super().__init__([*parts, *self._orders], counts_records=counts_records)
        self.is_ordered = bool(self._orders)
        self.is_folded = reduction.is_folded

    def of_records(self, columns: Sequence[pa.Array], count: int, order: Ids | None = None) -> Columns:
        """Every record as a row; `order` says which of them came before which."""
        made = [column.cast(part.type) for column, part in zip(columns, self.parts, strict=False)]
        made += compress(columns, self._is_floating)
        if self._orders:
            assert order is not None
            made += [pa.array(order)] * len(self._orders)
        return [*made, self.ones(count)] if self.adds_records else made

    def batch(
        self, codec: RecordCodec, keys: Columns, columns: Columns, start: int | Ids, end: int | Ids, stamps: pa.Array
    ) -> Batch:
        """The records that are left."""
        return Batch(codec, columns=self._results(columns), timestamps=stamps)

    def _results(self, columns: Columns) -> Columns:
        firsts = iter(columns[len(self._fields) :])
        made: Columns = []
        for column, field_type, is_floating in zip(columns, self._types, self._is_floating, strict=False):
            if is_floating:
                first = next(firsts)
                made.append(pc.if_else(pc.fill_null(pc.is_nan(first), False), first, column))
                continue
            try:
                made.append(column.cast(field_type))
            except pa.ArrowInvalid:
                raise OverflowError(f"a sum does not fit into a field of the type {field_type}") from None
        return made


def part_of(combination: FieldCombination, field_type: pa.DataType, name: str) -> Part:
    """The column of a field."""
    strict_name = name if combination in _COMPUTED else ""
    if combination is FieldCombination.SUM:
        return Part("sum", pa.float64() if pa.types.is_floating(field_type) else pa.int64(), strict_name=strict_name)
    function = "min" if combination is FieldCombination.SAME else combination.value
    return Part(function, field_type, strict_name=strict_name)
