"""Prints records where the program runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.row import Row, RowKind
from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.connectors.print_text import record_text
from penstock.connectors.short_floats import declared_numbers_in
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)
from penstock.state.storage import CheckpointStorage

_STAGED_CHARACTERS = 1 << 20


class PrintSink(Sink):
    """Prints records to the driver's standard output when their epoch is committed, in the order of the subtasks.

    Lines look as in Flink: `identifier:2> value`; the number of the subtask, counted from 1, only where there are
    several. Records of a type that the program declared look as in Flink too, others as in Python. After a crash the
    newest epoch may be printed again: at least once.
    """

    def __init__(
        self,
        sink_identifier: str | None = None,
        *,
        type_is_declared: bool = True,
        record_type: TypeInformation | None = None,
    ) -> None:
        self._identifier = sink_identifier or ""
        self._type_is_declared = type_is_declared
        self._record_type = record_type

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        number = str(context.subtask + 1) if context.parallelism > 1 else ""
        prefix = ":".join(filter(None, (self._identifier, number)))
        text = self._text if self._type_is_declared else str
        return _PrintWriter(f"{prefix}> " if prefix else "", context, text, is_checked=self._type_is_declared)

    @property
    def _text(self) -> Callable[[Any], str]:
        # A row's fields are in Python's form, in which Flink shows all 64 bits of a FLOAT, and a whole DOUBLE as it is.
        is_row = isinstance(self._record_type, RowTypeInfo)
        convert = None if is_row else declared_numbers_in(self._record_type)
        return record_text if convert is None else lambda record: record_text(convert(record))

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return _PrintCommitter(context.storage)

    def describe(self) -> str:  # noqa: D102
        return "print, at least once"


class _PrintWriter(SinkWriter):
    def __init__(
        self, prefix: str, context: SinkWriterContext, text: Callable[[Any], str], *, is_checked: bool
    ) -> None:
        self._is_checked = is_checked
        self._prefix = prefix
        self._text = text
        self._context = context
        self._lines: list[str] = []
        self._characters = 0
        self._tokens: list[Token] = []

    def write(self, batch: Batch) -> None:
        if self._is_checked and batch.codec.schema is not None:
            _check(batch)
        text = str if batch.codec.schema is None else self._text
        for value in batch.values:
            line = f"{self._prefix}{text(value)}\n"
            self._lines.append(line)
            self._characters += len(line)
            if self._characters >= _STAGED_CHARACTERS:
                self._stage()

    def prepare_commit(self) -> list[Token]:
        self._stage()
        return self._tokens

    def _stage(self) -> None:
        if not self._lines:
            return
        path = self._context.storage.write_staged(self._context.staging, "".join(self._lines).encode())
        self._tokens.append({"subtask": self._context.subtask, "part": len(self._tokens), "path": path})
        self._lines = []
        self._characters = 0


def _check(batch: Batch) -> None:
    """Raises where a record is not of the declared type. Rows may be of any kind: it is printed."""
    inserts = [value for value in batch.values if not _is_change(value)]
    if len(inserts) == len(batch):
        _ = batch.columns
    else:
        batch.codec.to_columns(inserts)


def _is_change(value: Any) -> bool:
    return isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT


class _PrintCommitter(Committer):
    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self._printed: EpochId | None = None

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        if self._printed is not None and epoch <= self._printed:
            return
        for token in sorted(tokens, key=lambda token: (token["subtask"], token["part"])):
            sys.stdout.write(self._storage.read_verified(token["path"]).decode())
        sys.stdout.flush()
        self._printed = epoch
