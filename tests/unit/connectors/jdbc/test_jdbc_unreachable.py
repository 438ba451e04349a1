"""A database that is not there."""

from __future__ import annotations

import pytest

from penstock.common import JobExecutionException, Types
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.testing import local_environment


def test_while_it_is_tried_again_the_log_says_so_once(penstock_log: pytest.LogCaptureFixture) -> None:
    row = Types.ROW_NAMED(["k"], [Types.STRING()])
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://127.0.0.1:1/shop")
    connection = builder.with_user_name("me").with_connection_check_timeout_seconds(1).build()
    env = local_environment()
    env.from_collection([("a",)], row).sink_to(JdbcSink.insert("payments", row, connection))
    with pytest.raises(JobExecutionException, match="Connection refused"):
        env.execute()
    (told,) = [line for line in penstock_log.messages if "tried again" in line]
    assert "postgresql://127.0.0.1:1/shop" in told
    assert told.endswith("it is tried again for 1 s")
