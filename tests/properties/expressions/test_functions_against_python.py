"""Every function of expressions against the plain Python that it stands for: nulls, edge values and failures."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Duration, Row, Time, Types
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import Expression, array, col, concat_ws
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from properties.expressions.python_twins import GREATEST, LEAST, doubles, in_64_bits, longs, maybe, texts

FAILURES = (ArithmeticError, ValueError)
EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
moments = st.one_of(
    st.sampled_from(
        (EPOCH, dt.datetime.min, dt.datetime.max, dt.datetime(2024, 2, 29, 23, 59, 59, 999_999), EPOCH - MICROSECOND)
    ),
    st.datetimes().map(lambda at: at.replace(fold=0)),
)
dates = st.one_of(st.sampled_from((dt.date.min, dt.date.max, dt.date(2024, 2, 29), dt.date(2021, 1, 3))), st.dates())
times = st.one_of(st.sampled_from((dt.time.min, dt.time.max)), st.times().map(lambda at: at.replace(fold=0)))
bits = st.one_of(st.integers(-2, 70), longs)
# RE2 counts characters and Python does; surrogates have no column.
letters = st.text(st.characters(codec="utf-8"), max_size=6) | st.text("ab,1 \n", max_size=8)
numbers = st.lists(maybe(st.integers(-2, 2)), max_size=4)
words = st.lists(st.text("ab", max_size=2), max_size=3)

N, X, S, AT, DAY, TIME, L, W, M, K = map(col, ("n", "x", "s", "at", "day", "time", "l", "w", "m", "k"))
FIELDS: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "n": (Types.LONG(), longs),
    "k": (Types.LONG(), bits),
    "x": (Types.DOUBLE(), doubles),
    "s": (Types.STRING(), texts | letters),
    "at": (Types.SQL_TIMESTAMP(), moments),
    "day": (Types.SQL_DATE(), dates),
    "time": (Types.SQL_TIME(), times),
    "l": (Types.LIST(Types.LONG()), numbers),
    "w": (Types.LIST(Types.STRING()), words),
    "m": (Types.MAP(Types.STRING(), Types.LONG()), st.dictionaries(st.sampled_from("abc"), maybe(longs))),
}
RECORD = Types.ROW_NAMED(list(FIELDS), [each for each, _ in FIELDS.values()])


def shifted(value: int, by: int, shift: Callable[[int, int], int]) -> int:
    if by > 64 and shift is int.__lshift__ and value:
        raise OverflowError
    return shift(value, min(by, 200))


def trunc(unit: str) -> Callable[[Any], Any]:
    def truncated(at: Any) -> Any:
        day = at if not isinstance(at, dt.datetime) else at.date()
        if unit in ("year", "quarter", "month"):
            month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[unit]
            start = dt.date(day.year, month, 1)
        else:
            start = day - dt.timedelta(days=day.weekday()) if unit == "week" else day
        return dt.datetime(start.year, start.month, start.day) if isinstance(at, dt.datetime) else start

    return truncated


def cleared(**fields: int) -> Callable[[dt.datetime], dt.datetime]:
    return lambda at: at.replace(**fields)


def micros(at: Any) -> int:
    return ((dt.datetime(at.year, at.month, at.day) if type(at) is dt.date else at) - EPOCH) // MICROSECOND


def floored(at: dt.datetime, step: dt.timedelta) -> dt.datetime:
    return EPOCH + (at - EPOCH) // step * step


def element(values: list[Any], place: int) -> Any:
    return values[place] if -len(values) <= place < len(values) else None


def extracted(pattern: str, group: int) -> Callable[[str], str | None]:
    def extract(text: str) -> str | None:
        found = re.search(pattern, text)
        return None if found is None else found.group(group) or ""

    return extract


FUNCTIONS: list[tuple[Expression, Callable[..., Any], str]] = [
    # (the expression, the Python of its fields, the fields)
    (N.sign(), lambda n: (n > 0) - (n < 0), "n"),
    (X.sign(), lambda x: float(np.sign(x)), "x"),
    (X.log2(), math.log2, "x"),
    (X.log10(), math.log10, "x"),
    (X.sin(), math.sin, "x"),
    (X.cos(), math.cos, "x"),
    (X.tan(), math.tan, "x"),
    (X.asin(), math.asin, "x"),
    (X.acos(), math.acos, "x"),
    (X.atan(), math.atan, "x"),
    (N.bit_and(K), int.__and__, "n k"),
    (N.bit_or(K), int.__or__, "n k"),
    (N.bit_xor(K), int.__xor__, "n k"),
    (N.bit_not(), int.__invert__, "n"),
    (N.shift_left(K), lambda n, k: shifted(n, k, int.__lshift__), "n k"),
    (N.shift_right(K), lambda n, k: shifted(n, k, int.__rshift__), "n k"),
    (N.shift_left(3), lambda n: n << 3, "n"),
    (N.shift_right(70), lambda n: n >> 70, "n"),
    (N.power(2), lambda n: n**2, "n"),
    (N.null_if(0), lambda n: None if n == 0 else n, "n"),
    (X.null_if(0), lambda x: None if x == 0 else x, "x"),
    (N.hash64().bit_and(0).null_if(1), lambda n: 0, "n"),
    (S.reverse(), lambda s: s[::-1], "s"),
    (S.find("a"), lambda s: s.find("a"), "s"),
    (S.find(""), lambda s: s.find(""), "s"),
    (S.find("ß"), lambda s: s.find("ß"), "s"),
    (S.lpad(4, "0"), lambda s: s.rjust(4, "0"), "s"),
    (S.rpad(4, "ß"), lambda s: s.ljust(4, "ß"), "s"),
    (S.lpad(-1), lambda s: s, "s"),
    (S.lpad(-(1 << 70)), lambda s: s, "s"),
    (S.substring(1 << 70), lambda s: "", "s"),
    (S.substring(-(1 << 70), 1 << 70), lambda s: s, "s"),
    (N.round(-19), lambda n: round(n, -19), "n"),
    (N.round(-(1 << 70)), lambda n: 0, "n"),
    (S.repeat(3), lambda s: s * 3, "s"),
    (S.repeat(0), lambda s: "", "s"),
    (S.split(","), lambda s: s.split(","), "s"),
    (S.split("ab"), lambda s: s.split("ab"), "s"),
    (S.trim("a "), lambda s: s.strip("a "), "s"),
    (S.replace("a", "ab"), lambda s: s.replace("a", "ab"), "s"),
    (S.regexp_extract("(a+)(b|1)?"), extracted("(a+)(b|1)?", 1), "s"),
    (S.regexp_extract("(a+)(b|1)?", 2), extracted("(a+)(b|1)?", 2), "s"),
    (S.regexp_extract("a.", 0), extracted("a.", 0), "s"),
    (S.regexp_extract(r"[(\]](?:x)?|(,)", 1), extracted(r"[(\]](?:x)?|(,)", 1), "s"),
    (S.regexp_replace("a+(b?)", r"<\1\0>"), lambda s: re.sub("a+(b?)", r"<\1\g<0>>", s), "s"),
    (S.md5(), lambda s: hashlib.md5(s.encode()).hexdigest(), "s"),
    (S.sha256(), lambda s: hashlib.sha256(s.encode()).hexdigest(), "s"),
    (N.format_number(2), lambda n: f"{n:,.2f}", "n"),
    (X.format_number(1), lambda x: f"{x:,.1f}", "x"),
    (N.from_unix_millis(), lambda n: EPOCH + dt.timedelta(milliseconds=n), "n"),
    (N.from_unix_seconds(), lambda n: EPOCH + dt.timedelta(seconds=n), "n"),
    (N.from_unix_micros(), lambda n: EPOCH + dt.timedelta(microseconds=n), "n"),
    (AT.unix_millis(), lambda at: micros(at) // 1000, "at"),
    (AT.unix_seconds(), lambda at: micros(at) // 1_000_000, "at"),
    (AT.unix_micros(), micros, "at"),
    (DAY.unix_millis(), lambda day: micros(day) // 1000, "day"),
    (AT + dt.timedelta(days=1, microseconds=1), lambda at: at + dt.timedelta(days=1, microseconds=1), "at"),
    (Duration.of_seconds(5) + AT, lambda at: at + dt.timedelta(seconds=5), "at"),
    (AT - Time.seconds(5), lambda at: at - dt.timedelta(seconds=5), "at"),
    (DAY + dt.timedelta(days=30), lambda day: day + dt.timedelta(days=30), "day"),
    (DAY - dt.timedelta(days=365), lambda day: day - dt.timedelta(days=365), "day"),
    (AT + dt.timedelta.max, lambda at: at + dt.timedelta.max, "at"),
    (AT - dt.timedelta.max, lambda at: at - dt.timedelta.max, "at"),
    (DAY + dt.timedelta.min, lambda day: day + dt.timedelta.min, "day"),
    (AT.floor_to(dt.timedelta.max), lambda at: floored(at, dt.timedelta.max), "at"),
    (AT.floor_to(dt.timedelta(minutes=7)), lambda at: floored(at, dt.timedelta(minutes=7)), "at"),
    (AT.date_format("yyyy-MM-dd'T'HH:mm:ss.SSSSSS"), lambda at: at.isoformat(timespec="microseconds"), "at"),
    (AT.date_format("yy/DDD SSS''"), lambda at: f"{at.year % 100:02}/{at:%j} {at.microsecond // 1000:03}'", "at"),
    (AT.date_format("HH 'o''clock'"), lambda at: f"{at.hour:02} o'clock", "at"),
    (AT.date_format("'at' ''''"), lambda at: "at '", "at"),
    (DAY.date_format("yyyyMMdd"), lambda day: f"{day.year:04}{day:%m%d}", "day"),
    (TIME.date_format("HH.mm.ss"), lambda time: f"{time:%H.%M.%S}", "time"),
    (AT.date_format(""), lambda at: "", "at"),
    (TIME.hour() * 60 + TIME.minute(), lambda time: time.hour * 60 + time.minute, "time"),
    (TIME.second() * 1_000_000 + TIME.microsecond(), lambda t: t.second * 1_000_000 + t.microsecond, "time"),
    (L.size(), len, "l"),
    (W.size(), len, "w"),
    (M.size(), len, "m"),
    (M.map_value("a"), lambda m: m.get("a"), "m"),
    (L.element_at(0), lambda values: element(values, 0), "l"),
    (L.element_at(-2), lambda values: element(values, -2), "l"),
    (L.element_at(K), element, "l k"),
    (W.element_at(1), lambda values: element(values, 1), "w"),
    (L.array_contains(1), lambda values: 1 in values, "l"),
    (L.array_contains(1.0), lambda values: 1 in values, "l"),
    (L.array_contains(N), lambda values, n: n in values, "l n"),
    (W.array_contains("a"), lambda values: "a" in values, "w"),
    (W.array_join("-"), "-".join, "w"),
    (AT.millisecond(), lambda at: at.microsecond // 1000, "at"),
    (AT.date_trunc("hour"), cleared(minute=0, second=0, microsecond=0), "at"),
    (AT.date_trunc("minute"), cleared(second=0, microsecond=0), "at"),
    (AT.date_trunc("second"), cleared(microsecond=0), "at"),
    (AT.date_trunc("millisecond"), lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000), "at"),
]

PARTS: dict[str, Callable[[Any], int]] = {
    "quarter": lambda at: (at.month + 2) // 3,
    "week": lambda at: at.isocalendar()[1],
    "day_of_week": lambda at: at.isoweekday(),
    "day_of_year": lambda at: at.timetuple().tm_yday,
}
for part in ("year", "month", "day", "hour", "minute", "second", "microsecond"):
    FUNCTIONS.append((getattr(AT, part)(), attrgetter(part), "at"))
for moment, field in ((AT, "at"), (DAY, "day")):
    FUNCTIONS += [(getattr(moment, part)(), function, field) for part, function in PARTS.items()]
    FUNCTIONS += [(moment.date_trunc(unit), trunc(unit), field) for unit in ("year", "quarter", "month", "week", "day")]


def evaluated(expression: Expression, records: list[Row]) -> tuple[list[Any], int | None]:
    """The results up to the first record that fails, and which one that is."""
    columns = codec_for(RECORD).to_columns(records)
    evaluator, failed = Evaluator(expression, RECORD), None
    try:
        results = evaluator.columns(columns, len(records))
    except RecordEvaluationError as failure:
        failed = failure.index
        results = evaluator.columns([column.slice(0, failed) for column in columns], failed)
    return codec_for(evaluator.type).to_values(results), failed


def expected(function: Callable[..., Any], fields: list[str], records: list[Row]) -> tuple[list[Any], int | None]:
    results: list[Any] = []
    for place, record in enumerate(records):
        values = [record[field] for field in fields]
        try:
            results.append(None if None in values else in_64_bits(function(*values)))
        except FAILURES:
            return results, place
    return results, None


def rows(*fields: str) -> st.SearchStrategy[list[Row]]:
    drawn = {name: maybe(strategy) if name in fields else st.none() for name, (_, strategy) in FIELDS.items()}
    return st.lists(st.builds(Row, **drawn), min_size=1, max_size=6)


@pytest.mark.parametrize(("expression", "function", "fields"), FUNCTIONS, ids=[repr(each[0]) for each in FUNCTIONS])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_function_is_pythons(
    expression: Expression, function: Callable[..., Any], fields: str, data: st.DataObject
) -> None:
    records = data.draw(rows(*fields.split()))
    (computed, failed), (wanted, failure) = evaluated(expression, records), expected(function, fields.split(), records)
    # repr tells -0.0 from 0.0 and 1 from 1.0, and NaN from nothing but itself.
    assert (list(map(repr, computed)), failed) == (list(map(repr, wanted)), failure)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=rows("n", "k", "s"))
def test_functions_that_take_missing_values(records: list[Row]) -> None:
    def computed(expression: Expression) -> list[Any]:
        return evaluated(expression, records)[0]

    assert computed(N.if_null(7)) == [7 if r.n is None else r.n for r in records]
    assert computed(array(N, K, 0)) == [[r.n, r.k, 0] for r in records]
    parts = [[part for part in (r.s, r.s) if part is not None] for r in records]
    assert computed(concat_ws("-", S, S)) == ["-".join(part) for part in parts]
    assert computed(concat_ws("-", S, "x", S)) == ["-".join(["x"] if r.s is None else [r.s, "x", r.s]) for r in records]


@pytest.mark.parametrize("field", ["n", "s", "at", "day", "time"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hashes_are_equal_where_values_are(field: str, data: st.DataObject) -> None:
    records = data.draw(rows(field))
    hashes, _ = evaluated(col(field).hash64(), records)
    assert len(set(hashes)) == len({record[field] for record in records})
    assert [each is None for each in hashes] == [record[field] is None for record in records]


def test_hashes_never_change() -> None:
    assert evaluated(N.hash64(), [_row(n=1)])[0] == [-1973852311925715590]
    positive, negative, nan = evaluated(X.hash64(), [_row(x=0.0), _row(x=-0.0), _row(x=math.nan)])[0]
    assert positive == negative != nan


def _row(**fields: Any) -> Row:
    return Row(**{name: fields.get(name) for name in FIELDS})


scalars = st.one_of(st.none(), st.booleans(), longs, st.floats(allow_nan=False), letters)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
BROKEN = ("", " ", "{", '{"a":1}{"a":2}', '1}{"v":2', "nan", "NaN", "[1,]", "01", '"\\ud800"', '{"a":1,"a":2}')
MEMBERS = ('1,"x":2', '{"a":1},"x":2', '{"a":1} , "v":{"a":2}', '1],"x":[2')
"""More than a value, which the inside of an object or a list may be."""
broken = st.sampled_from((*BROKEN, *MEMBERS, "\ufeff1", "-0", '{"a":NaN}', '{"a":-Infinity}', '{"a": 1}\n'))


def at_path(text: str, steps: tuple[str | int, ...], wanted: type) -> Any:
    """What Python's own reader finds."""
    try:
        value = json.loads(text, parse_constant=lambda _: (_ for _ in ()).throw(ValueError()))
    except ValueError:
        return None
    for step in steps:
        try:
            value = value[step] if isinstance(value, dict if isinstance(step, str) else list) else None
        except (KeyError, IndexError):
            return None
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        return None
    return in_range(value)


