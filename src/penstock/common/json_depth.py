"""How deep the lists and objects of a JSON text are in one another."""

from __future__ import annotations

import re

DEEPEST_JSON = 500
"""How many may be in one another: Python's reader gives up somewhere behind, Arrow's does not."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
"""One that does not end goes to the end: nobody looks for it again behind each of its quotes."""
_BRACKET = re.compile(r"[\[\]{}]")


def is_too_deep(text: str) -> bool:
    """Whether more lists and objects are in one another than may be."""
    if len(text) <= DEEPEST_JSON or text.count("[") + text.count("{") <= DEEPEST_JSON:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST_JSON:
            return True
    return False
