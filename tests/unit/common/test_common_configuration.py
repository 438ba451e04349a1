from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.common import options
from penstock.common.config_options import ConfigOption, ConfigOptions, parse_integer
from penstock.common.configuration import Configuration
from penstock.common.errors import ConfigurationError
from penstock.common.execution_mode import RuntimeExecutionMode


def test_values_are_read_with_the_type_that_is_asked_for() -> None:
    configuration = Configuration().set_string("n", "10").set_integer("i", 7).set_boolean("b", True)
    configuration.set_float("f", 1).set_bytearray("y", bytearray(b"ab")).set_string("t", "FALSE")
    assert configuration.get_integer("n", 0) == 10
    assert configuration.get_string("i", "") == "7"
    assert configuration.get_string("b", "") == "true"
    assert configuration.get_boolean("t", True) is False
    assert configuration.get_float("n", 0) == 10.0
    assert configuration.get_bytearray("y", bytearray()) == bytearray(b"ab")


def test_defaults_where_nothing_is_set() -> None:
    configuration = Configuration()
    assert configuration.get_string("x", "d") == "d"
    assert configuration.get_integer("x", 3) == 3
    assert configuration.get_boolean("x", True) is True
    assert configuration.get_float("x", 2) == 2.0
    assert configuration.get_bytearray("x", bytearray(b"d")) == bytearray(b"d")


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda c: c.get_integer("k", 0), "k = 'word' cannot be used: a whole number is expected"),
        (lambda c: c.get_boolean("k", False), "true or false is expected"),
        (lambda c: c.get_float("k", 0.0), "a number is expected"),
        (lambda c: c.get_bytearray("k", bytearray()), "bytes are expected"),
    ],
)
def test_values_that_cannot_be_read_so_are_an_error(read: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read(Configuration().set_string("k", "word"))


def test_it_is_a_map() -> None:
    configuration = Configuration.from_dict({"a": "1", "b": "2"})
    assert configuration.key_set() == {"a", "b"}
    assert configuration.contains_key("a")
    assert configuration.remove_config("a") is True
    assert configuration.remove_config("a") is False
    configuration.add_all(Configuration.from_dict({"c": 3}), "x.")
    assert configuration.to_dict() == {"b": "2", "x.c": "3"}
    target: dict[str, str] = {}
    configuration.add_all_to_dict(target)
    assert target == {"b": "2", "x.c": "3"}


def test_copies_are_equal_and_independent() -> None:
    configuration = Configuration().set_integer("a", 1)
    for other in (Configuration(configuration), copy.deepcopy(configuration)):
        assert other == configuration
        assert hash(other) == hash(configuration)
        other.set_integer("a", 2)
        assert configuration.get_integer("a", 0) == 1
        assert other != configuration


@pytest.mark.parametrize("key", ["", 3, None])
def test_keys_are_texts(key: Any) -> None:
    with pytest.raises(ConfigurationError, match="non-empty text"):
        Configuration().set_string(key, "v")


def test_none_cannot_be_set() -> None:
    with pytest.raises(ConfigurationError, match="remove_config"):
        Configuration().set_string("k", None)  # type: ignore[arg-type]


def test_an_option_is_set_read_and_checked() -> None:
    configuration = Configuration().set(options.EPOCH_MAX_BYTES, "64 mb")
    assert configuration.get(options.EPOCH_MAX_BYTES) == 64 << 20
    with pytest.raises(ConfigurationError, match=r"execution.epoch.max-bytes = 'much' cannot be used"):
        configuration.set(options.EPOCH_MAX_BYTES, "much")


def test_the_environment_fills_in_for_what_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_MASTER", "spark://host:7077")
    assert Configuration().get(options.SPARK_MASTER) == "spark://host:7077"
    assert Configuration().set_string("spark.master", "local[2]").get(options.SPARK_MASTER) == "local[2]"
    monkeypatch.delenv("SPARK_MASTER")
    assert Configuration().get(options.SPARK_MASTER) == "local[*]"


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (options.ENGINE, "Local", "local"),
        (options.RUNTIME_MODE, "batch", RuntimeExecutionMode.BATCH),
        (options.RUNTIME_MODE, RuntimeExecutionMode.AUTOMATIC, RuntimeExecutionMode.AUTOMATIC),
        (options.PARALLELISM, "4", 4),
        (options.EPOCH_MAX_BYTES, "1.5 gb", 3 << 29),
        (options.EPOCH_MAX_BYTES, 1000, 1000),
        (options.EPOCH_INTERVAL, "2 s", 2000),
        (options.STATE_BACKEND, "memory", "memory"),
        (options.LOG_LEVEL, "DEBUG", "debug"),
    ],
)
def test_options_take_what_people_write(option: ConfigOption[Any], given: Any, value: Any) -> None:
    assert Configuration().set_string(option.key, given).get(option) == value


