"""The nodes of functions of whole batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.functions.batches import BatchFormat
from penstock.plan.nodes import Node


@dataclass(frozen=True, kw_only=True)
class BatchesNode(Node):
    """A function of batches."""

    function: Any
    batch_format: BatchFormat
    input_type: TypeInformation
    timestamp_column: str | None = None


@dataclass(frozen=True, kw_only=True)
class MapBatchesNode(BatchesNode):
    """Applies a function to batches of records as they come."""


@dataclass(frozen=True, kw_only=True)
class KeyedBatchesNode(BatchesNode):
    """Applies a function with state of keys to the records of an epoch."""

    key_type: TypeInformation | None = None
    key_places: tuple[int, ...] = ()
    """Where the parts of a key of several fields are among the fields of a record."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True

    @property
    def wants_sorted_keys(self) -> bool:  # noqa: D102
        # A call for every key would be what functions of batches are there to avoid.
        return False


@dataclass(frozen=True, kw_only=True)
class KeyedCoBatchesNode(Node):
    """Applies a function with state of keys to the records that two inputs have in an epoch."""

    function: Any
    batch_format: BatchFormat
    input_types: tuple[TypeInformation, TypeInformation]
    timestamp_column: str | None = None
    key_type: TypeInformation | None = None

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True

    @property
    def wants_sorted_keys(self) -> bool:  # noqa: D102
        return False
