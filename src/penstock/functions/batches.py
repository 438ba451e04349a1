"""Functions of whole batches: what they get, and what they can ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.functions.function import Function
from penstock.state.columnar_values import ColumnarValueState
from penstock.state.descriptors import ValueStateDescriptor


class BatchFormat(Enum):
    """The form in which a function gets its batches."""

    ARROW = "arrow"
    """`pyarrow.RecordBatch`."""
    PANDAS = "pandas"
    """`pandas.DataFrame`."""
    NUMPY = "numpy"
    """A dict of `numpy.ndarray`, by column."""


class KeyedCoBatchFunction(Function):
    """A function of whole batches of two keyed streams, with state that they share.

    Of the records that have come, those of the first stream are handed over first. A method may return a batch, yield
    several, or return None.

    >>> class Priced(KeyedCoBatchFunction):
    ...     def open(self, runtime_context):
    ...         self.prices = runtime_context.get_state(ValueStateDescriptor("price", Types.DOUBLE()))
    ...
    ...     def process_batch1(self, batch, ctx):
    ...         self.prices.put_many(ctx.keys, batch["price"])
    ...
    ...     def process_batch2(self, batch, ctx):
    ...         return batch.append_column("price", self.prices.get_many(ctx.keys))
    """

    @abstractmethod
    def process_batch1(self, batch: Any, ctx: KeyedBatchContext) -> Any:
        """Takes records of the first stream."""

    @abstractmethod
    def process_batch2(self, batch: Any, ctx: KeyedBatchContext) -> Any:
        """Takes records of the second stream."""


class KeyedBatchContext(ABC):
    """What a function of keyed batches can ask about the batch that it works on. Valid during the call only.

    There are no timers: a function of batches works when records come.
    """

    @property
    @abstractmethod
    def keys(self) -> pa.Array | list[Any]:
        """The key of each row: an Arrow array where the type of keys is declared, else a list."""

    @property
    @abstractmethod
    def distinct_keys(self) -> pa.Array | list[Any]:
        """Each key of the batch once, in the order in which they come first."""

    @property
    @abstractmethod
    def key_codes(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Where the key of each row is among the distinct ones."""

    @property
    @abstractmethod
    def timestamps(self) -> pa.Array | None:
        """The event time of each row, in ms; None where records have none."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ColumnarValueState:
        """State that is one value per key, for many keys at once."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time; it stands still within an epoch."""
