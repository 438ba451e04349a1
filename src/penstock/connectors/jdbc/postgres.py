"""PostgreSQL, through psycopg 3: rows go in by COPY."""
# ruff: noqa: D102, S608 (methods that a base class documents; names are quoted and values are parameters)

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.csv

from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError
from penstock.common.time import Instant
from penstock.common.typeinfo import CollectionTypeInfo, PrimitiveArrayTypeInfo, TypeInformation, Types
from penstock.connectors.jdbc.database import (
    Connection,
    Converter,
    Cursor,
    Database,
    RowStatement,
    TableColumn,
    TableTarget,
    as_json_text,
    has_parts,
)
from penstock.connectors.jdbc.postgres_connection import watched_connection_class
from penstock.connectors.jdbc.postgres_times import make_lenient
from penstock.connectors.jdbc.postgres_types import column_of
from penstock.connectors.json.encoding import jsonable

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "53300")
_CONFLICTS = ("40001", "40P01", "55P03", "40003")
# The server answers, but not yet, or not now; every other refusal stays one.
_NOT_NOW = ("the database system is", "too many clients", "remaining connection slots", "too many connections")
_PROPERTIES = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "ApplicationName": "application_name",
    "applicationName": "application_name",
    "application_name": "application_name",
    "targetServerType": "target_session_attrs",
    "target_session_attrs": "target_session_attrs",
    "options": "options",
}
_ORDER = "penstock_order"
_ADVICE = {
    "42P01": "Make the table first, or name it with its schema",
    "42703": "The fields of the type are the columns that are written: give them the names of columns",
    "42P10": "An upsert needs a unique index or a primary key on exactly the key columns",
    "42501": "Grant the user what is missing",
    "57014": "It took longer than with_statement_timeout_seconds allows",
}


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "PostgreSQL needs the package psycopg, on the driver and on every worker: pip install 'penstock[postgres]'"
        ) from problem
    return psycopg


