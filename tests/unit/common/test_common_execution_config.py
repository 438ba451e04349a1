"""Settings under PyFlink's names are options."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, ExecutionConfig, RestartStrategies
from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.job_client import JobClient


def test_settings_are_options_and_options_are_settings() -> None:
    configuration = Configuration().set_string("pipeline.max-parallelism", "512")
    config = ExecutionConfig(configuration)
    config.set_parallelism(3).set_auto_watermark_interval(50).set_global_job_parameters({"region": "eu"})
    assert configuration.get_string("parallelism.default", "") == "3"
    assert configuration.get_string("pipeline.auto-watermark-interval", "") == "50"
    assert (config.get_max_parallelism(), config.get_parallelism()) == (512, 3)
    assert config.get_global_job_parameters() == {"region": "eu"}


def test_the_default_parallelism_can_be_had_back() -> None:
    config = ExecutionConfig(Configuration())
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT
    config.set_parallelism(4).set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT


def test_global_parameters_are_read_as_flink_writes_them() -> None:
    configuration = Configuration().set_string("pipeline.global-job-parameters", "a:1, b:x:y")
    assert ExecutionConfig(configuration).get_global_job_parameters() == {"a": "1", "b": "x:y"}
    configuration.set_string("pipeline.global-job-parameters", "nonsense")
    with pytest.raises(ConfigurationError, match="name:value"):
        ExecutionConfig(configuration).get_global_job_parameters()


@pytest.mark.parametrize(
    ("enable", "disable", "ask", "default"),
    [
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", False),
        ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled", False),
        ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled", False),
        ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
        ("disable_generic_types", "enable_generic_types", "has_generic_types_disabled", False),
        ("enable_auto_generated_uids", "disable_auto_generated_uids", "has_auto_generated_uids_enabled", True),
    ],
)
def test_switches_are_kept(enable: str, disable: str, ask: str, default: bool) -> None:
    config = ExecutionConfig(Configuration())
    assert getattr(config, ask)() is default
    assert getattr(getattr(config, disable)(), ask)() is False
    assert getattr(getattr(config, enable)(), ask)() is True


def test_strategies_with_the_same_numbers_are_equal() -> None:
    assert RestartStrategies.fixed_delay_restart(3, "10 s") == RestartStrategies.fixed_delay_restart(3, 10_000)
    assert RestartStrategies.fixed_delay_restart(3, 1) != RestartStrategies.fixed_delay_restart(2, 1)
    assert len({RestartStrategies.no_restart(), RestartStrategies.no_restart()}) == 1


def test_a_client_without_savepoints_says_so() -> None:
    with pytest.raises(UnsupportedError, match="no savepoints"):
        JobClient.stop_with_savepoint(object(), False)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="no savepoints"):
        JobClient.trigger_savepoint(object())  # type: ignore[arg-type]
