"""Word that the driver and the tasks of a Spark job leave for each other, in files that the driver has made before.

Nothing in them is state, and none outlives the job: they need not survive a power failure, and wait for no disk. They
are filled, not made, by whoever has something to say: that a file is new may stay unknown to another machine for half a
minute (NFS), but whoever opens one that was there sees what is in it.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from penstock.common.errors import CheckpointUnavailableError, FencedError, PenstockError
from penstock.engine.pipelined.live_header import LiveOrders, orders_of
from penstock.state.storage import CheckpointStorage

_LENGTH = struct.Struct("<q")
_LOOK_SECONDS = 0.002
"""How often a task that has nothing to do looks for orders at first: between two epochs records wait for it."""
_MOST_LOOK_SECONDS = 0.05
_SHARE_OF_WAIT = 0.05
"""A task that has waited for long lets so much of that time pass before it looks again: one with nothing to read waits
for as long as the epoch lasts, and there may be many of them on a machine."""
_DRIVER_SECONDS = 0.2
"""How often such a task looks whether there is somebody who could give orders."""


class DriverLostError(PenstockError):
    """Nobody is left who could give orders.

    A task that leaves for that reason has failed, so that Spark ends those beside it: they may not have noticed, and
    would wait for its rows for ever.
    """


def make_room(storage: CheckpointStorage, directory: str, paths: Iterable[str]) -> None:
    """Makes the files of a directory in which word is to be left; called by the driver."""
    with _explained(storage, directory):
        storage.resolve(directory).mkdir(parents=True, exist_ok=True)
        for path in paths:
            storage.resolve(path).touch()


def leave_word(storage: CheckpointStorage, path: str, content: bytes = b"") -> None:
    """Says something, once, and all of it; `FencedError` where there is no room for it any more."""
    with _explained(storage, path), storage.resolve(path).open("r+b") as file:
        file.write(_LENGTH.pack(len(content)) + content)


def check_room(storage: CheckpointStorage, path: str) -> None:
    """Raises `FencedError` where there is no room any more for word that was left."""
    if not storage.exists(path):
        raise _taken_over(storage, path)


def word_at(storage: CheckpointStorage, path: str) -> bytes | None:
    """What was said there; None as long as it is not said, or not all of it."""
    try:
        said = storage.resolve(path).read_bytes()
    except FileNotFoundError:
        return None
    is_whole = len(said) >= _LENGTH.size and len(said) == _LENGTH.size + _LENGTH.unpack_from(said)[0]
    return said[_LENGTH.size :] if is_whole else None


def check_driver(storage: CheckpointStorage, path: str, parent: int) -> None:
    """Raises `DriverLostError` where the driver that has made a file, or the parent of this process, is gone."""
    # A Python worker whose JVM was killed belongs to nobody; and another driver clears away.
    if os.getppid() != parent or not storage.exists(path):
        raise DriverLostError(
            f"nobody is left who could give orders: {path} is gone in {storage.location}, or whoever has started this "
            "process"
        )


def orders_in_turn(storage: CheckpointStorage, spark_job: str) -> Iterator[LiveOrders]:
    """What the tasks of a Spark job are to do, epoch after epoch, as it is ordered; ends when they are told to go.

    Raises `DriverLostError`.
    """
    # Whoever has started this process may also be gone in the middle of an epoch.
    parent = os.getppid()
    for turn in count():
        content = _next_word(storage, orders_of(spark_job, turn), parent)
        if not content:
            return
        yield LiveOrders.from_bytes(content)


def _next_word(storage: CheckpointStorage, path: str, parent: int) -> bytes:
    """What is said there, sooner or later."""
    began = found_driver = time.monotonic()
    while (word := word_at(storage, path)) is None:
        now = time.monotonic()
        if now - found_driver >= _DRIVER_SECONDS:
            check_driver(storage, path, parent)
            found_driver = now
        time.sleep(min(max(_LOOK_SECONDS, (now - began) * _SHARE_OF_WAIT), _MOST_LOOK_SECONDS))
    return word


@contextmanager
def _explained(storage: CheckpointStorage, path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _taken_over(storage, path) from error
    except OSError as error:
        raise CheckpointUnavailableError(f"cannot write {path} in {storage.location}: {error}") from error


def _taken_over(storage: CheckpointStorage, path: str) -> FencedError:
    return FencedError(f"{path} is gone in {storage.location}: another driver has taken over the job, or it has ended")
