"""JDBC URLs: which database they name, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.common.errors import ConfigurationError
from penstock.connectors.jdbc.secret import NOBODY, Login, Secret

_KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_DEFAULT_PORTS = {"postgresql": 5432, "mysql": 3306}
_EXAMPLES = "jdbc:postgresql://host:5432/database, jdbc:mysql://host:3306/database or jdbc:sqlite:/path/to/file"


@dataclass(frozen=True)
class DatabaseAddress:
    """Where a database is; its repr has no password."""

    kind: str
    """`postgresql`, `mysql` or `sqlite`."""
    host: str
    port: int
    database: str
    """The name; the path of the file for SQLite."""
    login: Login = NOBODY
    properties: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return (
            f"sqlite:{self.database}"
            if self.kind == "sqlite"
            else f"{self.kind}://{self.host}:{self.port}/{self.database}"
        )


def parse_url(url: str) -> DatabaseAddress:
    """Understands a JDBC URL (the leading `jdbc:` may be left out).

    >>> str(parse_url("jdbc:postgresql://db.example/shop?user=me&password=secret"))
    'postgresql://db.example:5432/shop'
    """
    text = url.removeprefix("jdbc:")
    if text.startswith("sqlite:"):
        path = text.removeprefix("sqlite:")
        if not path or path == ":memory:":
            raise ConfigurationError(
                "a SQLite database in memory is seen by one process only; give the path of a file: jdbc:sqlite:/path"
            )
        return DatabaseAddress("sqlite", "", 0, path)
    parts = urlsplit(text)
    kind = _KINDS.get(parts.scheme)
    if kind is None:
        # Not the URL itself: it may hold a password.
        raise ConfigurationError(f"a JDBC URL of the scheme {parts.scheme!r} cannot be used; give {_EXAMPLES}")
    try:
        host, port = parts.hostname or "localhost", parts.port or _DEFAULT_PORTS[kind]
    except ValueError:
        raise ConfigurationError(f"the JDBC URL names one host and a port that is a number; give {_EXAMPLES}") from None
    properties = dict(parse_qsl(parts.query, keep_blank_values=True))
    user = properties.pop("user", None) or (None if parts.username is None else unquote(parts.username))
    password = properties.pop("password", None) or (None if parts.password is None else unquote(parts.password))
    database = unquote(parts.path.lstrip("/"))
    if not database:
        raise ConfigurationError(f"the JDBC URL names no database; give {_EXAMPLES}")
    return DatabaseAddress(
        kind, host, port, database, Login(user, None if password is None else Secret(password)), properties
    )
