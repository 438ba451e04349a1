"""Options that a program gets from outside: `penstock run --option`, a container, a scheduler."""

from __future__ import annotations

import os

from penstock.common.configuration import Configuration
from penstock.common.errors import ConfigurationError

ENVIRONMENT_VARIABLE = "PENSTOCK_OPTIONS"
"""Options for all environments of the process: `key=value`, one per line."""


def default_options() -> Configuration:
    """What `PENSTOCK_OPTIONS` says. Options that the program sets itself come before these."""
    configuration = Configuration()
    for line in os.environ.get(ENVIRONMENT_VARIABLE, "").splitlines():
        if line.strip():
            configuration.set_string(*parse_option(line))
    return configuration


def parse_option(text: str) -> tuple[str, str]:
    """Key and value of one option.

    >>> parse_option("parallelism.default=4")
    ('parallelism.default', '4')
    """
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ConfigurationError(f"{text!r} is no option: key=value is expected, such as parallelism.default=4")
    return key.strip(), value.strip()


def format_options(configuration: Configuration) -> str:
    """The options as `PENSTOCK_OPTIONS` holds them."""
    values = configuration.to_dict()
    for key, value in values.items():
        if "\n" in value:
            raise ConfigurationError(f"the value of {key} has more than one line: {value!r}")
    return "\n".join(f"{key}={value}" for key, value in values.items())
