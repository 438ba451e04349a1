"""What cannot run in pipelined mode is told before anything is started, with the operator and its line."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.configuration import Configuration as Settings
from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError, PenstockError, UnsupportedError
from penstock.common.pipelined_options import live_buffer_timeout, live_epoch_length
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.engine.pipelined.checks import SETTINGS_AT_START, check_spark_settings
from penstock.engine.pipelined.engine import PipelinedEngine


def environment(**options: str) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.latency", "pipelined")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def topic() -> KafkaSource:
    schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["k"], [Types.STRING()])).build()
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:1").set_topics("t")
    return builder.set_value_only_deserializer(schema).build()


def test_a_topic_can_be_followed() -> None:
    env = environment()
    env.from_source(topic(), WatermarkStrategy.no_watermarks(), "orders").key_by("k").count_window(3).reduce(
        lambda left, right: right
    ).print()
    assert "orders" in env.explain()


def test_what_the_program_holds_in_memory_can_be_followed() -> None:
    env = environment()
    prices = pd.DataFrame({"k": ["fig"], "price": [3]})
    orders = env.from_source(topic(), None, "orders").lookup_join(prices, on="k", distribution="keyed")
    orders.apply(lambda order, row: row.price, Types.LONG()).union(env.from_collection([1, 2])).print()
    assert "Lookup Join" in env.explain()


def test_another_source_is_named_with_its_line() -> None:
    env = environment()
    env.from_source(topic(), None, "orders").print()
    env.from_sequence(1, 3).name("numbers").print()
    with pytest.raises(UnsupportedError, match=r"'numbers'.*test_pipelined_checks\.py:\d+.*cannot be followed"):
        env.explain()
    with pytest.raises(UnsupportedError, match="'numbers'"):
        env.execute_async("never")


def test_alignment_of_watermarks_is_refused() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("group", "1 s", "1 s")
    env.from_source(topic(), strategy, "orders").print()
    with pytest.raises(UnsupportedError, match=r"'orders'.*alignment"):
        env.explain()


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"execution__engine": "local"}, "needs Spark"), ({"execution__runtime_mode": "BATCH"}, "for streams|never ends")],
)
def test_settings_that_speak_against_it(options: dict[str, str], reason: str) -> None:
    env = environment(**options)
    env.from_source(topic(), None, "orders").print()
    with pytest.raises(PenstockError, match=reason):
        env.explain()


def test_the_option_takes_two_values() -> None:
    env = environment(execution__latency="soon")
    env.from_source(topic(), None, "orders").print()
    with pytest.raises(ConfigurationError, match=r"execution\.latency.*'soon'"):
        env.explain()


@pytest.mark.parametrize(
    ("given", "timeout"),
    [
        ("0", 0),
        ("20", 20),
        (20, 20),
        ("0 ms", 0),
        ("0.2 s", 200),
        (timedelta(milliseconds=30), 30),
        ("-1", 100),
        ("-1 ms", 100),
        (-1, 100),
    ],
)
def test_buffers_wait_as_in_flink(given: object, timeout: int) -> None:
    assert live_buffer_timeout(Settings().set("execution.buffer-timeout.interval", given)) == timeout


def test_buffers_wait_for_long_where_the_time_out_is_disabled() -> None:
    assert live_buffer_timeout(Settings()) == 5
    disabled = Settings().set_string("execution.buffer-timeout.enabled", "false")
    assert live_buffer_timeout(disabled.set_string("execution.buffer-timeout.interval", "20 ms")) == 100
    assert StreamExecutionEnvironment.get_execution_environment(disabled).get_buffer_timeout() == -1


@pytest.mark.parametrize("given", ["soon", "-2 ms", -2, True])
def test_what_is_no_buffer_time_out_is_refused(given: object) -> None:
    with pytest.raises(ConfigurationError, match=r"execution\.buffer-timeout\.interval"):
        live_buffer_timeout(Settings().set("execution.buffer-timeout.interval", given))


def test_an_epoch_lasts_from_checkpoint_to_checkpoint() -> None:
    assert live_epoch_length(Settings()) == 10_000
    three_seconds = Settings().set_string("execution.checkpointing.interval", "3 s")
    assert live_epoch_length(three_seconds) == 3_000
    assert live_epoch_length(three_seconds.set_string("execution.checkpointing.min-pause", "5 s")) == 5_000


def test_the_time_out_of_checkpoints_begins_where_an_epoch_is_to_end() -> None:
    settings = Settings().set_string("execution.checkpointing.interval", "60 s")
    assert PipelinedEngine(settings, None)._timeout_seconds() == 660
    settings.set_string("execution.checkpointing.timeout", "30 s")
    assert PipelinedEngine(settings, None)._timeout_seconds() == 90


def test_a_session_that_was_made_for_other_things_is_refused() -> None:
    with pytest.raises(EnvironmentNotReadyError, match=r"spark\.buffer\.size 4"):
        check_spark_settings({"spark.master": "local[2]"})


def test_a_session_that_has_other_values_is_refused() -> None:
    check_spark_settings(SETTINGS_AT_START)
    with pytest.raises(
        EnvironmentNotReadyError, match=r"with spark\.python\.udf\.pipelined\.enabled true \(it has false\)\."
    ):
        check_spark_settings({**SETTINGS_AT_START, "spark.python.udf.pipelined.enabled": "false"})


def test_a_session_whose_executors_come_and_go_is_refused() -> None:
    check_spark_settings({**SETTINGS_AT_START, "spark.dynamicAllocation.enabled": "false"})
    with pytest.raises(EnvironmentNotReadyError, match=r"spark\.dynamicAllocation\.enabled false"):
        check_spark_settings({**SETTINGS_AT_START, "spark.dynamicAllocation.enabled": "true"})