class Postgres(Database):
    """A PostgreSQL server, or what speaks its protocol."""

    placeholder = "%s"

    def connect(self) -> Connection:
        options = self.options
        password = self.address.login.password
        connection = watched_connection_class(_psycopg(), options.statement_timeout_seconds).connect(
            **{
                "application_name": "penstock",
                # A server that is gone without a word is noticed, also while nothing is sent.
                "keepalives_idle": 30,
                "keepalives_interval": 10,
                "keepalives_count": 3,
                "tcp_user_timeout": options.statement_timeout_seconds * 1000,
                **self._properties(),
            },
            host=self.address.host,
            port=self.address.port,
            dbname=self.address.database,
            user=self.address.login.user,
            password=None if password is None else password.reveal(),
            connect_timeout=options.connect_timeout_seconds,
        )
        timeout = options.statement_timeout_seconds * 1000
        connection.execute(f"SET statement_timeout = {timeout}")
        connection.execute("SET client_min_messages = warning")
        connection.commit()
        return connection

    def is_lost(self, error: BaseException) -> bool:
        psycopg = _psycopg()
        if isinstance(error, psycopg.InterfaceError):
            return True
        if not isinstance(error, psycopg.OperationalError):
            return False
        state: str | None = getattr(error, "sqlstate", None)
        if state is not None:
            return state.startswith(_LOST)
        text = str(error)
        return "FATAL:" not in text or any(reason in text for reason in _NOT_NOW) or "terminating connection" in text

    def is_conflict(self, error: BaseException) -> bool:
        return isinstance(error, _psycopg().Error) and getattr(error, "sqlstate", None) in _CONFLICTS

    def is_error(self, error: BaseException) -> bool:
        return isinstance(error, _psycopg().Error)

    def advice(self, error: BaseException) -> str:
        return _ADVICE.get(getattr(error, "sqlstate", None) or "", "")

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def converter(self, type_info: TypeInformation) -> Converter | None:
        if type_info == Types.INSTANT():
            return _moment
        if _is_array(type_info):
            return None
        return as_json_text if has_parts(type_info) else None

    def upsert_sql(self, target: TableTarget) -> str:
        return f"{self.insert_sql(target)} {self.on_conflict(target)}"

    def on_conflict(self, target: TableTarget) -> str:
        """What becomes of a row whose key is there."""
        keys = ", ".join(map(self.quoted, target.keys))
        others = [self.quoted(name) for name in target.columns if name not in target.keys]
        if not others:
            return f"ON CONFLICT ({keys}) DO NOTHING"
        return f"ON CONFLICT ({keys}) DO UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in others)

    def table_statement(self, target: TableTarget, batch_size: int) -> RowStatement:
        return CopyStatement(self, target, batch_size)

    def table_columns(self, cursor: Cursor, table: str) -> list[TableColumn]:
        cursor.execute(
            "SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a"
            " WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            (self.quoted_table(table),),
        )
        return [column_of(name, self.quoted(name), declared) for name, declared in cursor.fetchall()]

    def unique_keys(self, cursor: Cursor, table: str) -> list[frozenset[str]]:
        cursor.execute(
            "SELECT array_agg(a.attname) FROM pg_index i"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)"
            " WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL"
            " GROUP BY i.indexrelid, i.indisprimary ORDER BY i.indisprimary DESC",
            (self.quoted_table(table),),
        )
        return [frozenset(names) for (names,) in cursor.fetchall()]

    def estimated_rows(self, cursor: Cursor, table: str) -> int | None:
        cursor.execute(
            "SELECT reltuples::bigint, pg_relation_size(oid) FROM pg_class WHERE oid = to_regclass(%s)",
            (self.quoted_table(table),),
        )
        found = cursor.fetchone()
        if found is None:
            return None
        rows, size = found
        # Never analysed: a row of a hundred bytes is a fair guess.
        return rows if rows >= 0 else size // 100

    def stream_cursor(self, connection: Connection, *, is_lenient: bool = False) -> Cursor:
        cursor = connection.cursor(name="penstock")
        if is_lenient:
            make_lenient(_psycopg(), cursor)
        return cursor

    def is_unreadable(self, error: BaseException) -> bool:
        # What the server refuses has a state.
        return isinstance(error, _psycopg().DataError) and getattr(error, "sqlstate", None) is None

    def older_than(self, name: str) -> str:
        return f"{name} <= now() - make_interval(secs => ?)"

    def settled_mark(self, cursor: Cursor) -> Any:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        return cursor.fetchone()[0]

    def is_settled(self, cursor: Cursor, mark: Any) -> bool:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= %s", (mark,))
        return cursor.fetchone()[0]

    def _properties(self) -> dict[str, str]:
        """Those of the URL, by the names of libpq."""
        found: dict[str, str] = {}
        for name, value in self.address.properties.items():
            if name == "currentSchema":
                found["options"] = f"-c search_path={value}"
            elif name == "ssl":
                found["sslmode"] = "verify-full" if value in ("", "true") else "prefer"
            elif name in _PROPERTIES:
                found[_PROPERTIES[name]] = value
            else:
                raise ConfigurationError(
                    f"the property {name!r} of the JDBC URL is not known for PostgreSQL; known are currentSchema, ssl, "
                    f"{', '.join(sorted(_PROPERTIES))}. Time-outs are set on JdbcConnectionOptionsBuilder"
                )
        return found


