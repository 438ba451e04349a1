"""Records of a stream, each with the rows of a table that have its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from penstock.common.errors import ConfigurationError
from penstock.common.typeinfo import CompositeTypeInfo
from penstock.connectors.dataframe import ArrowTableSource, dataframe_source
from penstock.connectors.spark_dataframe import is_spark_dataframe
from penstock.datastream.arguments import refuse, refuse_argument
from penstock.datastream.broadcast_lookup import BroadcastLookup
from penstock.datastream.join_keys import exchanged, unified_keys
from penstock.datastream.keys import hash_exchange
from penstock.datastream.output_types import TypeHint
from penstock.datastream.streams.connected_streams import KeyHint
from penstock.datastream.streams.joined_streams import PairFunction, pair_function_type
from penstock.functions import JoinKind
from penstock.plan.join_nodes import LookupJoinNode
from penstock.plan.nodes import RecordFunctionKind, StatelessNode

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

BROADCAST, KEYED = "broadcast", "keyed"


class LookupJoin:
    """A stream and a table. Made by `DataStream.lookup_join`.

    >>> import pandas
    >>> prices = pandas.DataFrame({"fruit": ["fig", "pear"], "price": [0.5, 1.0]})
    >>> orders = env.from_collection([("fig", 3), ("plum", 2)])
    >>> priced = orders.lookup_join(prices, on="fruit", key=0, how="left")
    >>> list(priced.apply(lambda order, row: (*order, row and row.price)).execute_and_collect())
    [('fig', 3, 0.5), ('plum', 2, None)]
    """

    def __init__(
        self,
        stream: DataStream,
        table: Any,
        on: str | list[str],
        key: KeyHint | None,
        kind: JoinKind,
        valid_from: str | None,
        distribution: str,
    ) -> None:
        if distribution not in (BROADCAST, KEYED):
            raise refuse_argument("lookup_join", "distribution", distribution, '"broadcast" or "keyed"')
        self._stream = stream
        self._table = table
        self._kind = kind
        self._valid_from = valid_from
        self._is_broadcast = distribution == BROADCAST
        self._table_type = _table_type(table)
        for column in [*([on] if isinstance(on, str) else on), *([valid_from] if valid_from is not None else [])]:
            if column not in self._table_type.get_field_names():
                columns = ", ".join(self._table_type.get_field_names())
                raise refuse(f"lookup_join: the table has no column {column!r}; it has {columns}")
        self._exchanges = unified_keys(
            "lookup_join",
            hash_exchange("lookup_join", on if key is None else key, None, stream.get_type()),
            hash_exchange("lookup_join", on, None, self._table_type),
        )

    def apply(self, function: PairFunction, output_type: TypeHint = None) -> DataStream:
        """Calls the function with each record and each row that has its key (None where a left join finds none).

        Results have the record's timestamp.
        """
        resolved = pair_function_type(function, output_type)
        program = self._stream.program
        if self._is_broadcast:
            lookup = BroadcastLookup(function, self._kind, self._valid_from, _arrow_table(self._table), self._exchanges)
            return program.transform(
                StatelessNode,
                "Lookup Join",
                (self._stream.upstreams,),
                resolved.type_info,
                type_is_declared=resolved.is_declared,
                emits_side_outputs=True,
                function=lookup,
                function_kind=RecordFunctionKind.PROCESS,
            )
        rows = program.environment.from_dataframe(self._table)
        streams = zip((self._stream, rows), self._exchanges, strict=True)
        return program.transform(
            LookupJoinNode,
            "Lookup Join",
            tuple(exchanged(*each) for each in streams),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            function=function,
            join_kind=self._kind,
            valid_from=self._valid_from,
            table_type=self._table_type,
        )


def _table_type(table: Any) -> CompositeTypeInfo:
    expected = "a pandas DataFrame, a pyarrow Table or a Spark DataFrame"
    if not isinstance(table, pa.Table | pa.RecordBatch | pd.DataFrame) and not is_spark_dataframe(table):
        raise refuse_argument("lookup_join", "table", table, expected)
    try:
        produced = dataframe_source(table).produced_type
    except ConfigurationError as error:
        raise refuse(f"lookup_join: {error}") from None
    assert isinstance(produced, CompositeTypeInfo)
    return produced


def _arrow_table(table: Any) -> ArrowTableSource:
    """The rows, read once: they travel with the program."""
    source = dataframe_source(table.toArrow() if is_spark_dataframe(table) else table)
    assert isinstance(source, ArrowTableSource)
    return source
