"""How to connect to a database, and how to write to it: PyFlink's option classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.common.errors import ConfigurationError
from penstock.connectors.jdbc.address import DatabaseAddress, parse_url
from penstock.connectors.jdbc.secret import Login, Secret, SecretOfEnvironment


def _check_number(name: str, value: object, least: int) -> int:
    if type(value) is not int or value < least:
        raise ConfigurationError(f"{name} takes a whole number of at least {least}, got {value!r}")
    return value


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{name} takes text that is not empty, got {type(value).__name__}")
    return value


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Where the database is, who connects, and how long to wait for it. Made by `JdbcConnectionOptionsBuilder`.

    >>> options = (
    ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    ...     .with_url("jdbc:postgresql://localhost:5432/shop")
    ...     .with_user_name("penstock")
    ...     .with_password("secret")
    ...     .build()
    ... )
    >>> options
    JdbcConnectionOptions(postgresql://localhost:5432/shop, user 'penstock')
    """

    url: str
    address: DatabaseAddress
    driver_name: str | None = None
    check_timeout_seconds: int = 60
    connect_timeout_seconds: int = 10
    statement_timeout_seconds: int = 60

    def get_db_url(self) -> str:
        """The URL as it was given."""
        return self.url

    def get_driver_name(self) -> str | None:
        """The name of the Java driver, where one was given; the URL alone chooses the driver."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Who connects."""
        return self.address.login.user

    def get_password(self) -> str | None:
        """The password."""
        password = self.address.login.password
        return None if password is None else password.reveal()

    def without_secrets(self, text: str) -> str:
        """A message of the database's driver, without the password should it be in there."""
        password = self.address.login.password
        return text if password is None else password.hidden_in(text)

    def __repr__(self) -> str:
        user = "" if self.address.login.user is None else f", user {self.address.login.user!r}"
        return f"JdbcConnectionOptions({self.address}{user})"

    class JdbcConnectionOptionsBuilder:
        """Builds connection options; the URL is required."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user: str | None = None
            self._password: Secret | None = None
            self._timeouts: dict[str, int] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """`jdbc:postgresql://host:5432/database`, `jdbc:mysql://...` or `jdbc:sqlite:/path`."""
            self._url = _check_text("with_url", url)
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Taken for Flink's sake: the URL chooses the driver, which is a Python one."""
            self._driver_name = _check_text("with_driver_name", driver_name)
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Who connects."""
            self._user = _check_text("with_user_name", user_name)
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The password; it is shown in no plan, log or error, but is part of the program that workers get."""
            self._password = Secret(_check_text("with_password", password))
            return self

        def with_password_variable(self, variable: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The environment variable, of the driver and of every worker, that holds the password."""
            self._password = SecretOfEnvironment(_check_text("with_password_variable", variable))
            return self

        def with_connection_check_timeout_seconds(
            self, connection_check_timeout_seconds: int
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """For how long a database that cannot be reached is tried again before the job fails; 60 by default."""
            self._timeouts["check_timeout_seconds"] = _check_number(
                "with_connection_check_timeout_seconds", connection_check_timeout_seconds, 1
            )
            return self

        def with_connect_timeout_seconds(self, seconds: int) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """How long one attempt to connect may take; 10 by default."""
            self._timeouts["connect_timeout_seconds"] = _check_number("with_connect_timeout_seconds", seconds, 1)
            return self

        def with_statement_timeout_seconds(self, seconds: int) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """How long one statement, or waiting for a lock, may take; 60 by default."""
            self._timeouts["statement_timeout_seconds"] = _check_number("with_statement_timeout_seconds", seconds, 1)
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options; raises `ConfigurationError` when the URL is missing or cannot be used."""
            if self._url is None:
                raise ConfigurationError("JdbcConnectionOptions: no database is given: call with_url")
            address = parse_url(self._url)
            login = Login(self._user or address.login.user, self._password or address.login.password)
            return JdbcConnectionOptions(self._url, replace(address, login=login), self._driver_name, **self._timeouts)


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """How rows are put together into statements, and how often a statement is tried again."""

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """After how long rows are written though they are fewer than a batch."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """How many rows go to the database together."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """How often a batch is tried again that others were in the way of."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Batches of 5000 rows, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """A new builder."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds execution options."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """How many rows go to the database together; 5000 by default."""
            self._options = replace(self._options, batch_size=_check_number("with_batch_size", size, 1))
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """After how long rows are written though they are fewer than a batch; 0 (never) by default.

            At the end of an epoch everything is written in any case.
            """
            number = _check_number("with_batch_interval_ms", interval_ms, 0)
            self._options = replace(self._options, batch_interval_ms=number)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """How often a transaction is tried again after a serialisation failure or a deadlock; 3 by default.

            A connection that is lost is not counted: see `with_connection_check_timeout_seconds`.
            """
            number = _check_number("with_max_retries", max_retries, 0)
            self._options = replace(self._options, max_retries=number)
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            return self._options
