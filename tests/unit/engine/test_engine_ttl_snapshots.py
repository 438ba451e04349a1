"""Snapshots of state that expires, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.common.errors import JobExecutionException
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import StateTtlConfig, ValueStateDescriptor
from penstock.state import state_files
from penstock.state.state_file_format import read_header, read_state_file
from penstock.state.state_keys import StateKeys
from penstock.state.storage import LocalCheckpointStorage

COUNT, PER_EPOCH = 200, 10


class Once(KeyedProcessFunction):
    """Every key is written once and never seen again."""

    def __init__(self, config: StateTtlConfig | None, fail_at: int | None = None) -> None:
        self.config = config
        self.fail_at = fail_at

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("once", Types.LONG())
        if self.config is not None:
            descriptor.enable_time_to_live(self.config)
        self.state = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        if value == self.fail_at:
            raise RuntimeError("power cut")
        self.state.update(value)
        yield value


def run_job(directory: Path, function: Once, parallelism: int = 1) -> Any:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(directory))
    configuration.set_string("execution.epoch.max-records", str(PER_EPOCH))
    configuration.set_string("state.retained-checkpoints", "100")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    once = env.from_sequence(0, COUNT - 1).key_by(lambda n: n).process(function, Types.LONG()).uid("once")
    once.add_sink(lambda _: None)
    job = env.execute_async()
    job.wait(60)
    return job


def entries_in_snapshots(directory: Path) -> list[int]:
    storage = LocalCheckpointStorage(str(directory))
    prefix = StateKeys("once", "once", 128).prefix
    paths = [path for path in storage.list("state/1") if "-1-0-" in path]
    snapshots = [path for path in paths if read_header(storage, path).kind == "snapshot"]
    contents = [read_state_file(storage, path).entries for path in snapshots]
    return [sum(key.startswith(prefix) for key, _ in entries) for entries in contents]


@pytest.mark.parametrize("cleans_up", [True, False])
def test_snapshots_leave_out_what_has_expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleans_up: bool) -> None:
    monkeypatch.setattr(state_files, "_MAX_CHAIN", 3)
    builder = StateTtlConfig.new_builder(1).disable_cleanup_in_background()
    if cleans_up:
        builder.cleanup_full_snapshot()
    job = run_job(tmp_path, Once(builder.build()))
    counts = entries_in_snapshots(tmp_path)
    assert len(counts) >= 4
    if cleans_up:
        # Of the last epoch, and of the one before if both were in one millisecond.
        assert max(counts) <= 2 * PER_EPOCH
        assert job.metrics()["state"]["once"]["entries"] < COUNT // 2
    else:
        assert max(counts) >= COUNT - 5 * PER_EPOCH
        assert job.metrics()["state"]["once"]["entries"] == COUNT


def test_a_time_to_live_cannot_be_added_in_a_restart(tmp_path: Path) -> None:
    config = StateTtlConfig.new_builder("1 h").build()
    with pytest.raises(JobExecutionException, match="power cut"):
        run_job(tmp_path, Once(None, fail_at=COUNT // 2))
    with pytest.raises(JobExecutionException, match="state 'once' of operator 'once' was written without a time to li"):
        run_job(tmp_path, Once(config))
    run_job(tmp_path, Once(None))


def test_another_parallelism_takes_up_what_expires(tmp_path: Path) -> None:
    config = StateTtlConfig.new_builder("1 h").build()
    with pytest.raises(JobExecutionException, match="power cut"):
        run_job(tmp_path, Once(config, fail_at=COUNT // 2))
    job = run_job(tmp_path, Once(config), parallelism=2)
    assert job.metrics()["state"]["once"]["entries"] == COUNT
