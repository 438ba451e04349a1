"""Word that the driver and the tasks of a Spark job leave for each other: files that are there whole or not at all.

Nothing in them is state, and none outlives the job: they need not survive a power failure, and wait for no disk.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from itertools import count

from penstock.common.errors import FencedError
from penstock.engine.pipelined.live_header import WORD_OF_TASKS, LiveOrders, orders_of
from penstock.state.storage import CheckpointStorage

_LOOK_SECONDS = 0.002
"""How often a task that has nothing to do looks for orders: records wait for it."""
_LOOKS_FOR_DRIVER = 100
"""After so many looks in vain a task looks whether there is somebody who could give orders."""


def leave_word(storage: CheckpointStorage, path: str, content: bytes = b"") -> None:
    """Writes a file in a directory that is there; `FencedError` where it has gone, with the driver that made it."""
    target = storage.resolve(path)
    unfinished = target.with_name(f".{uuid.uuid4().hex}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    except FileNotFoundError as error:
        raise FencedError(f"{target.parent} is gone: another driver has taken over the job, or it has ended") from error


def orders_in_turn(storage: CheckpointStorage, spark_job: str) -> Iterator[LiveOrders]:
    """What the tasks of a Spark job are to do, epoch after epoch, as it is ordered; ends with the job."""
    for turn in count():
        content = _next_word(storage, spark_job, orders_of(spark_job, turn))
        if not content:
            return
        yield LiveOrders.from_bytes(content)


def _next_word(storage: CheckpointStorage, spark_job: str, path: str) -> bytes:
    """What is left there; nothing where nobody is left who could."""
    parent = os.getppid()
    file = storage.resolve(path)
    for look in count(1):
        try:
            return file.read_bytes()
        except FileNotFoundError:
            pass
        if look % _LOOKS_FOR_DRIVER == 0:
            # A Python worker whose JVM was killed belongs to nobody.
            is_alone = os.getppid() != parent or not storage.exists(f"{WORD_OF_TASKS}/{spark_job}")
            if is_alone:
                break
        time.sleep(_LOOK_SECONDS)
    return b""
