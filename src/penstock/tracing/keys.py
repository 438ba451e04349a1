"""Keys by a traced function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.tracing.programs import MapProgram, trace_key
from penstock.tracing.refusal import NotTraceable


class TracedKey:
    """Takes the key out of records: of many at once where they come as columns, with the function itself otherwise."""

    def __init__(
        self, function: Callable[[Any], Any], record_type: TypeInformation, key_type: TypeInformation | None
    ) -> None:
        self.function = function
        self._record_type = record_type
        self._key_type = key_type
        self.__qualname__: str = getattr(function, "__qualname__", type(function).__qualname__)
        self.__module__: str = getattr(function, "__module__", "")

    @cached_property
    def _traced(self) -> MapProgram | NotTraceable:
        """Made where it is needed, of the function as it has come there."""
        try:
            return trace_key(self.function, self._record_type, self._key_type)
        except NotTraceable as refusal:
            return refusal

    @property
    def program(self) -> MapProgram | None:
        """What is computed over columns; None where the function could not be traced."""
        return None if isinstance(self._traced, NotTraceable) else self._traced

    @property
    def refusal(self) -> NotTraceable | None:
        """Why the function could not be traced."""
        return self._traced if isinstance(self._traced, NotTraceable) else None

    @property
    def type(self) -> TypeInformation | None:
        """The type of the columns of keys."""
        return None if self.program is None else self.program.type

    def columns(self, batch: Batch) -> list[pa.Array] | None:
        """The columns of the keys; None where the function has to be asked."""
        columns = batch.columns_of(codec_for(self._record_type))
        if self.program is None or columns is None:
            return None
        try:
            return self.program.columns(columns, len(batch))
        except Exception:
            return None

    def __call__(self, record: Any) -> Any:
        """The key of one record."""
        return self.function(record)

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedKey, (self.function, self._record_type, self._key_type)
