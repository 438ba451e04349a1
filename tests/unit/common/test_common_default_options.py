"""Options from outside the program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.common.default_options import default_options, format_options, parse_option
from penstock.common.errors import ConfigurationError
from penstock.datastream import StreamExecutionEnvironment


def test_without_the_variable_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_OPTIONS", raising=False)
    assert default_options().key_set() == set()


def test_an_environment_starts_with_them_and_the_program_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", "parallelism.default=3\n\n own.option = a=b \n")
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_parallelism() == 3
    assert env.configuration.get_string("own.option", "") == "a=b"
    given_option = Configuration().set_string("parallelism.default", "5")
    assert StreamExecutionEnvironment.get_execution_environment(given_option).get_parallelism() == 5


@pytest.mark.parametrize("text", ["", "=", "=x", "key"])
def test_what_is_no_option_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="key=value"):
        parse_option(text)


def test_a_value_of_two_lines_cannot_be_handed_on() -> None:
    with pytest.raises(ConfigurationError, match="more than one line"):
        format_options(Configuration().set_string("key", "a\nb"))


words = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="="), min_size=1)


@given(st.dictionaries(words, words))
def test_options_come_back_as_they_were(values: dict[str, str]) -> None:
    lines = format_options(Configuration.from_dict(values)).splitlines()
    assert dict(map(parse_option, lines)) == values
