"""Which type the columns of PostgreSQL have here."""

from __future__ import annotations

import datetime

from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.jdbc.database import TableColumn

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_PLAIN: dict[str, TypeInformation] = {
    "boolean": Types.BOOLEAN(),
    "smallint": Types.SHORT(),
    "integer": Types.INT(),
    "bigint": Types.LONG(),
    "real": Types.FLOAT(),
    "double precision": Types.DOUBLE(),
    "numeric": Types.BIG_DEC(),
    "text": Types.STRING(),
    "character varying": Types.STRING(),
    "character": Types.STRING(),
    "date": Types.SQL_DATE(),
    "time without time zone": Types.SQL_TIME(),
    "timestamp without time zone": Types.SQL_TIMESTAMP(),
    "bytea": Types.PRIMITIVE_ARRAY(Types.BYTE()),
}


def column_of(name: str, quoted: str, declared: str) -> TableColumn:
    """A column by the name of its type; what has no type of ours is selected as text."""
    if declared == "timestamp with time zone":
        return TableColumn(name, Types.INSTANT(), quoted, _instant)
    if declared in _PLAIN:
        return TableColumn(name, _PLAIN[declared], quoted)
    element = _PLAIN.get(declared.removesuffix("[]"))
    if declared.endswith("[]") and element is not None:
        return TableColumn(name, Types.LIST(element), quoted)
    return TableColumn(name, Types.STRING(), f"{quoted}::text AS {quoted}")


def _instant(value: datetime.datetime) -> Instant:
    since = value - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)
