"""Open windows that were stored when it was not known, or was, which fields are the key's.

A field that is the same in all records of a key needs no order of records; where that is not known, its value is that
of the first record or of the last. Which it is depends on whether the key's function can be looked into.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.expressions.type_rules import is_integer, is_text
from penstock.runtime.columnar_windows.partial_records import PartialRecords, part_of
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.window_state_form import UNKNOWN_COLUMNS, kind_of_columns
from penstock.windows.field_reduction import FieldCombination

_ALIKE = (FieldCombination.SAME, FieldCombination.FIRST, FieldCombination.LAST)


def stored_rows(rows: PartialRows, kind: str) -> PartialRecords | None:
    """The columns that were put down as `kind`, where they differ in nothing else from `rows`; else None."""
    if not isinstance(rows, PartialRecords):
        return None
    rest = kind.removeprefix(f"{UNKNOWN_COLUMNS}(")
    fields: list[FieldCombination] = []
    reduction = rows.reduction
    for combination, values, part in zip(reduction.fields, reduction.types, rows.parts, strict=False):
        may_be_key = combination in _ALIKE and (is_integer(values) or is_text(values))
        stored = (combination, *_ALIKE) if may_be_key else (combination,)
        texts = {each: _text(each, part.type) for each in stored}
        found = next((each for each, text in texts.items() if rest.startswith(text)), None)
        if found is None or (FieldCombination.SAME not in (found, combination) and found is not combination):
            return None
        fields.append(found)
        rest = rest[len(texts[found]) :].removeprefix(", ")
    made = PartialRecords(replace(reduction, fields=tuple(fields)))
    return made if kind_of_columns(made) == kind else None


def as_rows(rows: PartialRows, stored: PartialRows, columns: Columns) -> Columns:
    """What is in columns of one form in those of the other."""
    count = len(columns[0])
    orders = {part.function: column for part, column in zip(stored.parts, columns, strict=True) if part.is_order}
    values = [column for part, column in zip(stored.parts, columns, strict=True) if not part.is_order]
    # Where there was no order, only fields of the key need one: it makes no difference.
    none = pa.array(np.zeros(count, np.int64))
    return [*values, *(orders.get(part.function, none) for part in rows.parts if part.is_order)]


def _text(combination: FieldCombination, values: pa.DataType) -> str:
    part = part_of(combination, values, "")
    return f"{part.function} {part.type}"
