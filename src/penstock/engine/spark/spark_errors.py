"""Spark's errors in one sentence: the Python side of what happened, without the Java stack."""

from __future__ import annotations

import re

_MAX_LENGTH = 600
_PYTHON_ERROR = re.compile(r"^[\w.]+(?:Error|Exception|Exit|Interrupt)(?:: .+)?$", re.MULTILINE)
_JAVA_ERROR = re.compile(r"^: [\w.$]+(?:Error|Exception): (.+)$", re.MULTILINE)
_DEAD_WORKER = re.compile(r"Python worker exited unexpectedly[^\n.]*")
_LOST = re.compile(r"(ExecutorLostFailure[^\n]*|SparkContext[^\n]*(?:stopped|shut down)[^\n]*)")


def short_message(error: BaseException) -> str:
    """What a person needs of a Spark error."""
    text = str(error)
    dead = _DEAD_WORKER.search(text)
    if dead:
        return (
            f"{dead.group(0)}: it was killed (most often for want of memory), native code in it crashed, or the "
            "program ended it (os._exit)"
        )
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
