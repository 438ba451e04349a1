"""Where things are kept that can be made again: downloads, and what makes a start faster."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PENSTOCK_CACHE"


def cache_directory() -> Path:
    """$PENSTOCK_CACHE, else `penstock` in the user's cache."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
