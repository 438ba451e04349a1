"""An epoch of files reads as much as it may, where files can be cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Types
from penstock.connectors.files import FileSource, ParquetFormat

ROWS, GROUP = 400_000, 20_000


def test_the_last_file_of_an_epoch_is_cut_where_the_budget_ends(tmp_path: Path, run_source: Any) -> None:
    """Three files of 400,000 records in two epochs of 800,000 or less: not one file too few in each."""
    for place in range(3):
        table = pa.table({"n": pa.array(range(place * ROWS, (place + 1) * ROWS), pa.int64())})
        pq.write_table(table, tmp_path / f"{place}.parquet", GROUP, compression="none", use_dictionary=False)
    source = FileSource(f"{tmp_path}/*.parquet", ParquetFormat(Types.ROW_NAMED(["n"], [Types.LONG()])))
    epochs = [len(epoch) for epoch in run_source(source).epochs(records=700_000)]
    assert sum(epochs) == 3 * ROWS
    assert len(epochs) == 2
    assert 700_000 - GROUP <= epochs[0] <= 700_000 + GROUP
