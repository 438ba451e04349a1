"""The next Spark job of a pipelined job gives tasks to other workers: those before let go of what they had open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream.functions import MapFunction, RuntimeContext
from penstock.engine.pipelined.live_header import LiveHeader, directory_of
from penstock.engine.pipelined.live_task_host import LiveTaskHost
from penstock.engine.pipelined.live_word import make_room
from penstock.engine.stages.envelope import Envelope
from pipelined import list_source, local_pipelined
from pipelined.list_source import PAIRS, two_splits
from pipelined.local_pipelined import LocalPipelinedExecutor, environment
from pipelined.running_count import Running

pytestmark = pytest.mark.usefixtures("virtual_time")

WORKERS = 4


class Workers:
    """Each has one task of a Spark job, here of an epoch, and another one in the next."""

    def __init__(self) -> None:
        self._hosts = [LiveTaskHost(lambda: "") for _ in range(WORKERS)]

    def run_source(self, setup: Any, header: LiveHeader, subtask: int, *others: Any) -> Iterator[Envelope]:
        return self._of(header, 0, subtask).run_source(setup, _in_own_job(header), subtask, *others)

    def run_stage(self, setup: Any, header: LiveHeader, stage: int, subtask: int, *others: Any) -> Iterator[Envelope]:
        return self._of(header, stage, subtask).run_stage(setup, _in_own_job(header), stage, subtask, *others)

    def close(self) -> None:
        for host in self._hosts:
            host.close()

    def _of(self, header: LiveHeader, stage: int, subtask: int) -> LiveTaskHost:
        return self._hosts[(2 * stage + subtask + header.turn) % WORKERS]


def _in_own_job(header: LiveHeader) -> LiveHeader:
    return replace(header, spark_job=str(header.turn))


class TakingTurns(LocalPipelinedExecutor):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._host = Workers()  # type: ignore[assignment]

    def make_room(self, header: LiveHeader) -> None:
        of_job = _in_own_job(header)
        make_room(self._setup.environment.storage, directory_of(of_job.spark_job, header.turn), [of_job.end_mark])


opened: Counter[str] = Counter()
most_open: Counter[str] = Counter()


def note_open(what: str) -> None:
    opened[what] += 1
    most_open[what] = max(most_open[what], opened[what])


class Connected(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        note_open("connection")

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        opened["connection"] -= 1


def test_what_a_task_has_open_is_closed_where_it_was_when_another_worker_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create = list_source.ListSource.create_live_reader

    def noted(source: list_source.ListSource) -> Any:
        reader = create(source)
        note_open("consumer")
        monkeypatch.setattr(reader, "close", lambda: opened.subtract(["consumer"]))
        return reader

    monkeypatch.setattr(list_source.ListSource, "create_live_reader", noted)
    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", TakingTurns)
    stream = environment("pipelined").from_source(two_splits(), None, "pairs").key_by(lambda pair: pair[0])
    counted = stream.process(Running(), PAIRS).map(Connected(), Types.TUPLE([Types.STRING(), Types.LONG()]))
    assert Counter(counted.execute_and_collect()) == Counter(
        (f"key-{key}", count) for key in range(3) for count in range(1, 9)
    )
    # The worker of a task that is asked first has not heard yet that the one of another is somewhere else.
    assert all(most <= 2 + 1 for most in most_open.values()), most_open
    assert not any(opened.values())
