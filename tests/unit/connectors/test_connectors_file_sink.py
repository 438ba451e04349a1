from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SinkError, UnsupportedError
from penstock.common.fail_points import SimulatedCrash, arm
from penstock.common.typeinfo import Types
from penstock.connectors.files import CsvFormat, FileSink, FileSource, ParquetFormat
from penstock.connectors.files.file_system import LocalFileSystem
from penstock.connectors.sink import CommitterContext, DeliveryGuarantee, EpochEnd, EpochId, SinkWriterContext
from penstock.state.storage import LocalCheckpointStorage

PAYMENT = Types.ROW_NAMED(["id", "card"], [Types.LONG(), Types.STRING()])


class Job:
    """A job with one file sink: stages epochs and publishes them."""

    def __init__(self, tmp_path: Path, job_id: str = "job-1", uid: str = "out", **options) -> None:
        self.directory = tmp_path / "out"
        self.job_id = job_id
        self.uid = uid
        self.storage = LocalCheckpointStorage(str(tmp_path / "checkpoint"))
        self.sink = FileSink(str(self.directory), **options)
        self.committer = self.sink.create_committer(CommitterContext(job_id, uid, self.storage))
        self.state: dict = {}

    def stage(self, number: int, *rows, subtask: int = 0, incarnation: int = 0, type_info=PAYMENT) -> list:
        context = SinkWriterContext(
            self.job_id, self.uid, subtask, 2, EpochId(incarnation, number), self.storage, "staging"
        )
        writer = self.sink.for_records(type_info or Types.PICKLED_BYTE_ARRAY()).create_writer(context)
        for row in rows:
            writer.write(Batch(codec_for(type_info), values=[row]))
        tokens = writer.prepare_commit()
        writer.close()
        return json.loads(json.dumps(tokens))

    def gathered(self, number: int, *tokens, incarnation: int = 0) -> list:
        end = EpochEnd(EpochId(incarnation, number), 0, 0, False, self.state)
        published = self.committer.gather(dict(enumerate(tokens)), end)
        return [token for _, of_subtask in sorted(published.items()) for token in of_subtask]

    def commit(self, number: int, *tokens, incarnation: int = 0) -> None:
        self.committer.commit(EpochId(incarnation, number), self.gathered(number, *tokens, incarnation=incarnation))

    def visible(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if not path.name.startswith("."))

    def content(self) -> str:
        return "".join((self.directory / name).read_text() for name in self.visible())

    def staged_files(self) -> list[Path]:
        return [path for path in (self.directory / ".penstock" / "staged").rglob("*") if path.is_file()]


@pytest.fixture(autouse=True)
def disarm():
    yield
    arm(None)


