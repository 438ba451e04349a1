"""The program's way to the workers: pickled once per submission, found by its hash.

Functions and classes of `__main__` and of notebooks are pickled by value. Records of classes that are defined there
are pickled by reference, as all records are; so that the reference means something in a worker, the worker's
`__main__` gets those classes too. Each of them travels on its own: one that the job does not use and that cannot be
made anew in a worker does no harm.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from types import ModuleType

from penstock.common.by_value import pickled_by_value
from penstock.common.errors import EnvironmentNotReadyError, PlanError
from penstock.engine.stages.compiled import CompiledJob
from penstock.state.storage import CheckpointStorage


def pickle_job(job: CompiledJob) -> bytes:
    """The program as it travels. Raises `PlanError` where it cannot."""
    try:
        return pickled_by_value((os.getpid(), _classes_of_main(), pickled_by_value(job)))
    except Exception as error:
        raise PlanError(
            f"the program cannot be sent to the workers: {error}. A function, source or sink holds on to something "
            "that cannot be pickled (a connection, a lock, an open file, a SparkSession): create it in open() instead."
        ) from error


def ship_job(storage: CheckpointStorage, pickled: bytes) -> str:
    """Writes the program where workers find it; returns its path."""
    return storage.write_staged("programs/program", pickled)


def load_job(data: bytes) -> CompiledJob:
    """The program again, in a worker."""
    driver, classes, job = pickle.loads(data)
    if driver != os.getpid():
        _define_in_main(classes)
    try:
        return pickle.loads(job)
    except ImportError as error:
        raise EnvironmentNotReadyError(
            f"a worker cannot import what the program uses: {error}. Install it where the workers run, or send it "
            "along: the option `spark.submit.pyFiles` takes a comma-separated list of .py and .zip files."
        ) from error


def _define_in_main(classes: dict[str, bytes]) -> None:
    main = sys.modules["__main__"]
    for name, pickled in classes.items():
        with suppress(Exception):
            setattr(main, name, pickle.loads(pickled))


def _classes_of_main() -> dict[str, bytes]:
    main: ModuleType = sys.modules["__main__"]
    classes: dict[str, bytes] = {}
    for name, value in vars(main).items():
        if isinstance(value, type) and value.__module__ == "__main__" and value.__qualname__ == name:
            with suppress(Exception):
                classes[name] = pickled_by_value(value)
    return classes
