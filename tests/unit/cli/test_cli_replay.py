"""`penstock replay`: an epoch that failed, or one that did not, again in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.engine.epochs.replay_records import read_failed_epoch
from penstock.state.storage import LocalCheckpointStorage
from unit.cli.cli_programs import Command, ProgramFile

BUGGY = """
    import os
    from penstock.common import Configuration, Types
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.functions import KeyedProcessFunction
    from penstock.datastream.state import ValueStateDescriptor
    from penstock.datastream.connectors.file_system import FileSink

    class Ratio(KeyedProcessFunction):
        def open(self, runtime_context):
            self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

        def process_element(self, value, ctx):
            ratio = value[1] // (self.last.value() or 1)
            if value[1] == 0 and os.environ.get("FIXED"):
                return
            self.last.update(value[1] or -0)
            if value[1] == 0:
                ratio = 1 // value[1]
            yield f"{value[0]}: {ratio}"

    options = Configuration().set_string("execution.epoch.max-records", "2")
    env = StreamExecutionEnvironment.get_execution_environment(options).set_parallelism(1)
    payments = [("a", 4), ("b", 2), ("a", 8), ("b", 6), ("a", 0), ("b", 3), ("a", 2)]
    stream = env.from_collection(payments, Types.TUPLE([Types.STRING(), Types.LONG()]))
    stream.key_by(lambda payment: payment[0], Types.STRING()).process(Ratio(), Types.STRING()).name("ratios").uid(
        "ratios"
    ).sink_to(FileSink("OUT", "text")).name("results")
    env.execute("ratios")
