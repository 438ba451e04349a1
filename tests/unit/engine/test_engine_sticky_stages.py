"""Which numbers Spark's hash sends where."""

from __future__ import annotations

import pytest

from penstock.engine.spark.sticky_stages import routes


def test_known_hashes_of_spark() -> None:
    """`SELECT hash(n)` for 0, 1 and 2 is 933211791, -559580957 and 1765031574; modulo 4 that is 3, 3 and 2."""
    assert routes(4) == [12, 6, 2, 0]


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_every_partition_has_a_number_of_its_own(partitions: int) -> None:
    assert len(set(routes(partitions))) == partitions
