from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.common.errors import SourceError
from penstock.common.time import Duration
from penstock.connectors.files import FileSource, StreamFormat, TextLineFormat
from penstock.connectors.source import Boundedness


def write(path: Path, text: str, age_s: int = 100) -> None:
    path.write_text(text)
    now = path.stat().st_mtime_ns
    os.utime(path, ns=(now, now - age_s * 1_000_000_000))


def test_a_bounded_source_reads_what_is_there_at_the_start(tmp_path, run_source):
    write(tmp_path / "b", "3\n", age_s=10)
    write(tmp_path / "a", "1\n2\n", age_s=20)
    write(tmp_path / "empty", "")
    run = run_source(FileSource(str(tmp_path), TextLineFormat()))
    first = run.epoch(records=1)
    write(tmp_path / "late", "4\n")
    run.restart()
    assert first + [line for epoch in run.epochs(records=1) for line in epoch] == ["1", "2", "3"]


def test_a_large_file_is_cut_and_read_over_several_epochs(tmp_path, run_source):
    lines = [f"line {number}" for number in range(1000)]
    write(tmp_path / "big", "\n".join(lines))
    run = run_source(FileSource(str(tmp_path), TextLineFormat()), parallelism=2)
    epochs = list(run.epochs(records=100))
    assert [line for epoch in epochs for line in epoch] == lines
    assert 8 <= len(epochs) <= 12, "the budget of records is met by an estimate"


def test_a_restart_in_the_middle_of_a_file_repeats_and_skips_nothing(tmp_path, run_source):
    lines = [f"line {number}" for number in range(1000)]
    write(tmp_path / "big", "\n".join(lines))
    run = run_source(FileSource(str(tmp_path), TextLineFormat()))
    read = []
    while not run.enumerator.is_exhausted():
        read += run.epoch(size=777)
        run.restart()
    assert read == lines


def test_all_tasks_get_a_share_of_one_file(tmp_path, run_source):
    write(tmp_path / "big", "x" * 79 + "\n" + ("y" * 79 + "\n") * 100_000)
    run = run_source(FileSource(str(tmp_path), TextLineFormat()), parallelism=4)
    assert len(run.epoch()) == 100_001
    assert len(run.finished_splits) == 4


def test_an_epoch_of_many_small_files_is_limited(tmp_path, run_source):
    for number in range(100):
        write(tmp_path / str(number), f"{number}\n")
    run = run_source(FileSource(str(tmp_path), TextLineFormat()), parallelism=2)
    assert len(run.epoch()) == 64
    assert len(run.epoch()) == 36


def test_a_watched_directory_gives_each_file_once(tmp_path, run_source):
    source = FileSource(str(tmp_path), TextLineFormat(), watch="10 s")
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    run = run_source(source)
    assert run.epoch(now=0) == []
    write(tmp_path / "one", "1\n")
    assert run.epoch(now=9_999) == []
    assert run.enumerator.next_poll(9_999) == 10_000
    assert run.epoch(now=10_000) == ["1"]
    write(tmp_path / "two", "2\n")
    run.restart()
    assert run.epoch(now=0) == ["2"]
    assert run.epoch(now=20_000) == []
    assert not run.enumerator.is_exhausted()


def test_a_file_is_left_alone_until_it_has_settled(tmp_path, run_source):
    run = run_source(FileSource(str(tmp_path), TextLineFormat(), watch=1, settle="1 h"))
    growing = tmp_path / "growing"
    growing.write_text("1\n")
    assert run.epoch(now=0) == []
    growing.write_text("1\n2\n")
    assert run.epoch(now=1) == []
    assert run.epoch(now=2) == ["1", "2"]


def test_without_a_settle_time_a_file_is_taken_at_once(tmp_path, run_source):
    run = run_source(FileSource(str(tmp_path), TextLineFormat(), watch=1, settle=0))
    (tmp_path / "new").write_text("1\n")
    assert run.epoch() == ["1"]


def test_a_watched_file_that_changes_after_it_was_read_is_an_error(tmp_path, run_source):
    run = run_source(FileSource(str(tmp_path), TextLineFormat(), watch=1))
    write(tmp_path / "log", "1\n")
    assert run.epoch(now=0) == ["1"]
    write(tmp_path / "log", "1\n2\n")
    with pytest.raises(SourceError, match=r"log: the file was changed .*then 2 bytes, now 4"):
        run.epoch(now=1)


def test_a_file_that_vanishes_before_it_is_read_is_an_error(tmp_path, run_source):
    write(tmp_path / "a", "1\n", age_s=20)
    write(tmp_path / "b", "2\n", age_s=10)
    run = run_source(FileSource(str(tmp_path), TextLineFormat()))
    assert run.epoch(size=1) == ["1"]
    (tmp_path / "b").unlink()
    with pytest.raises(SourceError, match=r"b: the file was there .* gone before it was read"):
        run.epoch()


def test_a_file_that_changes_between_listing_and_reading_is_an_error(tmp_path, run_source):
    write(tmp_path / "a", "1\n", age_s=20)
    write(tmp_path / "b", "2\n", age_s=10)
    run = run_source(FileSource(str(tmp_path), TextLineFormat()))
    assert run.epoch(size=1) == ["1"]
    write(tmp_path / "b", "3\n4\n", age_s=10)
    with pytest.raises(SourceError, match=r"b: the file was changed after the source had listed it"):
        run.epoch()


def test_batch_execution_does_not_watch(tmp_path, run_source):
    write(tmp_path / "a", "1\n")
    run = run_source(FileSource(str(tmp_path), TextLineFormat(), watch=True), bounded=True)
    assert run.epoch() == ["1"]
    assert run.enumerator.is_exhausted()


def test_the_builder_has_the_names_of_pyflink(tmp_path, run_source):
    write(tmp_path / "a", "1\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    assert run_source(builder.build()).epoch() == ["1"]
    watching = builder.monitor_continuously(Duration.of_seconds(1)).build()
    assert watching.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert builder.process_static_file_set().build().boundedness is Boundedness.BOUNDED


def test_a_wrong_path_fails_where_the_source_is_made(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        FileSource(str(tmp_path / "nothing"), TextLineFormat())