@pytest.mark.parametrize(
    ("key", "option", "given", "value"),
    [
        ("execution.state-recovery.path", options.SAVEPOINT_PATH, "/there", "/there"),
        ("execution.state-recovery.ignore-unclaimed-state", options.IGNORE_UNCLAIMED_STATE, "true", True),
        ("state.checkpoints.dir", options.CHECKPOINT_DIRECTORY, "/there", "/there"),
        ("state.savepoints.dir", options.SAVEPOINT_DIRECTORY, "/there", "/there"),
        ("state.checkpoints.num-retained", options.RETAINED_CHECKPOINTS, "3", 3),
        ("execution.checkpointing.num-retained", options.RETAINED_CHECKPOINTS, "3", 3),
        ("state.backend.type", options.STATE_BACKEND, "rocksdb", "lmdb"),
        ("state.backend", options.STATE_BACKEND, "HashMap", "memory"),
        ("restart-strategy", options.RESTART_STRATEGY, "fixeddelay", "fixed-delay"),
        ("pipeline.operator-chaining", options.OPERATOR_CHAINING, "false", False),
        ("execution.buffer-timeout", options.BUFFER_TIMEOUT, "10 ms", 10),
    ],
)
def test_options_are_read_under_all_names_that_flink_has_for_them(
    key: str, option: ConfigOption[Any], given: str, value: Any
) -> None:
    assert Configuration().set_string(key, given).get(option) == value


def test_of_two_names_of_an_option_the_first_counts_and_a_value_is_refused_by_the_name_that_has_it() -> None:
    configuration = Configuration().set_string("state.checkpoints.dir", "/older")
    assert configuration.set(options.CHECKPOINT_DIRECTORY, "/newer").get(options.CHECKPOINT_DIRECTORY) == "/newer"
    with pytest.raises(ConfigurationError, match=r"^state.backend.type = 'redis' cannot be used"):
        Configuration().set_string("state.backend.type", "redis").get(options.STATE_BACKEND)


@pytest.mark.parametrize(
    ("option", "given", "says"),
    [
        (options.ENGINE, "flink", "one of spark, local is expected"),
        (options.RUNTIME_MODE, "fast", "one of STREAMING, BATCH, AUTOMATIC is expected"),
        (options.PARALLELISM, 0, "at least 1"),
        (options.PARALLELISM, True, "a whole number"),
        (options.EPOCH_MAX_RECORDS, "1.5", "a whole number"),
        (options.EPOCH_MAX_BYTES, "0 mb", "at least 1"),
        (options.EPOCH_MAX_BYTES, -1, "number of bytes"),
        (options.EPOCH_INTERVAL, "soon", "not a duration"),
        (options.CHECKPOINT_DIRECTORY, 3, "text is expected"),
    ],
)
def test_options_refuse_the_rest(option: ConfigOption[Any], given: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        Configuration.from_dict({option.key: given}).get(option)
    assert option.key in str(caught.value)


def test_every_option_is_listed_once_and_described() -> None:
    defined = {id(value): value for value in vars(options).values() if isinstance(value, ConfigOption)}
    assert {option.key for option in options.ALL_OPTIONS} == {option.key for option in defined.values()}
    keys = [key for option in options.ALL_OPTIONS for key in option.keys]
    assert len(set(keys)) == len(keys)
    assert len(options.ALL_OPTIONS) == len(defined)
    assert all(option.description.endswith(".") for option in options.ALL_OPTIONS)


def test_options_are_built_as_in_pyflink() -> None:
    option = ConfigOptions.key("my.retries").int_type().default_value(3)
    assert option == ConfigOption("my.retries", parse_integer, 3)
    configuration = Configuration().set_string("my.wait", "1 s")
    assert configuration.get(ConfigOptions.key("my.wait").duration_type().no_default_value()) == 1000
    assert configuration.get(ConfigOptions.key("my.flag").boolean_type().no_default_value()) is None
