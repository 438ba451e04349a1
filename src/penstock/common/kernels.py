"""Arrow's compute functions. pyarrow makes them when it is imported, so that type checkers cannot see them."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
