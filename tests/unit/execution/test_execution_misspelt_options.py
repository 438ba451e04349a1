"""A typing error in the name of an option is told when the job starts: it would have no effect, without a word."""

from __future__ import annotations

import logging

import pytest

from penstock.common import Configuration
from penstock.testing import local_environment


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def warnings_with(key: str) -> list[str]:
    """What is told when a job starts that has the option."""
    env = local_environment(Configuration().set_string(key, "1"))
    kept, logger = _Kept(), logging.getLogger("penstock.job")
    logger.addHandler(kept)
    try:
        assert list(env.from_collection([1]).execute_and_collect()) == [1]
    finally:
        logger.removeHandler(kept)
    return kept.messages


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("execution.checkpoint.dir", "execution.checkpointing.dir"),
        ("execution.checkpointing.directory", "execution.checkpointing.dir"),
        ("paralelism.default", "parallelism.default"),
        ("execution.epoch.max_records", "execution.epoch.max-records"),
    ],
)
def test_a_key_much_like_an_option_is_told(key: str, meant: str) -> None:
    assert warnings_with(key) == [f"there is no option {key}, it has no effect; did you mean {meant}?"]


@pytest.mark.parametrize(
    "key",
    [
        "execution.epoch.max-records",
        "own.option",
        "spark.mastr",
        "execution.checkpointing.incremental",  # Flink's, without a counterpart here
        "execution.checkpointing.storage",
        "python.fn-execution.bundle.size",
    ],
)
def test_options_and_what_is_not_like_one_are_not(key: str) -> None:
    assert warnings_with(key) == []
