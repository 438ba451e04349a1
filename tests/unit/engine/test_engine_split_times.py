"""The driver's view of event time: which splits need an epoch though there is nothing to read, and which must wait."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from penstock.connectors.sink import EpochId
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.source_coordinator import EpochInput, SourceCoordinator
from penstock.engine.stages.compiled import CompiledChain, CompiledJob
from penstock.engine.stages.envelope import SOURCE_SENDER
from penstock.engine.stages.messages import ReadProgress
from penstock.plan.nodes import SourceNode
from penstock.runtime.operator import MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks import TimeProgress
from penstock.state.storage import open_storage

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
IDLE = MONOTONOUS.with_idleness(100)


class Fed(Source, SplitEnumerator):
    """A source that hands out what a test puts into `waiting`."""

    def __init__(self, *live: str) -> None:
        self.live = list(live)
        self.waiting: list[str] = []
        self.finishing: set[str] = set()
        self.held: Collection[str] = ()
        self.polls = 0

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> Any:
        return Types.LONG()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return self

    def create_reader(self) -> SplitReader:
        raise NotImplementedError

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        self.polls += 1
        given, self.waiting = self.waiting, []
        return [SplitRead(split, 0, 1, finishes=split in self.finishing) for split in given]

    def next_poll(self, now: int) -> int:
        return now + 1_000_000

    def is_exhausted(self) -> bool:
        return False

    def live_splits(self) -> Collection[str]:
        return self.live

    def hold_back(self, split_ids: Collection[str]) -> None:
        self.held = split_ids


class Driver:
    """A coordinator over sources, and what tasks would have answered."""

    def __init__(self, directory: Path, *sources: tuple[Fed, WatermarkStrategy | None]) -> None:
        nodes = [
            SourceNode(id=number, name=f"source {number}", uid=f"s{number}", source=source, watermark_strategy=strategy)
            for number, (source, strategy) in enumerate(sources)
        ]
        chains = tuple(CompiledChain(node.id, 0, (node,), (), (), ()) for node in nodes)
        self.job = CompiledJob("job", chains, (), (1,))
        self.storage = open_storage(str(directory))
        self.head: str | None = None
        self.epoch = 0
        self.restart()

    def restart(self) -> None:
        self.state = DriverState(self.storage, self.head)
        self.sources = SourceCoordinator(self.job, self.state, EpochBudget(100, 100, 1), bounded=False)

    def plan(self, now: int) -> dict[str, bool]:
        """What the next epoch does, as `source/split -> is it read`."""
        self.planned = self.sources.plan(now)
        names = {SOURCE_SENDER: "no split"}
        return {
            f"{each.source}/{names.get(each.split, each.split_id)}": each.read is not None
            for each in self.planned.reads
        }

    def run(self, now: int, **watermarks: Any) -> dict[str, bool]:
        """An epoch in which splits come to these watermarks; `"idle"` for such as fall silent."""
        planned = self.plan(now)
        progress: list[ReadProgress] = []
        for each in self.planned.reads:
            if each.split == SOURCE_SENDER:
                continue
            said = watermarks.get(each.split_id, MIN_WATERMARK)
            before = TimeProgress(quiet_since=now, asked_at=now) if each.time is None else TimeProgress(**each.time)
            time = TimeProgress(
                watermark=before.watermark if said == "idle" else max(said, before.watermark),
                idle=said == "idle",
                quiet_since=before.quiet_since if each.read is None else now,
                asked_at=now,
            )
            finished = each.read is not None and each.read.finishes
            progress.append(
                ReadProgress(
                    each.source, each.split, each.split_id, 1, finished, 1, None if finished else time.to_json()
                )
            )
        self.commit(self.planned, progress)
        return planned

    def commit(self, planned: EpochInput, progress: list[ReadProgress]) -> None:
        self.epoch += 1
        self.sources.committing(planned, progress)
        epoch = EpochId(1, self.epoch)
        self.head = self.state.stage(epoch)
        self.state.committed(self.head, epoch)


def test_a_split_without_records_is_told_of_when_an_epoch_runs_and_not_sooner(tmp_path: Path) -> None:
    source = Fed("a", "empty")
    driver = Driver(tmp_path, (source, MONOTONOUS))
    assert driver.plan(1_000) == {}
    source.waiting = ["a"]
    assert driver.run(1_001, a=50) == {"0/a": True, "0/empty": False}
    source.waiting = ["a"]
    assert driver.run(1_002, a=60) == {"0/a": True}, "consumers know of it"


def test_without_a_strategy_nothing_is_told(tmp_path: Path) -> None:
    source = Fed("a", "empty")
    driver = Driver(tmp_path, (source, None))
    source.waiting = ["a"]
    assert driver.plan(1_000) == {"0/a": True}


@pytest.mark.parametrize("restarts", [False, True])
def test_the_end_of_patience_starts_an_epoch(tmp_path: Path, restarts: bool) -> None:
    source = Fed("a", "b")
    driver = Driver(tmp_path, (source, IDLE))
    source.waiting = ["a", "b"]
    driver.run(1_000, a=50, b=60)
    source.waiting = ["a"]
    driver.run(1_050, a=70)
    if restarts:
        driver.restart()
    assert driver.plan(1_099) == {}
    assert driver.sources.next_poll(1_099) == 1_100
    assert driver.run(1_100, b="idle") == {"0/b": False}
    assert driver.sources.next_poll(1_100) == 1_150
    assert driver.run(1_150, a="idle") == {"0/a": False}
    if restarts:
        driver.restart()
    assert driver.plan(9_000) == {}, "idle splits cost nothing"
    assert driver.sources.next_poll(9_000) == 1_009_000
    source.waiting = ["b"]
    assert driver.run(9_001, b=80) == {"0/b": True}
    assert driver.sources.next_poll(9_001) == 9_101


def test_a_source_whose_splits_have_finished_falls_silent_too(tmp_path: Path) -> None:
    source = Fed()
    driver = Driver(tmp_path, (source, IDLE))
    source.waiting, source.finishing = ["a"], {"a"}
    driver.run(1_000, a=50)
    assert driver.plan(1_001) == {}
    assert driver.sources.next_poll(1_001) == 1_101
    assert driver.run(1_101) == {"0/no split": False}
    assert driver.plan(5_000) == {}
    source.waiting, source.finishing = ["b"], {"b"}
    driver.run(6_000, b=60)
    assert driver.plan(6_001) == {}
    assert driver.plan(6_101) == {"0/no split": False}, "and again after the next"


def test_that_a_source_has_no_splits_is_told_again_after_a_restart(tmp_path: Path) -> None:
    driver = Driver(tmp_path, (Fed(), IDLE))
    driver.plan(1_000)
    assert driver.run(1_100) == {"0/no split": False}
    driver.restart()
    assert driver.plan(5_000) == {}
    assert driver.plan(5_100) == {"0/no split": False}


class Lagging(WatermarkGenerator):
    """Emits what the class is told to: a stand-in for the clock."""

    now = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        return

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Lagging.now)


def test_a_generator_is_asked_in_silence_and_an_epoch_runs_if_it_has_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Fed("a")
    driver = Driver(tmp_path, (source, WatermarkStrategy.for_generator(Lagging)))
    source.waiting = ["a"]
    monkeypatch.setattr(Lagging, "now", 40)
    driver.run(1_000, a=40)
    assert driver.sources.next_poll(1_000) == 1_200
    assert driver.plan(1_200) == {}
    assert driver.sources.next_poll(1_200) == 1_400
    monkeypatch.setattr(Lagging, "now", 41)
    assert driver.plan(1_399) == {}
    assert driver.run(1_400, a=41) == {"0/a": False}


def test_aligned_splits_wait_for_the_slowest_of_their_group(tmp_path: Path) -> None:
    aligned = IDLE.with_watermark_alignment("g", 20)
    first, second, other = Fed("a", "b"), Fed("c"), Fed("d")
    driver = Driver(tmp_path, (first, aligned), (second, aligned), (other, MONOTONOUS))
    first.waiting, second.waiting, other.waiting = ["a", "b"], ["c"], ["d"]
    driver.run(1_000, a=100, b=121, c=125, d=900)
    assert driver.plan(1_099) == {}
    assert first.held == {"b"}
    assert second.polls == 1, "all that the source has is ahead"
    assert other.polls == 2
    assert driver.run(1_100, a="idle", d=900) == {"0/a": False}, "those that wait are not silent"
    first.waiting, second.waiting = ["b"], ["c"]
    assert driver.run(1_101, b=130, c=140) == {"0/b": True, "1/c": True}, "nobody waits for a silent one"
    assert first.held == set()


def test_no_one_waits_for_a_split_that_has_no_watermark_yet(tmp_path: Path) -> None:
    source = Fed("a", "new")
    driver = Driver(tmp_path, (source, MONOTONOUS.with_watermark_alignment("g", 20)))
    source.waiting = ["a"]
    driver.run(1_000, a=100)
    source.waiting = ["a"]
    assert driver.plan(1_001) == {"0/a": True}


def test_event_time_is_shown_by_split(tmp_path: Path) -> None:
    source = Fed("a", "b", "new")
    driver = Driver(tmp_path, (source, IDLE))
    source.waiting = ["a", "b"]
    driver.run(1_000, a=50, b=60)
    driver.run(1_100, a="idle", b=60)
    shown = driver.sources.event_time((), 1_100).to_json()
    assert shown["watermarks"] == {"s0": None}, "the new one holds the source back"
    assert shown["splits"]["s0"] == {
        "a": {"watermark": 50, "idle": True, "quiet_since": 1_000},
        "b": {"watermark": 60, "idle": False, "quiet_since": 1_000},
        "new": {"watermark": None, "idle": False, "quiet_since": 1_000},
    }
