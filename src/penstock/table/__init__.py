"""The way from a declared table to a `DataStream`, in PyFlink's names; queries and SQL are not there yet."""

from penstock.table.data_types import DataType, DataTypes
from penstock.table.schema import Schema
from penstock.table.stream_table_environment import StreamTableEnvironment
from penstock.table.table import Table
from penstock.table.table_descriptor import TableDescriptor

__all__ = ["DataType", "DataTypes", "Schema", "StreamTableEnvironment", "Table", "TableDescriptor"]
