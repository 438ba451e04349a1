"""Savepoints: the state of a job as Parquet tables with a JSON header."""

from penstock.state.savepoints.savepoint import Savepoint

__all__ = ["Savepoint"]
