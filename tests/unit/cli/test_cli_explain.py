"""`penstock explain`: plans without jobs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from unit.cli.cli_programs import SUMS, Command, ProgramFile


def test_the_plan_is_shown_and_nothing_runs(penstock: Command, program_file: ProgramFile) -> None:
    result = penstock("explain", program_file(SUMS + "    raise AssertionError('went on')\n"))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("job: sums\nstage 0, parallelism 1\n")
    assert "uid sums" in result.stdout
    assert "('a', 1)" not in result.output


def test_forms(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file(SUMS)
    plan = json.loads(penstock("explain", path, "--form", "json").stdout)
    assert [node["uid"] for node in plan["nodes"]] == ["payments", "sums", "printed"]
    assert penstock("explain", path, "--form", "mermaid").stdout.startswith("flowchart LR\n")
    assert ElementTree.fromstring(penstock("explain", path, "--form", "svg").stdout).tag.endswith("svg")


def test_options_and_arguments_count(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file("""
        import sys
        from penstock.datastream import StreamExecutionEnvironment
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_sequence(1, 9).name(sys.argv[1]).print()
        env.execute()
    """)
    result = penstock("explain", path, "-o", "parallelism.default=6", "--", "--nine")
    assert "Source '--nine'" in result.stdout
    assert "stage 0, parallelism 6" in result.stdout


@pytest.mark.parametrize("call", ["execute_async()", "from_sequence(1, 2).execute_and_collect()"])
def test_every_way_to_start_a_job_is_intercepted(penstock: Command, program_file: ProgramFile, call: str) -> None:
    path = program_file(f"""
        from penstock.datastream import StreamExecutionEnvironment
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_sequence(1, 9).name("nine").print()
        try:
            env.{call}
        except Exception:
            print("swallowed")
    """)
    result = penstock("explain", path)
    assert (result.exit_code, "Source 'nine'" in result.stdout, "swallowed" in result.stdout) == (0, True, False)


def test_a_program_without_a_job(penstock: Command, program_file: ProgramFile) -> None:
    result = penstock("explain", program_file("print('hello')"))
    assert (result.exit_code, result.stdout) == (1, "hello\n")
    assert "without execute()" in result.stderr


def test_a_program_that_fails_before(penstock: Command, program_file: ProgramFile) -> None:
    result = penstock("explain", program_file("1 / 0"))
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr
