"""The events of Nexmark: what is fixed has its values, what is random has its distribution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nexmark.event_numbers import Settings
from nexmark.event_tables import channel_id
from nexmark.generator import Dataset, make_dataset
from nexmark.schema import LONG, TABLES

EVENTS = 100_000
BASE_TIME = 1_436_918_393_137


def tables_of(dataset: Dataset) -> dict[str, pa.Table]:
    blocks = list(dataset.blocks())
    return {name: pa.concat_tables([block[name] for block in blocks]) for name in TABLES}


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return tables_of(Dataset(EVENTS))


def numbers(table: pa.Table, name: str) -> Any:
    return table[name].to_numpy()


def youngest(event_ids: Any) -> tuple[Any, Any]:
    """The youngest person and auction of a time, counted one by one."""
    places, cycles = event_ids % 50, event_ids // 50
    auctions = np.where(places < 1, (cycles - 1) * 3 + 2, cycles * 3 + np.minimum(places - 1, 2))
    return cycles, auctions


def test_a_directory_has_the_layout_of_the_contract(tmp_path: Path) -> None:
    directory = make_dataset(tmp_path, Dataset(2_500, settings=Settings(rate=100), events_per_file=1_000))
    files = {path.name for path in directory.iterdir()}
    assert files == {f"{table}-0000{n}.parquet" for table in TABLES for n in range(3)} | {"side_input.csv", "meta.json"}
    meta = json.loads((directory / "meta.json").read_text())
    assert (meta["events"], meta["rate"], meta["seed"]) == (2_500, 100, 7)
    assert sum(meta["counts"].values()) == 2_500
    assert (directory / "side_input.csv").read_text().splitlines()[::9_999] == ["0,0", "9999,9999"]
    for table, columns in TABLES.items():
        types = {LONG: pa.int64()}
        expected = pa.schema([(name, types.get(kind, pa.string())) for name, kind in columns])
        read = [pq.read_table(directory / f"{table}-0000{n}.parquet") for n in range(3)]
        assert [part.schema for part in read] == [expected] * 3
        assert sum(map(len, read)) == meta["counts"][table]


def test_a_small_input_is_one_file_a_table(tmp_path: Path) -> None:
    Dataset(100).write(tmp_path)
    assert {path.name for path in tmp_path.glob("*.parquet")} == {f"{table}.parquet" for table in TABLES}


def test_the_same_seed_gives_the_same_events() -> None:
    dataset = Dataset(3_000, events_per_file=1_000)
    first, again = tables_of(dataset), tables_of(dataset)
    assert all(first[name].equals(again[name]) for name in TABLES)
    other = tables_of(Dataset(3_000, seed=8, events_per_file=1_000))
    assert not first["bids"].equals(other["bids"])
    assert first["bids"]["seq"].equals(other["bids"]["seq"])


def test_kinds_ids_and_times_follow_from_the_arrival_number(tables: dict[str, pa.Table]) -> None:
    seqs = np.sort(np.concatenate([numbers(table, "seq") for table in tables.values()]))
    assert np.array_equal(seqs, np.arange(EVENTS))
    for name, first, last in (("persons", 0, 0), ("auctions", 1, 3), ("bids", 4, 49)):
        seq = numbers(tables[name], "seq")
        assert np.array_equal(np.unique((seq + 2) % 50), np.arange(first, last + 1))
        assert np.array_equal(numbers(tables[name], "dateTime"), BASE_TIME + (seq + 1) // 10)
    persons, _ = youngest(numbers(tables["persons"], "seq") + 2)
    assert np.array_equal(numbers(tables["persons"], "id"), persons + 1000)
    _, auctions = youngest(numbers(tables["auctions"], "seq") + 2)
    assert np.array_equal(numbers(tables["auctions"], "id"), auctions + 1000)
    # The first event has the id 2, and is the second auction of its cycle.
    assert tables["auctions"]["seq"][0].as_py() == 0
    assert tables["auctions"]["id"][0].as_py() == 1001


def test_bids_are_on_hot_and_recent_auctions(tables: dict[str, pa.Table]) -> None:
    persons, auctions = youngest(numbers(tables["bids"], "seq") + 2)
    auction = numbers(tables["bids"], "auction") - 1000
    assert (auction >= np.maximum(auctions - 100, 0)).all()
    assert (auction <= auctions + 10).all()
    assert np.mean(auction == auctions // 100 * 100) == pytest.approx(0.505, abs=0.01)
    bidder = numbers(tables["bids"], "bidder") - 2000
    assert (bidder >= np.maximum(persons - 999, 0)).all()
    assert (bidder < persons + 11).all()
    assert np.mean(bidder == persons // 100 * 100 + 1) == pytest.approx(0.75, abs=0.01)


def test_prices_are_log_uniform(tables: dict[str, pa.Table]) -> None:
    price = numbers(tables["bids"], "price")
    assert price.min() >= 100
    assert price.max() <= 100_000_000
    shares = np.histogram(np.log10(price), bins=6, range=(2, 8))[0] / len(price)
    assert shares == pytest.approx([1 / 6] * 6, abs=0.01)
    auctions = tables["auctions"]
    assert (numbers(auctions, "reserve") - numbers(auctions, "initialBid") >= 100).all()


def test_channels_have_urls_of_their_own(tables: dict[str, pa.Table]) -> None:
    bids = tables["bids"].select(["channel", "url"])
    pairs = bids.group_by(["channel", "url"]).aggregate([([], "count_all")]).to_pylist()
    assert len({pair["channel"] for pair in pairs}) == len(pairs)
    hot = {pair["channel"]: pair["count_all"] for pair in pairs if not pair["channel"].startswith("channel-")}
    assert set(hot) == {"Google", "Facebook", "Baidu", "Apple"}
    assert sum(hot.values()) / len(bids) == pytest.approx(0.5, abs=0.01)
    cold = [pair for pair in pairs if pair["channel"] not in hot]
    ids = [pair for pair in cold if "&channel_id=" in pair["url"]]
    assert len(ids) / len(cold) == pytest.approx(0.9, abs=0.02)
    for pair in ids[:100]:
        number = int(pair["channel"].removeprefix("channel-"))
        assert pair["url"].endswith(f"&channel_id={channel_id(number)}")
    for pair in pairs:
        _, _, host, *folders, page = pair["url"].split("/")
        assert host == "www.nexmark.com"
        assert page.startswith("item.htm?query=1")
        assert [3 <= len(folder) <= 4 for folder in folders] == [True] * 3


@pytest.mark.parametrize(
    ("number", "expected"), [(0, 0), (1, -(1 << 31)), (2, 1 << 30), (3, 1 << 30), (4, 1 << 29), (5, 3 << 29)]
)
def test_channel_ids_are_reversed_bits(number: int, expected: int) -> None:
    assert channel_id(number) == expected


def test_auctions_are_open_for_a_while(tables: dict[str, pa.Table]) -> None:
    auctions = tables["auctions"]
    open_for = numbers(auctions, "expires") - numbers(auctions, "dateTime")
    assert open_for.min() >= 1
    assert open_for.max() <= 2 * 167
    assert open_for.mean() == pytest.approx(167, abs=5)
    assert np.array_equal(np.unique(numbers(auctions, "category")), np.arange(10, 15))
    persons, _ = youngest(numbers(auctions, "seq") + 2)
    seller = numbers(auctions, "seller") - 1000
    assert np.mean(seller == persons // 100 * 100) == pytest.approx(0.75, abs=0.02)


def test_texts_have_their_sizes(tables: dict[str, pa.Table]) -> None:
    def sizes(table: str, column: str) -> Any:
        return np.array([len(text) for text in tables[table][column].to_pylist()])

    assert (sizes("bids", "extra").min(), sizes("bids", "extra").max()) == (54, 81)
    assert sizes("auctions", "itemName").max() <= 19
    assert sizes("auctions", "description").max() <= 99
    used = 48 + sizes("auctions", "itemName") + sizes("auctions", "description")
    assert (used + sizes("auctions", "extra")).mean() == pytest.approx(500, rel=0.02)
    texts = ("name", "emailAddress", "creditCard", "city", "state", "extra")
    assert (8 + sum(sizes("persons", name) for name in texts)).mean() == pytest.approx(200, rel=0.02)
    assert all(
        [len(group) for group in card.split(" ")] == [4] * 4 for card in tables["persons"]["creditCard"].to_pylist()
    )
    letters = "".join(tables["bids"]["extra"].to_pylist()[:10_000])
    assert letters.count("c") / len(letters) == pytest.approx(1 / 26, rel=0.05)
    names = tables["auctions"]["itemName"].to_pylist()
    assert all(name == name.strip() for name in names)
    assert "".join(names).count(" ") / len("".join(names)) == pytest.approx(0.06, abs=0.03)


def test_disorder_stays_within_its_group() -> None:
    bids = tables_of(Dataset(5_000, settings=Settings(out_of_order_group=1_000)))["bids"]
    times = numbers(bids, "dateTime")
    assert (np.diff(times) < 0).any()
    assert (np.maximum.accumulate(times) - times).max() <= 99
    assert len(np.unique(numbers(bids, "seq"))) == len(bids)


def test_bidders_may_have_the_ids_of_persons() -> None:
    bids = tables_of(Dataset(5_000, settings=Settings(double_bidder_offset=False)))["bids"]
    assert numbers(bids, "bidder").min() < 2000
