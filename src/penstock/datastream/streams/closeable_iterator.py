"""The results of a running job, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self


class CloseableIterator(Iterator[Any]):
    """Iterates over the records of a job that runs meanwhile; closing it ends the job.

    Use it in a `with` statement: a job over an unbounded source ends only when the iterator is closed.
    """

    def __init__(self, records: Iterator[Any], close: Callable[[], None]) -> None:
        self._records = records
        self._close = close

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._records)

    def next(self) -> Any:
        """The next record; raises `StopIteration` when the job has ended."""
        return next(self)

    def close(self) -> None:
        """Ends the job, if it still runs."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
