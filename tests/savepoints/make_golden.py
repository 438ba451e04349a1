"""Writes a golden savepoint: once for every released version of the format, never again for the same one.

python tests/savepoints/make_golden.py tests/savepoints/golden/v1
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from penstock.state import Savepoint
from savepoints.ledger_job import build, environment, published, stopped_with_savepoint


def main(target: Path) -> None:
    """The ledger job after some epochs, and what it had published by then."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        env = environment(directory)
        build(env, directory / "out", 2)
        savepoint = stopped_with_savepoint(env)
        Savepoint.load(savepoint).write(str(target / "savepoint"))
        lines = sorted(published(directory / "out").elements())
        (target / "published.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(Path(sys.argv[1]))