def test_files_appear_with_their_epoch_and_not_before(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(7, (1, "a"), (2, "b"), subtask=1)
    assert job.visible() == []
    job.commit(7, tokens)
    assert job.visible() == ["part-out-0-0000000007-00001.json"]
    assert job.content() == '{"id":1,"card":"a"}\n{"id":2,"card":"b"}\n'
    assert job.staged_files() == []


def test_a_writer_without_records_leaves_nothing(tmp_path):
    job = Job(tmp_path)
    assert job.stage(1) == []
    job.commit(1)
    assert not job.directory.exists()


def test_the_same_records_give_the_same_token(tmp_path):
    job = Job(tmp_path)
    assert job.stage(1, (1, "a")) == job.stage(1, (1, "a"))
    assert job.stage(1, (1, "a")) != job.stage(1, (1, "b"))


def test_a_commit_can_be_repeated(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    job.commit(1, tokens)
    job.commit(1, tokens)
    assert job.content() == '{"id":1,"card":"a"}\n'


def test_a_repeated_commit_does_not_miss_files_that_a_reader_took_away(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    job.commit(1, tokens)
    (job.directory / job.visible()[0]).unlink()
    job.commit(1, tokens)
    assert job.visible() == []


@pytest.mark.parametrize("point", ["sink.files.renamed", "sink.files.marked"])
def test_a_crash_while_publishing_is_made_good_by_the_next_run(tmp_path, point):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a")) + job.stage(1, (2, "b"), subtask=1)
    arm(lambda name: (_ for _ in ()).throw(SimulatedCrash(name)) if name == point else None)
    with pytest.raises(SimulatedCrash):
        job.commit(1, tokens)
    arm(None)
    restarted = Job(tmp_path)
    restarted.committer.recover(EpochId(0, 1))
    restarted.commit(1, tokens)
    assert restarted.content() == '{"id":1,"card":"a"}\n{"id":2,"card":"b"}\n'


def test_a_crash_between_two_renames_is_made_good(tmp_path):
    job = Job(tmp_path)
    first, second = job.stage(1, (1, "a")), job.stage(1, (2, "b"), subtask=1)
    (job.directory / first[0]["staged"]).rename(job.directory / first[0]["name"])
    job.commit(1, first, second)
    assert len(job.visible()) == 2


def test_a_driver_that_wakes_up_late_does_not_take_back_what_others_have_noted(tmp_path):
    asleep, other = Job(tmp_path), Job(tmp_path)
    first = asleep.stage(1, (1, "a"))

    def others_go_on(name):
        if name == "sink.files.renamed":
            arm(None)
            for number in (1, 2):
                other.commit(number, first if number == 1 else other.stage(2, (2, "b")))

    arm(others_go_on)
    asleep.commit(1, first)
    with pytest.raises(SinkError, match=r"shows epoch 0\.2"):
        Job(tmp_path).committer.recover(EpochId(0, 1))


@pytest.mark.parametrize("epochs", [1, 3])
def test_there_is_one_note_of_what_was_published_however_many_epochs_were(tmp_path, epochs):
    job = Job(tmp_path)
    for number in range(1, epochs + 1):
        job.commit(number, job.stage(number, (number, "a")))
    assert len(list((job.directory / ".penstock").glob("*.json"))) == 1


def test_a_driver_that_publishes_at_the_same_moment_is_no_loss(tmp_path, monkeypatch):
    job, other = Job(tmp_path), Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    move = LocalFileSystem.move

    def overtaken(file_system, source, target):
        monkeypatch.setattr(LocalFileSystem, "move", move)
        other.commit(1, tokens)
        move(file_system, source, target)

    monkeypatch.setattr(LocalFileSystem, "move", overtaken)
    job.commit(1, tokens)
    assert job.content() == '{"id":1,"card":"a"}\n'


def test_records_that_are_nowhere_are_an_error(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    (job.directory / tokens[0]["staged"]).unlink()
    with pytest.raises(SinkError, match=r"1 records of epoch 0.1 are lost: neither .*00000.json nor the staged file"):
        job.commit(1, tokens)


def test_a_staged_file_that_was_cut_is_not_shown_to_readers(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    staged = job.directory / tokens[0]["staged"]
    whole = staged.read_bytes()
    staged.write_bytes(whole[:5])
    with pytest.raises(SinkError, match=rf"has 5 bytes instead of {len(whole)}.*{staged.name}"):
        job.commit(1, tokens)
    assert not list(job.directory.glob("*.json"))
    staged.write_bytes(whole)
    job.commit(1, tokens)
    assert job.content() == whole.decode()


def test_a_foreign_file_of_the_same_name_is_not_taken_for_ours(tmp_path):
    job = Job(tmp_path)
    tokens = job.stage(1, (1, "a"))
    (job.directory / tokens[0]["name"]).write_text("something else")
    with pytest.raises(SinkError, match=r"exists and is not what epoch 0\.1 wrote"):
        job.commit(1, tokens)


@pytest.mark.parametrize("newest", [None, EpochId(0, 4)])
def test_an_older_copy_of_the_checkpoint_is_refused(tmp_path, newest):
    Job(tmp_path).commit(5, Job(tmp_path).stage(5, (1, "a")))
    with pytest.raises(SinkError, match=r"shows epoch 0.5 .* older copy"):
        Job(tmp_path).committer.recover(newest)


def test_a_note_without_an_epoch_in_its_name_counts_until_there_is_a_newer_one(tmp_path):
    job = Job(tmp_path)
    job.commit(5, job.stage(5, (1, "a")))
    (note,) = (job.directory / ".penstock").glob("*.json")
    old = note.rename(note.with_name("out.json"))
    with pytest.raises(SinkError, match=r"shows epoch 0.5 .* older copy"):
        Job(tmp_path).committer.recover(EpochId(0, 4))
    job.commit(6, job.stage(6, (2, "b")))
    assert not old.exists()


@pytest.mark.parametrize("newest", [EpochId(0, 5), EpochId(0, 9), EpochId(1, 1)])
def test_the_newest_checkpoint_is_accepted(tmp_path, newest):
    Job(tmp_path).commit(5, Job(tmp_path).stage(5, (1, "a")))
    Job(tmp_path).committer.recover(newest)


def test_the_output_of_another_job_is_not_mixed_with_ours(tmp_path):
    Job(tmp_path).commit(5, Job(tmp_path).stage(5, (1, "a")))
    with pytest.raises(SinkError, match=r"output of another job \(job-1\)"):
        Job(tmp_path, job_id="job-2").committer.recover(EpochId(0, 9))
    Job(tmp_path, job_id="job-2", uid="other").committer.recover(None)


def test_leftovers_of_older_epochs_are_removed_with_the_next_one(tmp_path):
    job = Job(tmp_path)
    job.stage(3, (1, "failed attempt"))
    tokens = job.stage(4, (2, "to be published"))
    restarted = Job(tmp_path)
    restarted.committer.recover(EpochId(0, 4))
    assert len(job.staged_files()) == 2
    restarted.commit(4, tokens)
    assert "to be published" in restarted.content()
    assert job.staged_files() == []


def test_a_writer_whose_files_were_removed_by_another_driver_says_so(tmp_path):
    job = Job(tmp_path)
    writer = job.sink.create_writer(SinkWriterContext("job-1", "out", 0, 1, EpochId(0, 1), job.storage, "s"))
    writer.write(Batch(codec_for(PAYMENT), values=[(1, "a")]))
    Job(tmp_path).commit(1, job.stage(1, (1, "a"), subtask=1))
    with pytest.raises(SinkError, match="another driver has taken over the job"):
        writer.prepare_commit()


def test_a_failed_writer_leaves_no_file(tmp_path):
    job = Job(tmp_path, file_format="parquet")
    writer = job.sink.create_writer(SinkWriterContext("job-1", "out", 0, 1, EpochId(0, 1), job.storage, "s"))
    writer.write(Batch(codec_for(PAYMENT), values=[(1, "a")]))
    writer.close()
    assert job.staged_files() == []


def test_csv_can_be_read_back(tmp_path, run_source):
    job = Job(tmp_path, file_format="csv", header=True)
    rows = [(1, 'a "x",\n'), (2, ""), (None, None)]
    job.commit(1, job.stage(1, *rows))
    assert job.content().startswith('"id","card"\n1,')
    source = FileSource(str(job.directory), CsvFormat(PAYMENT, header=True, null_literal=""))
    assert [tuple(row) for row in run_source(source).epoch()] == rows


def test_parquet_can_be_read_back(tmp_path, run_source):
    job = Job(tmp_path, file_format="parquet")
    rows = [(number, f"card {number}") for number in range(100)]
    job.commit(1, job.stage(1, *rows))
    (file,) = job.directory.glob("*.parquet")
    assert pyarrow.parquet.ParquetFile(file).num_row_groups == 1
    source = FileSource(str(job.directory), ParquetFormat())
    assert [tuple(row) for row in run_source(source).epoch()] == rows


def test_text_is_one_record_per_line(tmp_path):
    job = Job(tmp_path, file_format="text", prefix="log")
    job.commit(1, job.stage(1, "a", "ü", type_info=Types.STRING()))
    assert job.visible() == ["log-out-0-0000000001-00000.txt"]
    assert job.content() == "a\nü\n"


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_columns_need_a_declared_type(tmp_path, file_format):
    with pytest.raises(UnsupportedError, match="no declared type"):
        Job(tmp_path, file_format=file_format).stage(1, {"a": 1}, type_info=None)


def test_a_uid_may_have_any_characters(tmp_path):
    job = Job(tmp_path, uid="a/b ../c")
    job.commit(1, job.stage(1, (1, "a")))
    assert job.visible() == ["part-a%2Fb%20..%2Fc-0-0000000001-00000.json"]


@pytest.mark.parametrize("options", [{"file_format": "xml"}, {"prefix": "_x"}, {"prefix": "a/b"}, {"delimiter": ";;"}])
def test_options_that_make_no_sense_are_refused(tmp_path, options):
    with pytest.raises(ConfigurationError):
        FileSink(str(tmp_path), **options)


def test_it_promises_exactly_once(tmp_path):
    assert FileSink(str(tmp_path)).guarantee is DeliveryGuarantee.EXACTLY_ONCE
