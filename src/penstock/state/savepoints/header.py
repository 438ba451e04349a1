"""The header of a savepoint: one JSON file that says what job it is of, how far that was, and which tables there are.

    savepoint.json                                      the header and, in the last line, its checksum
    states/<uid>/<name>/part-<number>.parquet           a piece of state, see `entry_rows`
    timers/<uid>/part-<number>.parquet                  the timers of an operator

The header is written last: a directory without one is no savepoint. Names in paths are those of the program, with
other characters than letters and digits as %xx, and cut where they are long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.savepoints.entry_rows import TableForm
from penstock.state.savepoints.row_entries import check_form
from penstock.state.state_schema import StateSchema
from penstock.state.storage import CheckpointStorage

FORMAT_VERSION = 1
HEADER_PATH = "savepoint.json"
_LONGEST_NAME = 80


@dataclass(frozen=True)
class TableFile:
    """One Parquet file of a table."""

    path: str
    rows: int
    digest: str
    """blake2b of the file, in hexadecimal."""


@dataclass(frozen=True)
class StateTable:
    """One piece of state of an operator."""

    uid: str
    name: str
    kind: str
    """`ValueState`, `MapState`, ...; empty for entries that do not say what they are."""
    type: str
    schema: StateSchema | None
    prefix: str
    """What the store keys of the entries begin with, in hexadecimal."""
    form: TableForm | None = None
    files: tuple[TableFile, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class TimerTable:
    """The timers of an operator."""

    uid: str
    key: Any
    namespace: str
    files: tuple[TableFile, ...] = ()


@dataclass(frozen=True)
class OperatorDescription:
    """An operator of the job that the savepoint is of."""

    uid: str
    name: str = ""
    kind: str = ""
    """What sort of operator it is; empty where a savepoint was made by hand."""
    parallelism: int = 1
    max_parallelism: int = 128
    uid_is_given: bool = True
    source: str = ""
    """Of a source: which sources understand its positions."""
    sink: str = ""
    """Of a sink: which sinks can publish its output."""
    key: str = ""
    """Of an operator with keys: their type, where it is declared; types whose keys have the same bytes are one."""
    chain: str = ""
    """The uid of the first operator of its chain."""
    level: int = 1
    edges: tuple[Mapping[str, Any], ...] = ()
    """Its inputs: `from` (uid), `input`, `side_output`, `order`, and the `number` of the edge between two chains."""


@dataclass(frozen=True)
class SourceDescription:
    """How far a source has been read."""

    ended: bool = False
    silent: bool = False
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its enumerator remembers."""
    splits: Mapping[str, int] = field(default_factory=dict[str, int])
    """The numbers of the splits that have not finished."""
    times: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How far event time has come in each split."""


@dataclass(frozen=True)
class SavepointHeader:
    """Everything about a savepoint but its tables."""

    job_name: str = ""
    job_id: str = ""
    incarnation: int = 1
    epoch: int = 0
    created: int = 0
    """In ms since 1970."""
    now: int = 0
    """Processing time of the epoch."""
    next_timer: int | None = None
    records_read: int = 0
    operator_records: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """By uid: records in and out of an operator since the job's first start, and those that were dropped as late."""
    drained: bool = False
    """Whether event time was brought to its end before."""
    published: bool = True
    """Whether it is known that all output of the epoch was published."""
    operators: tuple[OperatorDescription, ...] = ()
    sources: Mapping[str, SourceDescription] = field(default_factory=dict[str, SourceDescription])
    split_counter: int = 0
    union_lists: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    event_time: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the first operator of each chain: how far event time has come on its inputs."""
    generators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Of operators that make watermarks, by subtask: how far they have come."""
    states: tuple[StateTable, ...] = ()
    timers: tuple[TimerTable, ...] = ()
    version: int = FORMAT_VERSION

    def operator(self, uid: str) -> OperatorDescription | None:
        """The operator of a uid."""
        return next((each for each in self.operators if each.uid == uid), None)

    def to_bytes(self) -> bytes:
        """As it is stored."""
        form = asdict(self) | {"format": "penstock savepoint"}
        body = json.dumps(form, sort_keys=True, indent=1).encode()
        return body + b"\n" + file_digest(body).encode() + b"\n"


