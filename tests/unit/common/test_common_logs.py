from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.common.logs import (
    about_the_same,
    configure_logging,
    configure_task_logging,
    job_logger,
    logging_about,
    made_about,
)


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


def test_lines_of_any_logger_say_what_the_thread_works_on() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)

    def rows() -> Iterator[int]:
        logging.getLogger("penstock.state.lmdb_store").info("grows")
        job_logger("j", "count").info("ends")
        yield 1

    assert list(made_about(rows(), job="j", operator="map; count", epoch=7)) == [1]
    logging.getLogger("penstock.state.lmdb_store").info("nobody's")
    inside, known_better, outside = map(json.loads, stream.getvalue().splitlines())
    assert (inside["job"], inside["operator"], inside["epoch"]) == ("j", "map; count", 7)
    assert (known_better["operator"], known_better["epoch"]) == ("count", 7)
    assert "job" not in outside


def test_a_thread_can_be_told_what_the_one_that_starts_it_works_on() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    with logging_about(job="j", operator="count"):
        thread = threading.Thread(target=about_the_same(logging.getLogger("penstock.x").info), args=("%d", 5))
    thread.start()
    thread.join()
    line = json.loads(stream.getvalue())
    assert (line["job"], line["operator"], line["message"]) == ("j", "count", "5")


@contextmanager
def bare_process() -> Iterator[logging.Logger]:
    """A process in which nobody has set up logging."""
    program, penstock = logging.getLogger(), logging.getLogger("penstock")
    before, level = list(program.handlers), program.level
    program.handlers[:], penstock.handlers[:] = [], []
    try:
        yield program
    finally:
        program.handlers[:] = before
        program.setLevel(level)


def test_a_task_process_writes_the_programs_messages_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    with bare_process(), logging_about(job="j", operator="count", subtask=1):
        configure_task_logging("info", "json")
        logging.getLogger("payments").info("rare: %s", "x")
    line = json.loads(capsys.readouterr().err)
    assert (line["logger"], line["message"]) == ("payments", "rare: x")
    assert (line["job"], line["operator"], line["subtask"]) == ("j", "count", 1)


def test_what_the_program_has_set_up_for_its_messages_stays() -> None:
    with bare_process() as program:
        program.addHandler(own := logging.NullHandler())
        configure_task_logging("info", "json")
        assert program.handlers == [own]


def test_in_the_drivers_process_the_programs_loggers_are_left_alone() -> None:
    with bare_process() as program:
        configure_logging("info", "text", io.StringIO())
        configure_task_logging("info", "json")
        assert program.handlers == []
