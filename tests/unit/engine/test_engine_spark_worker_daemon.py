"""Workers take PySpark from where it is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.engine.spark.worker_daemon import prefer_installed, without_last_words


def test_archives_of_spark_are_left_out_of_the_path() -> None:
    path = ["", "/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-0.10.9.9-src.zip", "/x/mine.zip", "/y"]
    assert prefer_installed(path) == ["", "/x/mine.zip", "/y"]


def test_nothing_that_starts_threads_is_imported_before_workers_are_forked() -> None:
    script = (
        "import sys, threading, penstock.engine.spark.worker_daemon, pyspark.daemon\n"
        "assert not {'pyarrow', 'pandas', 'numpy'} & set(sys.modules), 'forked processes inherit their locks'\n"
        "assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_worker_whose_task_spark_has_ended_ends_without_a_word() -> None:
    def broken(sock: object, authenticated: bool) -> int:
        raise BrokenPipeError

    assert without_last_words(lambda sock, authenticated: 0)(None, True) == 0
    assert without_last_words(broken)(None, True) == 1, "it is not used again"
    with pytest.raises(OSError, match="disk"):
        without_last_words(lambda sock, authenticated: (_ for _ in ()).throw(OSError("disk")))(None, True)