def in_range(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() or "\ud800" not in value else None
    return value if not isinstance(value, int) or LEAST <= value <= GREATEST else None


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(
        maybe(documents.map(json.dumps) | documents.map(lambda each: json.dumps(each, indent=1)) | broken),
        min_size=1,
        max_size=5,
    ),
    path=st.sampled_from(("$", "$.a", "$.a.b", "$['a']", "$.a[0]", "$[1]")),
    wanted=st.sampled_from((int, float, bool)),
)
def test_json_is_pythons(texts: list[str | None], path: str, wanted: type) -> None:
    steps = {"$": (), "$.a": ("a",), "$.a.b": ("a", "b"), "$['a']": ("a",), "$.a[0]": ("a", 0), "$[1]": (1,)}[path]
    records = [_row(s=text) for text in texts]
    computed, _ = evaluated(S.json_value(path, wanted), records)
    expected_values = [None if text is None else at_path(text, steps, wanted) for text in texts]
    assert [each + 0 if wanted is float and each is not None else each for each in computed] == [
        each + 0 if wanted is float and each is not None else each for each in expected_values
    ]


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(maybe(documents.map(json.dumps) | broken), min_size=1, max_size=4))
def test_what_is_json(texts: list[str | None]) -> None:
    def is_json(text: str) -> bool:
        try:
            json.loads(text, parse_constant=lambda _: (_ for _ in ()).throw(ValueError()))
        except ValueError:
            return False
        return True

    computed, _ = evaluated(S.is_json(), [_row(s=text) for text in texts])
    assert computed == [None if text is None else is_json(text) for text in texts]


