"""Days and minutes of event times."""

from __future__ import annotations

from penstock.expressions import col

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
DAY = (col("day") * DAY_MS).from_unix_millis().date_format("yyyy-MM-dd")
"""The field `day`, a number since 1970, as text."""
