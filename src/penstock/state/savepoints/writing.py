"""Makes a savepoint of the tables that the subtasks of a job have written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.common.errors import StateCorruptionError
from penstock.state.catalogue import StateDescription
from penstock.state.savepoints.entry_rows import RAW, TableForm, rows_of
from penstock.state.savepoints.header import (
    HEADER_PATH,
    OperatorDescription,
    SavepointHeader,
    StateTable,
    TableFile,
    TimerTable,
)
from penstock.state.savepoints.key_columns import ENCODED
from penstock.state.savepoints.parquet_files import read_table, write_table
from penstock.state.savepoints.row_entries import entries_of, table_schema
from penstock.state.savepoints.subtask_tables import (
    StateFilePart,
    SubtaskTables,
    TimerFilePart,
    uid_digest,
)
from penstock.state.savepoints.timer_rows import timer_entries, timer_rows, timer_schema
from penstock.state.state_schema import StateSchema
from penstock.state.storage import CheckpointStorage

_UID_BYTES = 8


class SavepointWriter:
    """Takes what subtasks have written; `finish` makes it a savepoint."""

    def __init__(self, storage: CheckpointStorage, operators: Iterable[OperatorDescription]) -> None:
        self._storage = storage
        self._operators = {uid_digest(each.uid): each for each in operators}
        self._tables: dict[bytes, list[StateFilePart]] = {}
        self._descriptions: dict[bytes, StateDescription] = {}
        self._timers: dict[str, list[TimerFilePart]] = {}
        self.gates: dict[str, dict[int, Any]] = {}
        """By the uid of the first operator of a chain and the subtask: how far event time has come on its inputs."""
        self.generators: dict[str, dict[str, Any]] = {}
        """By uid and subtask: how far operators have come that make watermarks."""

    def add(self, tables: SubtaskTables) -> None:
        """What one subtask has written."""
        self._descriptions |= tables.descriptions
        for part in tables.states:
            self._tables.setdefault(part.prefix, []).append(part)
        for timers in tables.timers:
            self._timers.setdefault(timers.uid, []).append(timers)
        for uid, gate in tables.gates.items():
            self.gates.setdefault(uid, {})[tables.subtask] = gate
        for uid, progress in tables.generators.items():
            self.generators.setdefault(uid, {})[str(tables.subtask)] = progress

    def finish(self, header: SavepointHeader) -> SavepointHeader:
        """Writes the header; from now on there is a savepoint."""
        states = [self._state_table(prefix, parts) for prefix, parts in self._tables.items()]
        empty = [
            StateTable(
                each.uid, each.name, each.kind, each.type, each.schema if each.form else None, prefix.hex(), None, ()
            )
            for prefix, each in self._descriptions.items()
            if prefix not in self._tables
        ]
        timers = [self._timer_table(uid, parts) for uid, parts in self._timers.items()]
        whole = replace(
            header,
            states=tuple(sorted([*states, *empty], key=lambda each: (each.uid, each.name, each.prefix))),
            timers=tuple(sorted(timers, key=lambda each: each.uid)),
        )
        if not self._storage.put_if_absent(HEADER_PATH, whole.to_bytes()):
            raise StateCorruptionError(f"somebody else has written a savepoint to {self._storage.location} meanwhile")
        return whole

    def _state_table(self, prefix: bytes, parts: list[StateFilePart]) -> StateTable:
        description = self._descriptions.get(prefix)
        schema = None if description is None or not description.form else description.schema
        form, files = self._unified(parts, schema)
        return StateTable(
            uid=parts[0].uid,
            name="" if description is None else description.name,
            kind="" if description is None else description.kind,
            type="" if description is None else description.type,
            schema=schema,
            prefix=prefix.hex(),
            form=form,
            files=tuple(files),
        )

    def _unified(self, parts: list[StateFilePart], schema: StateSchema | None) -> tuple[TableForm, list[TableFile]]:
        """All parts in one form, so that they are one table to whoever reads them."""
        forms = [part.form for part in parts]
        if all(form == forms[0] for form in forms):
            return forms[0], [part.file for part in parts]
        files: list[TableFile] = []
        for part in parts:
            max_parallelism = self._operators[part.prefix[:_UID_BYTES]].max_parallelism
            rows = read_table(self._storage, part.file, table_schema(part.form, schema))
            entries = [
                (key, value) for _, key, value in entries_of(rows, part.form, schema, part.prefix, max_parallelism)
            ]
            subtasks = rows.column("subtask").to_pylist() if "subtask" in rows.column_names else [0]
            found = rows_of(sorted(entries), None, subtasks[0])
            assert found is not None
            self._storage.delete(part.file.path)
            files.append(write_table(self._storage, part.file.path, found[1]))
        return TableForm(forms[0].scope, value=RAW), files

    def _timer_table(self, uid: str, parts: list[TimerFilePart]) -> TimerTable:
        first = parts[0]
        if all((part.key, part.namespace) == (first.key, first.namespace) for part in parts):
            return TimerTable(uid, first.key, first.namespace, tuple(part.file for part in parts))
        max_parallelism = self._operators[uid_digest(uid)].max_parallelism
        files: list[TableFile] = []
        for part in parts:
            rows = read_table(self._storage, part.file, timer_schema(part.key, part.namespace))
            store_keys = list(timer_entries(rows, part.key, part.namespace, uid, max_parallelism))
            self._storage.delete(part.file.path)
            _, _, table = timer_rows(store_keys, max_parallelism, encoded=True)
            files.append(write_table(self._storage, part.file.path, table))
        return TimerTable(uid, ENCODED, "bytes", tuple(files))
