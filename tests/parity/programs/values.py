"""Values that programs make and look at themselves: rows, types, times, configurations."""

from pyflink.common import Configuration, Duration, Instant, Row, RowKind, Time, Types

MODES = ("STREAMING",)


def rows(env):
    row = Row(name="Alice", age=11)
    person = Row("name", "age")
    ann = person("Ann", 12)
    plain = Row(1, None, "x")
    plain[1] = 2.5
    changed = Row(a=1, b=2)
    changed[0] = 5
    changed["b"] = 6
    changed.set_row_kind(RowKind.DELETE)
    return [
        row, row.name, row["age"], row[0], row[-1], len(row), "name" in row, "Alice" in row, list(row), row.as_dict(),
        ann, ann == Row(name="Ann", age=12), Row(1, 2) == Row(1, 2), Row(1, 2) == (1, 2), plain, str(plain),
        changed, changed.get_row_kind(), changed.as_dict(), changed.get_fields_by_names(["b"]),
        hash(Row(1, "a")) == hash(Row(1, "a")), Row(Row(a=1), [Row(2)]), RowKind.INSERT, str(RowKind.UPDATE_AFTER),
    ]  # fmt: skip


def nested_rows_as_dicts(env):
    return [Row(a=Row(b=1), c=[Row(d=2)], e={"f": Row(g=3)}).as_dict(True), Row(a=Row(b=1)).as_dict()]


def types_in_text(env):
    kinds = [
        Types.STRING(), Types.BYTE(), Types.BOOLEAN(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT(),
        Types.DOUBLE(), Types.CHAR(), Types.BIG_INT(), Types.BIG_DEC(), Types.INSTANT(), Types.SQL_DATE(),
        Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.PICKLED_BYTE_ARRAY(), Types.ROW([Types.INT(), Types.STRING()]),
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), Types.TUPLE([Types.INT(), Types.STRING()]),
        Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.INT()), Types.OBJECT_ARRAY(Types.STRING()),
        Types.MAP(Types.STRING(), Types.INT()), Types.LIST(Types.INT()),
    ]  # fmt: skip
    return [str(kind) for kind in kinds]


def types_compared(env):
    named = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    return [
        Types.INT() == Types.INT(), Types.INT() == Types.LONG(), Types.FLOAT() == Types.DOUBLE(),
        named == Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), named.get_field_names(),
        named.get_field_types() == [Types.INT(), Types.STRING()],
        Types.TUPLE([Types.INT()]) == Types.TUPLE([Types.INT()]),
        Types.LIST(Types.INT()) == Types.LIST(Types.STRING()),
    ]  # fmt: skip


def times(env):
    return [
        Time.seconds(2).to_milliseconds(), Time.minutes(1).to_milliseconds(), Time.hours(1).to_milliseconds(),
        Time.days(1).to_milliseconds(), Time.milliseconds(5) == Time.milliseconds(5),
        Instant.of_epoch_milli(1_234_567).to_epoch_milli(), Instant.of_epoch_milli(1_234_567),
        Instant.of_epoch_milli(5) == Instant.of_epoch_milli(5), Instant.of_epoch_milli(-1),
        Duration.of_seconds(2) == Duration.of_millis(2000),
    ]  # fmt: skip


def configurations(env):
    configuration = Configuration()
    configuration.set_string("text", "a").set_integer("number", 7).set_boolean("yes", True).set_float("half", 0.5)
    configuration.set_string("as.text", "12")
    copy = Configuration(configuration)
    copy.set_string("text", "b")
    copy.remove_config("number")
    return [
        configuration.get_string("text", "none"), configuration.get_integer("number", 0),
        configuration.get_integer("as.text", 0), configuration.get_boolean("yes", False),
        configuration.get_float("half", 0.0), configuration.get_string("missing", "default"),
        configuration.contains_key("text"), sorted(configuration.key_set()), sorted(configuration.to_dict().items()),
        sorted(copy.to_dict().items()), copy == configuration, Configuration(configuration) == configuration,
    ]  # fmt: skip


def types_of_streams(env):
    numbers = env.from_collection([1, 2], Types.INT())
    pairs = numbers.map(lambda n: (n, "x"), Types.TUPLE([Types.INT(), Types.STRING()]))
    return [
        str(numbers.get_type()), str(pairs.get_type()), str(numbers.filter(lambda n: True).get_type()),
        str(pairs.key_by(lambda p: p[0]).sum(0).get_type()),
        env.get_parallelism(),
    ]  # fmt: skip


PLAIN = (
    "rows", "nested_rows_as_dicts", "types_in_text", "types_compared", "times", "configurations", "types_of_streams"
)  # fmt: skip
