"""Epochs that follow a target latency: the driver loop on the local engine, in virtual time."""

from __future__ import annotations

from typing import Any

from penstock.common import Configuration
from penstock.testing import ScriptedSource, VirtualClock, local_environment, pause, record

CLOCK = VirtualClock()
WORKED = [0]


def work(number: int) -> int:
    """A hundred records take a millisecond. By name, so that tasks use the clock of this process."""
    WORKED[0] += 1
    if WORKED[0] % 100 == 0:
        CLOCK.advance(1)
    return number


def epochs_of(client: Any) -> list[int]:
    return [epoch["records"] for epoch in client.metrics()["recent_epochs"]]


def options(**given: str) -> Configuration:
    configuration = Configuration()
    for key, value in given.items():
        configuration.set_string(f"execution.{key.replace('_', '-')}", value)
    return configuration


SEEN: list[int] = []


def keep(number: int) -> None:
    SEEN.append(number)


def run(configuration: Configuration, last: int) -> tuple[Any, list[int]]:
    """The job that works on numbers, and what it has seen."""
    env = local_environment(configuration, clock=CLOCK)
    SEEN.clear()
    env.from_sequence(1, last).map(work).add_sink(keep)
    client = env.execute_async()
    client.wait()
    return client, list(SEEN)


def test_epochs_grow_to_half_of_the_target_while_there_is_a_backlog() -> None:
    client, seen = run(options(target_latency="200 ms"), 80_000)
    sizes = epochs_of(client)
    assert seen == list(range(1, 80_001))
    assert client.metrics()["epochs"] == len(sizes)
    # The smallest epoch is what the smallest part of max-bytes allows: 1 MB of 256.
    assert sizes[0] == round(1_000_000 / 256)
    assert all(8_000 <= size <= 12_000 for size in sizes[3:-1])


def test_without_a_target_epochs_are_as_large_as_the_limits_allow() -> None:
    client, _ = run(options(), 30_000)
    assert epochs_of(client) == [30_000]


def test_the_limits_hold_with_a_target_too() -> None:
    configuration = options(target_latency="10 min")
    configuration.set_string("execution.epoch.max-records", "5000")
    client, seen = run(configuration, 20_000)
    assert max(epochs_of(client)) == 5_000
    assert len(seen) == 20_000


def test_a_job_that_keeps_up_waits_for_records_before_it_begins_an_epoch() -> None:
    """A record in ten milliseconds, and a second to get it done: epochs begin a second apart, and not at once."""
    script = [step for number in range(5) for step in (record(number), pause("10 ms"))]
    ends: list[int] = []
    for configuration in (options(), options(target_latency="1 s")):
        clock = VirtualClock()
        env = local_environment(configuration, clock=clock)
        env.from_source(ScriptedSource(script)).add_sink(keep)
        env.execute()
        ends.append(clock.now())
    assert ends[0] < 200
    assert 4_000 <= ends[1] < 8_000


def test_metrics_tell_how_long_operators_work_and_whether_sources_wait() -> None:
    configuration = options()
    configuration.set_string("execution.epoch.max-records", "1000")
    env = local_environment(configuration)
    stream = env.from_sequence(1, 5_000).uid("numbers").map(str).uid("texts").key_by(lambda text: text[-1])
    stream.reduce(lambda one, other: one).uid("first").add_sink(lambda text: None).uid("out")
    client = env.execute_async()
    client.wait()
    metrics = client.metrics()
    assert set(metrics["busy_ms"]) == {"numbers", "texts", "first", "out"}
    assert all(ms > 0 for ms in metrics["busy_ms"].values())
    assert sum(metrics["busy_ms"].values()) <= sum(task["busy_ms"] for task in metrics["tasks"].values()) * 1.05 + 5
    assert 0 < metrics["back_pressure"]["numbers"] < 1


def test_a_source_that_is_read_to_its_end_does_not_wait() -> None:
    env = local_environment()
    env.from_sequence(1, 100).uid("numbers").add_sink(lambda number: None)
    client = env.execute_async()
    client.wait()
    assert client.metrics()["back_pressure"].get("numbers", 0.0) == 0.0
