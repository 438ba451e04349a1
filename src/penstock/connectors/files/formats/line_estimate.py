"""A guess of how long lines are, so that an epoch of so many records can be cut in bytes."""

from __future__ import annotations

from penstock.connectors.files.file_system import file_system_of

_SAMPLE_BYTES = 65_536


def bytes_per_line(path: str) -> float | None:
    """The mean length of the lines at the beginning of a file; None when there are none, or the file is gone."""
    try:
        with file_system_of(path).open_input(path) as file:
            sample = file.read(_SAMPLE_BYTES)
    except OSError:
        # Whoever reads the file will say what is wrong with it.
        return None
    return len(sample) / max(1, sample.count(b"\n")) if sample else None
