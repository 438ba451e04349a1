"""The operator at the end of a stream: a sink's writer, made anew for every epoch that has output."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager

from penstock.common.batch import Batch
from penstock.common.errors import PenstockError, SinkError, TypeMismatchError
from penstock.connectors.sink import Sink, SinkWriter, SinkWriterContext, Token
from penstock.runtime.checkpointed_operator import CheckpointedOperator
from penstock.runtime.failures import safe_repr, user_function_error
from penstock.runtime.operator import OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext


class SinkWriterOperator(CheckpointedOperator):
    """Gives records to a writer; after the epoch `tokens` says what the committer needs to publish them."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._writer: SinkWriter | None = None
        self._tokens: list[Token] = []
        self._has_finished = False

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        self._context = context
        self._runtime_context = OperatorRuntimeContext(context)
        self._initialize_function(self._sink, self._runtime_context)

    def begin_epoch(self) -> None:
        """Closes what a failed epoch has left."""
        self._close_writer()
        self._tokens = []

    def process(self, batch: Batch, input_index: int) -> None:
        """Writes records; the first ones of an epoch make the writer."""
        with self._named():
            try:
                if self._writer is None:
                    self._writer = self._sink.create_writer(self._writer_context())
                self._writer.write(batch)
            except TypeMismatchError as error:
                raise self._misfit(error, batch) from error

    def _misfit(self, error: TypeMismatchError, batch: Batch) -> Exception:
        """The error for a record that is not of the declared type: the operator before has made it."""
        if self._context.records_from:
            text = f"{error}; it comes from {self._context.records_from}"
            error = TypeMismatchError(text, index=error.index, field=error.field)
        if error.index is None:
            return user_function_error(error, self._context)
        return user_function_error(error, self._context, record=batch.values[error.index])

    def end_epoch(self) -> None:
        """Makes everything written durable."""
        if self._writer is not None:
            self._tokens = self._staged_by(self._writer)
            self._close_writer()
        if self._has_finished:
            self._sink.close()

    def _staged_by(self, writer: SinkWriter) -> list[Token]:
        with self._named():
            tokens = writer.prepare_commit()
            try:
                json.dumps(tokens)
                return list(tokens)
            except (TypeError, ValueError) as error:
                given = safe_repr(tokens)
                raise SinkError(f"prepare_commit returned {given}; expected a list of JSON objects: {error}") from None

    @contextmanager
    def _named(self) -> Generator[None]:
        """Errors of the sink name the operator."""
        try:
            yield
        except SinkError as error:
            raise user_function_error(error, self._context) from None
        except PenstockError:
            raise
        except Exception as error:
            raise user_function_error(error, self._context) from error

    def finish(self) -> None:
        """The last records have come: the sink is closed with the epoch."""
        self._has_finished = True

    def tokens(self) -> list[Token]:
        """What the epoch's writer says of staged output; valid after `end_epoch`, until `begin_epoch`."""
        return self._tokens

    def close(self) -> None:
        """Closes what a failed epoch has left, and the sink."""
        self._close_writer()
        self._sink.close()

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _writer_context(self) -> SinkWriterContext:
        context = self._context
        return SinkWriterContext(
            job_id=context.job_id,
            uid=context.uid,
            subtask=context.subtask,
            parallelism=context.parallelism,
            epoch=context.epoch,
            storage=context.storage,
            staging=context.staging,
            current_processing_time=lambda: context.processing_time,
            current_watermark=lambda: self.current_watermark,
            runtime_context=self._runtime_context,
        )
