"""Reads a file of the input as columns, for the hand-written contenders and for bytewax."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.json as pj

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.int64())])


def read_columns(path: str) -> pa.Table:
    """The records of one file."""
    return pj.read_json(
        path,
        read_options=pj.ReadOptions(use_threads=False, block_size=1 << 23),
        parse_options=pj.ParseOptions(explicit_schema=SCHEMA),
    ).combine_chunks()
