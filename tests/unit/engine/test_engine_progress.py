"""What a job shows of itself while an epoch is under way: a batch is one long epoch."""

from __future__ import annotations

from penstock.engine.epochs.epoch_times import EpochTimes
from penstock.engine.epochs.progress import JobProgress
from penstock.engine.stages.messages import Done, ReadProgress
from penstock.engine.stages.task_report import TaskReport


def report(subtask: int, records: int, *, stage: int = 0, attempt: int = 0) -> TaskReport:
    reads = (ReadProgress(1, subtask, str(subtask), records, True, records),) if stage == 0 else ()
    done = Done(stage, subtask, reads=reads, operators={"count": {"in": records, "out": 1}})
    return TaskReport(stage, subtask, 5.0, 10, {}, done, attempt)


def shown(progress: JobProgress) -> tuple[int, int, dict[str, dict[str, int]]]:
    snapshot = progress.snapshot()
    return snapshot["records_read"], snapshot["tasks_done_in_epoch"], snapshot["operators"]


def test_counts_grow_with_every_task_and_are_added_once():
    progress = JobProgress()
    reports: list[TaskReport] = []
    progress.epoch_runs(lambda: reports)
    assert shown(progress) == (0, 0, {})
    reports.append(report(0, 100))
    assert shown(progress) == (100, 1, {"count": {"in": 100, "out": 1}})
    reports += [report(1, 50), report(0, 100, attempt=1)]
    assert shown(progress) == (150, 2, {"count": {"in": 150, "out": 2}})
    progress.task_reports(tuple(reports))
    assert shown(progress) == (150, 2, {"count": {"in": 150, "out": 2}})
    progress.epoch_committed(EpochTimes(1, 150, 0, 1, 0, 0), {"count": {"in": 150, "out": 2}}, 0, {})
    assert shown(progress) == (150, 0, {"count": {"in": 150, "out": 2}})


def test_after_a_restart_counts_go_on_from_the_manifest():
    progress = JobProgress()
    progress.epoch_committed(EpochTimes(1, 150, 0, 1, 0, 0), {"count": {"in": 150, "late": 2}}, 0, {})
    progress.restore({"read": 100}, {"count": {"in": 100, "late": 1}})
    progress.epoch_committed(EpochTimes(2, 50, 0, 1, 0, 0), {"count": {"in": 50, "late": 1}}, 0, {})
    assert shown(progress) == (150, 0, {"count": {"in": 150, "late": 2}})


def test_what_a_lost_epoch_did_is_not_shown():
    progress = JobProgress()
    progress.epoch_runs(lambda: [report(0, 100)])
    progress.epoch_is_lost()
    assert shown(progress) == (0, 0, {})