@pytest.mark.parametrize("others", [[], ["no json"]])
def test_json_texts_give_texts_numbers_as_written_and_no_objects(others: list[str]) -> None:
    texts = ['{"a":"x"}', '{"a":null}', '{"b":1}', None]
    mixed = ['{"a":1.50}', '{"a":true}', '{"a":{}}', '{"a":"\\u00e9"}']
    computed, _ = evaluated(S.json_value("$.a"), [_row(s=text) for text in [*texts, *others]])
    assert computed[:4] == ["x", None, None, None]
    computed, _ = evaluated(S.json_value("$.a"), [_row(s=text) for text in [*mixed, *others]])
    assert computed[:4] == ["1.50", "true", None, "é"]


@pytest.mark.parametrize("text", MEMBERS)
def test_a_value_with_more_behind_it_is_no_json(text: str) -> None:
    records = [_row(s=text), _row(s='{"a":3}')]
    assert evaluated(S.is_json(), records)[0] == [False, True]
    assert evaluated(S.json_value("$.a", int), records)[0] == [None, 3]


@pytest.mark.parametrize(("depth", "is_json"), [(500, True), (501, False), (5000, False)])
def test_how_deep_json_goes_does_not_depend_on_other_texts(depth: int, is_json: bool) -> None:
    nested = '{"a":7,"b":' + "[" * (depth - 1) + '"["' + "]" * (depth - 1) + "}"
    for others in ([], ["no json"], ['{"a":"x"}']):
        records = [_row(s=text) for text in [nested, *others]]
        assert evaluated(S.is_json(), records)[0][0] is is_json
        assert evaluated(S.json_value("$.a", int), records)[0][0] == (7 if is_json else None)


