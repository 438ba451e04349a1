"""Events that wait for event time to reach them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.state.store import StateStore
from penstock.state.time_buckets import TimeBuckets
from penstock.state.value_serializers import ValueSerializer

NOT_TESTED = -1
"""Where the generation of patterns stands that an event was tested for: it was tested for none."""


class EventBuffer(TimeBuckets):
    """Events of each key by their time: tuples of the event, the generation of patterns it was tested for, and masks.

    Only the event is stored. What conditions say of it is computed again when it is read.
    """

    def __init__(self, store: StateStore, uid: str, max_parallelism: int, record_type: TypeInformation | None) -> None:
        super().__init__(store, uid, "cep: events", max_parallelism, record_type)
        self._serializer = _EventSerializer(self._serializer)


class _EventSerializer(ValueSerializer):
    def __init__(self, of_values: ValueSerializer) -> None:
        self._of_values = of_values

    def dumps(self, value: Any) -> bytes:
        return self._of_values.dumps(value[0])

    def loads(self, data: bytes) -> Any:
        return self._of_values.loads(data), NOT_TESTED

    def dumps_many(self, values: Sequence[Any]) -> bytes:
        return self._of_values.dumps_many([value[0] for value in values])

    def loads_many(self, data: bytes) -> list[Any]:
        return [(value, NOT_TESTED) for value in self._of_values.loads_many(data)]
