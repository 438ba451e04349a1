from __future__ import annotations

from penstock.runtime.metrics import Meter, MetricGroup


def test_counters_go_up_and_down_and_are_found_again_by_name() -> None:
    metrics = MetricGroup()
    metrics.counter("seen").inc()
    metrics.counter("seen").inc(5)
    metrics.counter("seen").dec(2)
    assert metrics.snapshot()["counters"] == {"seen": 4}


def test_groups_give_their_names_to_what_is_in_them() -> None:
    metrics = MetricGroup()
    metrics.add_group("cache").counter("hits").inc()
    metrics.add_group("shard", "7").counter("hits").inc(2)
    assert metrics.snapshot()["counters"] == {"cache.hits": 1, "shard.7.hits": 2}


def test_a_gauge_is_read_when_metrics_are_read() -> None:
    metrics = MetricGroup()
    sizes = [1]
    metrics.gauge("size", lambda: len(sizes))
    sizes.append(2)
    assert metrics.snapshot()["gauges"] == {"size": 2}


def test_a_gauge_that_raises_reads_as_nothing() -> None:
    metrics = MetricGroup()
    metrics.gauge("broken", lambda: 1 // 0)
    assert metrics.snapshot()["gauges"] == {"broken": None}


def test_a_distribution_knows_count_sum_least_and_greatest() -> None:
    metrics = MetricGroup()
    for value in (5, -1, 3):
        metrics.distribution("delay").update(value)
    assert metrics.snapshot()["distributions"] == {"delay": {"count": 3, "sum": 7, "min": -1, "max": 5}}


def test_the_rate_of_a_meter_covers_its_time_span_only() -> None:
    now = [100.0]
    meter = Meter(10, clock=lambda: now[0])
    meter.mark_event(50)
    now[0] = 105.0
    meter.mark_event(30)
    assert meter.get_rate() == 80 / 5
    now[0] = 113.0
    assert meter.get_rate() == 30 / 10
    now[0] = 200.0
    assert meter.get_rate() == 0
    assert meter.get_count() == 80
