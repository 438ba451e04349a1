"""The state of one subtask as files of a savepoint: what a task does when a savepoint is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from struct import Struct
from typing import Any

from penstock.common.errors import StateCorruptionError
from penstock.state.catalogue import StateDescription, catalogue_range, description_from, prefix_of
from penstock.state.savepoints.entry_rows import BROADCAST, BROADCAST_GROUP, OPERATOR_GROUP, TableForm, rows_of
from penstock.state.savepoints.header import OperatorDescription, TableFile, directory_name
from penstock.state.savepoints.key_columns import KeyForm
from penstock.state.savepoints.parquet_files import write_table
from penstock.state.savepoints.timer_rows import is_timer, timer_rows
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry, StateStore
from penstock.state.timer_keys import EVENT_TIME_TAG, PROCESSING_TIME_TAG

GATE_PREFIX = b"\0gate"
"""What the keys of entries begin with that say how far event time has come on the inputs of a chain."""
GENERATOR_TAG = b"\0wmk"
_TTL_TAG, _CATALOGUE_TAG = b"\0ttl", b"\0cat"
_UID_BYTES, _PREFIX_BYTES = 8, 12
_LAST = b"\xff" * 64
_GROUP_AND_LENGTH = Struct(">HI")
_TIMER_FILES = {EVENT_TIME_TAG: "event-time", PROCESSING_TIME_TAG: "processing-time"}
FILE_ENTRIES, FILE_BYTES = 500_000, 64 << 20
"""What goes into one file of a table at most: whoever writes or reads a file has it in memory."""


def uid_digest(uid: str) -> bytes:
    """What the store keys of an operator begin with."""
    return blake2b(uid.encode(), digest_size=_UID_BYTES).digest()


@dataclass(frozen=True)
class StateFilePart:
    """A file of a table of state."""

    prefix: bytes
    uid: str
    form: TableForm
    file: TableFile


@dataclass(frozen=True)
class TimerFilePart:
    """A file of a table of timers."""

    uid: str
    key: KeyForm
    namespace: str
    file: TableFile


@dataclass
class SubtaskTables:
    """What a subtask's state has become, and what was found beside it."""

    subtask: int
    states: list[StateFilePart] = field(default_factory=list[StateFilePart])
    timers: list[TimerFilePart] = field(default_factory=list[TimerFilePart])
    descriptions: dict[bytes, StateDescription] = field(default_factory=dict[bytes, StateDescription])
    """By what the keys of the state begin with."""
    gates: dict[str, Any] = field(default_factory=dict[str, Any])
    """By the uid of the first operator of a chain: how far event time has come on its inputs."""
    generators: dict[str, Any] = field(default_factory=dict[str, Any])
    """By uid: how far operators have come that make watermarks."""


def write_subtask(
    target: CheckpointStorage, operators: Iterable[OperatorDescription], subtask: int, store: StateStore
) -> SubtaskTables:
    """Writes the tables of a subtask whose state is in a store; in memory is never more than one file."""
    writer = _SubtaskWriter(target, {uid_digest(each.uid): each for each in operators}, subtask)
    writer.take(store)
    return writer.written


class _SubtaskWriter:
    def __init__(self, target: CheckpointStorage, operators: dict[bytes, OperatorDescription], subtask: int) -> None:
        self._target = target
        self._operators = operators
        self._subtask = subtask
        self.written = SubtaskTables(subtask)

    def take(self, store: StateStore) -> None:
        for digest in self._operators:
            for _, value in store.scan(*catalogue_range(digest)):
                description = description_from(value)
                self.written.descriptions[prefix_of(description.uid, description.name)] = description
        numbers: dict[bytes, int] = {}
        for entries in _in_files(store.scan(b"", _LAST)):
            prefix = entries[0][0][:_PREFIX_BYTES]
            number = numbers[prefix] = numbers.get(prefix, -1) + 1
            self._add(prefix, entries, number)

    def _add(self, prefix: bytes, entries: list[Entry], number: int) -> None:
        if prefix.startswith(GATE_PREFIX):
            for key, value in entries:
                operator = self._operators.get(key[len(GATE_PREFIX) :])
                if operator is not None and value is not None:
                    self.written.gates[operator.uid] = json.loads(value)
            return
        operator = self._operators.get(prefix[:_UID_BYTES])
        if operator is None:
            raise StateCorruptionError(f"there is state of an operator that is not in the plan: {prefix.hex()}")
        tag = prefix[_UID_BYTES:]
        if tag == GENERATOR_TAG:
            value = entries[0][1]
            assert value is not None
            self.written.generators[operator.uid] = json.loads(value)
        elif is_timer(entries[0][0]):
            self._add_timers(operator, tag, [key for key, _ in entries], number)
        elif tag not in (_TTL_TAG, _CATALOGUE_TAG):
            self._add_state(operator, prefix, entries, number)

    def _add_state(self, operator: OperatorDescription, prefix: bytes, entries: list[Entry], number: int) -> None:
        description = self.written.descriptions.get(prefix)
        # The entries of a state of several scopes would be of several operators' making: there are none.
        schema = None if description is None or not description.form else description.schema
        found = rows_of(entries, schema, self._subtask)
        if found is None:
            return
        form, rows = found
        if form.scope == BROADCAST and self._subtask:
            return  # every subtask has a copy
        name = prefix.hex() if description is None else description.name
        directory = f"states/{directory_name(operator.uid)}/{directory_name(name)}"
        file = write_table(self._target, self._path(directory, number), rows)
        self.written.states.append(StateFilePart(prefix, operator.uid, form, file))

    def _add_timers(self, operator: OperatorDescription, tag: bytes, store_keys: list[bytes], number: int) -> None:
        key, namespace, table = timer_rows(store_keys, operator.max_parallelism)
        directory = f"timers/{directory_name(operator.uid)}"
        file = write_table(self._target, self._path(directory, number, _TIMER_FILES[tag]), table)
        self.written.timers.append(TimerFilePart(operator.uid, key, namespace, file))

    def _path(self, directory: str, number: int, *kind: str) -> str:
        path = f"{directory}/{'-'.join(('part', f'{self._subtask:05d}', *kind, f'{number:05d}'))}.parquet"
        # An attempt at this task that was given up may have left it.
        self._target.delete(path)
        return path


def _in_files(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[list[Entry]]:
    """Sorted entries, as many as go into one file: of one piece of state, and never a part of what a key has."""
    listed: list[Entry] = []
    size = 0
    for key, value in entries:
        if listed:
            last = listed[-1][0]
            is_full = len(listed) >= FILE_ENTRIES or size >= FILE_BYTES
            if key[:_PREFIX_BYTES] != last[:_PREFIX_BYTES] or (is_full and _can_part(last, key)):
                yield listed
                listed, size = [], 0
        listed.append((key, value))
        size += len(key) + len(value)
    if listed:
        yield listed


def _can_part(last: bytes, key: bytes) -> bool:
    """Whether entries of one piece of state may go into different files."""
    if is_timer(key):
        return True
    if len(key) < _PREFIX_BYTES + _GROUP_AND_LENGTH.size:
        return False
    group, length = _GROUP_AND_LENGTH.unpack_from(key, _PREFIX_BYTES)
    owner = key[: _PREFIX_BYTES + _GROUP_AND_LENGTH.size + length]
    return group not in (BROADCAST_GROUP, OPERATOR_GROUP) and not last.startswith(owner)
