"""`aggregate(total=sum_("price"), n=count())`: aggregates of windows by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.common.errors import PlanError
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from penstock.datastream.arguments import refuse, refuse_argument
from penstock.expressions.aggregates import Aggregate
from penstock.windows import WindowAssigner
from penstock.windows.assigner import AlignedWindowAssigner
from penstock.windows.declared_aggregation import DeclaredAggregation
from penstock.windows.session import SessionWindows

if TYPE_CHECKING:
    from penstock.datastream.streams.keyed_stream import KeyedStream

_KEY = "key"


def declared_aggregation(
    keyed_stream: KeyedStream, assigner: WindowAssigner[Any, Any], aggregates: Mapping[str, Aggregate], *, has_key: bool
) -> DeclaredAggregation:
    """What named aggregates make of the windows of a stream; refuses, at the user's line, what they cannot."""
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("aggregate", name, aggregate, "sum_(...), count(), min_(...), max_(...), avg(...)")
        if aggregate.is_of_window and not isinstance(assigner, AlignedWindowAssigner | SessionWindows):
            raise refuse(f"aggregate: `{aggregate!r}` asks for the time of a window, and {assigner!r} has no times")
    names, key_type = _key_of(keyed_stream) if has_key else ((), None)
    for name in names:
        if name in aggregates:
            raise refuse(f"aggregate: `{name}` is the name of a field of the key already; give the aggregate another")
    aggregation = DeclaredAggregation(dict(aggregates), keyed_stream.get_type(), key_type, names)
    try:
        _ = aggregation.result_type
    except PlanError as error:
        raise refuse(f"aggregate: {error}") from None
    return aggregation


def _key_of(keyed_stream: KeyedStream) -> tuple[tuple[str, ...], TypeInformation]:
    exchange = keyed_stream.upstreams[0].exchange
    assert exchange is not None
    key_type = exchange.key_type or Types.PICKLED_BYTE_ARRAY()
    if isinstance(key_type, TupleTypeInfo):
        fields = [str(field) for field in exchange.key_fields] or list(key_type.get_field_names())
        return tuple(fields), key_type
    return (str(exchange.key_fields[0]) if len(exchange.key_fields) == 1 else _KEY,), key_type
