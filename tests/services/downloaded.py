"""Where `make setup-services` has put the servers."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.common.cache_directory import CACHE_VARIABLE

os.environ.setdefault(CACHE_VARIABLE, str(Path(__file__).resolve().parents[2] / ".cache"))
