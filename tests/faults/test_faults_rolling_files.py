"""Files that stay open over several epochs, compaction and marks of complete buckets survive a crash at any step."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.crash_schedules import CrashAtStep
from penstock.common import Configuration, Encoder, Types, fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    PartitionCommit,
    RollingPolicy,
    StreamFormat,
)

RECORDS = [f"{'ab'[number % 2]}{number:05d}" for number in range(60)]


def sink_of(kind: str, directory: Path) -> FileSink:
    builder = FileSink.for_row_format(str(directory), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.by(lambda record: f"kind={record[0]}"))
    if kind == "rolling":
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=60))
    else:
        builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    return builder.with_partition_commit(PartitionCommit.by_processing_time("1 d")).build()


def run(directory: Path, kind: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", "15")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory.parent / "in")).build()
    records = env.from_source(source).key_by(lambda record: record[-1]).map(lambda record: record, Types.STRING())
    records.sink_to(sink_of(kind, directory / "out")).uid("out")
    env.execute_async().wait(60)


def visible(directory: Path) -> list[Path]:
    found = [path for path in (directory / "out").rglob("*") if path.is_file()]
    return [path for path in found if ".penstock" not in path.parts]


def check(directory: Path, kind: str, hint: str) -> None:
    files = [path for path in visible(directory) if path.name != "_SUCCESS"]
    records = Counter(line for path in files for line in path.read_text().splitlines())
    assert records == Counter(RECORDS), hint
    assert {path.parent.name for path in visible(directory) if path.name == "_SUCCESS"} == {"kind=a", "kind=b"}, hint
    assert len(files) < 12, f"{hint}: files of several epochs are meant to become one"
    if kind == "compacted":
        assert all(path.name.startswith("compacted-") for path in files)


def run_through_crashes(directory: Path, kind: str, hooks: Iterator[CrashAtStep | None]) -> int:
    crashes = 0
    for hook in hooks:
        fail_points.arm(hook)
        try:
            run(directory, kind)
            return crashes
        except SimulatedCrash:
            crashes += 1
        finally:
            fail_points.arm(None)
    raise AssertionError("it never ended")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for part in range(4):
        (tmp_path / "in" / f"{part}.txt").write_text("".join(f"{r}\n" for r in RECORDS[part::4]))
    return tmp_path


@pytest.mark.parametrize("kind", ["rolling", "compacted"])
def test_a_crash_at_every_single_step_loses_nothing_and_doubles_nothing(folder: Path, kind: str) -> None:
    counter = CrashAtStep(10**9)
    fail_points.arm(counter)
    run(folder / "whole", kind)
    fail_points.arm(None)
    check(folder / "whole", kind, "without a crash")
    assert {"sink.files.staged", "sink.files.merged", "sink.files.renamed", "sink.files.marked"} <= set(counter.reached)
    for step in range(1, len(counter.reached) + 1):
        directory = folder / f"{kind}-{step}"
        run_through_crashes(directory, kind, iter([CrashAtStep(step), None]))
        check(directory, kind, f"crash at step {step}, {counter.reached[step - 1]}")
        assert not [path for path in (directory / "out" / ".penstock" / "staged").rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["rolling", "compacted"])
def test_many_crashes_in_a_row_lose_nothing_and_double_nothing(folder: Path, kind: str) -> None:
    crashes = 0
    for seed in range(10):
        rng = random.Random(seed)
        hooks = iter([*(CrashAtStep(rng.randint(1, 40)) for _ in range(10)), None])
        crashes += run_through_crashes(folder / f"seed-{seed}", kind, hooks)
        check(folder / f"seed-{seed}", kind, f"seed {seed}")
    assert crashes > 20
