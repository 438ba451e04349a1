"""The entries of a savepoint, as a job's stores have them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.catalogue import StateDescription, catalogue_key
from penstock.state.savepoints.entry_rows import KEYED, RAW
from penstock.state.savepoints.header import OperatorDescription, StateTable, TimerTable
from penstock.state.savepoints.parquet_files import read_table
from penstock.state.savepoints.row_entries import SubtaskEntry, entries_of, table_schema
from penstock.state.savepoints.subtask_tables import uid_digest
from penstock.state.savepoints.timer_rows import timer_entries, timer_schema
from penstock.state.storage import CheckpointStorage

_TTL_TAG = b"\0ttl"
_NO_ROUND = json.dumps({"began": 0, "next": ""}, sort_keys=True).encode()


def state_entries(
    storage: CheckpointStorage,
    operator: OperatorDescription | None,
    table: StateTable,
    max_parallelism: int,
    *,
    with_description: bool = True,
) -> Iterator[SubtaskEntry]:
    """The entries that the files of a table show, for a job in which its operator has so many key groups."""
    if with_description:
        yield from _descriptions(table)
    yield from _state(storage, operator, table, max_parallelism)


def timers_as_entries(storage: CheckpointStorage, timers: TimerTable, max_parallelism: int) -> Iterator[SubtaskEntry]:
    """The entries of timers."""
    schema = timer_schema(timers.key, timers.namespace)
    for file in timers.files:
        rows = read_table(storage, file, schema)
        for key in timer_entries(rows, timers.key, timers.namespace, timers.uid, max_parallelism):
            yield 0, key, b""


def _descriptions(table: StateTable) -> Iterator[SubtaskEntry]:
    if not table.kind:
        return
    form = "" if table.schema is None else table.schema.to_text()
    description = StateDescription(table.uid, table.name, table.kind, table.type, form)
    yield 0, catalogue_key(table.uid, table.name), description.to_bytes()
    if table.schema is not None and table.schema.expires:
        prefix = bytes.fromhex(table.prefix)
        yield 0, prefix[:8] + _TTL_TAG + prefix[8:], _NO_ROUND


def _state(
    storage: CheckpointStorage, operator: OperatorDescription | None, table: StateTable, max_parallelism: int
) -> Iterator[SubtaskEntry]:
    if table.form is None:
        return
    prefix = bytes.fromhex(table.prefix)
    if prefix[:8] != uid_digest(table.uid) or operator is None:
        raise StateCorruptionError(f"the state '{table.name}' of operator '{table.uid}' has the keys of another one")
    if table.form.value == RAW and table.form.scope == KEYED and operator.max_parallelism != max_parallelism:
        raise StateError(
            f"the state '{table.name}' of operator '{table.uid}' was saved with max parallelism "
            f"{operator.max_parallelism} and does not say what its keys are: keep the max parallelism "
            f"(set_max_parallelism({operator.max_parallelism}))"
        )
    schema = table_schema(table.form, table.schema)
    for file in table.files:
        yield from entries_of(read_table(storage, file, schema), table.form, table.schema, prefix, max_parallelism)
