"""Map and filter in Penstock without tracing: both Python functions are called for every record."""

from __future__ import annotations

from stateless.penstock_map import run

if __name__ == "__main__":
    run(traced=False)
