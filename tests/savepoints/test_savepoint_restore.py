"""A job that is stopped with a savepoint and goes on from it, changed or not, gives the records of one that was not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Types, fail_points
from penstock.common.errors import CheckpointError, JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import CountEvictor, TumblingEventTimeWindows
from penstock.engine.epochs import spreading
from penstock.engine.epochs.upgrade import Outcome
from penstock.runtime.window_state_form import PANES
from penstock.state import Savepoint, ValueStateDescriptor
from savepoints.ledger_job import (
    RECORD,
    RECORDS,
    AtEpoch,
    build,
    environment,
    published,
    stopped_with_savepoint,
    write_savepoint_of,
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    directory = tmp_path_factory.mktemp("whole")
    env = environment(directory)
    build(env, directory / "out", 2)
    env.execute()
    return published(directory / "out")


def without_held(lines: Counter[str]) -> Counter[str]:
    return Counter({line: count for line, count in lines.items() if not line.startswith(("held", "rules"))})


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4])
def test_another_parallelism(parallelism: int, tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    before = published(tmp_path / "out")
    assert 0 < sum(before.values()) < sum(expected.values())
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", parallelism)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)
    rules = [line for line in published(tmp_path / "out") if line.startswith("rules")]
    assert len(rules) == len(RECORDS)


@pytest.mark.parametrize(("parallelism", "backend"), [(1, "memory"), (3, "lmdb")])
def test_the_own_checkpoint_with_another_parallelism(
    parallelism: int, backend: str, tmp_path: Path, expected: Counter[str]
) -> None:
    options = {"state.backend": backend, "state.local-dir": str(tmp_path / "local")}
    env = environment(tmp_path, **options)
    build(env, tmp_path / "out", 2)
    AtEpoch(5).run(env.execute_async, lambda client: client.cancel())
    assert published(tmp_path / "out") < expected
    env = environment(tmp_path, **options)
    build(env, tmp_path / "out", parallelism)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_a_crash_between_two_changes_of_the_parallelism(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 2)
    AtEpoch(5).run(env.execute_async, lambda client: client.cancel())

    def crash(name: str) -> None:
        if name == "takeover.after":
            raise SimulatedCrash(name)

    for parallelism in (3, 4):
        env = environment(tmp_path)
        build(env, tmp_path / "out", parallelism)
        fail_points.arm(crash)
        try:
            with pytest.raises(SimulatedCrash):
                env.execute()
        finally:
            fail_points.arm(None)
    env = environment(tmp_path)
    build(env, tmp_path / "out", 1)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_other_chains(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", 2, chained=False)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_list_state_is_spread_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 4)
    savepoint = stopped_with_savepoint(env)
    before = Savepoint.load(savepoint).read("hoard", "held")
    assert set(before["subtask"].to_pylist()) == {0, 1, 2, 3}
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", 3)
    env.execute()
    write_savepoint_of(tmp_path / "second/checkpoint", tmp_path / "end")
    left = Savepoint.load(str(tmp_path / "end")).read("hoard", "held")["value"].to_pylist()
    told = [int(line.split()[1]) for line in published(tmp_path / "out").elements() if line.startswith("held")]
    assert sorted(left + told) == [value for _, value, _ in RECORDS]


def test_an_operator_that_is_gone_is_refused_unless_that_is_allowed(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    options = {"execution.savepoint.path": savepoint}
    env = environment(tmp_path / "second", **options)
    build(env, tmp_path / "other", 2, without="windows")
    with pytest.raises(
        JobExecutionException, match=r"(?s)does not fit.*\(uid windows\).*no such operator.*ignore-uncl"
    ):
        env.execute()
    env = environment(tmp_path / "third", **options, **{"execution.savepoint.ignore-unclaimed-state": True})
    build(env, tmp_path / "out", 2, without="windows")
    env.execute()
    ledger = Counter({line: n for line, n in expected.items() if line.startswith(("account", "timer"))})
    assert Counter({line: n for line, n in published(tmp_path / "out").items() if line in ledger}) == ledger


def test_an_operator_that_is_added_starts_empty(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2, without="windows")
    savepoint = stopped_with_savepoint(env)
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", 2)
    env.execute()
    lines = published(tmp_path / "out")
    assert any(line.startswith("window") for line in lines)
    assert not lines - expected - Counter({line: n for line, n in lines.items() if line.startswith(("held", "window"))})


def test_a_savepoint_while_the_job_goes_on(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 2)
    hook = AtEpoch(5)
    hook.run(env.execute_async, lambda client: client.trigger_savepoint(str(tmp_path / "mine")))
    assert without_held(published(tmp_path / "out")) == without_held(expected)
    savepoint = Savepoint.load(hook.result.result())
    assert Path(savepoint.path).parent == tmp_path / "mine"
    assert 0 < savepoint.records_read < len(RECORDS)
    assert {state.name for state in savepoint.states} >= {"account", "by digit", "recent", "rules", "held", "objects"}


def test_a_sink_that_shows_more_than_the_savepoint_is_refused(tmp_path: Path) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 2)
    hook = AtEpoch(5)
    hook.run(env.execute_async, lambda client: client.trigger_savepoint())
    env = environment(tmp_path / "second", **{"execution.savepoint.path": hook.result.result()})
    build(env, tmp_path / "out", 2)
    with pytest.raises(JobExecutionException, match="SinkError"):
        env.execute()


def test_draining_fires_everything_and_keeps_positions(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = Savepoint.load(stopped_with_savepoint(env, drain=True))
    assert savepoint.is_drained
    first = published(tmp_path / "out")
    assert sum(line.startswith("account of") for line in first) == 13
    assert all(len(savepoint.timers(uid)) == 0 for uid in savepoint.uids)
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint.path})
    build(env, tmp_path / "out", 2)
    env.execute()
    # The records go on where they were, and event time begins anew: each is seen once.
    lines = published(tmp_path / "out")
    accounts = Counter({line: n for line, n in expected.items() if line.startswith("account user")})
    assert Counter({line: n for line, n in lines.items() if line.startswith("account user")}) == accounts


def test_a_checkpoint_directory_is_for_one_savepoint(tmp_path: Path) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    env = environment(tmp_path, **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", 2)
    with pytest.raises(JobExecutionException, match="was not started from the savepoint"):
        env.execute()


def test_a_restart_after_a_restore_goes_on_from_its_own_epochs(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env, 3)
    options = {"execution.savepoint.path": savepoint}
    for epochs in (1, 3):
        env = environment(tmp_path / "second", **options)
        build(env, tmp_path / "out", 3)
        AtEpoch(epochs + 1).run(env.execute_async, lambda client: client.cancel())
    env = environment(tmp_path / "second", **options)
    build(env, tmp_path / "out", 3)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_another_number_of_key_groups(tmp_path: Path, expected: Counter[str]) -> None:
    # Windows in columns keep their key groups; those that were computed record by record go on in columns.
    env = environment(tmp_path / "first", **{"optimizer.disabled-rules": "reduce-in-columns"})
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint, "pipeline.max-parallelism": "300"})
    build(env, tmp_path / "out", 3)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_windows_in_columns_go_on_record_by_record(tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    assert any(state.name == PANES for state in Savepoint.load(savepoint).states)

    def second(disabled: str) -> StreamExecutionEnvironment:
        options = {"execution.savepoint.path": savepoint, "optimizer.disabled-rules": disabled}
        env = environment(tmp_path / "second", **options)
        build(env, tmp_path / "out", 3)
        migrated = [item.state for item in env.check_upgrade(savepoint).of(Outcome.MIGRATED)]
        assert migrated == ([PANES] if disabled else [])
        return env

    evicting = environment(tmp_path / "other")
    records = evicting.from_collection(RECORDS, RECORD).uid("records").key_by(lambda r: r[0], Types.STRING())
    windows = records.window(TumblingEventTimeWindows.of("7 s")).evictor(CountEvictor.of(2))
    windows.reduce(lambda a, b: b).uid("windows").print()
    refused = [item for item in evicting.check_upgrade(savepoint).of(Outcome.REFUSED) if item.state]
    assert [(item.uid, item.state) for item in refused] == [("windows", PANES)]
    assert "all their records are needed" in str(refused[0])

    def crash(name: str) -> None:
        if name == "manifest.before":
            raise SimulatedCrash(name)

    fail_points.arm(crash)
    try:
        with pytest.raises(SimulatedCrash):
            second("reduce-in-columns").execute()
    finally:
        fail_points.arm(None)
    # The columns are still there.
    AtEpoch(2).run(second("").execute_async, lambda client: client.cancel())
    second("reduce-in-columns").execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)


def test_without_a_directory_there_is_no_savepoint(tmp_path: Path) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 1)
    client = env.execute_async()
    client.wait()
    with pytest.raises(CheckpointError, match="has ended"):
        client.trigger_savepoint(str(tmp_path)).result()


@pytest.mark.spark
def test_on_spark(tmp_path: Path, expected: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "SMALL_BYTES", 0)  # savepoints are written and read by tasks
    env = environment(tmp_path / "first", "spark", **{"execution.epoch.max-records": "150"})
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env, 1)
    loaded = Savepoint.load(savepoint)
    assert 0 < loaded.records_read < len(RECORDS)
    counts = loaded.read_spark(SparkSession.builder.getOrCreate(), "ledger", "account").selectExpr("key", "value.count")
    counted = ValueStateDescriptor("count", Types.LONG())
    made = Savepoint.new().with_state("made of a batch job", counted, counts, value="count")
    counted_values = made.read("made of a batch job", "count")["value"].to_pylist()
    assert sum(counted_values) == loaded.read("ledger", "recent").num_rows
    options = {"execution.savepoint.path": savepoint, "execution.epoch.max-records": "1000"}
    env = environment(tmp_path / "second", "spark", **options)
    build(env, tmp_path / "out", 3)
    env.execute()
    assert without_held(published(tmp_path / "out")) == without_held(expected)
