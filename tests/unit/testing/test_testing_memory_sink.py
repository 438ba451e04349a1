"""The sink that keeps records in the memory of the test."""

from __future__ import annotations

import pytest

from penstock.common import Row, TypeInformation, Types
from penstock.testing import local_environment
from penstock.testing.memory_sink import MemorySink


@pytest.mark.parametrize("record_type", [None, Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])])
def test_records_of_a_declared_type_and_of_none(record_type: TypeInformation | None) -> None:
    sink = MemorySink()
    rows = [Row(a=1, b="x"), Row(a=2, b=None)]
    env = local_environment()
    env.from_collection(rows, record_type).sink_to(sink)
    env.execute()
    assert sink.records == rows
