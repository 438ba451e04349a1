"""`penstock savepoint`, `penstock check-upgrade`, `penstock run --from-savepoint`."""

from __future__ import annotations

from pathlib import Path

from penstock.state import Savepoint
from unit.cli.cli_programs import Command, ProgramFile

PROGRAM = """
    from dataclasses import dataclass
    from penstock.common import Types
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.functions import KeyedProcessFunction
    from penstock.datastream.state import ValueStateDescriptor
    {header}

    class Count(KeyedProcessFunction):
        def open(self, ctx):
            self.count = ctx.get_state({descriptor})
        def process_element(self, value, ctx):
            self.count.update({update})
            yield value

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism({parallelism})
    stream = env.from_collection(list(range({records})), Types.LONG()).uid("numbers")
    stream.key_by(lambda n: n % 3, Types.LONG()).process(Count(), Types.LONG()).uid("{uid}").name("counter").print()
    env.execute("counts")
"""


def program(
    descriptor: str = 'ValueStateDescriptor("count", Types.INT())',
    update: str = "(self.count.value() or 0) + 1",
    header: str = "",
    uid: str = "count",
    parallelism: int = 2,
    records: int = 30,
) -> str:
    return PROGRAM.format(
        descriptor=descriptor, update=update, header=header, uid=uid, parallelism=parallelism, records=records
    )


def made(penstock: Command, program_file: ProgramFile, directory: Path) -> str:
    checkpoint, target = str(directory / "checkpoint"), str(directory / "savepoint")
    result = penstock("run", program_file(program()), "--engine", "local", "--checkpoint", checkpoint)
    assert result.exit_code == 0, result.output
    result = penstock("savepoint", checkpoint, target)
    assert result.exit_code == 0, result.output
    assert result.stdout == "savepoint of 'counts', epoch 2: 1 state, 3 rows\n"
    assert result.stderr == ""
    return target


def test_a_savepoint_of_a_checkpoint(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    savepoint = Savepoint.load(made(penstock, program_file, tmp_path))
    rows = savepoint.read("count", "count").select(["key", "value"]).to_pylist()
    assert sorted(rows, key=lambda row: row["key"]) == [{"key": key, "value": 10} for key in range(3)]
    result = penstock("savepoint", str(tmp_path / "checkpoint"), savepoint.path)
    assert result.exit_code == 1
    assert "not empty" in result.stderr
    result = penstock("savepoint", str(tmp_path / "nowhere"), str(tmp_path / "other"))
    assert result.exit_code == 1


def test_what_becomes_of_state(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    old = made(penstock, program_file, tmp_path)
    for where in (old, str(tmp_path / "checkpoint")):
        result = penstock("check-upgrade", where, program_file(program(parallelism=3)))
        assert result.exit_code == 0, result.output
        assert "state 'count' of operator 'counter' (uid count): kept" in result.stdout
    result = penstock("check-upgrade", old, program_file(program('ValueStateDescriptor("count", Types.LONG())')))
    assert result.exit_code == 0, result.output
    assert "(uid count): migrated, Integer to Long" in result.stdout
    result = penstock("check-upgrade", old, program_file(program('ValueStateDescriptor("count", Types.STRING())')))
    assert result.exit_code == 1
    assert "refused, stored as Integer, declared as String" in result.stdout
    result = penstock("check-upgrade", old, program_file(program('ValueStateDescriptor("total", Types.INT())')))
    assert result.exit_code == 0
    assert "state 'total' of operator 'counter' (uid count): new" in result.stdout
    assert "state 'count' of operator 'counter' (uid count): kept, and not asked for" in result.stdout
    gone = program_file(program(uid="counts"))
    result = penstock("check-upgrade", old, gone)
    assert result.exit_code == 1
    assert "operator 'counter' (uid count): refused, the program has no such operator" in result.stdout
    result = penstock("check-upgrade", old, gone, "--allow-non-restored-state")
    assert result.exit_code == 0
    assert "dropped" in result.stdout


def test_a_function_that_cannot_be_opened_is_told(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    old = made(penstock, program_file, tmp_path)
    result = penstock("check-upgrade", old, program_file(program("missing")))
    assert result.exit_code == 0
    assert "not known: its function could not be opened here" in result.stdout


def test_a_job_starts_from_a_savepoint(penstock: Command, program_file: ProgramFile, tmp_path: Path) -> None:
    old = made(penstock, program_file, tmp_path)
    newer = program_file(program('ValueStateDescriptor("count", Types.LONG())', parallelism=3, records=60))
    second = str(tmp_path / "second")
    result = penstock("run", newer, "--engine", "local", "--checkpoint", second, "--from-savepoint", old)
    assert result.exit_code == 0, result.output
    assert penstock("savepoint", second, str(tmp_path / "end")).exit_code == 0
    table = Savepoint.load(str(tmp_path / "end")).read("count", "count")
    assert str(table.schema.field("value").type) == "int64"
