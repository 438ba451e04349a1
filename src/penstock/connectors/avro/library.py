"""fastavro, where it is installed."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import EnvironmentNotReadyError


def fastavro() -> Any:
    """The module; raises an error that says how to get it."""
    try:
        import fastavro as module
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "Avro needs the package fastavro, which is not installed here: pip install 'penstock[avro]'"
        ) from problem
    return module
