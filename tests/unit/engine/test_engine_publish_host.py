"""What a process keeps between the epochs that it publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.sink import EpochId
from penstock.engine.stages.publish_host import HostedPublisher, PublishHost, SubtaskOutput
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.engine.stages.task_host import TaskSetup
from penstock.state.storage import LocalCheckpointStorage


class Publisher:
    def __init__(self) -> None:
        self.published: list[int] = []
        self.is_closed = False
        self.fails = False

    def publish(self, epoch: EpochId, tokens: Any) -> None:
        if self.fails:
            raise ConnectionError("gone")
        self.published.append(epoch.number)

    def close(self) -> None:
        self.is_closed = True


class Process:
    """A host whose publishers are those of this test."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[Publisher] = []
        self.host = PublishHost(lambda: str(directory))
        self.directory = directory
        monkeypatch.setattr(self.host, "_create", self._create)

    def _create(self, setup: object, output: object) -> HostedPublisher:
        self.made.append(Publisher())
        return HostedPublisher(self.made[-1], {})

    def publish(self, number: int, previous: int | None, program: str = "program", subtask: int = 0) -> Any:
        environment = TaskEnvironment("job", LocalCheckpointStorage(str(self.directory)), "memory", "", 0)
        before = None if previous is None else EpochId(1, previous)
        output = SubtaskOutput("uid", subtask, ({},), before)
        return self.host.publish(TaskSetup(environment, program, (1,)), EpochId(1, number), output)


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(tmp_path, monkeypatch)


def test_each_subtask_has_a_publisher_that_lives_on(process: Process) -> None:
    for number, previous in ((1, None), (2, 1), (5, 2)):
        assert process.publish(number, previous) is None
        assert process.publish(number, previous, subtask=1) is None
    assert [publisher.published for publisher in process.made] == [[1, 2, 5], [1, 2, 5]]


def test_a_publisher_is_replaced_when_another_process_has_published_since(process: Process) -> None:
    process.publish(1, None)
    process.publish(3, 2)
    first, second = process.made
    assert (first.published, first.is_closed) == ([1], True)
    assert (second.published, second.is_closed) == ([3], False)
    process.publish(3, None)
    assert [publisher.published for publisher in process.made] == [[1], [3], [3]], "and when the driver is a new one"


def test_a_publisher_that_fails_is_told_of_closed_and_replaced(process: Process) -> None:
    process.publish(1, None)
    process.made[0].fails = True
    failure = process.publish(2, 1)
    assert (failure.uid, failure.subtask) == ("uid", 0)
    assert "ConnectionError: gone" in failure.message
    assert process.made[0].is_closed
    assert process.publish(2, 1) is None
    assert process.made[1].published == [2]


def test_publishers_of_an_older_program_of_the_job_are_closed(process: Process) -> None:
    process.publish(1, None)
    process.publish(2, 1, program="another")
    assert [publisher.is_closed for publisher in process.made] == [True, False]
    process.host.close()
    assert process.made[1].is_closed