"""


@pytest.fixture
def failed(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> Path:
    """A program whose job has failed, with its checkpoint beside it."""
    program = program_file(BUGGY.replace("OUT", str(tmp_path / "out")))
    result = penstock("run", program, "--checkpoint", tmp_path / "checkpoint")
    assert result.exit_code == 1
    assert f"penstock replay {tmp_path / 'checkpoint'} PROGRAM --epoch 4" in result.output
    return program


def content(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_failure_leaves_record_key_state_watermark_and_traceback(failed: Path, tmp_path: Path) -> None:
    recorded = read_failed_epoch(LocalCheckpointStorage(str(tmp_path / "checkpoint")), 4)
    assert recorded is not None
    report = recorded.report
    assert (report.key, report.record, report.state) == ("'a'", "('a', 0)", {"last": "0"})
    assert report.watermark == -(1 << 63)
    assert "ZeroDivisionError" in report.traceback
    assert "1 // value[1]" in report.traceback


def test_a_failed_epoch_fails_again_without_changing_anything(penstock: Command, failed: Path, tmp_path: Path) -> None:
    before = content(tmp_path / "checkpoint"), content(tmp_path / "out")
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "4", "--no-debugger")
    assert result.exit_code == 1, result.output
    assert "ZeroDivisionError" in result.output
    assert "state 'last': 0" in result.output
    assert "record: ('a', 0)" in result.output
    assert (content(tmp_path / "checkpoint"), content(tmp_path / "out")) == before


def test_a_mended_program_runs_through(
    penstock: Command, failed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXED", "1")
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "4", "--no-debugger")
    assert result.exit_code == 0, result.output
    assert "results <- 'b: 0'" in result.output
    assert "the epoch ran through; it failed when the job ran" in result.output


def test_a_committed_epoch_reads_the_same_records_from_the_same_state(
    penstock: Command, failed: Path, tmp_path: Path
) -> None:
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "3", "--no-debugger")
    assert result.exit_code == 0, result.output
    assert [line for line in result.output.splitlines() if "<-" in line] == ["results <- 'a: 2'", "results <- 'b: 3'"]


def test_calls_for_one_key_are_shown_with_its_state(penstock: Command, failed: Path, tmp_path: Path) -> None:
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "3", "--key", "a", "--no-debugger")
    calls = [line for line in result.output.splitlines() if "process_element" in line]
    assert calls == ["ratios: Ratio.process_element(value=('a', 8))"]
    assert "state 'last': 4" in result.output


@pytest.mark.parametrize(
    ("epoch", "options", "commands", "seen", "unseen", "code"),
    [
        ("4", [], ["p ('value', value)", "p ('state', self.last.value())", "q"], ["('a', 0)", "('state', 0)"], [], 1),
        ("3", ["--key", "'b'"], ["p ('stopped', value)", "c"], ["('stopped', ('b', 6))"], ["('stopped', ('a'"], 0),
    ],
    ids=["where the program failed", "at every call for a key"],
)
def test_the_debugger_stops(
    failed: Path,
    tmp_path: Path,
    epoch: str,
    options: list[str],
    commands: list[str],
    seen: list[str],
    unseen: list[str],
    code: int,
) -> None:
    # Click's runner in this process would take the terminal away from the debugger.
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli", "replay", tmp_path / "checkpoint", failed, "--epoch", epoch, *options],
        input="".join(f"{command}\n" for command in commands),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert all(text in done.stdout for text in seen), (done.stdout, done.stderr)
    assert not any(text in done.stdout for text in unseen), done.stdout
    assert done.returncode == code, done.stderr


def test_an_epoch_that_is_not_there_is_refused_with_what_is(penstock: Command, failed: Path, tmp_path: Path) -> None:
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "99", "--no-debugger")
    assert result.exit_code == 1
    assert "failures are there for [4], manifests for [1, 2, 3]" in result.output


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1, 2]", b'{"format": 1, "report": 7, "header": {}, "tasks": []}'])
def test_a_damaged_record_is_an_error_that_names_it(
    penstock: Command, failed: Path, tmp_path: Path, damage: bytes
) -> None:
    (record,) = (tmp_path / "checkpoint" / "failures").iterdir()
    record.write_bytes(damage)
    result = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", "4", "--no-debugger")
    assert result.exit_code == 1
    assert record.name in result.output
    assert "is no record of a failed epoch" in result.output


TWO_SOURCES = """
    from penstock.common import Configuration, Types
    from penstock.datastream import StreamExecutionEnvironment

    options = Configuration().set_string("execution.epoch.max-records", "4")
    env = StreamExecutionEnvironment.get_execution_environment(options).set_parallelism(1)
    numbers = {"zeros": [1, 2, 0, 3], "ones": [1]}
    sources = {name: env.from_collection(numbers[name], Types.LONG()).uid(name) for name in NAMES}
    for name in ("ones", "zeros"):
        divided = sources[name].rebalance().map(lambda n: 1 / n, Types.DOUBLE())
        divided.uid(f"{name} divided").print().uid(f"{name} printed")
    env.execute("divided")
"""


def test_sources_that_the_program_names_in_another_order_read_what_they_read(
    penstock: Command, program_file: ProgramFile, tmp_path: Path
) -> None:
    failed = program_file(TWO_SOURCES.replace("NAMES", "('zeros', 'ones')"))
    result = penstock("run", failed, "--checkpoint", tmp_path / "checkpoint")
    assert "division by zero" in result.output
    epoch = result.output.split("--epoch ")[1].split()[0]
    again = penstock("replay", tmp_path / "checkpoint", failed, "--epoch", epoch, "--no-debugger")
    changed = program_file(TWO_SOURCES.replace("NAMES", "('ones', 'zeros')"))
    result = penstock("replay", tmp_path / "checkpoint", changed, "--epoch", epoch, "--no-debugger")
    assert "division by zero" in result.output
    assert (result.exit_code, "zeros divided" in result.output) == (again.exit_code, True)


def test_another_program_is_refused(penstock: Command, failed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(failed.read_text().replace('"ratios"\n', '"other"\n'))
    result = penstock("replay", tmp_path / "checkpoint", other, "--epoch", "4", "--no-debugger")
    assert result.exit_code == 1
    assert "belongs to another plan" in result.output


def test_records_are_plain_json(failed: Path, tmp_path: Path) -> None:
    (path,) = (tmp_path / "checkpoint" / "failures").iterdir()
    record: dict[str, Any] = json.loads(path.read_text())
    assert record["header"]["epoch"] == [1, 4]
