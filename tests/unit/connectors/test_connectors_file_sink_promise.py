"""What `check_sink` finds when it tries the sinks that write files: replays, crashes at every call, two writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import deltalake
import pytest

from penstock.common import Encoder, Types
from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.datastream.connectors.delta import DeltaSink
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from penstock.testing import check_sink

Target = tuple[Sink, Callable[[], Iterable[Any]]]


def _lines(directory: Path) -> list[str]:
    files = [path for path in directory.rglob("*") if path.is_file() and ".penstock" not in path.parts]
    return [line for path in files for line in path.read_text().splitlines()]


def each_epoch(directory: Path) -> Target:
    return FileSink(directory / "out", "text"), lambda: _lines(directory / "out")


def rolling(directory: Path) -> Target:
    builder = FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=60))
    return builder.build(), lambda: _lines(directory / "out")


def compacted(directory: Path) -> Target:
    builder = FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    return builder.build(), lambda: _lines(directory / "out")


@pytest.mark.parametrize("target", [each_epoch, rolling, compacted])
def test_a_file_sink_may_promise_what_it_does(target: Callable[[Path], Target]) -> None:
    report = check_sink(target, [f"record {number}" for number in range(24)], Types.STRING())
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE, str(report)


def test_a_delta_sink_may_promise_what_it_does() -> None:
    def target(directory: Path) -> Target:
        def rows() -> list[Any]:
            uri = str(directory / "table")
            if not deltalake.DeltaTable.is_deltatable(uri):
                return []
            table = deltalake.DeltaTable(uri).to_pyarrow_table()
            return [(value,) for value in table.column("id").to_pylist()]

        return DeltaSink(str(directory / "table"), "id BIGINT"), rows

    report = check_sink(target, [(number,) for number in range(12)], Types.TUPLE([Types.LONG()]), inside=False)
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE, str(report)
