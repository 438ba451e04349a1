"""The database sink, under PyFlink's module path, and the source beside it."""

from __future__ import annotations

from penstock.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    JdbcSourceBuilder,
)

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink", "JdbcSource", "JdbcSourceBuilder"]
