"""The fuzzer finds what it is made for, and says it in few words."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ArgumentError, EnvironmentNotReadyError, JobExecutionException
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import FuzzCase, fuzz, fuzz_run

RECORDS = [(("ab"[n % 2], n), n * 300) for n in range(6)]
FEW = RECORDS[:3]


def key(value: Any) -> str:
    return value[0]


class FirstWins(KeyedProcessFunction):
    """A bug: the answer is what arrives first, not what happened first."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if not self.seen.value():
            self.seen.update(True)
            yield value


class KeptInSelf(KeyedProcessFunction):
    """A bug: a crash takes what is in `self`."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.counts[value[0]] = self.counts.get(value[0], 0) + 1
        yield value[0], self.counts[value[0]]


def failure_of(build: Any, *inputs: Any, **how: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        fuzz(build, *inputs, **how)
    return str(caught.value)


def test_an_answer_that_depends_on_the_order_of_arrival_shrinks_to_two_records() -> None:
    message = failure_of(lambda s: s.key_by(key).process(FirstWins()), FEW, disorder="1 s", seed=1)
    assert message.startswith(
        "the answer is not that of the run in order:\n  parallelism 1, all records in one epoch\n  input 0, split 0: ("
    )
    assert message.count(" at ") == 2, message
    assert "crashes" not in message.split("to repeat")[0]
    assert "answer (1 records, expected 1)\n  missing:" in message


def test_state_in_self_shrinks_to_a_crash_between_two_records() -> None:
    message = failure_of(lambda s: s.key_by(key).process(KeptInSelf()), FEW, split_by=key, max_examples=400, seed=1)
    assert "run 1 crashes at step" in message
    assert "parallelism 1, epochs of " in message
    assert message.count(" at ") <= 4, message  # two or three records, and the step


def test_a_late_record_that_only_a_small_bound_drops_is_found() -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(lambda v: 0).window(TumblingEventTimeWindows.of("100 ms")).sum(1)

    fuzz(build, RECORDS, disorder="1 s", oracle=lambda records: [v for v, _ in records], max_examples=10)
    wrong = failure_of(build, RECORDS, oracle=lambda records: [v for v, _ in records[1:]], max_examples=10)
    assert wrong.startswith("the answer is not that of the oracle")


def test_a_printed_case_can_be_repeated() -> None:
    case = FuzzCase(splits=(((0, 2), ("pause", 4, "idle")),), epoch_records=1, parallelism=2, crashes=(16,))
    message = failure_of(
        lambda s: s.key_by(key).process(KeptInSelf()), RECORDS, examples=[case], max_examples=1
    )  # fmt: skip
    assert f"examples=[{case!r}]" in message
    assert "input 0, split 1: pause, ('a', 4) at 1200, idle" in message
    assert "run 1 crashes at step 16 (" in message
    assert eval(repr(case)) == case


def test_a_job_that_fails_in_some_cases_is_a_failure() -> None:
    def refuse(value: Any) -> Any:
        raise ValueError("no threes")

    with pytest.raises(JobExecutionException, match="no threes"):
        fuzz(lambda s: s.map(refuse), RECORDS)
    message = failure_of(lambda s: s.map(refuse), RECORDS, oracle=lambda records: [], max_examples=20)
    assert message.startswith("the job fails:\n  parallelism 1")
    assert "no threes" in message


def test_what_a_pipeline_raises_is_told_where_jobs_are_restarted_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_RESTART_STRATEGY")
    monkeypatch.setattr(fuzz_run, "_PATIENCE_SECONDS", 5)
    with pytest.raises(JobExecutionException, match="ZeroDivisionError"):
        fuzz(lambda s: s.map(lambda value: value / 0), [(1, 0)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fuzz(lambda a, b: a, RECORDS), "build takes 2 streams, but there are the records of 1"),
        (lambda: fuzz(lambda a: a, ["x"]), "input 0 has 'x'; expected pairs of a record and its timestamp"),
        (lambda: fuzz(lambda a: a, [], types=[None, None]), "2 types for 1 streams"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_without_hypothesis_there_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(EnvironmentNotReadyError, match=r"pip install 'penstock\[testing\]'"):
        fuzz(lambda s: s, RECORDS)
