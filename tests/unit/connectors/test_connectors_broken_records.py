"""Records that cannot be read: the job fails, or goes on without them, or they go to a side output."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.serialization import DeserializationError
from penstock.connectors.broken_records import BROKEN_RECORD_TYPE, BrokenRecord, BrokenRecords
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.connectors.files import CsvFormat, FileSource, JsonLinesFormat, TextLineFormat
from penstock.connectors.source import EnumeratorContext, EpochBudget
from penstock.connectors.tolerant_reading import readable_parts, tolerant_batches
from penstock.datastream import OutputTag, StreamExecutionEnvironment

PAYMENT = "id BIGINT, price DECIMAL(10, 2), card STRING"
BROKEN = OutputTag("broken", BROKEN_RECORD_TYPE)


def read(path: Path, file_format, on_error="skip") -> tuple[list, list[BrokenRecord]]:
    """What a file has, and what it has that is broken."""
    source = FileSource(str(path), file_format, on_error=on_error)
    reader = source.create_reader()
    reader.broken_records = BrokenRecords(OutputTag("kept"))
    (chunk,) = source.create_enumerator(_context()).poll(0, _budget())
    records = [value for batch in reader.read(chunk, _budget()) for value in batch.values]
    count, broken = reader.broken_records.take()
    values = [] if broken is None else broken.values
    assert count == len(values)
    return records, values


def _context():
    return EnumeratorContext({}, 1, True)


def _budget():
    return EpochBudget(1 << 40, 1 << 40, 1)


def test_lines_of_json_that_are_broken_are_given_away_with_their_place(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"id": 1}\nno json\n\n{"id": "x"}\n{"id": 2}\n')
    records, broken = read(path, JsonLinesFormat("id BIGINT"))
    assert [row.id for row in records] == [1, 2]
    assert [(record.value, record.position) for record in broken] == [
        (b"no json", f"{path}, byte 10"),
        (b'{"id": "x"}', f"{path}, byte 19"),
    ]
    assert "no valid JSON" in broken[0].reason
    assert "id" in broken[1].reason


def test_lines_of_json_of_no_type(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"id": 1}\n{\n[2]\n' + b"[" * 2000 + b"]" * 2000)
    records, broken = read(path, JsonLinesFormat())
    assert records == [{"id": 1}, [2]]
    assert [record.position for record in broken] == [f"{path}, byte 10", f"{path}, byte 16"]


@pytest.mark.parametrize("charset", ["UTF-8", "ascii"])
def test_lines_that_are_not_in_the_charset(tmp_path, charset):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\n\xff\xfe\ntwo\nlast\r")
    records, broken = read(path, TextLineFormat(charset))
    assert records == ["one", "two", "last\r"]
    assert [(record.value, record.position) for record in broken] == [(b"\xff\xfe", f"{path}, byte 5")]


def test_rows_of_csv_with_too_many_fields_or_fields_of_another_type(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,price,card\n1,2.5,a\n2,3\nx,4,b\n3,y,c\n4,,\n5,1,"d,e"\n')
    records, broken = read(path, CsvFormat(PAYMENT, header=True))
    assert [tuple(map(str, row)) for row in records] == [("1", "2.5", "a"), ("4", "None", ""), ("5", "1", "d,e")]
    assert [(record.value, record.position, record.reason) for record in broken] == [
        (b"2,3", f"{path}, row 3", "it has 2 fields; expected 3"),
        (b"x,4,b", f"{path}, row 4", "field id: 'x' is no int64"),
        (b"3,y,c", f"{path}, row 5", "field price: 'y' is no number"),
    ]


def test_rows_of_csv_that_are_no_utf8_and_have_too_few_or_many_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffgröße,wert\n1,ä\n".encode() + b"2,\xff,x\n3\xff\n" + "4,Ø\n".encode())
    record_type = Types.ROW_NAMED(["wert", "größe"], [Types.STRING(), Types.LONG()])
    records, broken = read(path, CsvFormat(record_type, header=True, null_literal="Ø"))
    assert [tuple(row) for row in records] == [("ä", 1), (None, 4)]
    assert [(record.value, record.position, record.reason) for record in broken] == [
        (b"2,\xff,x", f"{path}, row 3", "it has 3 fields; expected 2"),
        (b"3\xff", f"{path}, row 4", "it has 1 fields; expected 2"),
    ]


def test_good_csv_is_read_the_same_whether_broken_rows_are_allowed_or_not(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('1,"a ""x""",true,2024-01-02,1.5\n,,,,\n3,NULL,false,2024-01-03,-2e3\n')
    kind = "n BIGINT, t STRING, b BOOLEAN, d DATE, f DOUBLE"
    for options in ({}, {"null_literal": "NULL"}, {"null_literal": ""}):
        strict = FileSource(str(path), CsvFormat(kind, **options))
        (chunk,) = strict.create_enumerator(_context()).poll(0, _budget())
        expected = [value for batch in strict.create_reader().read(chunk, _budget()) for value in batch.values]
        assert read(path, CsvFormat(kind, **options)) == (expected, [])


