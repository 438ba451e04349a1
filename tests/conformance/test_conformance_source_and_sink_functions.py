"""Sources and sinks as functions, and what a job takes along for its functions: on both engines, in both modes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from penstock.common import RestartStrategies, Types
from penstock.datastream import (
    CheckpointedSourceFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class FailingOnce(CheckpointedSourceFunction):
    """Emits 0 to 99 and fails once, in the middle."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker
        self.next = 0
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.next < 100:
            if self.next == 60 and not self.marker.exists():
                self.marker.touch()
                raise OSError("lost")
            with ctx.get_checkpoint_lock():
                ctx.collect((f"k{self.next % 3}", self.next))
                self.next += 1

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self) -> int:
        return self.next

    def restore_state(self, state: int) -> None:
        self.next = state


class Append(SinkFunction):
    """Writes records to a file per subtask: at least once, so a set of lines is what counts."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        subtask = runtime_context.get_index_of_this_subtask()
        self.file = (self.directory / f"{subtask}.txt").open("a")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        assert context.current_processing_time() > 0
        print(*value, file=self.file)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def test_a_source_that_fails_goes_on_and_a_sink_takes_every_record(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "20")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    (tmp_path / "out").mkdir()
    stream = env.add_source(FailingOnce(tmp_path / "marker"), type_info=PAIR, bounded=True)
    stream.key_by("f0").sum(1).add_sink(Append(tmp_path / "out"))
    env.execute()
    assert (tmp_path / "marker").exists()
    lines = {line for path in (tmp_path / "out").iterdir() for line in path.read_text().splitlines()}
    totals = {f"k{key} {sum(range(key, 100, 3))}" for key in range(3)}
    assert totals <= lines
    wrong = [line for line in lines if int(line.split()[1]) > sum(range(100))]
    assert not wrong, "no record counts twice in the state"


class Everything(MapFunction):
    """Uses all that was sent along."""

    def open(self, runtime_context: RuntimeContext) -> None:
        import sent_along  # type: ignore[import-not-found]
        import sent_required  # type: ignore[import-not-found]

        cache = runtime_context.get_distributed_cache()
        self.answer = (
            sent_along.VALUE,
            sent_required.VALUE,
            cache.get_file("words").read_text(),
            (cache.get_file("data") / "inside.txt").read_text(),
            runtime_context.get_job_parameter("region", "?"),
        )

    def map(self, value: int) -> Any:
        return (*self.answer, value)


@pytest.mark.spark
def test_code_files_and_parameters_reach_workers(tmp_path: Path) -> None:
    """The local engine has unit tests of its own; to the modes it makes no difference."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sent_along.py").write_text("VALUE = 'code'")
    (tmp_path / "words.txt").write_text("words")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("inside.txt", "data")
    wheel(tmp_path / "packages", "sent_required", "VALUE = 'required'")
    (tmp_path / "requirements.txt").write_text("sent_required==1.0\n")
    env.add_python_file(str(tmp_path / "code" / "sent_along.py"))
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    env.add_python_archive(str(tmp_path / "data.zip"), "data")
    env.register_cached_file(str(tmp_path / "words.txt"), "words")
    env.get_config().set_global_job_parameters({"region": "eu"})
    records = sorted(env.from_sequence(1, 3).map(Everything()).execute_and_collect())
    assert records == [("code", "required", "words", "data", "eu", n) for n in (1, 2, 3)]


def wheel(directory: Path, name: str, source: str) -> None:
    """The smallest package that pip installs."""
    directory.mkdir()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(directory / f"{name}-1.0-py3-none-any.whl", "w") as package:
        package.writestr(f"{name}.py", source)
        package.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        package.writestr(f"{info}/WHEEL", tag)
        package.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
