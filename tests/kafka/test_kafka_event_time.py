"""Event time of a topic: the messages' own timestamps, and a watermark for each partition."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.connectors.deserialization import SimpleStringSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.functions import KeyedProcessFunction
from penstock.execution.job_client import JobClient
from services.kafka import KafkaBroker

RESULT = Types.ROW_NAMED(["t", "watermark"], [Types.LONG(), Types.LONG()])


class Echo(KeyedProcessFunction):
    def process_element(self, value: str, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        yield Row(t=timestamp, watermark=ctx.timer_service().current_watermark())


class Topic:
    def __init__(self, broker: KafkaBroker, partitions: int) -> None:
        self.broker = broker
        self.name = broker.create_topic(partitions=partitions)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send(self, partition: int, *timestamps: int) -> None:
        for timestamp in timestamps:
            self._producer.produce(self.name, b"x", partition=partition, timestamp=timestamp)
        assert self._producer.flush(60) == 0

    def start(self, directory: Path, strategy: WatermarkStrategy) -> JobClient:
        configuration = Configuration()
        configuration.set_string("execution.engine", "local")
        configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        source = (
            KafkaSource.builder()
            .set_bootstrap_servers(self.broker.bootstrap)
            .set_topics(self.name)
            .set_value_only_deserializer(SimpleStringSchema())
            .build()
        )
        stream = env.from_source(source, strategy, "messages").key_by(lambda value: value)
        stream.process(Echo(), RESULT).name("echo").sink_to(FileSink(str(directory / "out"), "json"))
        return env.execute_async("event time of a topic")


def results(directory: Path) -> set[str]:
    return {line for path in (directory / "out").glob("*.json") for line in path.read_text().splitlines()}


def fired(*timers: tuple[int, int]) -> set[str]:
    return {f'{{"t":{timestamp},"watermark":{watermark}}}' for timestamp, watermark in timers}


def until(condition: Callable[[], bool], job: JobClient) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert not job.has_ended(0.02), job.wait()
        assert time.monotonic() < deadline


def test_every_partition_has_its_own_watermark(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = Topic(kafka_broker, 3)
    topic.send(0, 1_000, 2_000, 9_000)
    topic.send(1, 1_500, 8_000)
    job = topic.start(tmp_path, WatermarkStrategy.for_monotonous_timestamps())
    try:
        until(lambda: job.metrics()["epochs"] == 1, job)
        (why,) = job.why_not_fired("echo")
        assert [holder.part for holder in why.holders] == [f"{topic.name}-2"], "nothing was sent there yet"
        assert not results(tmp_path)
        topic.send(2, 1_700)
        until(lambda: bool(results(tmp_path)), job)
        assert results(tmp_path) == fired((1_000, 1_699), (1_500, 1_699))
        (why,) = job.why_not_fired("echo")
        (holder,) = why.holders
        assert (holder.part, holder.watermark, holder.behind_ms) == (f"{topic.name}-2", 1_699, 8_999 - 1_699)
    finally:
        job.cancel().result()
    job = topic.start(tmp_path, WatermarkStrategy.for_monotonous_timestamps())
    try:
        topic.send(2, 5_001)
        expected = fired((1_000, 1_699), (1_500, 1_699), (1_700, 5_000), (2_000, 5_000))
        until(lambda: len(results(tmp_path)) >= len(expected), job)
        assert results(tmp_path) == expected, "after a restart the others are where they were"
    finally:
        job.cancel().result()


def test_an_empty_partition_is_left_out_after_a_while(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = Topic(kafka_broker, 2)
    topic.send(0, 1_000, 9_000)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(200))
    job = topic.start(tmp_path, strategy)
    try:
        until(lambda: bool(results(tmp_path)), job)
        assert results(tmp_path) == fired((1_000, 8_999))
    finally:
        job.cancel().result()
