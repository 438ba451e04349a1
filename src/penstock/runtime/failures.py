"""Reports of failures in user code: the user's own traceback, and which record it was."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.call_site import is_own_file
from penstock.common.errors import (
    FailureReport,
    LocalStoreDamagedError,
    LocalStoreFullError,
    StateCorruptionError,
    UserFunctionError,
)
from penstock.runtime.operator import OperatorContext
from penstock.state.key_encoding import decode_key

REPR_LIMIT = 500
_NOT_THE_USERS_FAULT = (UserFunctionError, StateCorruptionError, LocalStoreDamagedError, LocalStoreFullError)


_observer: Callable[[Exception], None] | None = None


def observe(observer: Callable[[Exception], None] | None) -> None:
    """Calls `observer` with whatever user code raises in this process, where it was raised; None: nobody."""
    global _observer  # noqa: PLW0603  a debugger is there for the whole process
    _observer = observer


def user_function_error(
    error: Exception,
    context: OperatorContext,
    *,
    key: bytes | None = None,
    watermark: int | None = None,
    state: Mapping[str, Any] | None = None,
    keyed_at: str | None = None,
    **record: Any,
) -> Exception:
    """The error to raise for what user code raised. `record=...` is the record that it worked on, if any.

    `state` is what the state of the key holds, and `watermark` how far event time has come in the operator;
    `keyed_at` the line that names the key, if it is about that. Errors that are not about user code, and such as are
    reported already, come back as they are.
    """
    if isinstance(error, _NOT_THE_USERS_FAULT):
        return error
    if _is_about_the_result(error):
        error = TypeError(
            f"the function returned something of which results cannot be taken ({error}); "
            "expected it to yield its results, or to return an iterable of them or None"
        )
    report = FailureReport(
        error_type=type(error).__qualname__,
        message=_safe_text(error),
        traceback=user_traceback(error),
        operator=context.name,
        uid=context.uid,
        subtask=context.subtask,
        epoch=context.epoch.number,
        key=None if key is None else _key_repr(key),
        record=safe_repr(record["record"]) if record else None,
        call_site=context.call_site or None,
        keyed_at=keyed_at,
        watermark=watermark,
        state={name: safe_repr(value) for name, value in (state or {}).items()},
    )
    if _observer is not None:
        _observer(error)
    return UserFunctionError(report)


def safe_repr(value: object, limit: int = REPR_LIMIT) -> str:
    """`repr`, cut to a length, that never raises."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__qualname__} whose repr raised {type(error).__qualname__}>"
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def user_traceback(error: BaseException) -> str:
    """The traceback without Penstock's own frames."""
    summary = traceback.TracebackException.from_exception(error)
    _drop_own_frames(summary)
    return "".join(summary.format())


def _drop_own_frames(summary: traceback.TracebackException) -> None:
    while summary.__context__ is not None and _is_own(summary.__context__.stack):
        # What Penstock came across on its way to the error, such as a key that is not in a cache.
        summary.__context__ = summary.__context__.__context__
    frames = [frame for frame in summary.stack if not is_own_file(frame.filename)]
    # Without a stack, `format` leaves out its headline too.
    summary.stack = traceback.StackSummary.from_list(frames) if frames else None  # pyright: ignore[reportAttributeAccessIssue]
    for linked in (summary.__cause__, summary.__context__, *(summary.exceptions or ())):
        if linked is not None:
            _drop_own_frames(linked)


def _is_own(stack: traceback.StackSummary) -> bool:
    return bool(stack) and all(is_own_file(frame.filename) for frame in stack)


def _is_about_the_result(error: Exception) -> bool:
    """Whether the error arose where Penstock takes results out of what a function returned."""
    if not isinstance(error, TypeError) or not str(error).endswith("object is not iterable"):
        return False
    # A frame of the program in between means that it called something of ours with what cannot be iterated over.
    frames = traceback.extract_tb(error.__traceback__)
    return _is_own(frames)


def _safe_text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__qualname__} whose message cannot be read>"


def _key_repr(key: bytes) -> str:
    try:
        return safe_repr(decode_key(key))
    except Exception:
        return safe_repr(key)