def matches_like(pattern: str, text: str) -> bool:
    """SQL's LIKE, one character after the other."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(matches_like(pattern[1:], text[start:]) for start in range(len(text) + 1))
    if pattern[0] == "\\":
        return text[:1] == pattern[1] and matches_like(pattern[2:], text[1:])
    return text != "" and pattern[0] in ("_", text[0]) and matches_like(pattern[1:], text[1:])


parts_of_patterns = st.lists(
    st.sampled_from(("%", "_", "a", "b", r"\%", r"\_", r"\a", "\\\\", "ß", "\n", ".")), max_size=5
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(pattern=parts_of_patterns.map("".join), texts=st.lists(maybe(st.text("ab%_\\ß\n.", max_size=5)), min_size=1))
def test_like_is_that_of_sql(pattern: str, texts: list[str | None]) -> None:
    matched = [None if text is None else matches_like(pattern, text) for text in texts]
    assert evaluated(S.like(pattern), [_row(s=text) for text in texts]) == (matched, None)


@pytest.mark.parametrize("expression", [S.repeat(1 << 31), S.repeat(1 << 70), S.lpad(1 << 31), S.rpad(1 << 70)])
def test_texts_that_no_column_holds_are_told(expression: Expression) -> None:
    records = [_row(s=None), _row(s="abc")]
    with pytest.raises(RecordEvaluationError) as failure:
        Evaluator(expression, RECORD).columns(codec_for(RECORD).to_columns(records), 2)
    assert isinstance(failure.value.cause, OverflowError)
    assert str(failure.value.cause).startswith("the texts are longer than a column holds, 2 GB, in `col(")
