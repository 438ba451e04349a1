from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.typeinfo import Types
from penstock.connectors.ddl import columns_of_ddl, type_of_ddl
from penstock.connectors.declared_rows import DeclaredRow


def test_the_columns_of_a_table_are_the_fields_of_a_row():
    row, schema = columns_of_ddl("id BIGINT NOT NULL, `the name` VARCHAR(20), price DECIMAL(10, 2), at TIMESTAMP(3)")
    assert row.get_field_names() == ["id", "the name", "price", "at"]
    assert row.get_field_types() == [Types.LONG(), Types.STRING(), Types.BIG_DEC(), Types.SQL_TIMESTAMP()]
    assert schema.types == [pa.int64(), pa.string(), pa.decimal128(10, 2), pa.timestamp("us")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", Types.INT()),
        ("DOUBLE PRECISION", Types.DOUBLE()),
        ("TIMESTAMP WITH LOCAL TIME ZONE", Types.INSTANT()),
        ("TIMESTAMP(6) WITHOUT TIME ZONE", Types.SQL_TIMESTAMP()),
        ("BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        ("ARRAY<INT NOT NULL>", Types.LIST(Types.INT())),
        ("MAP<STRING, ARRAY<DATE>>", Types.MAP(Types.STRING(), Types.LIST(Types.SQL_DATE()))),
        ("ROW<a INT, b STRING>", Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])),
        ("ROW(a INT)", Types.ROW_NAMED(["a"], [Types.INT()])),
        ("STRUCT<a: INT>", Types.ROW_NAMED(["a"], [Types.INT()])),
    ],
)
def test_types(text, expected):
    assert type_of_ddl(text).type_info == expected


@pytest.mark.parametrize(
    "text", ["", "id", "id BIGINT,", "id BIGINT name STRING", "id DECIMAL(", "id ARRAY<INT", "1 INT"]
)
def test_what_cannot_be_read_is_shown(text):
    with pytest.raises(ConfigurationError, match="DDL"):
        columns_of_ddl(text)


def test_an_unknown_type_is_named():
    with pytest.raises(UnsupportedError, match=r"the type JSONB is not known; BOOLEAN, .* ARRAY"):
        columns_of_ddl("id JSONB")


def test_what_has_no_fields_is_no_row():
    with pytest.raises(ConfigurationError, match="expected a type with fields"):
        DeclaredRow.of("here", int)
