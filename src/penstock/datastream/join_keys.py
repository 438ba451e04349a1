"""The keys of two streams that are joined: equal keys must have the same bytes, whichever stream they are of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import refuse
from penstock.datastream.transformation import Upstream
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.state.key_types import encoding_type

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream


def unified_keys(method: str, first: Exchange, second: Exchange) -> tuple[Exchange, Exchange]:
    """Both exchanges, with a type for keys of an unknown type where that of the others is known."""
    types = _known(first.key_type), _known(second.key_type)
    match types:
        case TypeInformation() as one, TypeInformation() as two:
            if encoding_type(one).exact_key() != encoding_type(two).exact_key():
                raise refuse(
                    f"{method}: the keys have different types: {one!r} in the first stream, {two!r} in the second. "
                    "Keys of different types are never equal; map one of them to the type of the other"
                )
        case TypeInformation() as one, None:
            second = dataclasses.replace(second, key_type=encoding_type(one))
        case None, TypeInformation() as two:
            first = dataclasses.replace(first, key_type=encoding_type(two))
        case _:
            pass
    return first, second


def key_exchange(method: str, argument: str, stream: DataStream) -> Exchange:
    """The exchange of a keyed stream."""
    exchange = stream.upstreams[0].exchange
    if not stream.is_keyed or exchange is None:
        raise refuse(f"{method}: {argument} is not keyed; call `key_by(...)` on it first")
    return exchange


def exchanged(stream: DataStream, exchange: Exchange) -> tuple[Upstream, ...]:
    """Where the records come from, by that exchange."""
    assert exchange.kind is ExchangeKind.HASH
    return tuple(dataclasses.replace(upstream, exchange=exchange) for upstream in stream.upstreams)


def _known(key_type: TypeInformation | None) -> TypeInformation | None:
    return None if key_type is None or key_type.is_pickled else key_type
