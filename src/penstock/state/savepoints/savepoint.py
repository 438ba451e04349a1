"""`Savepoint`: reads the state of a job, changes it, and makes new state for a job to start from."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.errors import ArgumentError, StateError
from penstock.common.type_json import OBJECT
from penstock.state.catalogue import prefix_of
from penstock.state.descriptors import StateDescriptor
from penstock.state.savepoints.bootstrap import Columns, Rows, entries_from, rows_from, sorted_entries
from penstock.state.savepoints.entry_rows import RAW, rows_of
from penstock.state.savepoints.header import (
    HEADER_PATH,
    OperatorDescription,
    SavepointHeader,
    StateTable,
    TimerTable,
    directory_name,
    read_savepoint_header,
)
from penstock.state.savepoints.parquet_files import read_tables, write_table
from penstock.state.savepoints.renaming import renamed_header
from penstock.state.savepoints.row_entries import entries_of, table_schema
from penstock.state.savepoints.subtask_tables import uid_digest
from penstock.state.savepoints.timer_rows import timer_schema
from penstock.state.state_schema import schema_of
from penstock.state.storage import CheckpointStorage, open_storage

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

_Tables = Mapping[str, pa.Table]
"""Tables that differ from the files, by the prefix of their entries."""


class Savepoint:
    """The state of a job: tables by uid and name. It is never changed: methods return another one, `write` keeps it.

    Nothing in a savepoint is executed when it is read. Values that were stored without a declared type are pickles, and
    stay bytes unless `unpickle` is asked for.

    >>> from penstock.state import ValueStateDescriptor
    >>> counts = [{"user": "ada", "n": 3}, {"user": "bob", "n": 5}]
    >>> made = Savepoint.new().with_state("counts", ValueStateDescriptor("count", int), counts, key="user", value="n")
    >>> made.read("counts", "count").select(["key", "value"]).to_pylist()
    [{'key': 'ada', 'value': 3}, {'key': 'bob', 'value': 5}]
    """

    def __init__(self, header: SavepointHeader, storage: CheckpointStorage | None, tables: _Tables) -> None:
        self._header = header
        self._storage = storage
        self._tables = tables

    @classmethod
    def load(cls, path: str) -> Savepoint:
        """A savepoint that is there. Tables are read, and checked against their checksums, when they are asked for."""
        storage = open_storage(str(path))
        return cls(read_savepoint_header(storage), storage, {})

    @classmethod
    def new(cls, job_name: str = "", max_parallelism: int = 128) -> Savepoint:
        """A savepoint without state, to add some.

        `max_parallelism` is the number of key groups that keys are shown in; a job may have another one.
        """
        operator = OperatorDescription(uid="", max_parallelism=max_parallelism)
        return cls(SavepointHeader(job_name=job_name, operators=(operator,)), None, {})

    # --- what there is

    @property
    def path(self) -> str:
        """Where it was loaded from or written to; empty for one that is nowhere yet."""
        return "" if self._storage is None else self._storage.location

    @property
    def header(self) -> SavepointHeader:
        """Everything but the tables."""
        return self._header

    @property
    def job_name(self) -> str:
        """The name of the job that it is of."""
        return self._header.job_name

    @property
    def epoch(self) -> int:
        """The epoch that it is of."""
        return self._header.epoch

    @property
    def records_read(self) -> int:
        """How many records the job had read."""
        return self._header.records_read

    @property
    def is_drained(self) -> bool:
        """Whether event time was brought to its end before."""
        return self._header.drained

    @property
    def uids(self) -> list[str]:
        """The operators that there were."""
        return [each.uid for each in self._header.operators if each.uid]

    @property
    def states(self) -> tuple[StateTable, ...]:
        """The pieces of state: uid, name, kind, type and number of rows of each."""
        return self._header.states

    def read(self, uid: str, name: str) -> pa.Table:
        """A piece of state, with one row for each value, list element or map entry."""
        return self._table(self._find(uid, name))

    def read_pandas(self, uid: str, name: str, *, unpickle: bool = False) -> pd.DataFrame:
        """The same as a pandas DataFrame.

        `unpickle` makes Python objects of values that were stored without a declared type: that runs whatever code the
        savepoint's writer has put there.
        """
        table = self._find(uid, name)
        frame = self._table(table).to_pandas()
        if unpickle and table.schema is not None and table.schema.value == OBJECT:
            frame["value"] = [pickle.loads(value[1:]) if value[:1] == b"\x01" else None for value in frame["value"]]
        return frame

    def read_spark(self, session: SparkSession, uid: str, name: str) -> DataFrame:
        """The same as a DataFrame of Spark, which reads the files itself: for state of any size."""
        return session.read.parquet(self.state_path(uid, name))

    def state_path(self, uid: str, name: str) -> str:
        """The directory of a piece of state, as whatever reads Parquet takes it."""
        table = self._find(uid, name)
        if self._storage is None or table.prefix in self._tables or not table.files:
            raise StateError(f"state '{name}' of operator '{uid}' is in no file: write the savepoint first")
        return str(self._storage.resolve(table.files[0].path.rpartition("/")[0]))

    def timers(self, uid: str) -> pa.Table:
        """The timers of an operator."""
        found = next((each for each in self._header.timers if each.uid == uid), TimerTable(uid, "encoded", ""))
        schema = timer_schema(found.key, found.namespace)
        if self._storage is None or not found.files:
            return schema.empty_table()
        return read_tables(self._storage, found.files, schema)

    def offsets(self) -> pa.Table:
        """How far sources have been read: what each source keeps, under which name, as JSON."""
        rows = [
            {"uid": uid, "ended": source.ended, "name": name, "value": json.dumps(value, sort_keys=True)}
            for uid, source in sorted(self._header.sources.items())
            for name, value in sorted(source.state.items())
        ]
        schema = pa.schema([("uid", pa.string()), ("ended", pa.bool_()), ("name", pa.string()), ("value", pa.string())])
        return pa.Table.from_pylist(rows, schema)

    # --- changes

    def with_state(
        self,
        uid: str,
        descriptor: StateDescriptor,
        data: Rows,
        *,
        key: Columns = "key",
        value: Columns | None = None,
        map_key: Columns | None = None,
    ) -> Savepoint:
        """Adds a piece of keyed state, or replaces it.

        `data` is a pandas or Spark DataFrame, an Arrow table or a list of dicts, with one row for each value, list
        element (in order) or map entry. `key` is the column of the key; several columns are a tuple. `value` is the
        column of the value; where its type has fields: their columns, by default those of their names.
        """
        if not isinstance(descriptor, StateDescriptor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"with_state takes a state descriptor, got {descriptor!r}")
        template = self._header.operator(uid) or next(
            (each for each in self._header.operators if not each.uid), OperatorDescription(uid="")
        )
        operator = replace(template, uid=uid)
        entries = entries_from(
            uid, descriptor, rows_from(data), operator.max_parallelism, key=key, value=value, map_key=map_key
        )
        kind = type(descriptor).__name__.removesuffix("Descriptor")
        schema = schema_of(descriptor, kind)
        found = rows_of(sorted_entries(entries), schema, 0)
        shown = "object" if descriptor.type_info is None else str(descriptor.type_info)
        table = StateTable(uid, descriptor.name, kind, shown, schema, prefix_of(uid, descriptor.name).hex())
        if found is not None:
            table = replace(table, form=found[0])
        header = self._header
        if header.operator(uid) is None:
            header = replace(header, operators=(*header.operators, operator))
        states = [each for each in header.states if (each.uid, each.name) != (uid, descriptor.name)]
        tables = dict(self._tables)
        tables.pop(table.prefix, None)
        if found is not None:
            tables[table.prefix] = found[1]
        return Savepoint(replace(header, states=(*states, table)), self._storage, tables)

    def change(self, uid: str, name: str, function: Callable[[pa.Table], Any]) -> Savepoint:
        """Replaces the rows of a piece of state by what a function makes of them.

        The function takes an Arrow table and returns one with the same columns, or a pandas DataFrame. The column
        `key_group` follows from the keys, whatever it holds.
        """
        table = self._find(uid, name)
        if table.form is None or table.form.value == RAW:
            raise StateError(f"state '{name}' of operator '{uid}' has no columns that could be changed")
        schema = table_schema(table.form, table.schema)
        changed = function(self._table(table))
        if hasattr(changed, "to_dict") and hasattr(changed, "columns") and not isinstance(changed, pa.Table):
            changed = pa.Table.from_pandas(changed, schema=schema, preserve_index=False)
        if not isinstance(changed, pa.Table) or set(changed.column_names) != set(schema.names):
            names = getattr(changed, "column_names", type(changed).__qualname__)
            raise ArgumentError(f"change: expected a table with the columns {schema.names}, got {names}")
        changed = changed.select(schema.names).cast(schema)
        operator = self._header.operator(uid)
        assert operator is not None
        prefix = bytes.fromhex(table.prefix)
        found = list(entries_of(changed, table.form, table.schema, prefix, operator.max_parallelism))
        # Read back as entries and shown again: what cannot be restored is refused here.
        tables = dict(self._tables)
        if len({key for _, key, _ in found}) < len(found) and table.form.scope != "operator":
            raise ArgumentError(f"change: several rows of state '{name}' have the same key")
        tables[table.prefix] = changed
        return Savepoint(self._header, self._storage, tables)

    def drop(self, uid: str, name: str | None = None) -> Savepoint:
        """Removes a piece of state; without a name, everything of an operator: its timers and positions too."""
        if name is not None:
            dropped = self._find(uid, name)
            states = tuple(each for each in self._header.states if each is not dropped)
            return Savepoint(replace(self._header, states=states), self._storage, self._tables)
        if uid not in self.uids:
            raise StateError(f"there is no operator with uid '{uid}'; there are: {', '.join(self.uids)}")
        header = self._header
        digest = uid_digest(uid).hex()
        return Savepoint(
            replace(
                header,
                operators=tuple(each for each in header.operators if each.uid != uid),
                operator_records={each: told for each, told in header.operator_records.items() if each != uid},
                sources={each: source for each, source in header.sources.items() if each != uid},
                states=tuple(each for each in header.states if each.uid != uid),
                timers=tuple(each for each in header.timers if each.uid != uid),
                union_lists={key: each for key, each in header.union_lists.items() if key[:16] != digest},
                event_time={each: told for each, told in header.event_time.items() if each != uid},
                generators={each: told for each, told in header.generators.items() if each != uid},
            ),
            self._storage,
            self._tables,
        )

    def rename_uid(self, old: str, new: str) -> Savepoint:
        """Gives an operator another uid: that of an operator of the program which is to take up its state."""
        if old not in self.uids:
            raise StateError(f"there is no operator with uid '{old}'; there are: {', '.join(self.uids)}")
        if new in self.uids:
            raise StateError(f"there is an operator with uid '{new}' already")
        header = renamed_header(self._header, old, new)
        prefixes = {
            before.prefix: after.prefix for before, after in zip(self._header.states, header.states, strict=True)
        }
        tables = {prefixes.get(prefix, prefix): table for prefix, table in self._tables.items()}
        return Savepoint(header, self._storage, tables)

    def write(self, path: str) -> Savepoint:
        """Writes it to an empty directory; returns the savepoint that is there."""
        target = open_storage(str(path))
        if target.list(""):
            raise StateError(f"{target.location} is not empty: choose another directory for the savepoint")
        states = tuple(self._written(target, table) for table in self._header.states)
        timers = tuple(self._written_timers(target, table) for table in self._header.timers)
        operators = tuple(each for each in self._header.operators if each.uid)
        header = replace(
            self._header, states=states, timers=timers, operators=operators, created=int(time.time() * 1000)
        )
        if not target.put_if_absent(HEADER_PATH, header.to_bytes()):
            raise StateError(f"somebody else has written a savepoint to {target.location} meanwhile")
        return Savepoint(header, target, {})

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return f"<Savepoint of '{self.job_name}', epoch {self.epoch}, {len(self.states)} states{where}>"

    # --- inside

    def _find(self, uid: str, name: str) -> StateTable:
        for table in self._header.states:
            if (table.uid, table.name) == (uid, name):
                return table
        of_operator = sorted(each.name for each in self._header.states if each.uid == uid)
        if of_operator:
            raise StateError(f"operator '{uid}' has no state '{name}'; it has: {', '.join(of_operator)}")
        known = ", ".join(sorted({each.uid for each in self._header.states})) or "none"
        raise StateError(f"there is no state of an operator with uid '{uid}'; operators with state: {known}")

    def _table(self, table: StateTable) -> pa.Table:
        changed = self._tables.get(table.prefix)
        if changed is not None:
            return changed
        if table.form is None or self._storage is None:
            return pa.table({})
        return read_tables(self._storage, table.files, table_schema(table.form, table.schema))

    def _written(self, target: CheckpointStorage, table: StateTable) -> StateTable:
        if table.form is None:
            return replace(table, files=())
        rows = self._table(table)
        if not len(rows):
            return replace(table, form=None, files=())
        name = table.name if table.kind else table.prefix
        path = f"states/{directory_name(table.uid)}/{directory_name(name)}/part-00000.parquet"
        return replace(table, files=(write_table(target, path, rows),))

    def _written_timers(self, target: CheckpointStorage, table: TimerTable) -> TimerTable:
        path = f"timers/{directory_name(table.uid)}/part-00000.parquet"
        return replace(table, files=(write_table(target, path, self.timers(table.uid)),))
