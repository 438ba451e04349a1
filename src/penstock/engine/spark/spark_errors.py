"""Spark's errors in one sentence: the Python side of what happened, without the Java stack."""

from __future__ import annotations

import re

_MAX_LENGTH = 600
_PYTHON_ERROR = re.compile(r"^(?:[\w.]+(?:Error|Exception|Exit|Interrupt)): .+$", re.MULTILINE)
_JAVA_ERROR = re.compile(r"^: [\w.$]+(?:Error|Exception): (.+)$", re.MULTILINE)
_LOST = re.compile(
    r"(ExecutorLostFailure[^\n]*|Python worker exited unexpectedly[^\n]*|SparkContext[^\n]*(?:stopped|shut down)[^\n]*)"
)


def short_message(error: BaseException) -> str:
    """What a person needs of a Spark error; the whole of it stays the exception's cause."""
    text = str(error)
    lost = _LOST.search(text)
    if lost:
        return lost.group(0)[:_MAX_LENGTH]
    python = [line for line in _PYTHON_ERROR.findall(text) if not line.startswith(("org.", "java."))]
    if python:
        return python[-1][:_MAX_LENGTH]
    java = _JAVA_ERROR.search(text)
    if java:
        return java.group(1)[:_MAX_LENGTH]
    return text.strip().splitlines()[0][:_MAX_LENGTH] if text.strip() else type(error).__name__
