"""A job that waits for small amounts of data: Kafka, a keyed sum, an exactly-once file sink.

penstock_job.py BOOTSTRAP TOPIC OUTPUT CHECKPOINT
"""

from __future__ import annotations

import sys

from common.penstock_job import PARALLELISM, RECORD_TYPE
from keyed_sum.running_sum import SUM_TYPE, RunningSum
from penstock.common import Configuration
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource


def main() -> None:
    bootstrap, topic, output, checkpoint = sys.argv[1:]
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", checkpoint)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_group_id("small-epochs")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(JsonDeserializationSchema(RECORD_TYPE))
        .build()
    )
    sums = env.from_source(source, source_name="records").key_by("k").process(RunningSum(), SUM_TYPE)
    sums.sink_to(FileSink(output))
    env.execute("small epochs")


if __name__ == "__main__":
    main()
