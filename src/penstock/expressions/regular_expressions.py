"""Regular expressions of Arrow's kernels: RE2's."""

from __future__ import annotations

import re

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions.argument_checks import refused

_NAME = re.compile(r"\(\?P?<\w+>")
_LIKE = {"%": ".*", "_": "."}


def _with_one_group(pattern: str, wanted: int) -> tuple[str, int]:
    """The pattern with one of its groups, which has a name: the kernel wants one. The second is their number."""
    parts: list[str] = []
    groups = at = 0
    while at < len(pattern):
        end = at + 1
        if pattern.startswith(r"\Q", at):
            closing = pattern.find(r"\E", at)
            end = len(pattern) if closing < 0 else closing + 2
        elif pattern[at] == "\\":
            end = at + 2
        elif pattern[at] == "[":
            end = _end_of_class(pattern, at)
        elif pattern[at] == "(":
            name = _NAME.match(pattern, at)
            if name is not None or not pattern.startswith("(?", at):
                groups += 1
                parts.append("(?P<wanted>" if groups == wanted else "(?:")
                at = end if name is None else name.end()
                continue
        parts.append(pattern[at:end])
        at = end
    return "".join(parts), groups


def _end_of_class(pattern: str, at: int) -> int:
    """Where `[...]` ends: a bracket that comes first is one of its characters."""
    at += 2 if pattern.startswith("[^", at) else 1
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        if pattern.startswith("[:", at):
            at = pattern.find(":]", at) + 2
        else:
            at += 2 if pattern[at] == "\\" else 1
    return at + 1


def capturing_groups(pattern: str) -> int:
    """How many groups a pattern has."""
    return _with_one_group(pattern, 0)[1]


def extracted(value: pa.Array, pattern: str, group: int) -> pa.Array:
    """What a group has found; null where the pattern is not found."""
    # What is found does not depend on the other groups: nothing refers to them. Each costs time.
    named, _ = _with_one_group(pattern, group)
    found = pc.extract_regex(value, named if group else f"(?P<wanted>{named})")
    return found.flatten()[0]


def replaced_by_pattern(value: pa.Array, pattern: str, replacement: str) -> pa.Array:
    """The text with every match replaced."""
    return pc.replace_substring_regex(value, pattern, replacement)


def check_replacement(method: str, pattern: str, replacement: str) -> None:
    """Refuses a replacement that names a group which is not there, or escapes what needs no escape."""
    groups = capturing_groups(pattern)
    for escape in re.findall(r"\\(.?)", replacement, re.DOTALL):
        if escape != "\\" and not (escape.isdecimal() and escape.isascii() and int(escape) <= groups):
            raise refused(
                f"{method}: {replacement!r} has `\\{escape}`; the groups of {pattern!r} are \\0 to \\{groups}, and "
                "`\\\\` is a backslash"
            )


def like(value: pa.Array, pattern: str) -> pa.Array:
    """Whether the whole text matches SQL's LIKE."""
    if "\\" not in pattern:
        return pc.match_like(value, pattern)
    # The kernel takes some patterns for plain text between signs for any text, with their backslashes.
    parts = re.findall(r"\\?.", pattern, re.DOTALL)
    matched = "".join(_LIKE.get(part) or re.escape(part[-1]) for part in parts)
    return pc.match_substring_regex(value, rf"(?s)\A{matched}\z")


def check_like(method: str, pattern: str) -> None:
    """Refuses a pattern that ends with a backslash which makes nothing plain."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise refused(f"{method}: {pattern!r} ends with a backslash; `\\\\` is a backslash")
