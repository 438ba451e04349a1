"""The Parquet files of a savepoint."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.errors import CheckpointError, StateCorruptionError
from penstock.state.savepoints.header import TableFile, file_digest
from penstock.state.storage import CheckpointStorage


def write_table(storage: CheckpointStorage, path: str, table: pa.Table) -> TableFile:
    """Writes a table as a new file."""
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    content = buffer.getvalue()
    if not storage.put_if_absent(path, content):
        raise CheckpointError(f"the file {path} in {storage.location} exists already: choose an empty directory")
    return TableFile(path, len(table), file_digest(content))


def read_table(storage: CheckpointStorage, file: TableFile, schema: pa.Schema) -> pa.Table:
    """Reads a file and checks it: its checksum, its columns, its number of rows."""
    content = storage.read(file.path)
    where = f"the file {file.path} of the savepoint {storage.location}"
    if file_digest(content) != file.digest:
        raise StateCorruptionError(f"{where} is damaged: its checksum is not the one in the header")
    try:
        table = pq.read_table(pa.BufferReader(content))
    except Exception as error:
        raise StateCorruptionError(f"{where} is no Parquet file: {error}") from None
    if table.schema.names != schema.names or table.schema.types != schema.types:
        raise StateCorruptionError(f"{where} has the columns {table.schema}, the header says {schema}")
    if len(table) != file.rows:
        raise StateCorruptionError(f"{where} has {len(table)} rows, the header says {file.rows}")
    return table


def read_tables(storage: CheckpointStorage, files: Sequence[TableFile], schema: pa.Schema) -> pa.Table:
    """All files of a table."""
    tables = [read_table(storage, file, schema) for file in files]
    return pa.concat_tables(tables) if tables else schema.empty_table()
