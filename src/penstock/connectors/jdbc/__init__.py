"""Databases: sinks and sources over Python's own drivers, chosen by JDBC URLs."""

from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.jdbc.sink import JdbcSink
from penstock.connectors.jdbc.source import JdbcSource, JdbcSourceBuilder

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink", "JdbcSource", "JdbcSourceBuilder"]
