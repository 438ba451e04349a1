"""q12, bids in windows of the clock: every bid is counted once, and a result that cannot be judged is told as such."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nexmark.bid_totals import bids_left_open, total_differences
from nexmark.events import Events
from nexmark.program import Arguments, run
from nexmark.queries import q12
from nexmark.result_rows import read_rows
from nexmark.small_dataset import EVENTS_PER_EPOCH, SMALL_DATASET
from penstock.common import Configuration
from penstock.testing import VirtualClock, local_environment


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nexmark")
    SMALL_DATASET.write(directory)
    return directory


@pytest.fixture(scope="module")
def bidders(events: Path) -> list[int]:
    return [bidder for path in sorted(events.glob("bids*")) for bidder in pq.read_table(path)["bidder"].to_pylist()]


class HurriedClock(VirtualClock):
    """Some time passes whenever somebody looks."""

    def now(self) -> int:
        self.advance("3 s")
        return super().now()


@pytest.mark.parametrize("records_per_epoch", [300, 1_000, 2_500])
def test_every_bid_is_in_one_window(events: Path, bidders: list[int], records_per_epoch: int) -> None:
    configuration = Configuration()
    configuration.set_integer("execution.epoch.max-records", records_per_epoch)
    env = local_environment(configuration, clock=HurriedClock())
    rows = list(q12.results(Events(env, events)).execute_and_collect())
    assert len({(row.bidder, row.starttime) for row in rows}) == len(rows)
    assert {row.endtime - row.starttime for row in rows} == {10_000}
    counted: Counter[int] = Counter()
    for row in rows:
        counted[row.bidder] += row.bid_count
    # Bids come in order, so that those of the window that is open at the end are the last ones.
    ended = counted.total()
    assert ended >= len(bidders) / 2
    assert counted == Counter(bidders[:ended])


def test_the_program_reports_what_can_be_judged(
    events: Path, bidders: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    arguments = Arguments("q12", events, tmp_path, tmp_path / "result.json", records_per_epoch=EVENTS_PER_EPOCH)
    run(arguments)
    result = json.loads(arguments.result.read_text())
    total = sum(row[1] for row in read_rows("q12", Path(result["output"])))
    assert total_differences(total, len(bidders), result["samples"]) == ()


def test_bids_of_the_last_ten_seconds_may_be_missing() -> None:
    samples = [(500, 4.0), (300, 6.0), (200, 5.0)]
    assert bids_left_open(samples) == 500
    assert total_differences(1_000, 1_000, samples) == ()
    assert total_differences(500, 1_000, samples) == ()
    (lost,) = total_differences(499, 1_000, samples)
    assert lost == "499 bids in all windows; right are 1000, less up to 500 in open windows"
    assert total_differences(1_001, 1_000, samples)


def test_a_result_without_a_total_is_told_as_such() -> None:
    (problem,) = total_differences(None, 1_000, [(1_000, 4.0)])
    assert "bid_total" in problem
