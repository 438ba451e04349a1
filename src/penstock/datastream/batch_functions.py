"""`map_batches` and `process_batches`: functions of whole batches of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.datastream.arguments import check_not_a_class, check_text, refuse, refuse_argument
from penstock.datastream.output_types import ResolvedType, TypeHint, type_from_hint, united_type
from penstock.functions.batches import BatchFormat
from penstock.plan.batch_nodes import KeyedBatchesNode, MapBatchesNode

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream


def map_batches(
    stream: DataStream, func: Any, output_type: TypeHint, batch_format: str, timestamp_column: str | None
) -> DataStream:
    """The stream of the rows that the function gives for batches."""
    arguments, resolved = _arguments("map_batches", stream, func, output_type, batch_format, timestamp_column)
    return stream.program.transform(
        MapBatchesNode,
        "Map Batches",
        (stream.upstreams,),
        resolved.type_info,
        type_is_declared=resolved.is_declared,
        **arguments,
    )


def process_batches(
    stream: DataStream, func: Any, output_type: TypeHint, batch_format: str, timestamp_column: str | None
) -> DataStream:
    """The stream of the rows that the function gives for batches of a keyed stream."""
    arguments, resolved = _arguments("process_batches", stream, func, output_type, batch_format, timestamp_column)
    exchange = stream.upstreams[0].exchange
    return stream.program.transform(
        KeyedBatchesNode,
        "Process Batches",
        (stream.upstreams,),
        resolved.type_info,
        type_is_declared=resolved.is_declared,
        key_type=None if exchange is None else exchange.key_type,
        **arguments,
    )


def _arguments(
    method: str, stream: DataStream, func: Any, output_type: TypeHint, batch_format: str, timestamp_column: str | None
) -> tuple[dict[str, Any], ResolvedType]:
    check_not_a_class(method, "func", func, (object,))
    if not callable(func):
        raise refuse_argument(method, "func", func, "a function of a batch, or an object that can be called like one")
    formats = {each.value: each for each in BatchFormat}
    if batch_format not in formats:
        raise refuse_argument(method, "format", batch_format, "'arrow', 'pandas' or 'numpy'")
    given = united_type(method, stream.upstreams)
    _require_columns(method, "the records", given.type_info, "an annotation or `output_type=` of the function before")
    resolved = given
    if output_type is not None:
        resolved = ResolvedType(type_from_hint(method, "output_type", output_type), True)
        _require_columns(method, "`output_type`", resolved.type_info, "a type with columns")
    if timestamp_column is not None:
        check_text(method, "timestamp_column", timestamp_column)
        for type_info in (given.type_info, resolved.type_info):
            if timestamp_column in _names(type_info):
                raise refuse(
                    f"{method}: `timestamp_column` is {timestamp_column!r}, and {type_info!r} has a field of that "
                    "name. Choose another: it is the record's own time, which is no field"
                )
    arguments = {
        "function": func,
        "batch_format": formats[batch_format],
        "input_type": given.type_info,
        "timestamp_column": timestamp_column,
    }
    return arguments, resolved


def _require_columns(method: str, what: str, type_info: TypeInformation, remedy: str) -> None:
    if type_info.is_pickled:
        raise refuse(f"{method}: {what} are any Python objects, which have no columns; declare what they are: {remedy}")


def _names(type_info: TypeInformation) -> list[str]:
    if isinstance(type_info, CompositeTypeInfo):
        return list(type_info.get_field_names())
    schema = codec_for(type_info).schema
    return [] if schema is None else schema.names
