from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import Iterator

import pytest

from penstock.common.logs import configure_logging, job_logger


@pytest.fixture(autouse=True)
def untouched_logger() -> Iterator[None]:
    logger = logging.getLogger("penstock")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before[0], before[1], before[2]


def test_a_json_line_says_what_it_is_about() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    log = job_logger("word count", "count words", subtask=3).bind(epoch=12)

    log.info("restored %d entries", 1000, extra={"seconds": 0.5})

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "INFO",
        "process": os.getpid(),
        "logger": "penstock.job",
        "job": "word count",
        "operator": "count words",
        "subtask": 3,
        "epoch": 12,
        "seconds": 0.5,
        "message": "restored 1000 entries",
    }


def test_a_text_line_quotes_what_is_no_plain_word() -> None:
    stream = io.StringIO()
    configure_logging("info", "text", stream)
    job_logger("counts", "map").warning('said "hi"\nand left')
    line = stream.getvalue()
    assert "level=WARNING" in line
    assert line.endswith(r'logger=penstock.job job=counts operator=map message="said \"hi\"\nand left"' + "\n")


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_traceback_stays_in_its_line(form: str) -> None:
    stream = io.StringIO()
    configure_logging("info", form, stream)
    try:
        raise ValueError("broken")
    except ValueError:
        job_logger("j").exception("failed")
    assert stream.getvalue().count("\n") == 1
    assert "ValueError: broken" in stream.getvalue()


def test_messages_below_the_level_are_dropped() -> None:
    stream = io.StringIO()
    configure_logging("warning", "text", stream)
    job_logger("j").info("quiet")
    assert stream.getvalue() == ""


def test_configuring_again_replaces_and_binding_does_not_change_the_original() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging("info", "json", first)
    configure_logging("info", "json", second)
    log = job_logger("j")
    log.bind(epoch=1)
    log.info("hello")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1
    assert "epoch" not in json.loads(second.getvalue())