@pytest.mark.parametrize(
    ("type_info", "text", "value"),
    [
        (Types.LONG(), b" 7", 7),
        (Types.DOUBLE(), b"1.5\t", 1.5),
        (Types.SQL_TIME(), b"12:30:00", datetime.time(12, 30)),
        (Types.SQL_TIME(), b"", None),
        (Types.SQL_TIME(), b" 12:30 ", datetime.time(12, 30)),
        (Types.SQL_TIME(), b"12:30:00.", datetime.time(12, 30)),
        (Types.SQL_TIME(), b"12", "12.*time64|time64.*12"),
        (Types.BOOLEAN(), b"TRUE", True),
        (Types.BOOLEAN(), b"tRUE", "tRUE.*bool|bool.*tRUE"),
        (Types.BOOLEAN(), b" true", " true.*bool|bool.* true"),
        (Types.SQL_TIMESTAMP(), b" 2024-01-02 00:00:00", "2024.*timestamp|timestamp.*2024"),
        (Types.BIG_DEC(), b"", None),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\xff", b"\xff"),
        (Types.BIG_INT(), b"1.5", "'1.5' is no number"),
        (Types.SQL_DATE(), b"0000-12-31", "row 1: field v|field v: .0000-12-31"),
        (Types.SQL_TIMESTAMP(), b"0000-12-31 00:00:00", "row 1: field v|field v: .0000-12-31"),
        (Types.STRING(), b"\xff", "UTF-?8"),
    ],
)
def test_a_field_of_csv_is_good_or_bad_whether_broken_rows_are_allowed_or_not(
    tmp_path, run_source, type_info, text, value
):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a," + text + b"\n")
    file_format = CsvFormat(Types.ROW_NAMED(["k", "v"], [Types.STRING(), type_info]))
    records, broken = read(path, file_format)
    run = run_source(FileSource(str(path), file_format))
    if isinstance(value, str):
        assert records == []
        assert re.search(value, broken[0].reason)
        with pytest.raises(SourceError, match=value):
            run.epoch()
    else:
        assert (records, broken) == ([Row(k="a", v=value)], [])
        assert run.epoch() == records


def test_an_empty_list_of_csv_is_the_same_whether_broken_rows_are_allowed_or_not(tmp_path, run_source):
    path = tmp_path / "a.csv"
    path.write_text("a,\nb,1;2\n")
    record_type = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LIST(Types.INT())])
    file_format = CsvFormat(record_type, array_separators={"v": ";"})
    records, broken = read(path, file_format)
    assert records == run_source(FileSource(str(path), file_format)).epoch() == [Row(k="a", v=[]), Row(k="b", v=[1, 2])]
    assert broken == []


