"""Times as text by the patterns of Java's DateTimeFormatter, as far as paths need them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.common.errors import ConfigurationError, UnsupportedError

_TOKEN = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_DIRECTIVES = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "DDD": "%j",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}
_LENGTHS = {"%S": 1_000, "%M": 60_000, "%H": 3_600_000}


@dataclass(frozen=True)
class DateTimeFormat:
    """A pattern such as `yyyy-MM-dd--HH` in a time zone; None: the zone of the machine."""

    pattern: str
    timezone_id: str | None = None

    def __post_init__(self) -> None:
        _directives(self.pattern)
        _zone(self.timezone_id)

    def text(self, time_ms: int) -> str:
        """The text of a time in ms since 1970."""
        moment = datetime.datetime.fromtimestamp(time_ms // 1000, _zone(self.timezone_id))
        return moment.strftime("".join(_directives(self.pattern)))

    def end_of(self, text: str) -> int | None:
        """The first ms behind all times that have this text; None where it is no such text."""
        directives = _directives(self.pattern)
        try:
            start = datetime.datetime.strptime(text, "".join(directives)).replace(tzinfo=_zone(self.timezone_id))
        except ValueError:
            return None
        return int(self._behind(start, directives).timestamp() * 1000)

    def _behind(self, start: datetime.datetime, directives: Sequence[str]) -> datetime.datetime:
        for directive, length in _LENGTHS.items():
            if directive in directives:
                # In real time: an hour that a change of clocks repeats has two.
                later = start.astimezone(datetime.UTC) + datetime.timedelta(milliseconds=length)
                return later.astimezone(start.tzinfo)
        if "%d" in directives or "%j" in directives:
            return start + datetime.timedelta(days=1)
        if "%m" in directives:
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start.replace(year=start.year + 1)

    @property
    def tells_date(self) -> bool:
        """Whether the text of a time tells which day, month or year it is of."""
        found = set(_directives(self.pattern))
        has_day = "%j" in found or {"%m", "%d"} <= found
        needs_day = bool(found & {"%d", "%H", "%M", "%S"})
        return bool(found & {"%Y", "%y"}) and (has_day or not needs_day)

    @property
    def resolution_ms(self) -> int:
        """Times whose quotients by this are the same have the same text."""
        # Zones may differ from each other by minutes: only within a minute nothing can change.
        return 1_000 if "%S" in _directives(self.pattern) else 60_000


@lru_cache(maxsize=256)
def _directives(pattern: str) -> tuple[str, ...]:
    found: list[str] = []
    position = 0
    for match in _TOKEN.finditer(pattern):
        if match.start() != position:
            break
        position = match.end()
        token = match.group()
        if token.startswith("'"):
            found.append((token[1:-1].replace("''", "'") or "'").replace("%", "%%"))
        elif match.group(1) is None:
            found.append(token.replace("%", "%%"))
        elif token in _DIRECTIVES:
            found.append(_DIRECTIVES[token])
        else:
            raise UnsupportedError(
                f"the time pattern {pattern!r}: {token!r} is not supported; {', '.join(_DIRECTIVES)} and text in "
                "single quotes are"
            )
    if position != len(pattern) or not pattern:
        raise ConfigurationError(f"the time pattern {pattern!r} cannot be read from character {position} on")
    return tuple(found)


@lru_cache(maxsize=256)
def _zone(timezone_id: str | None) -> datetime.tzinfo | None:
    if timezone_id is None:
        return None
    offset = _OFFSET.fullmatch(timezone_id)
    if offset is not None:
        sign, hours, minutes = offset.groups()
        size = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        return datetime.timezone(size if sign == "+" else -size)
    try:
        return ZoneInfo(timezone_id)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigurationError(
            f"unknown time zone {timezone_id!r}: expected a name such as 'Europe/Berlin', or 'GMT+02:00'"
        ) from None
