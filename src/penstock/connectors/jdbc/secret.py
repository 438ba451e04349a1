"""Text that no log, plan, error or repr may show."""

from __future__ import annotations

import os
from typing import NamedTuple

from penstock.common.errors import EnvironmentNotReadyError


class Secret:
    """A password. It travels to the tasks inside the pickled program, and is shown nowhere."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the driver of the database."""
        return self._text

    def hidden_in(self, text: str) -> str:
        """Some text of others without the secret in it."""
        return text.replace(self.reveal(), "***") if self.reveal() else text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "***"


class SecretOfEnvironment(Secret):
    """A password in an environment variable of each process that connects: it travels nowhere."""

    def __init__(self, variable: str) -> None:
        super().__init__("")
        self._variable = variable

    def reveal(self) -> str:
        """The value of the variable."""
        try:
            return os.environ[self._variable]
        except KeyError:
            raise EnvironmentNotReadyError(
                f"the environment variable {self._variable}, which holds the database's password, is not set here; "
                "set it for the driver and for all workers (spark.executorEnv.*)"
            ) from None


class Login(NamedTuple):
    """Who connects."""

    user: str | None = None
    password: Secret | None = None


NOBODY = Login()
"""Who a database without users sees."""