def test_of_many_broken_rows_of_csv_none_costs_another_reading(tmp_path, monkeypatch):
    def read_csv(*_args, **_named):
        raise AssertionError("it takes a millisecond, for every broken row many times")

    monkeypatch.setattr("pyarrow.csv.read_csv", read_csv)
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{number if number % 3 else 'x'},12:30\n" for number in range(300)))
    records, broken = read(path, CsvFormat("n BIGINT, at TIME"))
    assert (len(records), len(broken)) == (200, 100)


def test_text_in_a_column_of_decimals_is_an_error(tmp_path, run_source):
    (tmp_path / "a.csv").write_text("1,2.5,a\n2,x,b\n")
    with pytest.raises(SourceError, match=r"a\.csv, row 2: field price: 'x' is no number"):
        run_source(FileSource(str(tmp_path), CsvFormat(PAYMENT))).epoch()


def test_messages_that_cannot_be_read_are_told_apart_from_the_others():
    schema = JsonDeserializationSchema("id BIGINT")
    messages = [b'{"id": 1}', b"x", None, b'{"id": 2}', b"y"]
    batches, broken = tolerant_batches(schema.to_batch, messages, [1, 2, 3, 4, 5])
    assert [row.id for batch in batches for row in batch.values] == [1, 2]
    assert [time for batch in batches for time in batch.timestamps] == [1, 4]
    assert [bad.place for bad in broken] == [1, 4]


@given(st.lists(st.booleans(), max_size=40))
def test_every_good_message_is_read_once_and_every_bad_one_named(good):
    def parse(start, end):
        for index, fits in enumerate(good[start:end]):
            if not fits:
                raise DeserializationError(index, "bad")
        return list(range(start, end))

    parts, broken = readable_parts(len(good), parse)
    assert [place for _, _, part in parts for place in part] == [place for place, fits in enumerate(good) if fits]
    assert [bad.place for bad in broken] == [place for place, fits in enumerate(good) if not fits]


def test_a_failing_job_shows_the_record_its_place_and_the_reason():
    broken = BrokenRecords("fail")
    with pytest.raises(
        SourceError, match=r"topic t, offset 5: the record cannot be read: odd\n  record: \\xff.*\.\.\.$"
    ):
        broken.add(b"\xff" * 1000, "topic t, offset 5", "odd")


@pytest.mark.parametrize("on_error", ["ignore", None, OutputTag("x", Types.STRING())])
def test_what_a_source_cannot_do_is_refused(tmp_path, on_error):
    with pytest.raises(ConfigurationError, match="on_error"):
        FileSource(str(tmp_path), TextLineFormat(), on_error=on_error)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_job_goes_on_without_broken_records_and_has_them_in_a_side_output(tmp_path, mode):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1}\nbroken\n{"id": 2}\n')
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = FileSource(str(tmp_path / "in"), JsonLinesFormat("id BIGINT"), on_error=BROKEN)
    rows = env.from_source(source)
    good = rows.map(lambda row: f"good {row.id}", output_type=Types.STRING())
    bad = rows.get_side_output(BROKEN).map(lambda row: f"bad {row.value.decode()}", output_type=Types.STRING())
    assert sorted(good.union(bad).execute_and_collect()) == ["bad broken", "good 1", "good 2"]


def test_skipped_records_are_counted(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1}\nbroken\n{"id": 2}\n')
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = FileSource(str(tmp_path / "in"), JsonLinesFormat("id BIGINT"), on_error="skip")
    env.from_source(source).print()
    job = env.execute_async()
    job.get_job_execution_result().result()
    assert '.num_records_in_errors": 1' in json.dumps(job.metrics())


def test_a_file_that_has_vanished_can_be_skipped(tmp_path, run_source):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n")
    run = run_source(FileSource(str(tmp_path), TextLineFormat(), missing="skip"))
    first = run.epoch(size=1)
    (tmp_path / "b").unlink(missing_ok=True)
    (tmp_path / "a").unlink(missing_ok=True)
    assert len(first) == 1
    assert run.epoch() == []
    with pytest.raises(ConfigurationError, match="missing"):
        FileSource(str(tmp_path), TextLineFormat(), missing="ignore")
