"""SQL with `?` for its parameters, as JDBC has it, in the form that a Python driver takes."""

from __future__ import annotations

import re
from typing import NamedTuple

# Texts, quoted names and comments, in which `?` is only a character; then `??`, which is JDBC's way to write one.
_TOKENS = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`
    | --[^\n]* | /\*.*?\*/
    | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$
    | (?P<literal>\?\?) | (?P<parameter>\?) | (?P<percent>%)
    """,
    re.VERBOSE | re.DOTALL,
)


class Placeholders(NamedTuple):
    """A statement for a driver, and how many parameters it takes."""

    sql: str
    parameters: int


def translated(sql: str, placeholder: str) -> Placeholders:
    """The statement with each `?` as the driver's placeholder, `?` or `%s`.

    >>> translated("INSERT INTO t VALUES (?, '?', ?)", "%s")
    Placeholders(sql="INSERT INTO t VALUES (%s, '?', %s)", parameters=2)
    """
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        if match["parameter"]:
            count += 1
            return placeholder
        text = "?" if match["literal"] else match[0]
        return text.replace("%", "%%") if placeholder == "%s" else text

    return Placeholders(_TOKENS.sub(replace, sql), count)
