"""Whatever a message of Kafka holds: it gives records, or an error that says which message it is; no code runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.serialization import DeserializationError, DeserializationSchema, SimpleStringSchema
from penstock.connectors.arrow_messages import (
    ArrowDeserializationSchema,
    ArrowSerializationSchema,
    ParquetDeserializationSchema,
    ParquetSerializationSchema,
)
from penstock.connectors.avro.rows import AvroDeserializationSchema, AvroSerializationSchema
from penstock.connectors.csv.rows import CsvRowDeserializationSchema
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.connectors.json.rows import JsonRowDeserializationSchema
from properties.security.damage import damage

TYPE = Types.ROW_NAMED(
    ["id", "name", "score", "tags"], [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.OBJECT_ARRAY(Types.STRING())]
)
FLAT = Types.ROW_NAMED(["id", "name", "score"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
ROWS = [Row(id=n, name=f"name {n}", score=n / 2, tags=["a", "b"]) for n in range(3)]
JSON = [b'{"id": %d, "name": "name %d", "score": %f, "tags": ["a", "b"]}' % (n, n, n / 2) for n in range(3)]
CSV = [b"%d,name %d,%f" % (n, n, n / 2) for n in range(3)]

FORMS: dict[str, tuple[DeserializationSchema, list[bytes]]] = {
    "json": (JsonDeserializationSchema(TYPE), JSON),
    "json rows": (JsonRowDeserializationSchema.builder().type_info(TYPE).build(), JSON),
    "csv": (CsvRowDeserializationSchema.Builder(FLAT).build(), CSV),
    "avro": (AvroDeserializationSchema(TYPE), [AvroSerializationSchema(TYPE).serialize(row) for row in ROWS]),
    "arrow": (ArrowDeserializationSchema(TYPE), [ArrowSerializationSchema(TYPE).serialize(row) for row in ROWS]),
    "parquet": (ParquetDeserializationSchema(TYPE), [ParquetSerializationSchema(TYPE).serialize(row) for row in ROWS]),
    "text": (SimpleStringSchema(), [b"one", b"two", b"three"]),
}


@pytest.mark.parametrize("form", FORMS)
@given(place=st.integers(0, 2), damages=damage())
def test_a_damaged_message_is_read_or_named_and_harms_no_other(
    form: str, place: int, damages: Callable[[bytes], bytes]
) -> None:
    schema, whole = FORMS[form]
    messages: list[bytes | None] = [*whole]
    messages[place] = damages(whole[place])
    others: list[Any] = []
    for index, message in enumerate(whole):
        if index != place:
            others += schema.to_batch([message], [index]).values
    named = place
    try:
        values = schema.to_batch(messages, [0, 1, 2]).values
        assert not Counter(map(repr, others)) - Counter(map(repr, values))
    except DeserializationError as error:
        named = error.index
    assert named == place
