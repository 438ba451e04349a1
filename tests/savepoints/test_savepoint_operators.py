"""Every operator goes on from a savepoint as if nothing had been."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from conformance.operators import OPERATORS
from penstock.common import Configuration, Types
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.state import Savepoint
from savepoints.ledger_job import AtEpoch


def environment(directory: Path, checkpoint: str, **options: Any) -> StreamExecutionEnvironment:
    configuration = Configuration()
    settings = {
        "execution.engine": "local",
        "execution.checkpointing.dir": str(directory / checkpoint),
        "execution.epoch.max-records": str(12 * len(OPERATORS)),
    }
    for key, value in (settings | options).items():
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    labelled = [build(env).map(_Label(name), Types.STRING()) for name, build in OPERATORS.items()]
    labelled[0].union(*labelled[1:]).sink_to(FileSink(str(directory / "out"), "text"))
    return env


class _Label:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, record: Any) -> str:
        return f"{self._name}: {record}"


def published(directory: Path) -> Counter[str]:
    return Counter(line for path in (directory / "out").rglob("*.txt") for line in path.read_text().splitlines())


def test_a_savepoint_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    environment(tmp_path / "through", "first").execute()
    expected = published(tmp_path / "through")
    hook = AtEpoch(4)
    env = environment(tmp_path, "first")
    hook.run(env.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "savepoints")))
    savepoint = Savepoint.load(hook.result.result())
    assert 0 < sum(published(tmp_path).values()) < sum(expected.values())
    # What says what it is, is shown as that.
    assert [each.name for each in savepoint.states if each.form and each.form.value == "raw" and each.kind] == []
    environment(tmp_path, "second", **{"execution.savepoint.path": savepoint.path}).execute()
    assert published(tmp_path) == expected
