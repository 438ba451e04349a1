"""Times and sizes as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(milliseconds: int) -> str:
    """A point in time, in UTC.

    >>> moment(1_700_000_000_000)
    '2023-11-14 22:13:20Z'
    """
    if milliseconds <= 0:
        return "-"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def size(number: int) -> str:
    """A number of bytes.

    >>> size(512), size(1536), size(3 << 20)
    ('512 B', '1.5 KiB', '3.0 MiB')
    """
    if number < 1024:
        return f"{number} B"
    value = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} TiB"


def counted(number: int, what: str) -> str:
    """So many of something.

    >>> counted(1, "state"), counted(2000, "row")
    ('1 state', '2,000 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
