"""`penstock run`: a program, its options, its arguments, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from unit.cli.cli_programs import SUMS, Command, ProgramFile


def ended(result: Result, code: int) -> Result:
    assert result.exit_code == code, result.output
    return result


def test_a_program_runs_with_its_arguments(penstock: Command, program_file: ProgramFile) -> None:
    result = ended(penstock("run", program_file(SUMS), "--", "7"), 0)
    assert sorted(line.partition("> ")[2] for line in result.stdout.splitlines()) == [
        "('a', 1)",
        "('a', 8)",
        "('b', 2)",
    ]


def test_a_program_finds_its_neighbours_and_is_main(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file("""
        import sys
        from neighbour import answer
        print(__name__, answer, sys.argv[1:])
    """)
    (path.parent / "neighbour.py").write_text("answer = 42\n")
    arguments, directories = list(sys.argv), list(sys.path)
    result = ended(penstock("run", path, "--", "--verbose", "x"), 0)
    assert result.stdout == "__main__ 42 ['--verbose', 'x']\n"
    assert (sys.argv, sys.path) == (arguments, directories)


def test_a_program_that_forgets_to_execute_is_told(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file(SUMS.replace("env.execute(", "print("))
    assert ended(penstock("run", path), 0).stderr == f"{path} ended without execute(): no job was started\n"
    assert "ended without" not in ended(penstock("run", program_file(SUMS)), 0).stderr


SHOW_OPTIONS = """
    from penstock.common import Configuration
    from penstock.datastream import StreamExecutionEnvironment
    given = Configuration().set_string("parallelism.default", "5")
    with_own = StreamExecutionEnvironment.get_execution_environment(given)
    without = StreamExecutionEnvironment.get_execution_environment()
    print(with_own.get_parallelism(), without.get_parallelism(), sorted(without.configuration.to_dict().items()))
"""


def test_options_are_defaults(penstock: Command, program_file: ProgramFile) -> None:
    result = ended(
        penstock(
            "run",
            program_file(SHOW_OPTIONS),
            "--master",
            "local[3]",
            "--checkpoint",
            "/data/x",
            "-o",
            "parallelism.default=3",
        ),
        0,
    )
    assert result.stdout == (
        "5 3 [('execution.checkpointing.dir', '/data/x'), ('parallelism.default', '3'), ('spark.master', 'local[3]')]\n"
    )
    assert "PENSTOCK_OPTIONS" not in os.environ


def test_options_of_the_command_line_come_before_those_of_the_variable(
    penstock: Command, program_file: ProgramFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", "parallelism.default=7\nown.option=a=b")
    result = ended(penstock("run", program_file(SHOW_OPTIONS), "-o", "parallelism.default=3"), 0)
    assert result.stdout == "5 3 [('own.option', 'a=b'), ('parallelism.default', '3')]\n"


@pytest.mark.parametrize("arguments", [["--option", "no-equals-sign"], ["-o", "parallelism.default=none"], ["--what"]])
def test_a_wrong_command_line_is_code_2(penstock: Command, program_file: ProgramFile, arguments: list[str]) -> None:
    result = ended(penstock("run", program_file("raise AssertionError('was run')"), *arguments), 2)
    assert "was run" not in result.output


def test_a_missing_file_is_code_2(penstock: Command, tmp_path: Path) -> None:
    assert "does not exist" in ended(penstock("run", tmp_path / "none.py"), 2).output


def test_a_failed_job_shows_the_lines_of_the_program_and_is_code_1(
    penstock: Command, program_file: ProgramFile
) -> None:
    path = program_file("""
        from penstock.datastream import StreamExecutionEnvironment
        def divide(number):
            return 1 // number
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1, 0]).map(divide).print()
        env.execute()
    """)
    result = ended(penstock("run", path), 1)
    assert "return 1 // number" in result.stderr
    assert "ZeroDivisionError" in result.stderr
    assert "record: 0" in result.stderr
    assert "cli/program.py" not in result.stderr


def test_a_program_that_cannot_be_built_shows_its_own_line_only(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file("""
        from penstock.datastream import StreamExecutionEnvironment
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(None)
    """)
    result = ended(penstock("run", path), 1)
    assert f'File "{path}", line 4' in result.stderr
    assert "src/penstock" not in result.stderr


def test_an_error_of_the_program_shows_its_frames(penstock: Command, program_file: ProgramFile) -> None:
    result = ended(penstock("run", program_file("def f():\n    return {}['x']\nf()\n")), 1)
    assert "KeyError: 'x'" in result.stderr
    assert result.stderr.count("File ") == 2


@pytest.mark.parametrize(("statement", "code"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('no')", 1)])
def test_the_exit_code_is_the_programs_own(
    penstock: Command, program_file: ProgramFile, statement: str, code: int
) -> None:
    ended(penstock("run", program_file(f"import sys\n{statement}\n")), code)


LEAVES_A_JOB = """
    from penstock.datastream import StreamExecutionEnvironment
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection([1, 2]).map(lambda n: 4 // (n - {shift})).print()
    client = env.execute_async()
"""


@pytest.mark.parametrize(("shift", "code"), [(0, 0), (1, 1)])
def test_a_job_that_the_program_leaves_running_is_waited_for(
    penstock: Command, program_file: ProgramFile, shift: int, code: int
) -> None:
    result = ended(penstock("run", program_file(LEAVES_A_JOB.format(shift=shift))), code)
    assert result.stdout == ("4\n2\n" if code == 0 else "")
    assert ("ZeroDivisionError" in result.stderr) == (code == 1)


def test_a_job_that_has_failed_before_the_program_ends_is_told(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file(LEAVES_A_JOB.format(shift=1) + "\n    assert client.has_ended(within=60)\n")
    assert "ZeroDivisionError" in ended(penstock("run", path), 1).stderr


def test_a_failure_that_the_program_takes_care_of_is_not(penstock: Command, program_file: ProgramFile) -> None:
    path = program_file(LEAVES_A_JOB.format(shift=1) + "\n    client.get_job_execution_result().exception()\n")
    assert "ZeroDivisionError" not in ended(penstock("run", path), 0).stderr


def test_live_counts_are_shown_on_standard_error(penstock: Command, program_file: ProgramFile) -> None:
    result = ended(penstock("run", program_file(SUMS), "--progress"), 0)
    assert "sums: FINISHED" in result.stderr
    assert "Reduce" in result.stderr
    assert "FINISHED" not in result.stdout


ENDLESS = """
    import sys
    from penstock.common import Types
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.connectors.datagen import DataGeneratorSource
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = DataGeneratorSource(lambda n: n, rate_per_second=50, type_info=Types.LONG())
    env.from_source(source, source_name="numbers").uid("numbers").print()
    env.execute("endless")
"""


def test_an_interrupt_stops_the_job_cleanly(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    command = [sys.executable, "-m", "penstock.cli", "run", str(program_file(ENDLESS)), "--checkpoint", str(checkpoint)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PENSTOCK_ENGINE": "local"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "stopped 'endless'" in errors
    assert "Traceback" not in errors
    assert "stopped" in ended(penstock("jobs", tmp_path), 0).stdout
