"""A run of Nexmark: one program after the other, whatever becomes of each; cut off, it is gone on with."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import pytest

from nexmark import run as runner
from nexmark.contenders import PENSTOCK, Contender
from nexmark.journal import Journal
from nexmark.measure import Measurement
from nexmark.run import Nexmark

RIGHT = Measurement(1_000, records=920, records_per_second=100.0, rated_seconds=60.0, compared="rows")


class Programs:
    """Stands for the contenders: what each gives is told beforehand, all else is right."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.started: list[tuple[str, str]] = []
        self.outcomes: dict[str, Measurement | BaseException | list[Measurement | BaseException]] = {}

    def measure(self, query: str, contender: Contender) -> Measurement:
        self.started.append((query, contender.name))
        outcome = self.outcomes.get(contender.name, RIGHT)
        if isinstance(outcome, list):
            outcome = outcome.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def run(self, *queries: str, goes_on: bool = False, minutes: float | None = None) -> bool:
        self.started.clear()
        options = argparse.Namespace(events=1_000, docs=False, journal=self.journal, goes_on=goes_on, minutes=minutes)
        options.rounds = 3
        options.queries, options.contenders = list(queries) or ["q6", "q10"], [PENSTOCK, "flink_sql"]
        return Nexmark(options, Journal(self.journal)).run()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs(tmp_path / "journal.json")
    monkeypatch.setattr(Nexmark, "_measure", found.measure)
    return found


ALL = [("q6", PENSTOCK), ("q10", PENSTOCK), ("q10", "flink_sql")]


def test_what_nobody_can_do_is_left_out(programs: Programs) -> None:
    assert programs.run()
    assert programs.started == ALL


def test_a_peer_that_fails_does_not_end_the_run(programs: Programs) -> None:
    programs.outcomes["flink_sql"] = Measurement(1_000, problem="not at its end after 900 s")
    assert programs.run()
    assert programs.started == ALL


def test_a_wrong_answer_of_penstock_is_in_the_status(programs: Programs) -> None:
    programs.outcomes[PENSTOCK] = Measurement(1_000, problem="3 rows missing")
    assert not programs.run()
    assert programs.started == ALL


def test_a_run_that_was_cut_off_is_gone_on_with(programs: Programs) -> None:
    programs.outcomes["flink_sql"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        programs.run()
    programs.outcomes.clear()
    assert programs.run(goes_on=True)
    assert programs.started == [("q10", "flink_sql")]
    assert programs.run(goes_on=True)
    assert programs.started == []
    assert programs.run()
    assert programs.started == ALL


def test_a_new_run_that_was_cut_off_at_once_does_not_take_the_results_of_the_one_before(programs: Programs) -> None:
    assert programs.run()
    programs.outcomes[PENSTOCK] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        programs.run()
    programs.outcomes.clear()
    assert programs.run(goes_on=True)
    assert programs.started == ALL


def short(rate: float, problem: str = "") -> Measurement:
    return Measurement(1_000, records=920, records_per_second=rate, rated_seconds=1.0, problem=problem)


def test_short_programs_run_in_rounds_and_the_median_counts(programs: Programs) -> None:
    programs.outcomes[PENSTOCK] = [short(100.0), short(300.0), short(200.0)]
    programs.run("q10")
    assert programs.started == [("q10", PENSTOCK), ("q10", "flink_sql"), ("q10", PENSTOCK), ("q10", PENSTOCK)]
    measured = Journal(programs.journal).get(1_000, "q10", PENSTOCK)
    assert measured == dataclasses.replace(short(200.0), rates=(100.0, 300.0, 200.0))


def test_one_wrong_answer_in_all_rounds_is_in_the_status(programs: Programs) -> None:
    programs.outcomes[PENSTOCK] = [short(100.0), short(300.0, problem="3 rows missing")]
    assert not programs.run("q6")
    assert programs.started == [("q6", PENSTOCK)] * 2


def test_rounds_that_were_cut_off_are_gone_on_with(programs: Programs) -> None:
    programs.outcomes[PENSTOCK] = [short(100.0), KeyboardInterrupt(), short(300.0), short(200.0)]
    with pytest.raises(KeyboardInterrupt):
        programs.run("q6")
    programs.run("q6", goes_on=True)
    assert programs.started == [("q6", PENSTOCK)] * 2
    measured = Journal(programs.journal).get(1_000, "q6", PENSTOCK)
    assert measured is not None
    assert measured.records_per_second == 200.0


def test_what_is_run_once_more_leaves_the_rest_in_the_journal(programs: Programs) -> None:
    assert programs.run()
    assert programs.run("q6")
    assert programs.started == [("q6", PENSTOCK)]
    assert programs.run(goes_on=True)
    assert programs.started == []


def test_no_program_is_started_when_the_time_is_over(programs: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    assert not programs.run(minutes=-1)
    assert programs.started == []
    assert "2 of 2 queries are left" in capsys.readouterr().out


def test_an_environment_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(environment: str) -> Path:
        raise OSError("no network")

    monkeypatch.setattr(runner, "python_of", fail)
    found = runner.interpreter_of("bytewax")
    assert isinstance(found, Measurement)
    assert found.problem == "the environment bytewax cannot be made: no network"


def test_a_slow_contender_reads_a_share_of_the_events_and_no_more_than_it_may() -> None:
    slow = Contender("slow", "Slow", "slow.py", share=0.1, most_events=400_000)
    assert slow.events_of(1_000_000) == 100_000
    assert slow.events_of(10_000_000) == 400_000
    assert Contender("quick", "Quick", "quick.py").events_of(10_000_000) == 10_000_000
