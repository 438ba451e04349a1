"""The errors of patterns that cannot be, with the user's line."""

from __future__ import annotations

from penstock.common.call_site import capture_call_site
from penstock.common.errors import MalformedPatternError


def malformed(message: str) -> MalformedPatternError:
    """The error for a pattern whose parts do not fit together."""
    return MalformedPatternError(f"{message}\n  at {capture_call_site()}")
