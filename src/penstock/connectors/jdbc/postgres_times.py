"""Dates and times of PostgreSQL that Python does not have: `infinity`, years before Christ or of five digits."""

from __future__ import annotations

from typing import Any

_TYPES = ("date", "time", "timestamp", "timestamptz")


def make_lenient(psycopg: Any, cursor: Any) -> None:
    """Lets a cursor of psycopg give such values as text, where it would raise an error."""
    for name in _TYPES:
        oid = psycopg.adapters.types[name].oid
        strict = psycopg.adapters.get_loader(oid, psycopg.pq.Format.TEXT)
        cursor.adapters.register_loader(oid, _lenient_loader(psycopg, strict))


def _lenient_loader(psycopg: Any, strict: Any) -> Any:
    class LenientLoader(psycopg.adapt.Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._strict = strict(oid, context)

        def load(self, data: Any) -> Any:
            try:
                return self._strict.load(data)
            except psycopg.DataError:
                return bytes(data).decode()

    return LenientLoader
