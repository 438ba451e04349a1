"""A topic in, a rolling sum per key with state, files out: the fault tests' job, fed by Kafka. Also run as a script."""

from __future__ import annotations

import argparse
from pathlib import Path

from faults.rolling_job import INPUT, OUTPUT, RollingSum
from penstock.common import Configuration
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.execution.job_client import JobClient


def start_topic_job(
    *, bootstrap: str, topic: str, directory: Path, options: dict[str, str], bounded: bool = False
) -> JobClient:
    """Starts or resumes the job; its checkpoint and its results are in `directory`."""
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": str(directory / "checkpoint"), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(JsonDeserializationSchema(INPUT))
    )
    if bounded:
        source = source.set_bounded(KafkaOffsetsInitializer.latest())
    (
        env.from_source(source.build(), None, "payments")
        .key_by("k")
        .process(RollingSum(noise=False), output_type=OUTPUT)
        .sink_to(FileSink(str(directory / "out"), "json"))
    )
    return env.execute_async("rolling sums of a topic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    start_topic_job(
        bootstrap=arguments.bootstrap,
        topic=arguments.topic,
        directory=arguments.directory,
        options={
            "execution.engine": "local",
            "state.backend": "lmdb",
            "state.local-dir": f"{arguments.directory}/local",
        },
    ).wait()


if __name__ == "__main__":
    main()
