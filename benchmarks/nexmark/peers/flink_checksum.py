"""The number of rows of a result and their checksum, as an aggregate in Flink SQL."""

from __future__ import annotations

from nexmark.schema import DECIMAL, TEXT, Columns

MODULUS = 65_521


def checksum_query(view: str, columns: Columns) -> str:
    """A query whose last row has the number of rows and the checksum; Flink takes back what is replaced."""
    terms = " + ".join(f"{place} * {_number(name, kind)}" for place, (name, kind) in enumerate(columns, 1))
    squared = f"SELECT MOD({terms}, CAST({MODULUS} AS BIGINT)) AS h FROM {view}"
    return f"SELECT COUNT(*) AS n, SUM(h * h) AS total FROM ({squared})"


def _number(name: str, kind: str) -> str:
    if kind == TEXT:
        return f"CAST(CHAR_LENGTH(`{name}`) AS BIGINT)"
    if kind == DECIMAL:
        return f"CAST(`{name}` * 1000 AS BIGINT)"
    return f"`{name}`"
