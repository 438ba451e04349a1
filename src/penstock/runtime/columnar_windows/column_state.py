"""Open windows that were computed in columns, for an operator that goes on with them record by record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import StateError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.aggregates import AggregateKind
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.open_sessions import OpenSessions
from penstock.runtime.columnar_windows.panes import Panes
from penstock.runtime.columnar_windows.partial_aggregates import PartialAggregates
from penstock.runtime.columnar_windows.partial_records import PartialRecords, part_of
from penstock.runtime.columnar_windows.partial_sums import PartialSums
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.columnar_windows.stored_columns import why_other_windows
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import (
    PANES,
    SESSIONS,
    UNKNOWN_COLUMNS,
    has_entries,
    kind_of_columns,
    refused,
    stored_description,
)
from penstock.state.catalogue import StateDescription, prefix_of
from penstock.state.state_keys import delete_prefix
from penstock.state.value_serializers import serializer_for
from penstock.windows.accumulation import Accumulation
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.declared_aggregation import DeclaredAggregation
from penstock.windows.definition import WindowDefinition
from penstock.windows.field_reduction import FieldCombination, FieldReduction
from penstock.windows.session import SessionWindows
from penstock.windows.tumbling import TumblingWindows
from penstock.windows.window import TimeWindow

_COMPARED = (FieldCombination.FIRST, FieldCombination.LAST, FieldCombination.MIN, FieldCombination.MAX)


class OpenWindow(NamedTuple):
    """A window of a key that has not fired."""

    key: bytes
    window: TimeWindow
    content: Any
    """What its records were reduced to, or their accumulator."""


class _Rows(NamedTuple):
    """What some windows have in columns."""

    keys: list[bytes]
    windows: list[TimeWindow]
    columns: Columns


def windows_of_columns(
    context: OperatorContext,
    definition: WindowDefinition,
    assigner_context: WindowAssigner.WindowAssignerContext,
    watermark: int,
) -> Iterator[OpenWindow] | None:
    """The windows that the store has; None where there are none. Raises `StateError` where they cannot be gone on with.

    What fits is told by the columns themselves: the program's function may be one that nobody can look into.
    """
    name = next((each for each in (PANES, SESSIONS) if has_entries(context, each)), None)
    if name is None:
        return None
    try:
        stored = stored_description(context, name)
        assert stored is not None
        rows = rows_of_columns(definition, stored)
        assigner = definition.assigner
        if isinstance(assigner, AlignedWindowAssigner):
            found = _windows_of_panes(context, rows, assigner, assigner_context, watermark)
        else:
            found = _sessions(context, rows, assigner)
        contents = _contents(definition, rows, found.columns, len(found.keys))
    except StateError as error:
        raise refused(context, "in columns", "record by record", str(error)) from None
    except (OverflowError, TypeError) as error:
        raise user_function_error(error, context) from error
    is_aggregated = definition.aggregate_function is not None
    convert = serializer_for(definition.accumulator_type if is_aggregated else definition.element_type).convert
    return map(OpenWindow, found.keys, found.windows, map(convert, contents))


def remove_windows_of_columns(context: OperatorContext) -> None:
    """Removes them from the store."""
    for name in (PANES, SESSIONS):
        delete_prefix(context.store, prefix_of(context.uid, name))


# --- what columns there are


def rows_of_columns(definition: WindowDefinition, stored: StateDescription) -> PartialRows:
    """The columns of what was put down; raises `StateError` that says why windows cannot go on with them."""
    _check_windows(definition.assigner, stored)
    kind = stored.kind
    aggregation, function = definition.aggregation, definition.aggregate_function
    rows: PartialRows | None = None
    if definition.evictor is not None or (function is None and definition.reduce_function is None):
        raise StateError("now all their records are needed, of which only what was made of them is there")
    if aggregation is not None:
        wanted = f"the aggregates {aggregation}"
        if aggregation.can_be_columns:
            rows = PartialAggregates(aggregation)
            kind = kind_of_columns(rows) if kind == UNKNOWN_COLUMNS else kind
    elif function is not None:
        empty = function.create_accumulator()
        wanted = f"an accumulator like {empty!r}"
        if type(empty) in (int, float, tuple):
            rows = PartialSums(_StoredSums(empty))
    else:
        wanted = f"records of the type {definition.element_type}"
        reduction = _reduction_of(definition.element_type, kind)
        rows = None if reduction is None else PartialRecords(reduction)
    if rows is None or kind_of_columns(rows) != kind:
        raise StateError(f"they have {kind}, of which {wanted} cannot be made")
    return rows


def _check_windows(assigner: WindowAssigner[Any, Any], stored: StateDescription) -> None:
    if stored.name == SESSIONS:
        if not (isinstance(assigner, SessionWindows) and assigner.is_event_time()):
            raise StateError(f"they were sessions of event time, and now they are those of {assigner!r}")
    # Of windows that are more than a pane nothing but event time tells which have fired.
    elif not isinstance(assigner, TumblingWindows) and not (
        isinstance(assigner, AlignedWindowAssigner) and assigner.is_event_time()
    ):
        raise StateError(f"they were no sessions, and not those of {assigner!r}")
    elif (reason := why_other_windows(stored, assigner)) is not None:
        raise StateError(f"they {reason}")


class _StoredSums(Accumulation):
    """The sums of a function that has added up integers, whatever it does now."""

    def __init__(self, empty: Any) -> None:
        self._is_tuple = isinstance(empty, tuple)
        self._width = len(empty) if self._is_tuple else 1

    @property
    def width(self) -> int:
        """How many sums there are."""
        return self._width

    def of_records(self, columns: Sequence[pa.Array], count: int) -> NoReturn:
        """Not called: the function itself is."""
        raise NotImplementedError

    def result(self, sums: Sequence[int]) -> Any:
        """The accumulator itself."""
        return tuple(sums) if self._is_tuple else sums[0]

    def __str__(self) -> str:
        return f"{self._width} sums"


def _reduction_of(record_type: TypeInformation | None, kind: str) -> FieldReduction | None:
    """What was made of records of a type, field by field; None where columns are not of that type.

    Of a key, which may be None, the least is stored, as of other fields. So each may be a key.
    """
    schema = None if record_type is None else codec_for(record_type).schema
    if record_type is None or schema is None:
        return None
    fields: list[FieldCombination] = []
    rest = kind.removeprefix(f"{UNKNOWN_COLUMNS}(")
    for field in schema:
        for combination in _COMPARED if not _is_number(field.type) else (*_COMPARED, FieldCombination.SUM):
            part = part_of(combination, field.type, field.name)
            if rest.startswith(text := f"{part.function} {part.type}"):
                rest = rest[len(text) :].removeprefix(", ")
                is_same = combination is FieldCombination.MIN and not pa.types.is_floating(field.type)
                fields.append(FieldCombination.SAME if is_same else combination)
                break
        else:
            return None
    return FieldReduction(record_type, tuple(fields))


def _is_number(values: pa.DataType) -> bool:
    return pa.types.is_integer(values) or pa.types.is_floating(values)


# --- windows


def _sessions(context: OperatorContext, rows: PartialRows, assigner: WindowAssigner[Any, Any]) -> _Rows:
    sessions = OpenSessions(context, rows, assigner)
    sessions.load()
    found = sessions.all
    windows = list(map(TimeWindow, found.starts.tolist(), found.ends.tolist()))
    return _Rows(sessions.keys.keys(found.ids), windows, found.columns)


def _windows_of_panes(
    context: OperatorContext,
    rows: PartialRows,
    assigner: AlignedWindowAssigner,
    assigner_context: WindowAssigner.WindowAssignerContext,
    watermark: int,
) -> _Rows:
    """Every window is made of its panes; those that have fired have left some of these to others."""
    panes = Panes(context, rows, assigner)
    panes.load()
    parts_of_windows: dict[TimeWindow, list[tuple[Numbers, Columns]]] = {}
    for start in sorted(panes):
        part = panes.take(start)
        assert part is not None
        for window in _windows_at(assigner, start, assigner_context, watermark):
            parts_of_windows.setdefault(window, []).append(part)
    found = _Rows([], [], [])
    parts: list[Columns] = []
    for window, parts_of_window in parts_of_windows.items():
        ids, columns = _combined(rows, parts_of_window)
        found.keys.extend(panes.keys.keys(ids))
        found.windows.extend([window] * len(ids))
        parts.append(columns)
    found.columns.extend(pa.concat_arrays(each) for each in zip(*parts, strict=True))
    return found


def _combined(rows: PartialRows, parts: list[tuple[Numbers, Columns]]) -> tuple[Numbers, Columns]:
    ids = np.concatenate([each for each, _ in parts])
    columns = [pa.concat_arrays(each) for each in zip(*(columns for _, columns in parts), strict=True)]
    for part, column in zip(rows.parts, columns, strict=True):
        if isinstance(rows, PartialRecords) and part.function == "min" and column.null_count:
            is_missing = column.is_null().to_numpy(zero_copy_only=False)
            if np.isin(ids[is_missing], ids[~is_missing]).any():
                raise TypeError("a field of a record is None, which cannot be combined with another")
    return rows.combined(pa.array(ids), columns)


def _windows_at(
    assigner: AlignedWindowAssigner, pane: int, context: WindowAssigner.WindowAssignerContext, watermark: int
) -> list[TimeWindow]:
    """The windows of a pane that have not fired."""
    if isinstance(assigner, TumblingWindows):
        # Its one window would have taken it along; and it is where it was, should windows be staggered now.
        return [TimeWindow(pane, pane + assigner.bucket_width)]
    return [each for each in assigner.windows_at(pane, context) if each.max_timestamp() > watermark]


# --- what is in windows


def _contents(definition: WindowDefinition, rows: PartialRows, columns: Columns, count: int) -> list[Any]:
    if count == 0:
        return []
    if definition.aggregation is not None:
        return _accumulators(definition.aggregation, columns, count)
    if definition.aggregate_function is not None:
        if any(column.null_count for column in columns):
            raise StateError("they have sums of nothing, which no accumulator has")
        codec = codec_for(None)
    else:
        codec = codec_for(definition.element_type)
    return rows.batch(codec, [], columns, 0, 0, pa.nulls(count, pa.int64())).values


def _accumulators(aggregation: DeclaredAggregation, columns: Columns, count: int) -> list[list[list[Any]]]:
    """What `RecordAggregation` has. Only means need to know of how many values; of others, whether there were any."""
    given = iter(columns)
    made: list[list[list[Any]]] = []
    for aggregate in aggregation.aggregates.values():
        if aggregate.is_of_window:
            continue
        totals: Sequence[Any] = [None] * count
        if aggregate.kind is not AggregateKind.COUNT:
            column = next(given)
            is_sum = aggregate.kind in (AggregateKind.SUM, AggregateKind.AVERAGE)
            codec = codec_for(None if is_sum else aggregate.input_type(aggregation.record_type))
            totals = column.to_pylist() if is_sum else codec.to_values([column])
        if aggregate.kind in (AggregateKind.COUNT, AggregateKind.AVERAGE):
            numbers = next(given).to_pylist()
        else:
            numbers = [0 if total is None else 1 for total in totals]
        made.append([[number, total] for number, total in zip(numbers, totals, strict=True)])
    return [list(parts) for parts in zip(*made, strict=True)] if made else [[] for _ in range(count)]
