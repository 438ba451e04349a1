"""Plans of epochs are made while another epoch runs, and never used twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget, SplitRead
from penstock.engine.pipelined.live_header import LiveOrders, LiveSettings, live_header
from penstock.engine.pipelined.plan_ahead import PlanAhead
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead

SECONDS = 30


class Planner:
    """Numbers plans, and tells which thread made them."""

    def __init__(self) -> None:
        self.made: list[Future[threading.Thread]] = [Future() for _ in range(5)]
        self.count = 0
        self.fails = False

    def __call__(self) -> int:
        number, self.count = self.count, self.count + 1
        self.made[number].set_result(threading.current_thread())
        if self.fails:
            raise ConnectionError("the JVM is gone")
        return number


@pytest.fixture
def planner() -> Planner:
    return Planner()


@pytest.fixture
def plans(planner: Planner) -> Iterator[PlanAhead]:
    plans = PlanAhead(planner, "job")
    yield plans
    plans.close()


def test_the_first_plan_is_made_at_once_and_the_next_one_beside_the_epoch(planner: Planner, plans: PlanAhead) -> None:
    assert plans.take() == 0
    plans.make_next(0)
    assert planner.made[1].result(SECONDS) is not threading.current_thread()
    assert plans.take() == 1
    assert plans.take() == 2, "a plan is for one epoch"


def test_an_epoch_that_ends_before_its_time_does_not_wait_for_the_plan(planner: Planner, plans: PlanAhead) -> None:
    plans.make_next(SECONDS * 100)
    assert plans.take() == 0
    plans.close()
    assert planner.count == 1


def test_what_went_wrong_is_told_to_whoever_needs_the_plan(planner: Planner, plans: PlanAhead) -> None:
    planner.fails = True
    plans.make_next(0)
    planner.made[0].result(SECONDS)
    with pytest.raises(ConnectionError, match="the JVM is gone"):
        plans.take()


def test_orders_are_read_as_they_were_written() -> None:
    header = EpochHeader(
        "job", EpochId(1, 7), 0, now=5, index=None, ended_sources=(), budget=EpochBudget(1, 1, 1), bounded=False
    )
    tasks = [[PlannedRead(3, 9, "t-0", SplitRead("t-0", 5, None, {"topic": "t"}))], []]
    live = live_header(header, tasks, LiveSettings(10.0, 0.005))
    assert LiveOrders.from_bytes(LiveOrders(live, tasks).to_bytes()) == LiveOrders(live, tasks)
    assert live.orders.startswith(live.directory)
