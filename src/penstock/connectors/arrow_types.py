"""Which declared type Arrow data has, and which of its columns must be converted for it."""

from __future__ import annotations

import pyarrow as pa

from penstock.common.errors import UnsupportedError
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types


def type_of_schema(schema: pa.Schema) -> RowTypeInfo:
    """A row with the schema's columns as fields."""
    names: list[str] = []
    types: list[TypeInformation] = []
    for field in schema:
        try:
            types.append(type_of(field.type))
        except UnsupportedError as problem:
            raise UnsupportedError(f"column {field.name}: {problem}") from None
        names.append(field.name)
    return Types.ROW_NAMED(names, types)


def type_of(data_type: pa.DataType) -> TypeInformation:  # noqa: PLR0911, PLR0912  one line per type
    """The type whose values hold those of an Arrow type without loss."""
    if pa.types.is_dictionary(data_type):
        return type_of(data_type.value_type)
    if pa.types.is_boolean(data_type):
        return Types.BOOLEAN()
    if pa.types.is_int8(data_type):
        return Types.BYTE()
    if pa.types.is_int16(data_type) or pa.types.is_uint8(data_type):
        return Types.SHORT()
    if pa.types.is_int32(data_type) or pa.types.is_uint16(data_type):
        return Types.INT()
    if pa.types.is_int64(data_type) or pa.types.is_uint32(data_type):
        return Types.LONG()
    if pa.types.is_uint64(data_type):
        return Types.BIG_INT()
    if pa.types.is_float16(data_type) or pa.types.is_float32(data_type):
        return Types.FLOAT()
    if pa.types.is_float64(data_type):
        return Types.DOUBLE()
    if pa.types.is_decimal(data_type):
        return Types.BIG_DEC()
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_null(data_type):
        return Types.STRING()
    if pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type) or pa.types.is_fixed_size_binary(data_type):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if pa.types.is_date(data_type):
        return Types.SQL_DATE()
    if pa.types.is_time(data_type):
        return Types.SQL_TIME()
    if pa.types.is_timestamp(data_type):
        return Types.SQL_TIMESTAMP()
    if pa.types.is_map(data_type):
        return Types.MAP(type_of(data_type.key_type), type_of(data_type.item_type))
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        return Types.LIST(type_of(data_type.value_type))
    if pa.types.is_struct(data_type):
        return type_of_schema(pa.schema(list(data_type)))
    raise UnsupportedError(f"Arrow's {data_type} has no type of ours; convert the column first")
