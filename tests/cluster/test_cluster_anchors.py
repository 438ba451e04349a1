"""Jobs of one Spark application: each keeps its own subtasks on their machines."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.engine.spark.session import open_session
from penstock.engine.spark.sticky_stages import _Anchor

pytestmark = pytest.mark.spark


def test_two_jobs_with_as_many_tasks_have_an_anchor_each() -> None:
    session = open_session("penstock", "local[2]", {}, None)
    java: Any = session.sparkContext._jsc
    first, second = (_Anchor(session.newSession(), java, 3) for _ in range(2))
    assert first._id != second._id
    first.remove()
    assert first._id not in set(java.getPersistentRDDs())
    assert second._id in set(java.getPersistentRDDs())
    second.remove()
