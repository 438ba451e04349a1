"""Runs a job and hands the records of one stream back to the program."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import Types
from penstock.connectors.collect_sink import CollectSink
from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.execution.job_client import JobClient

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

_WAITING_LISTS = 1000


def collect(stream: DataStream, job_name: str | None) -> CloseableIterator:
    """Adds a collecting sink, starts the job and iterates over what arrives."""
    if len({upstream.output_type.exact_key() for upstream in stream.upstreams}) > 1:
        # What arrives is read back by one type: records of several travel as Python objects.
        stream = stream.map(_same, Types.PICKLED_BYTE_ARRAY())
    handover = _Handover()
    sink = CollectSink(handover.offer, stream.get_type())
    stream.program.sink(sink, "Collect", stream.upstreams, stream.get_type())
    client = stream.get_execution_environment().execute_async(job_name)
    client.get_job_execution_result().add_done_callback(lambda _: handover.end())
    return CloseableIterator(_records(handover, client), lambda: _close(handover, client))


class _Handover:
    """Lists of records on their way from the job's thread to the program's."""

    def __init__(self) -> None:
        # Bounded, so that a job does not run far ahead of a program that takes its time with the records.
        self._lists: queue.Queue[list[Any] | None] = queue.Queue(_WAITING_LISTS)
        self._is_closed = False

    def offer(self, records: list[Any]) -> None:
        """Called by the job: waits until there is room, or nobody wants the records any more."""
        self._put(records)

    def end(self) -> None:
        """Called by the job when nothing more will come."""
        self._put(None)

    def take(self) -> list[Any] | None:
        """Called by the program: the next list, or None at the end."""
        return self._lists.get()

    def close(self) -> None:
        """Called by the program: whatever comes now is dropped."""
        self._is_closed = True

    def _put(self, records: list[Any] | None) -> None:
        while not self._is_closed:
            try:
                self._lists.put(records, timeout=0.1)
            except queue.Full:
                continue
            return


def _records(handover: _Handover, client: JobClient) -> Iterator[Any]:
    while (records := handover.take()) is not None:
        yield from records
    client.wait()


def _close(handover: _Handover, client: JobClient) -> None:
    handover.close()
    if not client.status.is_terminal_state():
        client.cancel()
        client.wait()


def _same(record: Any) -> Any:
    return record