def file_digest(content: bytes) -> str:
    """The checksum of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def directory_name(name: str) -> str:
    """A name of the program as the name of a directory; different names give different ones."""
    quoted = quote(name, safe="").replace(".", "%2E")
    if len(quoted) <= _LONGEST_NAME and quoted == quoted.lower():
        return quoted
    # File systems have limits, and some do not tell upper from lower case.
    return f"{quoted[:_LONGEST_NAME]}-{file_digest(name.encode())[:12]}"


def read_savepoint_header(storage: CheckpointStorage) -> SavepointHeader:
    """Reads and checks the header of a savepoint."""
    if not storage.exists(HEADER_PATH):
        raise StateError(
            f"there is no savepoint in {storage.location}: it has no file '{HEADER_PATH}'. A savepoint that was not "
            "finished has none either."
        )
    return header_from_bytes(storage.read(HEADER_PATH), f"{storage.location}/{HEADER_PATH}")


def header_from_bytes(data: bytes, where: str) -> SavepointHeader:
    """The header again; anything but what was written is an error that names the file."""
    body, _, checksum = data.rstrip(b"\n").rpartition(b"\n")
    if file_digest(body).encode() != checksum:
        raise StateCorruptionError(
            f"the savepoint header {where} is damaged: its checksum does not fit its content. Restore it from a copy."
        )
    try:
        form = json.loads(body)
        version = form.pop("version")
        if form.pop("format") != "penstock savepoint":
            raise ValueError("it is the header of something else")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StateCorruptionError(f"{where} is no header of a savepoint: {error}") from None
    if version != FORMAT_VERSION:
        raise StateError(
            f"the savepoint {where} has format version {version!r}; this Penstock reads up to {FORMAT_VERSION}"
        )
    try:
        header = _header_from(form)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise StateCorruptionError(f"{where} is no header of a savepoint: {error}") from None
    _check(header, where)
    return header


def _header_from(form: dict[str, Any]) -> SavepointHeader:
    form["operators"] = _operators(form["operators"])
    form["sources"] = {uid: SourceDescription(**each) for uid, each in form["sources"].items()}
    form["states"] = tuple(_state_table(each) for each in form["states"])
    form["timers"] = tuple(TimerTable(**each | {"files": _files(each["files"])}) for each in form["timers"])
    return SavepointHeader(**form)


def operators_from_json(form: Any, where: str) -> tuple[OperatorDescription, ...]:
    """Descriptions of operators again; anything but what was written is an error that names the file."""
    try:
        operators = _operators(form)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StateCorruptionError(f"{where} does not describe operators: {error}") from None
    for operator in operators:
        _check_operator(operator, where)
    return operators


def _operators(form: Any) -> tuple[OperatorDescription, ...]:
    return tuple(OperatorDescription(**each | {"edges": tuple(each["edges"])}) for each in form)


def _state_table(form: dict[str, Any]) -> StateTable:
    schema = None if form["schema"] is None else StateSchema.from_text(json.dumps(form["schema"]), form["name"])
    table_form = None if form["form"] is None else TableForm(**form["form"])
    if table_form is not None:
        check_form(table_form, schema)
    whole: dict[str, Any] = {**form, "schema": schema, "form": table_form, "files": _files(form["files"])}
    return StateTable(**whole)


def _files(forms: list[dict[str, Any]]) -> tuple[TableFile, ...]:
    return tuple(TableFile(**each) for each in forms)


_INTEGERS = ("incarnation", "epoch", "created", "now", "records_read", "split_counter")


def _check(header: SavepointHeader, where: str) -> None:
    for name in _INTEGERS:
        _require(type(getattr(header, name)) is int, where, name)
    _require(header.next_timer is None or type(header.next_timer) is int, where, "next_timer")
    _require(isinstance(header.operator_records, dict), where, "operator_records")
    for uid, counts in header.operator_records.items():
        _require(isinstance(counts, dict) and all(type(each) is int for each in counts.values()), where, uid)
    for operator in header.operators:
        _check_operator(operator, where)
    for uid, source in header.sources.items():
        maps = (source.state, source.splits, source.times)
        _require(all(isinstance(each, dict) for each in maps), where, uid)
        _require(all(type(number) is int for number in source.splits.values()), where, uid)
        _require(all(map(_is_progress, source.times.values())), where, uid)
    _check_event_time(header, where)
    for table in (*header.states, *header.timers):
        _require(type(table.uid) is str, where, "a table")
        for file in table.files:
            _require(type(file.path) is str and type(file.digest) is str, where, table.uid)
            _require(type(file.rows) is int and file.rows >= 0, where, table.uid)
    for table in header.states:
        texts = (table.name, table.kind, table.type, table.prefix)
        _require(all(type(each) is str for each in texts), where, table.uid)
        _require(len(table.prefix) == 24 and not set(table.prefix) - set("0123456789abcdef"), where, table.name)


def _check_operator(operator: OperatorDescription, where: str) -> None:
    texts = (operator.uid, operator.name, operator.kind, operator.source, operator.sink, operator.key, operator.chain)
    _require(all(type(each) is str for each in texts) and bool(operator.uid), where, "operators")
    numbers = (operator.parallelism, operator.max_parallelism, operator.level)
    _require(all(type(each) is int for each in numbers), where, operator.uid)
    _require(1 <= operator.parallelism <= operator.max_parallelism <= 1 << 15, where, operator.uid)
    known = {"number", "from", "input", "side_output"}
    _require(all(isinstance(edge, dict) and set(edge) == known for edge in operator.edges), where, operator.uid)


def _check_event_time(header: SavepointHeader, where: str) -> None:
    for mapping in (header.union_lists, header.event_time, header.generators):
        _require(isinstance(mapping, dict), where, "event time")
    union_lists: Mapping[str, Any] = header.union_lists
    for key, lists in union_lists.items():
        _require(isinstance(lists, list) and all(type(each) is str for each in lists), where, key)
    for uid, of_subtasks in header.generators.items():
        _require(isinstance(of_subtasks, dict) and all(map(_is_progress, of_subtasks.values())), where, uid)
    for uid, told in header.event_time.items():
        _require(isinstance(told, dict) and set(told) == {"watermark", "finished", "channels"}, where, uid)
        _require(type(told["watermark"]) is int and isinstance(told["channels"], list), where, uid)
        _require(all(map(_is_channel, told["channels"])), where, uid)


def _is_progress(value: object) -> bool:
    return isinstance(value, dict) and type(value.get("watermark")) is int and type(value.get("idle")) is bool


def _is_channel(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != _CHANNEL or not _is_progress(value):
        return False
    senders = value["senders"]
    if not isinstance(senders, list) or not all(
        isinstance(state, list) and [type(each) for each in state] == [int, bool, bool] for state in senders
    ):
        return False
    splits = value["splits"]
    return splits is None or (
        isinstance(splits, dict)
        and all(number.isdecimal() for number in splits)
        and all(isinstance(part, list) and [type(each) for each in part] == [int, bool] for part in splits.values())
    )


_CHANNEL = {"from", "input", "side_output", "watermark", "idle", "ended", "senders", "splits"}


def _require(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise StateCorruptionError(f"{where} is no header of a savepoint: '{what}' is not as it is written")
