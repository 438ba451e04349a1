"""State that is too large for one process: read and written in parts, by tasks, and never more of it in memory."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from penstock.engine.epochs import placing, spreading
from penstock.engine.local.engine import LocalEngine
from penstock.state import Savepoint, stored_states
from penstock.state.savepoints import subtask_tables
from savepoints.ledger_job import AtEpoch, build, environment, published, stopped_with_savepoint


class Tasks:
    """Calls in tasks, as it were: what goes there and comes back is pickled."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def __call__(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        self.parts += parts
        return [_pickled(_pickled(work)(_pickled(part))) for part in parts]


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tasks]:
    monkeypatch.setattr(spreading, "SMALL_BYTES", 0)
    monkeypatch.setattr(placing, "PIECE_BYTES", 2000)
    monkeypatch.setattr(subtask_tables, "FILE_ENTRIES", 5)
    monkeypatch.setattr(stored_states, "IN_MEMORY_BYTES", 0)
    calls = Tasks()
    with patch.object(LocalEngine, "spread", calls):
        yield calls


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    directory = tmp_path_factory.mktemp("whole")
    env = environment(directory)
    build(env, directory / "out", 2)
    env.execute()
    return compared(published(directory / "out"))


def compared(lines: Counter[str]) -> Counter[str]:
    return Counter({line: count for line, count in lines.items() if not line.startswith(("held", "rules"))})


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_savepoint_is_written_and_taken_up_by_tasks(
    tasks: Tasks, parallelism: int, tmp_path: Path, expected: Counter[str]
) -> None:
    env = environment(tmp_path / "first")
    build(env, tmp_path / "out", 2)
    savepoint = stopped_with_savepoint(env)
    assert {part.subtask for part in tasks.parts} == {0, 1}
    accounts = list(Path(savepoint, "states/ledger/account").glob("*.parquet"))
    assert len(accounts) > 2, "files have a bounded size"
    keys = Savepoint.load(savepoint).read("ledger", "account")["key"].to_pylist()
    assert len(set(keys)) == len(keys)
    tasks.parts.clear()
    env = environment(tmp_path / "second", **{"execution.savepoint.path": savepoint})
    build(env, tmp_path / "out", parallelism)
    env.execute()
    assert len(tasks.parts) > len(accounts), "a task for each file"
    assert compared(published(tmp_path / "out")) == expected


def test_a_checkpoint_is_laid_out_anew_by_tasks(tasks: Tasks, tmp_path: Path, expected: Counter[str]) -> None:
    env = environment(tmp_path)
    build(env, tmp_path / "out", 2)
    AtEpoch(5).run(env.execute_async, lambda client: client.cancel())
    env = environment(tmp_path)
    build(env, tmp_path / "out", 3)
    env.execute()
    assert compared(published(tmp_path / "out")) == expected
    assert len(tasks.parts) >= 2
