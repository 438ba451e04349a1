"""`map_batches` and `process_batches`: functions of whole batches of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import BasicTypeInfo, CompositeTypeInfo, TypeInformation, Types
from penstock.datastream.arguments import check_instance, check_not_a_class, check_text, refuse, refuse_argument
from penstock.datastream.join_keys import exchanged, key_exchange, unified_keys
from penstock.datastream.output_types import ResolvedType, TypeHint, type_from_hint, united_type
from penstock.functions.batches import BatchFormat, KeyedCoBatchFunction
from penstock.plan.batch_nodes import KeyedBatchesNode, KeyedCoBatchesNode, MapBatchesNode

if TYPE_CHECKING:
    from penstock.datastream.streams.connected_streams import ConnectedStreams
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
        key_places=() if exchange is None else _places(exchange.key_fields, arguments["input_type"]),
        **arguments,
    )


def co_process_batches(
    streams: ConnectedStreams, func: Any, output_type: TypeHint, batch_format: str, timestamp_column: str | None
) -> DataStream:
    """The stream of the rows that the function gives for batches of two keyed streams."""
    method = "process_batches"
    check_instance(method, "func", func, (KeyedCoBatchFunction,), "a KeyedCoBatchFunction")
    first, second = unified_keys(
        method,
        key_exchange(method, "the first stream", streams.stream1),
        key_exchange(method, "the second stream", streams.stream2),
    )
    given = [united_type(method, stream.upstreams).type_info for stream in (streams.stream1, streams.stream2)]
    for which, record_type in zip(("first", "second"), given, strict=True):
        what = f"the records of the {which} stream"
        _require_columns(method, what, record_type, "an annotation or `output_type=` of the function before")
    resolved = type_from_hint(method, "output_type", output_type)
    _require_columns(method, "`output_type`", resolved, "a type with columns")
    _check_timestamp_column(method, timestamp_column, (*given, resolved))
    return streams.stream1.program.transform(
        KeyedCoBatchesNode,
        "Process Batches",
        (exchanged(streams.stream1, first), exchanged(streams.stream2, second)),
        resolved,
        type_is_declared=True,
        function=func,
        batch_format=_format(method, batch_format),
        input_types=(given[0], given[1]),
        timestamp_column=timestamp_column,
        key_type=_common_key_type(first.key_type, second.key_type),
    )


def _common_key_type(first: TypeInformation | None, second: TypeInformation | None) -> TypeInformation | None:
    """Whole numbers of different widths are keys of one type."""
    if first == second:
        return first
    return Types.LONG() if isinstance(first, BasicTypeInfo) and isinstance(second, BasicTypeInfo) else None


def _arguments(
    method: str, stream: DataStream, func: Any, output_type: TypeHint, batch_format: str, timestamp_column: str | None
) -> tuple[dict[str, Any], ResolvedType]:
    check_not_a_class(method, "func", func, (object,))
    if not callable(func):
        raise refuse_argument(method, "func", func, "a function of a batch, or an object that can be called like one")
    given = united_type(method, stream.upstreams)
    _require_columns(method, "the records", given.type_info, "an annotation or `output_type=` of the function before")
    resolved = given
    if output_type is not None:
        resolved = ResolvedType(type_from_hint(method, "output_type", output_type), True)
        _require_columns(method, "`output_type`", resolved.type_info, "a type with columns")
    _check_timestamp_column(method, timestamp_column, (given.type_info, resolved.type_info))
    arguments = {
        "function": func,
        "batch_format": _format(method, batch_format),
        "input_type": given.type_info,
        "timestamp_column": timestamp_column,
    }
    return arguments, resolved


def _format(method: str, name: str) -> BatchFormat:
    formats = {each.value: each for each in BatchFormat}
    if name not in formats:
        raise refuse_argument(method, "format", name, "'arrow', 'pandas' or 'numpy'")
    return formats[name]


def _check_timestamp_column(method: str, column: str | None, types: Sequence[TypeInformation]) -> None:
    if column is None:
        return
    check_text(method, "timestamp_column", column)
    for type_info in types:
        if column in _names(type_info):
            raise refuse(
                f"{method}: `timestamp_column` is {column!r}, and {type_info!r} has a field of that "
                "name. Choose another: it is the record's own time, which is no field"
            )


def _require_columns(method: str, what: str, type_info: TypeInformation, remedy: str) -> None:
    if type_info.is_pickled:
        raise refuse(f"{method}: {what} are any Python objects, which have no columns; declare what they are: {remedy}")


def _places(fields: Sequence[str | int], record_type: TypeInformation) -> tuple[int, ...]:
    if not isinstance(record_type, CompositeTypeInfo):
        return ()
    return tuple(field if isinstance(field, int) else record_type.get_field_index(field) for field in fields)


def _names(type_info: TypeInformation) -> list[str]:
    if isinstance(type_info, CompositeTypeInfo):
        return list(type_info.get_field_names())
    schema = codec_for(type_info).schema
    return [] if schema is None else schema.names
