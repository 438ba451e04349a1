"""`penstock jobs` and `penstock inspect`: what checkpoints tell."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from unit.cli.cli_programs import SUMS, Command, ProgramFile

STATES = """
    from penstock.common import Types
    from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

    class Remember(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
            self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))
            self.untyped = runtime_context.get_map_state(MapStateDescriptor("untyped"))

        def process_element(self, value, ctx):
            self.count.update((self.count.value() or 0) + 1)
            self.untyped.put(value, object)
            ctx.timer_service().register_processing_time_timer(1 << 50)

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection([1, 2, 3, 1]).uid("numbers")
    numbers.key_by(lambda n: n).process(Remember()).name("Remember").uid("remember").print().uid("printed")
    env.execute("states")
"""


def run(penstock: Command, program: Path, checkpoint: Path) -> None:
    result = penstock("run", program, "--checkpoint", checkpoint)
    assert result.exit_code == 0, result.output


def listed(penstock: Command, directory: Path) -> dict[str, Any]:
    result = penstock("jobs", directory, "--json")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return {Path(line["directory"]).name: line for line in lines}


def test_jobs_are_found_below_a_directory(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    program = program_file(SUMS)
    for name in ("one", "deeper/two"):
        run(penstock, program, tmp_path / "all" / name)
    jobs = listed(penstock, tmp_path / "all")
    assert set(jobs) == {"one", "two"}
    job = jobs["one"]
    assert (job["name"], job["state"], job["epoch"], job["records"]) == ("sums", "finished", 2, 3)
    assert job["sources"] == {"payments": {"ended": True, "state": {"position": 3}}}
    assert job["bytes"] == sum(p.stat().st_size for p in (tmp_path / "all/one").rglob("*") if p.is_file())
    table = penstock("jobs", tmp_path / "all").stdout
    assert " ".join(table.split("\n")[0].split()) == "job state epoch newest epoch records sources size checkpoint"
    assert "payments: ended" in table


def test_a_failed_job_says_so(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    program = program_file(SUMS.replace(".print()", ".map(lambda sum: 1 // 0).print()"))
    assert penstock("run", program, "--checkpoint", tmp_path / "all/one").exit_code == 1
    job = listed(penstock, tmp_path / "all")["one"]
    assert job["state"] == "failed"
    assert job["error"].startswith("ZeroDivisionError")
    assert "ZeroDivisionError" in penstock("inspect", tmp_path / "all/one").stdout


def rewritten(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "state"),
    [({}, "running"), ({"process_started": "0"}, "killed"), ({"host": "elsewhere"}, "running?")],
)
def test_a_job_that_did_not_say_how_it_ended(
    penstock: Command, program_file: ProgramFile, tmp_path: Path, changes: dict[str, Any], state: str
) -> None:
    run(penstock, program_file(SUMS), tmp_path / "all/one")
    runs = tmp_path / "all/one/runs"
    next(runs.glob("*.ended.json")).unlink()
    rewritten(next(runs.glob("*.started.json")), **changes)
    assert listed(penstock, tmp_path / "all")["one"]["state"] == state


def test_a_checkpoint_without_records_of_runs(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    run(penstock, program_file(SUMS), tmp_path / "one")
    for path in (tmp_path / "one/runs").iterdir():
        path.unlink()
    assert listed(penstock, tmp_path)["one"]["state"] == "finished"
    report = json.loads(penstock("inspect", tmp_path / "one", "--json").stdout)
    assert [operator["uid"] for operator in report["operators"]] == ["payments", "printed", "sums"]
    assert "not recorded" in penstock("inspect", tmp_path / "one").stdout


def test_an_empty_directory_has_no_jobs(penstock: Command, tmp_path: Path) -> None:
    result = penstock("jobs", tmp_path)
    assert (result.exit_code, "no checkpoints" in result.stderr) == (0, True)
    assert penstock("jobs", tmp_path / "none").exit_code == 2


def test_a_damaged_checkpoint_does_not_hide_the_others(
    penstock: Command, program_file: ProgramFile, tmp_path: Path
) -> None:
    program = program_file(SUMS)
    run(penstock, program, tmp_path / "good")
    run(penstock, program, tmp_path / "bad")
    newest = max((tmp_path / "bad/manifests").glob("*.json"))
    newest.write_bytes(newest.read_bytes().replace(b"sums", b"sumz"))
    result = penstock("jobs", tmp_path)
    assert result.exit_code == 1
    assert "damaged" in result.stderr
    assert str(tmp_path / "good") in result.stdout
    assert penstock("inspect", tmp_path / "bad").exit_code == 1


def test_inspect_shows_state_by_operator(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    run(penstock, program_file(STATES), tmp_path / "one")
    report = json.loads(penstock("inspect", tmp_path / "one", "--epoch", "2", "--json").stdout)
    operators = {operator["uid"]: operator for operator in report["operators"]}
    assert list(operators) == ["numbers", "remember", "printed"]
    assert operators["remember"]["name"] == "Remember"
    states = {state["name"]: state for state in operators["remember"]["state"]}
    shown = {name: (state["kind"], state["type"], state["entries"]) for name, state in states.items()}
    assert shown == {
        "count": ("ValueState", "Long", 3),
        "seen": ("ListState", "ListTypeInfo<String>", 0),
        "untyped": ("MapState", "object", 3),
    }
    assert all((state["bytes"] > 0) == (state["entries"] > 0) for state in states.values())
    assert operators["remember"]["timers"]["entries"] == 3
    assert report["sources"]["numbers"]["state"] == {"position": 4}
    text = penstock("inspect", tmp_path / "one").stdout
    assert "ValueState 'count' of Long: 3 entries" in text
    assert "3 timers" in text


def test_inspect_goes_back_to_an_older_epoch(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    checkpoint = tmp_path / "one"
    program = program_file(SUMS)
    assert penstock("run", program, "--checkpoint", checkpoint, "-o", "execution.epoch.max-records=1").exit_code == 0
    report = json.loads(penstock("inspect", checkpoint, "--json").stdout)
    assert [manifest["records"].get("read", 0) for manifest in report["manifests"]] == [0, 1, 2, 3]
    older = json.loads(penstock("inspect", checkpoint, "--epoch", "2", "--json").stdout)
    assert older["sources"]["payments"] == {"ended": False, "state": {"position": 1}}
    refused = penstock("inspect", checkpoint, "--epoch", "9")
    assert (refused.exit_code, "epochs 1 to 4 are there" in refused.stderr) == (1, True)


def test_nothing_is_unpickled_and_nothing_is_written(
    penstock: Command, program_file: ProgramFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(penstock, program_file(STATES), tmp_path / "one")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    assert penstock("inspect", tmp_path / "one").exit_code == 0
    assert penstock("jobs", tmp_path).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_no_checkpoint_at_all(penstock: Command, tmp_path: Path) -> None:
    result = penstock("inspect", tmp_path)
    assert (result.exit_code, "there is no checkpoint" in result.stderr) == (1, True)
