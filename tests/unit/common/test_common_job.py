from __future__ import annotations

import pickle

import pytest

from penstock.common.job import JobExecutionResult, JobID, JobStatus


def test_a_job_id_is_random_or_given_and_a_value() -> None:
    assert JobID() != JobID()
    given = JobID("0123456789abcdef0123456789abcdef")
    assert str(given) == "0123456789abcdef0123456789abcdef"
    assert pickle.loads(pickle.dumps(given)) == given
    assert len({given, JobID(str(given))}) == 1
    with pytest.raises(ValueError, match="hexadecimal"):
        JobID("not hex")


def test_terminal_states() -> None:
    globally = {status for status in JobStatus if status.is_globally_terminal_state()}
    assert globally == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert {status for status in JobStatus if status.is_terminal_state()} == globally | {JobStatus.SUSPENDED}


def test_a_result_has_the_runtime_and_the_accumulators() -> None:
    result = JobExecutionResult(JobID("0" * 32), 1500, {"records": 7})
    assert result.get_job_id() == JobID("0" * 32)
    assert result.get_net_runtime() == 1500
    assert result.get_accumulator_result("records") == 7
    assert result.get_accumulator_result("other") is None
    result.get_all_accumulator_results().clear()
    assert result.get_all_accumulator_results() == {"records": 7}
    assert str(result).splitlines() == [
        "Program execution finished",
        f"Job with JobID {'0' * 32} has finished.",
        "Job Runtime: 1500 ms",
        "Accumulator Results:",
        "- records: 7",
    ]
