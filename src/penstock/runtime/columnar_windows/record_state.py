"""Open windows that were computed record by record, for an operator that goes on with them in columns."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import StateMisfitError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.aggregates import AggregateKind
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.operator import OperatorContext
from penstock.runtime.session_state_form import SESSIONS_OF_KEYS, SESSIONS_TYPE
from penstock.runtime.timers import timer_prefix
from penstock.runtime.window_state_form import CONTENTS, has_entries, refused, stored_kind, why_windows_of_another_kind
from penstock.state.catalogue import StateCatalogue, prefix_of
from penstock.state.descriptors import StateDescriptor
from penstock.state.namespaced_keys import namespace_in, without_namespace
from penstock.state.state_keys import delete_prefix, end_of_prefix, key_in
from penstock.state.store import StateStore
from penstock.state.value_serializers import serializer_for
from penstock.windows.declared_aggregation import DeclaredAggregation
from penstock.windows.definition import WindowDefinition
from penstock.windows.session import SessionWindows
from penstock.windows.tumbling import TumblingWindows

_TWO_LONGS = Struct(">qq")


class RecordWindows(NamedTuple):
    """Open windows, each of one key, and what was made of their records."""

    keys: list[bytes]
    starts: list[int]
    ends: list[int]
    columns: Columns


def declare_record_windows(context: OperatorContext, definition: WindowDefinition) -> None:
    """Says what it can go on with, and brings it to the program's types."""
    if _can_go_on(definition):
        catalogue = StateCatalogue(context.store, context.uid)
        catalogue.add(StateDescriptor(CONTENTS, _value_type(definition)), "ValueState", namespaced=True)
        if isinstance(definition.assigner, SessionWindows):
            catalogue.add(StateDescriptor(SESSIONS_OF_KEYS, SESSIONS_TYPE), "ValueState")


def record_windows(
    context: OperatorContext, definition: WindowDefinition, rows: PartialRows, watermark: int
) -> RecordWindows | None:
    """The windows that the store has; None where there are none. `StateMisfitError` where they cannot be columns.

    Those that have fired, and were kept for late records, are over: windows in columns wait for none.
    """
    if not has_entries(context, CONTENTS):
        return None
    reason = why_no_columns(definition, stored_kind(context, CONTENTS))
    if reason is None and (other := why_windows_of_another_kind(context, definition)) is not None:
        reason = f"they {other}"
    if reason is not None:
        raise refused(context, "record by record", "in columns", reason)
    serializer = serializer_for(_value_type(definition))
    contents = {at: serializer.loads(data) for at, data in _entries(context.store, context.uid, CONTENTS)}
    found = list(_sessions(context) if isinstance(definition.assigner, SessionWindows) else _windows(contents))
    if not contents.keys() <= {at for at, _, _, _ in found}:
        raise refused(context, "record by record", "in columns")
    if definition.assigner.is_event_time():
        found = [each for each in found if each[3] - 1 > watermark]
    # A trigger that purges has left nothing in some.
    found = [each for each in found if each[0] in contents]
    values = [contents[at] for at, _, _, _ in found]
    return RecordWindows(
        [key for _, key, _, _ in found],
        [start for _, _, start, _ in found],
        [end for _, _, _, end in found],
        _columns(definition, rows, values),
    )


def why_no_columns(definition: WindowDefinition, kind: str | None) -> str | None:
    """Why windows whose contents were put down as `kind` cannot go on in columns; None where they can."""
    if not _can_go_on(definition):
        return "they overlap, and no pane can be made of windows"
    return None if kind == "ValueState" else "they have all their records"


def remove_record_windows(context: OperatorContext) -> None:
    """Removes them, and their timers, from the store."""
    prefixes = [prefix_of(context.uid, name) for name in (CONTENTS, SESSIONS_OF_KEYS)]
    prefixes += [timer_prefix(context.uid, domain) for domain in TimeDomain]
    for prefix in prefixes:
        delete_prefix(context.store, prefix)


def _can_go_on(definition: WindowDefinition) -> bool:
    """Whether a window is made of one pane, so that what it has is what that one has."""
    return isinstance(definition.assigner, TumblingWindows | SessionWindows)


def _value_type(definition: WindowDefinition) -> TypeInformation | None:
    return definition.element_type if definition.reduction is not None else definition.accumulator_type


def _columns(definition: WindowDefinition, rows: PartialRows, values: list[Any]) -> Columns:
    # Whatever comes now comes after them.
    order = np.zeros(len(values), np.int64)
    if definition.reduction is not None:
        return rows.of_records(codec_for(definition.reduction.record_type).to_columns(values), len(values), order)
    if definition.aggregation is not None:
        return _aggregates(definition.aggregation, rows, values)
    sums = [value if isinstance(value, tuple) else (value,) for value in values]
    try:
        return [pa.array(column, pa.int64()) for column in zip(*sums, strict=True)]
    except (pa.ArrowException, OverflowError, ValueError) as error:
        raise StateMisfitError(f"the accumulators of open windows are no integers of 64 bits: {error}") from error


def _aggregates(aggregation: DeclaredAggregation, rows: PartialRows, accumulators: list[Any]) -> Columns:
    """The columns of what `RecordAggregation` has: for each aggregate how many values there were, and their total."""
    made: Columns = []
    for place, aggregate in enumerate(each for each in aggregation.aggregates.values() if not each.is_of_window):
        parts = [accumulator[place] for accumulator in accumulators]
        if aggregate.kind is not AggregateKind.COUNT:
            made.append(pa.array([total for _, total in parts], rows.types[len(made)]))
        if aggregate.kind in (AggregateKind.COUNT, AggregateKind.AVERAGE):
            made.append(pa.array([number for number, _ in parts], pa.int64()))
    return made


def _windows(contents: dict[bytes, Any]) -> Iterator[tuple[bytes, bytes, int, int]]:
    for at in contents:
        yield at, without_namespace(at), *_TWO_LONGS.unpack(namespace_in(at))


def _sessions(context: OperatorContext) -> Iterator[tuple[bytes, bytes, int, int]]:
    serializer = serializer_for(SESSIONS_TYPE)
    for key, data in _entries(context.store, context.uid, SESSIONS_OF_KEYS):
        for start, end, name in serializer.loads(data):
            yield key + name, key, start, end


def _entries(store: StateStore, uid: str, name: str) -> Iterator[tuple[bytes, bytes]]:
    prefix = prefix_of(uid, name)
    for key, data in store.scan(prefix, end_of_prefix(prefix)):
        yield key_in(key), data
