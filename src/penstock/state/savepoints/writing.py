"""Writes the tables of a savepoint from the entries of a job's subtasks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from typing import Any

from penstock.common.errors import StateCorruptionError
from penstock.state.catalogue import StateDescription, described_states, is_description, prefix_of
from penstock.state.savepoints.entry_rows import BROADCAST, RAW, TableForm, rows_of
from penstock.state.savepoints.header import (
    HEADER_PATH,
    OperatorDescription,
    SavepointHeader,
    StateTable,
    TableFile,
    TimerTable,
    directory_name,
)
from penstock.state.savepoints.parquet_files import read_table, write_table
from penstock.state.savepoints.row_entries import entries_of, table_schema
from penstock.state.savepoints.timer_rows import is_timer, timer_entries, timer_rows, timer_schema
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry

GATE_PREFIX = b"\0gate"
"""What the keys of entries begin with that say how far event time has come on the inputs of a chain."""
GENERATOR_TAG = b"\0wmk"
_TTL_TAG = b"\0ttl"
_UID_BYTES, _PREFIX_BYTES = 8, 12


def uid_digest(uid: str) -> bytes:
    """What the store keys of an operator begin with."""
    return blake2b(uid.encode(), digest_size=_UID_BYTES).digest()


@dataclass
class _Table:
    description: StateDescription | None
    uid: str
    prefix: bytes
    parts: list[tuple[TableForm, TableFile]] = field(default_factory=list["tuple[TableForm, TableFile]"])


class SavepointWriter:
    """Takes the entries of one subtask after the other; `finish` makes what was written a savepoint."""

    def __init__(self, storage: CheckpointStorage, operators: Iterable[OperatorDescription]) -> None:
        self._storage = storage
        self._operators = {uid_digest(each.uid): each for each in operators}
        self._tables: dict[bytes, _Table] = {}
        self._descriptions: dict[bytes, StateDescription] = {}
        self._timers: dict[str, list[tuple[Any, str, TableFile]]] = {}
        self.gates: dict[str, dict[int, Any]] = {}
        """By the uid of the first operator of a chain and the subtask: how far event time has come on its inputs."""
        self.generators: dict[str, dict[str, Any]] = {}
        """By uid and subtask: how far operators have come that make watermarks."""

    def add_subtask(self, subtask: int, entries: Iterable[Entry]) -> None:
        """The entries of one subtask, sorted."""
        groups = groupby(entries, key=lambda entry: entry[0][:_PREFIX_BYTES])
        by_prefix = [(prefix, list(group)) for prefix, group in groups]
        for _, group in by_prefix:
            if is_description(group[0][0]):
                for description in described_states(group):  # type: ignore[arg-type]
                    self._descriptions[prefix_of(description.uid, description.name)] = description
        for prefix, group in by_prefix:
            self._add(subtask, prefix, group)

    def _add(self, subtask: int, prefix: bytes, entries: list[Entry]) -> None:
        if prefix.startswith(GATE_PREFIX):
            for key, value in entries:
                operator = self._operators.get(key[len(GATE_PREFIX) :])
                if operator is not None and value is not None:
                    self.gates.setdefault(operator.uid, {})[subtask] = json.loads(value)
            return
        operator = self._operators.get(prefix[:_UID_BYTES])
        if operator is None:
            raise StateCorruptionError(f"there is state of an operator that is not in the plan: {prefix.hex()}")
        tag = prefix[_UID_BYTES:]
        if tag == GENERATOR_TAG:
            value = entries[0][1]
            assert value is not None
            self.generators.setdefault(operator.uid, {})[str(subtask)] = json.loads(value)
        elif is_timer(entries[0][0]):
            self._add_timers(operator, [key for key, _ in entries])
        elif tag != _TTL_TAG and not is_description(entries[0][0]):
            self._add_state(subtask, operator, prefix, entries)

    def _add_state(self, subtask: int, operator: OperatorDescription, prefix: bytes, entries: list[Entry]) -> None:
        description = self._descriptions.get(prefix)
        table = self._tables.setdefault(prefix, _Table(description, operator.uid, prefix))
        # The entries of a state of several scopes would be of several operators' making: there are none.
        schema = None if description is None or not description.form else description.schema
        found = rows_of(entries, schema, subtask)
        if found is None:
            return
        form, rows = found
        if form.scope == BROADCAST and table.parts:
            return  # every subtask has a copy
        path = f"{self._directory(table)}/part-{len(table.parts):05d}.parquet"
        table.parts.append((form, write_table(self._storage, path, rows)))

    def _add_timers(self, operator: OperatorDescription, store_keys: list[bytes]) -> None:
        form, namespace, table = timer_rows(store_keys, operator.max_parallelism)
        parts = self._timers.setdefault(operator.uid, [])
        path = f"timers/{directory_name(operator.uid)}/part-{len(parts):05d}.parquet"
        parts.append((form, namespace, write_table(self._storage, path, table)))

    def finish(self, header: SavepointHeader) -> SavepointHeader:
        """Writes the header; from now on there is a savepoint."""
        states = [self._state_table(table) for table in self._tables.values()]
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

    def _directory(self, table: _Table) -> str:
        name = table.prefix.hex() if table.description is None else table.description.name
        return f"states/{directory_name(table.uid)}/{directory_name(name)}"

    def _state_table(self, table: _Table) -> StateTable:
        description = table.description
        schema = None if description is None or not description.form else description.schema
        form, files = self._unified(table, schema)
        return StateTable(
            uid=table.uid,
            name="" if description is None else description.name,
            kind="" if description is None else description.kind,
            type="" if description is None else description.type,
            schema=schema,
            prefix=table.prefix.hex(),
            form=form,
            files=tuple(files),
        )

    def _unified(self, table: _Table, schema: Any) -> tuple[TableForm, list[TableFile]]:
        """All parts in one form, so that they are one table to whoever reads them."""
        forms = [form for form, _ in table.parts]
        if all(form == forms[0] for form in forms):
            return forms[0], [file for _, file in table.parts]
        max_parallelism = self._operators[table.prefix[:_UID_BYTES]].max_parallelism
        files: list[TableFile] = []
        for form, file in table.parts:
            rows = read_table(self._storage, file, table_schema(form, schema))
            entries = [(key, value) for _, key, value in entries_of(rows, form, schema, table.prefix, max_parallelism)]
            subtasks = rows.column("subtask").to_pylist() if "subtask" in rows.column_names else [0]
            found = rows_of(sorted(entries), None, subtasks[0])
            assert found is not None
            self._storage.delete(file.path)
            files.append(write_table(self._storage, file.path, found[1]))
        return TableForm(forms[0].scope, value=RAW), files

    def _timer_table(self, uid: str, parts: list[tuple[Any, str, TableFile]]) -> TimerTable:
        forms = {json.dumps([key, namespace]) for key, namespace, _ in parts}
        if len(forms) == 1:
            return TimerTable(uid, parts[0][0], parts[0][1], tuple(file for *_, file in parts))
        store_keys: list[bytes] = []
        max_parallelism = self._operators[uid_digest(uid)].max_parallelism
        for key, namespace, file in parts:
            rows = read_table(self._storage, file, timer_schema(key, namespace))
            store_keys += timer_entries(rows, key, namespace, uid, max_parallelism)
            self._storage.delete(file.path)
        key, namespace, table = timer_rows(sorted(store_keys), max_parallelism)
        return TimerTable(uid, key, namespace, (write_table(self._storage, parts[0][2].path, table),))
