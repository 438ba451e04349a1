"""JDBC URLs, options, and passwords that are shown nowhere."""

from __future__ import annotations

import pickle

import pytest

from penstock.common import Row, Types
from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.connectors.jdbc.address import parse_url
from penstock.connectors.jdbc.placeholders import translated
from penstock.datastream.connectors import jdbc as public
from penstock.testing import local_environment

TYPE = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
SECRET = "hunter-2"


def options(url: str = "jdbc:postgresql://db/shop") -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:postgresql://db.example:6543/shop", "postgresql://db.example:6543/shop"),
        ("postgresql://db.example/shop", "postgresql://db.example:5432/shop"),
        ("jdbc:mysql://h/d", "mysql://h:3306/d"),
        ("jdbc:mariadb://h:1/d", "mysql://h:1/d"),
        ("jdbc:sqlite:/data/x.db", "sqlite:/data/x.db"),
    ],
)
def test_a_url_names_a_database(url: str, shown: str) -> None:
    assert str(parse_url(url)) == shown


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("jdbc:oracle:thin:@h", "scheme 'oracle'"),
        ("jdbc:postgresql://h:port/d", "port that is a number"),
        ("jdbc:postgresql://h", "names no database"),
        ("jdbc:sqlite:", "seen by one process only"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        options(url).build()


def test_options_are_what_was_set() -> None:
    built = options().with_user_name("me").with_password(SECRET).with_driver_name("org.postgresql.Driver").build()
    assert built.get_db_url() == "jdbc:postgresql://db/shop"
    assert (built.get_user_name(), built.get_password()) == ("me", SECRET)
    assert built.get_driver_name() == "org.postgresql.Driver"
    of_url = options(f"jdbc:postgresql://db/shop?user=me&password={SECRET}").build()
    assert (of_url.get_user_name(), of_url.get_password()) == ("me", SECRET)
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5000, 0, 3)
    built = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(8).with_max_retries(0).build()
    assert (built.get_batch_size(), built.get_batch_interval_ms(), built.get_max_retries()) == (7, 8, 0)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "7"])
def test_a_batch_has_a_whole_number_of_rows(size: object) -> None:
    with pytest.raises(ConfigurationError, match="with_batch_size takes a whole number of at least 1"):
        JdbcExecutionOptions.builder().with_batch_size(size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "connection",
    [
        options().with_user_name("me").with_password(SECRET).build(),
        options(f"jdbc:postgresql://me:{SECRET}@db/shop").build(),
        options(f"jdbc:postgresql://db/shop?user=me&password={SECRET}").build(),
    ],
)
def test_a_password_is_shown_nowhere(connection: JdbcConnectionOptions) -> None:
    sink = JdbcSink.upsert("t", ["id"], TYPE, connection)
    env = local_environment()
    env.from_collection([Row(1, "a")], TYPE).sink_to(sink)
    shown = [repr(connection), repr(sink), sink.describe(), str(connection.address), repr(connection.address)]
    shown += [env.explain(), env.get_execution_plan()]
    copy = pickle.loads(pickle.dumps(sink))
    shown += [repr(copy), repr(vars(copy))]
    assert not [text for text in shown if SECRET in text]
    assert copy.describe() == "rows of t by id in postgresql://db:5432/shop"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t VALUES (?, ?)", ("INSERT INTO t VALUES (%s, %s)", 2)),
        ("SELECT '?', \"?\" -- ?\n, /* ? */ ?", ("SELECT '?', \"?\" -- ?\n, /* ? */ %s", 1)),
        (
            "UPDATE t SET a = 'it''s ?' WHERE b LIKE '%' AND c = ?",
            ("UPDATE t SET a = 'it''s ?' WHERE b LIKE '%%' AND c = %s", 1),
        ),
        ("SELECT a ?? 'key', b % 2, ?", ("SELECT a ? 'key', b %% 2, %s", 1)),
        ("SELECT $$ ? $$, $x$ ? $$ $x$, ?", ("SELECT $$ ? $$, $x$ ? $$ $x$, %s", 1)),
    ],
)
def test_placeholders_are_those_outside_of_texts_names_and_comments(sql: str, expected: tuple[str, int]) -> None:
    assert translated(sql, "%s") == expected


def test_a_statement_has_a_parameter_for_every_field() -> None:
    with pytest.raises(ConfigurationError, match=r"has 1 parameters .* 2 fields: \['id', 'name'\]"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", TYPE, options().build())


def test_what_makes_no_sense_is_refused_where_it_is_written() -> None:
    with pytest.raises(ConfigurationError, match="says the fields of the records"):
        JdbcSink.insert("t", Types.LONG(), options().build())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"key columns \['key'\] are no fields"):
        JdbcSink.upsert("t", ["key"], TYPE, options().build())
    with pytest.raises(ConfigurationError, match="'x' has no declared type"):
        JdbcSink.sink("SELECT ?", Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()]), options().build())
    with pytest.raises(ConfigurationError, match="jdbc_connection_options is a JdbcConnectionOptions, got str"):
        JdbcSink.insert("t", TYPE, "jdbc:postgresql://db/shop")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="call with_url"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()


def test_the_names_of_pyflink_are_there() -> None:
    assert public.JdbcSink is JdbcSink


def test_records_of_other_fields_are_refused_where_the_sink_is_added() -> None:
    stream = local_environment().from_collection([(1,)], Types.TUPLE([Types.LONG()]))
    with pytest.raises(ConfigurationError, match=r"records have the fields \['f0'\], .* \['id', 'name'\]"):
        stream.sink_to(JdbcSink.insert("t", TYPE, options().build()))


def test_a_password_may_stay_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = options().with_user_name("me").with_password_variable("SHOP_PASSWORD").build()
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    pickled = pickle.dumps(JdbcSink.insert("t", TYPE, connection))
    assert SECRET.encode() not in pickled
    assert connection.get_password() == SECRET
    assert connection.without_secrets(f"login {SECRET} failed") == "login *** failed"
    monkeypatch.delenv("SHOP_PASSWORD")
    with pytest.raises(EnvironmentNotReadyError, match=r"variable SHOP_PASSWORD, .* is not set here"):
        connection.get_password()
