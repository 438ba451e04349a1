"""Savepoints of every released format version are restored."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.common import Types
from penstock.common.errors import JobExecutionException
from penstock.datastream.functions import RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.state import Savepoint
from penstock.state.savepoints.header import FORMAT_VERSION
from savepoints.ledger_job import RECORDS, Ledger, build, environment, published

GOLDEN = sorted(path for path in (Path(__file__).parent / "golden").iterdir() if path.is_dir())


@pytest.fixture(params=GOLDEN, ids=lambda path: path.name)
def golden(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_version_of_the_format_has_a_golden_savepoint() -> None:
    assert [path.name for path in GOLDEN] == [f"v{version}" for version in range(1, FORMAT_VERSION + 1)]


def compared(lines: Counter[str]) -> Counter[str]:
    return Counter({line: count for line, count in lines.items() if not line.startswith(("held", "rules"))})


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    directory = tmp_path_factory.mktemp("whole")
    env = environment(directory)
    build(env, directory / "out", 2)
    env.execute()
    return compared(published(directory / "out"))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_restored(golden: Path, parallelism: int, tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path, **{"execution.savepoint.path": str(golden / "savepoint")})
    build(env, tmp_path / "out", parallelism)
    env.execute()
    before = Counter((golden / "published.txt").read_text().splitlines())
    assert compared(before + published(tmp_path / "out")) == expected
    rules = [line for line in (before + published(tmp_path / "out")).elements() if line.startswith("rules")]
    assert len(rules) == len(RECORDS)


def test_read(golden: Path) -> None:
    savepoint = Savepoint.load(str(golden / "savepoint"))
    assert 0 < savepoint.records_read < len(RECORDS)
    accounts = savepoint.read("ledger", "account")
    lists = savepoint.read("ledger", "recent")
    assert sum(row["count"] for row in accounts["value"].to_pylist()) == len(lists)
    assert accounts.schema.field("key").type == "string"
    assert set(savepoint.read("windows", "window: contents").column_names) >= {"key", "window_start", "window_end"}
    assert savepoint.read("with rules", "rules").num_rows == 5
    assert savepoint.timers("ledger").num_rows >= 13
    assert savepoint.offsets().to_pylist()[0]["uid"] == "records"


class ChangedLedger(Ledger):
    """Declares what does not fit."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.other = runtime_context.get_state(ValueStateDescriptor("objects", Types.LONG()))
        super().open(runtime_context)


def test_a_state_of_another_type_is_refused(golden: Path, tmp_path: Path) -> None:
    savepoint = str(golden / "savepoint")
    env = environment(tmp_path, **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", 2, ledger=ChangedLedger())
    with pytest.raises(JobExecutionException, match=r"'objects' of operator 'ledger' .*pickled Python objects"):
        env.execute()


def test_a_renamed_uid_and_a_changed_state(golden: Path, tmp_path: Path, expected: Counter[str]) -> None:
    """The ledger's state goes to an operator of another uid and back."""
    savepoint = Savepoint.load(str(golden / "savepoint"))
    changed = savepoint.rename_uid("ledger", "x").write(str(tmp_path / "renamed")).rename_uid("x", "ledger")
    path = changed.change("ledger", "account", lambda table: table).write(str(tmp_path / "changed")).path
    env = environment(tmp_path, **{"execution.savepoint.path": path})
    build(env, tmp_path / "out", 3)
    env.execute()
    before = Counter((golden / "published.txt").read_text().splitlines())
    assert compared(before + published(tmp_path / "out")) == expected
