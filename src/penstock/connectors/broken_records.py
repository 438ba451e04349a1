"""What a source does with records that it cannot read: fail, skip them, or send them to a side output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import CompositeTypeInfo, Types
from penstock.functions.output_tag import OutputTag

FAIL = "fail"
SKIP = "skip"
OnError = str | OutputTag
"""`"fail"`, `"skip"`, or the tag of a side output."""

BROKEN_RECORD_TYPE = Types.ROW_NAMED(
    ["value", "position", "reason"], [Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.STRING(), Types.STRING()]
)
"""The type for the tag of a side output that takes broken records; a tag without a type takes them too."""

_SHOWN_BYTES = 300


class BrokenRecord(NamedTuple):
    """A record that could not be read: its bytes, where it is, and why."""

    value: bytes
    position: str
    reason: str

    def shown(self) -> str:
        """The record as an error message shows it."""
        text = self.value[: _SHOWN_BYTES + 1].decode("utf-8", "backslashreplace").strip()
        return text if len(self.value) <= _SHOWN_BYTES else text[:_SHOWN_BYTES] + "..."


def checked_on_error(on_error: Any) -> OnError:
    """What a program says, if a source can do it."""
    if isinstance(on_error, OutputTag):
        type_info = on_error.type_info
        fields = type_info.get_field_types() if isinstance(type_info, CompositeTypeInfo) else []
        if not type_info.is_pickled and fields != BROKEN_RECORD_TYPE.get_field_types():
            raise ConfigurationError(
                f"on_error: {on_error!r} has the type {type_info!r}; expected none, or BROKEN_RECORD_TYPE: the bytes "
                "of a record, its position and the reason"
            )
        return on_error
    if on_error not in (FAIL, SKIP):
        raise ConfigurationError(f'on_error: expected "fail", "skip" or an OutputTag, got {on_error!r}')
    return on_error


class BrokenRecords:
    """Takes what a reader cannot read; the engine asks for it after every batch and at the end of a read."""

    def __init__(self, on_error: OnError) -> None:
        self._on_error = on_error
        self._waiting: list[BrokenRecord] = []
        self._count = 0

    @property
    def is_tolerant(self) -> bool:
        """Whether there is any use in looking for more."""
        return self._on_error != FAIL

    @property
    def tag(self) -> OutputTag | None:
        """The side output, where there is one."""
        return self._on_error if isinstance(self._on_error, OutputTag) else None

    def add(self, value: bytes | None, position: str, reason: str) -> None:
        """Takes a record that is broken; raises `SourceError` where the job is to fail."""
        record = BrokenRecord(b"" if value is None else bytes(value), position, reason)
        if not self.is_tolerant:
            raise SourceError(f"{position}: the record cannot be read: {reason}\n  record: {record.shown()}")
        self._count += 1
        if self.tag is not None:
            self._waiting.append(record)

    def add_all(self, records: Sequence[BrokenRecord]) -> None:
        """Takes several."""
        for record in records:
            self.add(*record)

    def take(self) -> tuple[int, Batch | None]:
        """How many there were since the last time, and they themselves where they go to a side output."""
        count, self._count = self._count, 0
        waiting, self._waiting = self._waiting, []
        if not waiting or self.tag is None:
            return count, None
        return count, Batch(codec_for(self.tag.type_info), values=list(waiting))