class CopyStatement(RowStatement):
    """Rows into a table by COPY: straight into it, or, for an upsert, by way of a temporary table."""

    def __init__(self, database: Postgres, target: TableTarget, batch_size: int) -> None:
        self._database = database
        self._target = target
        self._batch_size = max(batch_size, 20_000)
        self._types = target.type_info.get_field_types()
        self._names = ", ".join(map(database.quoted, target.columns))
        self._table = database.quoted_table(target.table)
        self._texts: list[Converter | None] | None = None
        """How the values of each field are written; known when the table has been looked at."""

    def apply(self, cursor: Cursor, columns: Sequence[pa.Array]) -> None:
        """Writes rows; of two with the same key the later one stays."""
        if self._texts is None:
            self._texts = self._converters(cursor)
        if self._target.keys:
            self._merge(cursor, columns)
        else:
            for part in self._parts(columns):
                self._copy(cursor, f"COPY {self._table} ({self._names}) FROM STDIN WITH (FORMAT csv)", part)

    def _merge(self, cursor: Cursor, columns: Sequence[pa.Array]) -> None:
        # Columns of the target's own types, so that keys are equal here when they are equal there.
        cursor.execute(
            f"CREATE TEMPORARY TABLE penstock_rows ON COMMIT DROP AS"
            f" SELECT {self._names}, 0::bigint AS {_ORDER} FROM {self._table} WITH NO DATA"
        )
        keys = ", ".join(map(self._database.quoted, self._target.keys))
        for part in self._parts(columns):
            order = pa.array(range(len(part[0])), pa.int64())
            self._copy(
                cursor, f"COPY penstock_rows ({self._names}, {_ORDER}) FROM STDIN WITH (FORMAT csv)", [*part, order]
            )
            # In the order of the keys: subtasks that write the same rows wait for each other, and never in a circle.
            cursor.execute(
                f"INSERT INTO {self._table} ({self._names})"
                f" SELECT DISTINCT ON ({keys}) {self._names} FROM penstock_rows ORDER BY {keys}, {_ORDER} DESC"
                f" {self._database.on_conflict(self._target)}"
            )
            cursor.execute("TRUNCATE penstock_rows")
        cursor.execute("DROP TABLE penstock_rows")

    def _parts(self, columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
        return [
            [column.slice(start, self._batch_size) for column in columns]
            for start in range(0, len(columns[0]), self._batch_size)
        ]

    def _copy(self, cursor: Cursor, sql: str, columns: Sequence[pa.Array]) -> None:
        converters = [*(self._texts or ()), *[None] * (len(columns) - len(self._types))]
        types = [*self._types, *[Types.LONG()] * (len(columns) - len(self._types))]
        texts = [
            column if convert is None else _texts(column, type_info, convert)
            for column, type_info, convert in zip(columns, types, converters, strict=True)
        ]
        file = BytesIO()
        # Texts are quoted and nulls are not: that is how COPY tells an empty text from NULL.
        pyarrow.csv.write_csv(
            pa.table(texts, names=[str(place) for place in range(len(texts))]),
            file,
            pyarrow.csv.WriteOptions(include_header=False, batch_size=len(columns[0])),
        )
        with cursor.copy(sql) as copy:
            copy.write(file.getbuffer())

    def _converters(self, cursor: Cursor) -> list[Converter | None]:
        cursor.execute(
            "SELECT a.attname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
            " WHERE a.attrelid = to_regclass(%s) AND t.typcategory = 'A'",
            (self._table,),
        )
        arrays = {name for (name,) in cursor.fetchall()}
        return [
            _text_converter(field_type, is_array=name in arrays)
            for name, field_type in zip(self._target.columns, self._types, strict=True)
        ]


def _is_array(type_info: TypeInformation) -> bool:
    """Whether values are lists, of lists, of values without parts."""
    if isinstance(type_info, CollectionTypeInfo) and has_parts(type_info):
        return _is_array(type_info.element_type) or not has_parts(type_info.element_type)
    return False


def _text_converter(type_info: TypeInformation, *, is_array: bool) -> Converter | None:
    """How COPY takes values of a type; None where Arrow writes them as PostgreSQL reads them."""
    if has_parts(type_info):
        return _array_text if is_array and _is_array(type_info) else as_json_text
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return _bytes_text
    if type_info == Types.INSTANT():
        return _moment_text
    return None


def _texts(column: pa.Array, type_info: TypeInformation, convert: Callable[[Any], str]) -> pa.Array:
    values = [value for (value,) in codec_for(Types.TUPLE([type_info])).to_values([column])]
    return pa.array([None if value is None else convert(value) for value in values], pa.string())


def _moment(value: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def _moment_text(value: Instant) -> str:
    return _moment(value).isoformat()


def _bytes_text(value: bytes) -> str:
    return "\\x" + value.hex()


def _array_text(values: Sequence[Any]) -> str:
    return "{" + ",".join(map(_element_text, values)) + "}"


def _element_text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return _array_text(value)
    text = _bytes_text(value) if isinstance(value, bytes) else str(jsonable(value))
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
