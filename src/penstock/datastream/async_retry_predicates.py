"""Common reasons to make an asynchronous call again, under PyFlink's module path."""

from __future__ import annotations

from penstock.functions.async_retry import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
