"""What tests of pipelined mode share: its tasks in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.execution import engines
from pipelined.virtual_time import install_virtual_time


@pytest.fixture(scope="module")
def tasks_in_this_process() -> Iterator[None]:
    """Pipelined jobs need no Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(engines._ENGINES, "pipelined", ("pipelined.local_pipelined", "LocalPipelinedEngine"))
        yield


@pytest.fixture(scope="module")
def virtual_time(tasks_in_this_process: None) -> Iterator[None]:
    """Nor do they wait for anything."""
    with pytest.MonkeyPatch.context() as patch:
        install_virtual_time(patch)
        yield
