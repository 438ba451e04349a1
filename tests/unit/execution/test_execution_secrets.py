"""Passwords are in no plan, log, manifest, error or record: only in the program itself, which has to travel."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobExecutionException, Types
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.execution.submit import plan_to_run
from penstock.plan.forms import PLAN_FORMS
from penstock.plan.state_summary import state_summary
from penstock.testing import local_environment

SECRET = "hunter2-correct-horse"
ROW = Types.ROW_NAMED(["k"], [Types.STRING()])


@pytest.fixture
def messages() -> Iterator[list[str]]:
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(f"{record.getMessage()} {record.exc_info}")
    logging.getLogger().addHandler(handler)
    logging.getLogger("penstock").addHandler(handler)
    yield found
    logging.getLogger().removeHandler(handler)
    logging.getLogger("penstock").removeHandler(handler)


def connection() -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://127.0.0.1:1/postgres")
    return builder.with_user_name("me").with_password(SECRET).with_connection_check_timeout_seconds(1).build()


def kafka_source() -> KafkaSource:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("127.0.0.1:1")
        .set_topics("payments")
        .set_property("sasl.username", "me")
        .set_property("sasl.password", SECRET)
        .set_value_only_deserializer(JsonDeserializationSchema(ROW))
        .build()
    )


def program(env: StreamExecutionEnvironment, source: Any) -> None:
    stream = env.from_source(source, None, "in") if not isinstance(source, list) else env.from_collection(source, ROW)
    retries = JdbcExecutionOptions.builder().with_max_retries(0).build()
    stream.sink_to(JdbcSink.insert("t", ROW, connection(), retries))


def test_plans_show_no_passwords() -> None:
    env = local_environment()
    program(env, kafka_source())
    plan = plan_to_run(env.get_plan(), Configuration())
    shown = [form(plan) for form in PLAN_FORMS.values()] + [str(state_summary(plan)), repr(plan), repr(env)]
    shown += [repr(node) for node in plan.nodes]
    assert [text for text in shown if SECRET in text] == []


def test_a_job_that_cannot_connect_shows_no_passwords(tmp_path: Path, messages: list[str]) -> None:
    configuration = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    env = local_environment(configuration)
    program(env, [("a",)])
    with pytest.raises(JobExecutionException) as raised:
        env.execute()
    errors: list[str] = []
    cause: BaseException | None = raised.value
    while cause is not None:
        errors += [str(cause), repr(cause)]
        cause = cause.__cause__ or cause.__context__
    assert [text for text in (*errors, *messages) if SECRET in text] == []
    files = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    with_secret = {path.parent.name for path in files if SECRET.encode() in path.read_bytes()}
    assert with_secret <= {"programs"}
