"""Compares the result of a program with the answer of DuckDB: row by row, or by number of rows and checksum.

python benchmarks/nexmark/check.py --query q5 --input DIR (--rows DIR | --result FILE)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nexmark.answers.patterns import PATTERNS, Bid, Match, matches
from nexmark.bid_totals import WINDOW_MS, total_differences
from nexmark.checksums import MODULUS
from nexmark.schema import DECIMAL, LONG, QUERIES, TABLES, TEXT, Columns

ANSWERS = Path(__file__).with_name("answers")
END_OF_TIME = (1 << 63) - 1
SHOWN_DIFFERENCES = 5
ROWS_AT_A_TIME = 100_000
_SQL_TYPES = {LONG: "BIGINT", TEXT: "VARCHAR", DECIMAL: "DECIMAL(23, 3)"}
_PASSED_OVER = ("-U",)
_DELETES = ("-D", "D")


@dataclass(frozen=True)
class Verdict:
    """Whether a result is right, and if not, where it is not."""

    differences: tuple[str, ...] = ()
    remark: str = ""
    """What was compared, where that is less than all rows."""

    @property
    def is_right(self) -> bool:
        return not self.differences


class Checker:
    """The right answers for one input."""

    def __init__(self, input_directory: Path) -> None:
        self._database = duckdb.connect()
        self._database.execute(f"SET temp_directory = '{tempfile.gettempdir()}/nexmark-duckdb'")
        for table in TABLES:
            files = f"{input_directory}/{table}*.parquet"
            self._database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}')")
        self._database.execute(
            f"CREATE VIEW side_input AS SELECT * FROM read_csv('{input_directory}/side_input.csv', header = false, "
            "columns = {'key': 'BIGINT', 'value': 'VARCHAR'})"
        )

    def make_answer(self, query: str, complete_until: int = END_OF_TIME) -> None:
        """Fills the table `answer`; windows and sessions that end after the time are left out."""
        self._database.execute("DROP TABLE IF EXISTS answer")
        self._database.execute(f"SET VARIABLE complete_until = {complete_until}")
        columns = QUERIES[query].result
        if query in PATTERNS:
            names = ", ".join(f"{name} {_SQL_TYPES[kind]}" for name, kind in columns)
            self._database.execute(f"CREATE TABLE answer ({names})")
            self._insert_answer(columns, matches(query, self._bids_in_order()))
            return
        statement = (ANSWERS / f"{query}.sql").read_text()
        self._database.execute(f"CREATE TABLE answer AS SELECT {_typed(columns)} FROM ({statement})")

    def _insert_answer(self, columns: Columns, rows: Iterator[Match]) -> None:
        """Adds rows of whole numbers to the table `answer`, many at a time."""
        schema = pa.schema([(name, pa.int64()) for name, _ in columns])
        while some := list(islice(rows, ROWS_AT_A_TIME)):
            arrays = [pa.array(column, pa.int64()) for column in zip(*some, strict=True)]
            self._database.register("found", pa.table(arrays, schema=schema))
            self._database.execute("INSERT INTO answer SELECT * FROM found")
            self._database.unregister("found")

    def answer_rows(self) -> list[tuple[Any, ...]]:
        """The rows of the answer, in an order of their own."""
        return self._database.execute("SELECT * FROM answer ORDER BY ALL").fetchall()

    def checksum(self, query: str, *, by_length: bool = False) -> tuple[int, int]:
        """Number of rows of the answer, and their checksum; texts count by their contents, or their length."""
        values = (
            f"{place} * coalesce({_checked_value(name, kind, by_length)}, 0)"
            for place, (name, kind) in enumerate(QUERIES[query].result, 1)
        )
        statement = f"SELECT count(*), sum(h * h) FROM (SELECT ({' + '.join(values)}) % {MODULUS} AS h FROM answer)"
        found = self._database.execute(statement).fetchone()
        assert found is not None
        return int(found[0]), int(found[1] or 0)

    def check_result(self, query: str, result: dict[str, Any], rows: Path | None = None) -> Verdict:
        """Judges what a program has reported; its rows are looked at where it wrote any."""
        if query == "q12":
            return self._check_total(result, rows)
        self.make_answer(query, result.get("complete_until") or END_OF_TIME)
        if rows is not None:
            return self.check_rows(query, rows)
        expected = self.checksum(query, by_length=result.get("texts") != "contents")
        if (result["rows"], result["checksum"]) == expected:
            return Verdict()
        return Verdict(
            (f"{result['rows']} rows with checksum {result['checksum']}; right are {expected[0]} with {expected[1]}",)
        )

    def check_rows(self, query: str, directory: Path) -> Verdict:
        """Compares the files of a result with the table `answer`, as multisets."""
        self._read_rows(query, directory)
        differences: list[str] = []
        for what, left, right in (("missing", "answer", "given"), ("wrong", "given", "answer")):
            statement = f"FROM (SELECT * FROM {left} EXCEPT ALL SELECT * FROM {right})"
            number = self._database.execute(f"SELECT count(*) {statement}").fetchone()
            if number and number[0]:
                first = self._database.execute(
                    f"SELECT * {statement} ORDER BY ALL LIMIT {SHOWN_DIFFERENCES}"
                ).fetchall()
                differences += [f"{number[0]} rows {what}, the first:", *(f"  {row}" for row in first)]
        return Verdict(tuple(differences))

    def _check_total(self, result: dict[str, Any], rows: Path | None) -> Verdict:
        """q12: all bids are in some window, but for those of windows that the end of the input has left open."""
        total = result.get("bid_total")
        differences: tuple[str, ...] = ()
        if rows is not None:
            self._read_rows("q12", rows)
            total = self._number("SELECT coalesce(sum(bid_count), 0) FROM given")
            differences = self._wrong_windows()
        bids = self._number("SELECT count(*) FROM bids")
        differences = (*differences, *total_differences(total, bids, result["samples"]))
        return Verdict(differences, f"{total} of {bids} bids in windows that have ended")

    def _wrong_windows(self) -> tuple[str, ...]:
        """Rows of q12 that cannot be, whatever the clock has shown."""
        found = {
            "rows whose window is none of 10 s": f"SELECT count(*) FROM given WHERE starttime % {WINDOW_MS} <> 0 "
            f"OR endtime <> starttime + {WINDOW_MS}",
            "rows too many of a bidder and window": "SELECT count(*) - count(DISTINCT (bidder, starttime)) FROM given",
            "bidders with more bids than they placed": "SELECT count(*) FROM (SELECT bidder, sum(bid_count) AS n "
            "FROM given GROUP BY bidder) LEFT JOIN (SELECT bidder, count(*) AS placed FROM bids GROUP BY bidder) "
            "USING (bidder) WHERE n > coalesce(placed, 0)",
        }
        numbers = {what: self._number(statement) for what, statement in found.items()}
        return tuple(f"{number} {what}" for what, number in numbers.items() if number)

    def _number(self, statement: str) -> int:
        found = self._database.execute(statement).fetchone()
        assert found is not None
        return int(found[0])

    def _read_rows(self, query: str, directory: Path) -> None:
        """Fills the table `given`: of an updating result, the last row of each key."""
        columns, key = QUERIES[query].result, QUERIES[query].key
        names = ", ".join(f'"{name}" {_SQL_TYPES[kind]}' for name, kind in columns)
        self._database.execute(f"CREATE OR REPLACE TABLE given ({names})")
        self._database.execute(f"CREATE OR REPLACE TEMP TABLE versions ({names}, op VARCHAR, place BIGINT)")
        target = "versions" if key else "given"
        for path in sorted(_files_below(directory), key=_natural_order):
            reader = self._reader(path, columns)
            has_op = "op" in [name for name, *_ in self._database.execute(f"DESCRIBE {reader}").fetchall()]
            if key:
                counted = self._database.execute("SELECT count(*) FROM versions").fetchone()
                assert counted is not None
                op = "op" if has_op else "'+I'"
                place = f"{counted[0]} + row_number() OVER ()"
                more = f", {op} AS op, {place} AS place"
            else:
                more = ""
            self._database.execute(f"INSERT INTO {target} SELECT {_typed(columns)}{more} FROM ({reader})")
        if key:
            last = f"row_number() OVER (PARTITION BY {', '.join(key)} ORDER BY place DESC) = 1"
            self._database.execute(
                f"INSERT INTO given SELECT * EXCLUDE (op, place) FROM (SELECT * FROM versions "
                f"WHERE op NOT IN {_in(_PASSED_OVER)} QUALIFY {last}) WHERE op NOT IN {_in(_DELETES)}"
            )
        self._database.execute("DROP TABLE versions")

    def _reader(self, path: Path, columns: Columns) -> str:
        quoted = str(path).replace("'", "''")
        if path.suffix == ".parquet":
            return f"SELECT * FROM read_parquet('{quoted}', hive_partitioning = true, hive_types_autocast = false)"
        if path.suffix == ".json":
            fields = ", ".join(f"'{name}': '{_SQL_TYPES[kind]}'" for name, kind in columns)
            with path.open() as file:
                if '"op"' in file.readline():
                    fields += ", 'op': 'VARCHAR'"
            return f"SELECT * FROM read_json('{quoted}', format = 'newline_delimited', columns = {{{fields}}})"
        fields = ", ".join(f"'{name}': '{_SQL_TYPES[kind]}'" for name, kind in columns)
        texts = ", ".join(f"'{name}'" for name, kind in columns if kind == TEXT)
        fields = f"columns = {{{fields}}}, force_not_null = [{texts}]"
        return f"SELECT * FROM read_csv('{quoted}', header = false, quote = '\"', escape = '\"', {fields})"

    def _bids_in_order(self) -> Iterator[tuple[tuple[int, int], list[Bid]]]:
        # A cursor of its own: what it has not read yet is there after other statements, too.
        bids = self._database.cursor().sql(
            "SELECT auction, bidder, price, dateTime FROM bids ORDER BY auction, bidder, dateTime, seq"
        )
        rows = chain.from_iterable(
            zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for batch in bids.to_arrow_reader(ROWS_AT_A_TIME)
        )
        for key, group in groupby(rows, key=itemgetter(0, 1)):
            yield key, [Bid(price, time) for _, _, price, time in group]


def _typed(columns: Columns) -> str:
    return ", ".join(f'CAST("{name}" AS {_SQL_TYPES[kind]}) AS "{name}"' for name, kind in columns)


def _checked_value(name: str, kind: str, by_length: bool) -> str:
    if kind == TEXT:
        return f'length("{name}")' if by_length else _text_number(f'"{name}"')
    return f'CAST("{name}" * 1000 AS BIGINT)' if kind == DECIMAL else f'"{name}"'


def _text_number(text: str) -> str:
    """The length of a text and its first, middle and last character: digits of a number to the base 128."""
    middle, last = f"substr({text}, length({text}) // 2 + 1, 1)", f"right({text}, 1)"
    characters = f"ascii({text}) * 16384 + ascii({middle}) * 128 + ascii({last})"
    return f"(length({text}) * 2097152 + {characters})"


def _in(values: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def _files_below(directory: Path) -> list[Path]:
    return [
        path
        for path in directory.rglob("*")
        if path.suffix in {".parquet", ".json", ".csv"}
        and path.stat().st_size
        and not any(part.startswith((".", "_")) for part in path.relative_to(directory).parts)
    ]


def _natural_order(path: Path) -> list[tuple[int, int | str]]:
    """Numbers in names compare as numbers."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", str(path))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    result = json.loads(options.result.read_text()) if options.result else {}
    rows = options.rows or (Path(result["output"]) if result.get("output") else None)
    verdict = Checker(options.input).check_result(options.query, result, rows)
    right = f"right: {verdict.remark}" if verdict.remark else "right"
    print(right if verdict.is_right else "\n".join(["WRONG", *verdict.differences]))
    return 0 if verdict.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
