"""A file sink in a running job: time passes, and files end and buckets become complete without new records."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Configuration, Encoder, Types, WatermarkStrategy
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink, PartitionCommit, RollingPolicy
from penstock.testing import ScriptedSource, local_environment, pause, record, watermark

HOUR = 3_600_000


def visible(directory: Path) -> list[str]:
    # What is in .penstock comes and goes while the job runs.
    tops = [path for path in directory.iterdir() if path.name != ".penstock"] if directory.exists() else []
    found = [path for top in tops for path in (top, *top.rglob("*")) if path.is_file()]
    return sorted(str(path.relative_to(directory)) for path in found)


def seen_by_each_record(
    tmp_path: Path, script: list, sink: FileSink, strategy: WatermarkStrategy | None = None, *, exchange: bool = False
) -> list[list[str]]:
    """The files that a reader sees at the moment in which each record is worked on."""
    directory, seen = tmp_path / "out", tmp_path / "seen"

    def look(value: str) -> str:
        with seen.open("a") as file:
            file.write(" ".join(visible(directory)) + "\n")
        return value

    env = local_environment(Configuration().set_string("execution.epoch.max-records", "1"))
    records = env.from_source(ScriptedSource(script), strategy)
    looked = (records.rebalance() if exchange else records).map(look, output_type=Types.STRING())
    looked.sink_to(sink).uid("out")
    env.execute()
    return [line.split() for line in seen.read_text().splitlines()]


def test_a_file_without_new_records_ends_though_nothing_comes(tmp_path: Path) -> None:
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(
            RollingPolicy.default_rolling_policy(inactivity_interval=60_000, rollover_interval=10 * HOUR)
        )
        .build()
    )
    # What the epoch of the pause ended is published while that of c runs, and is there when that of d begins.
    script = [record("a"), pause("10 s"), record("b"), pause("10 min"), record("c"), record("d")]
    before_a, before_b, _, before_d = seen_by_each_record(tmp_path, script, sink)
    assert before_a == before_b == []
    assert len(before_d) == 1, "the file of a and b ended in the pause, in an epoch that read nothing"
    contents = sorted((tmp_path / "out" / name).read_text() for name in visible(tmp_path / "out"))
    assert contents == ["a\nb\n", "c\nd\n"]


@pytest.mark.parametrize("who", ["strategy of the source", "source, behind an exchange"])
def test_a_bucket_is_marked_when_the_watermark_has_passed_it(tmp_path: Path, who: str) -> None:
    sink = FileSink(
        str(tmp_path / "out"),
        "text",
        buckets=BucketAssigner.event_time_bucket_assigner("yyyyMMddHH"),
        partition_commit=PartitionCommit.by_watermark(),
    )
    # Publishing overlaps with the epoch that follows: the last records are there to see what the first ones did.
    later = [record(str(number), HOUR + number) for number in range(1, 6)]
    if who == "strategy of the source":
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        seen = seen_by_each_record(tmp_path, [record("a", 0), *later], sink, strategy)
    else:
        script = [record("a", 0), watermark(HOUR - 1), *later]
        seen = seen_by_each_record(tmp_path, script, sink, exchange=True)
    marks = [name for name in seen[-1] if name.endswith("_SUCCESS")]
    assert marks == ["1970010100/_SUCCESS"], "the hour that is under way is not complete"
    ended = [name for name in visible(tmp_path / "out") if name.endswith("_SUCCESS")]
    assert ended == ["1970010100/_SUCCESS", "1970010101/_SUCCESS"]
