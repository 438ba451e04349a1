"""The operator behind `lookup_join` with a table whose rows are spread by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.typeinfo import TypeInformation
from penstock.functions.join_kind import JoinKind
from penstock.functions.table_lookup import TableLookup
from penstock.runtime.contexts import KeyedContext
from penstock.runtime.failures import user_function_error
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.operator import MAX_WATERMARK, OperatorContext
from penstock.state.descriptors import ListStateDescriptor
from penstock.state.time_buckets import TimeBuckets

_TABLE = 1


class LookupJoinOperator(KeyedFunctionOperator):
    """Joins records (input 0) with the rows of a table (input 1), which are state of their keys.

    Records that come before the table is complete wait for that. As the table has no watermarks before its end, event
    time waits with them.
    """

    def __init__(
        self,
        function: Any,
        join_kind: JoinKind,
        valid_from: str | None,
        table_type: TypeInformation | None,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, output_codec, side_output_codecs)
        self._lookup = TableLookup(function, join_kind, valid_from)
        self._table_type = table_type
        self._table_is_complete = False

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        super().open(context)
        place = context.store, context.uid, "lookup: rows", context.max_parallelism
        self._rows = TimeBuckets(*place, self._table_type)
        self._waiting = self._state.get_list_state(ListStateDescriptor("lookup: waiting"))
        self._record_context = KeyedContext(self._timers, self._sender, self._current_key)

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes rows of the table, or records to be joined."""
        if input_index == _TABLE:
            records = iter(batch.values)
            results = self._take_rows(self._keys_of(batch), records)
            self._send_all(results, None, lambda error: self._record_failure(error, batch, records))
        else:
            # In batch execution records without timestamps, as rows of the table are, come before the others.
            is_behind_rows = self._context.batch and bool(batch.timestamps) and batch.timestamps[0] is not None
            action = self._join if self._table_is_complete or is_behind_rows else self._wait
            self._process_keyed_batch(action, self._record_context, batch)

    def end_input(self, input_index: int) -> None:
        """The table is complete: joins what has waited for that."""
        if input_index != _TABLE:
            return
        self._table_is_complete = True
        if not self._context.batch:
            self._waiting.flush()
            self._release(list(self._waiting.keys_in_store.stored_keys(self._context.store)))

    def advance_watermark(self, watermark: int) -> int:
        """In batch execution the end of time is that of the key, which then has all its rows."""
        if self._context.batch and watermark == MAX_WATERMARK and self._state.current_key is not None:
            self._release([self._state.current_key])
        return super().advance_watermark(watermark)

    def end_epoch(self) -> None:
        """Writes state to the store."""
        super().end_epoch()
        self._flush(self._rows)  # pyright: ignore[reportArgumentType]

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store; the engine says again which inputs have ended."""
        super().drop_caches()
        self._rows.drop_caches()
        self._table_is_complete = False

    def _take_rows(self, keys: list[bytes], rows: Iterator[Any]) -> Iterator[Any]:
        for key, row in zip(keys, rows, strict=True):
            self._state.current_key = key
            self._rows.add(key, self._lookup.time_of_row(row), row)
        yield from ()

    def _wait(self, record: Any, ctx: KeyedContext) -> None:
        self._waiting.add((record, ctx.record_timestamp))

    def _join(self, record: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        assert self._state.current_key is not None
        return self._lookup.joined(record, ctx.record_timestamp, self._rows.of(self._state.current_key))

    def _release(self, keys: list[bytes]) -> None:
        stamps: list[int | None] = []
        self._send_all(self._joined_waiting(keys, stamps), stamps, self._failure_of_waiting)

    def _joined_waiting(self, keys: list[bytes], stamps: list[int | None]) -> Iterator[Any]:
        for key in keys:
            self._state.current_key = key
            for record, timestamp in self._waiting.get():
                self._record_context.record_timestamp = timestamp
                self._record = record
                for each in self._join(record, self._record_context) or ():
                    stamps.append(timestamp)
                    yield each
            self._waiting.clear()

    def _failure_of_waiting(self, error: Exception) -> Exception:
        return user_function_error(error, self._context, key=self._state.current_key, record=self._record)
