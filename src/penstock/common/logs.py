"""Structured logs: one line per message, with the job, operator, subtask and epoch that it is about."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, ParamSpec, TextIO, TypeVar

_ROOT = "penstock"
_Row = TypeVar("_Row")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_about: ContextVar[Mapping[str, Any]] = ContextVar("penstock-log-context", default=MappingProxyType({}))
"""What this thread works on; a logger that knows better says so itself."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+@%,[]*#")


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that says in every line what the message is about."""

    def __init__(self, logger: logging.Logger, context: dict[str, Any]) -> None:
        super().__init__(logger, context)
        self._context = context

    def bind(self, **context: Any) -> JobLogger:
        """The same logger with more known: `log.bind(epoch=7)`."""
        return JobLogger(self.logger, {**self._context, **context})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Adds what is known, and the `extra` of the call, to the record."""
        kwargs["extra"] = {"context": {**self._context, **(kwargs.get("extra") or {})}}
        return msg, kwargs


def job_logger(job: str, operator: str | None = None, subtask: int | None = None, **context: Any) -> JobLogger:
    """A logger for a job, or for an operator of it.

    >>> log = job_logger("word count", "count words", subtask=3)
    >>> log.bind(epoch=12).info("state restored", extra={"entries": 1000})
    """
    known = {"job": job, "operator": operator, "subtask": subtask, **context}
    return JobLogger(
        logging.getLogger(f"{_ROOT}.job"), {key: value for key, value in known.items() if value is not None}
    )


@contextmanager
def logging_about(**context: Any) -> Generator[None]:
    """Lets every line that this thread writes meanwhile, by whatever logger, say what it is about."""
    before = _about.get()
    _about.set({**before, **context})
    try:
        yield
    finally:
        # No `reset`: a generator that is given up may end in another thread than it began in.
        _about.set(before)


def made_about(rows: Iterator[_Row], **context: Any) -> Iterator[_Row]:
    """The rows; while they are made, lines of this thread say what they are about."""
    with logging_about(**context):
        yield from rows


def about_the_same(call: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The call, for another thread to make: its lines say what this thread works on now.

    A new thread knows nothing of it. No more than that is handed on: with a whole context, threads would share what
    libraries keep there, such as the precision of decimal numbers.
    """
    about = _about.get()

    def called(*arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        with logging_about(**about):
            return call(*arguments, **named)

    return called


def configure_logging(level: str = "info", form: str = "text", stream: TextIO | None = None) -> None:
    """Makes this process write Penstock's messages to a stream (stderr unless given), in one form.

    Calling it again replaces what the last call set up; loggers of others are left alone.
    """
    logger = logging.getLogger(_ROOT)
    for handler in [handler for handler in logger.handlers if isinstance(handler, _StructuredHandler)]:
        logger.removeHandler(handler)
    handler = _StructuredHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else KeyValueFormatter())
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


def configure_logging_once(level: str, form: str) -> None:
    """`configure_logging`, unless the program has given Penstock's messages a handler itself."""
    if not logging.getLogger(_ROOT).handlers:
        configure_logging(level, form)


def configure_task_logging(level: str, form: str) -> None:
    """`configure_logging_once` for a process of tasks; where it is nobody else's, also for the program's loggers.

    In the driver's process, and where the program has set up logging itself, the program's loggers are left alone.
    """
    penstock, program = logging.getLogger(_ROOT), logging.getLogger()
    if penstock.handlers:
        return
    configure_logging(level, form)
    if not program.handlers:
        program.addHandler(penstock.handlers[0])
        program.setLevel(level.upper())


class _StructuredHandler(logging.StreamHandler[TextIO]):
    pass


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return json.dumps(_facts(record), default=str, ensure_ascii=False)


class KeyValueFormatter(logging.Formatter):
    """`key=value` pairs, one line per message; values that are not plain words are in quotes."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return " ".join(f"{key}={_quoted(value)}" for key, value in _facts(record).items())


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    moment = datetime.fromtimestamp(record.created, UTC)
    facts: dict[str, Any] = {
        "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname,
        "process": record.process,
        "logger": record.name,
        **_about.get(),
        **getattr(record, "context", {}),
        "message": record.getMessage(),
    }
    if record.exc_info:
        facts["exception"] = logging.Formatter().formatException(record.exc_info)
    return facts


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if text and _PLAIN.issuperset(text) else json.dumps(text, ensure_ascii=False)
