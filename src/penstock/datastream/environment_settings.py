"""What can be set on an environment before its jobs run."""

from __future__ import annotations

import os
from typing import Any, Self

from penstock.common import options
from penstock.common.config_options import ConfigOption, parse_boolean, parse_integer, parse_text
from penstock.common.configuration import Configuration
from penstock.common.errors import UnsupportedError
from penstock.common.execution_config import ExecutionConfig
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.pipelined_options import BUFFER_TIMEOUT, buffer_timeout
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.datastream.arguments import (
    check_instance,
    check_max_parallelism,
    check_parallelism,
    check_text,
    refuse_argument,
)
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.slot_sharing_group import SlotSharingGroup

_LOCAL_PARALLELISM = ConfigOption[int | None]("penstock.default-local-parallelism", parse_integer, None)
_CHANGELOG = ConfigOption[bool | None]("state.changelog.enabled", parse_boolean, None)
_SAVEPOINT_DIRECTORY = ConfigOption[str | None]("execution.checkpointing.savepoint-dir", parse_text, None)


class EnvironmentSettings:
    """The settings of an environment. They are options: `configuration` holds them all.

    >>> env.set_parallelism(4).set_max_parallelism(128).set_runtime_mode(RuntimeExecutionMode.BATCH)
    <StreamExecutionEnvironment, parallelism 4, ...>
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}

    @property
    def configuration(self) -> Configuration:
        """The options of the jobs of this environment; changes count from the next `execute` on."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Adds options to those that are set, and replaces those with the same name.

        >>> env.configure(Configuration().set_string("parallelism.default", "3"))
        >>> env.get_parallelism()
        3
        """
        check_instance("configure", "configuration", configuration, (Configuration,), "a Configuration")
        self._configuration.add_all(configuration)

    def get_config(self) -> ExecutionConfig:
        """The same options, one method each.

        >>> config = env.get_config().set_parallelism(3)
        >>> env.get_parallelism()
        3
        """
        return ExecutionConfig(self._configuration)

    # --- parallelism and chaining

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the number of subtasks of every operator that sets none itself.

        >>> env.set_parallelism(3).get_parallelism()
        3
        """
        self._configuration.set(options.PARALLELISM, check_parallelism("set_parallelism", parallelism))
        return self

    def get_parallelism(self) -> int:
        """The number of subtasks of an operator that sets none itself; by default the number of cores.

        >>> env.get_parallelism()
        1
        """
        return self._configuration.get(options.PARALLELISM) or self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups of every operator that sets none itself.

        >>> env.set_max_parallelism(720).get_max_parallelism()
        720
        """
        checked = check_max_parallelism("set_max_parallelism", max_parallelism)
        self._configuration.set(options.MAX_PARALLELISM, checked)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups of an operator that sets none itself; -1: it follows from the parallelism.

        >>> env.get_max_parallelism()
        -1
        """
        return self._configuration.get(options.MAX_PARALLELISM) or -1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Sets the parallelism where `set_parallelism` was not called.

        >>> new = StreamExecutionEnvironment.get_execution_environment()
        >>> new.set_default_local_parallelism(7)
        >>> new.get_parallelism()
        7
        """
        self._configuration.set(_LOCAL_PARALLELISM, check_parallelism("set_default_local_parallelism", parallelism))

    def get_default_local_parallelism(self) -> int:
        """The parallelism where `set_parallelism` was not called: the number of cores of this machine.

        >>> env.get_default_local_parallelism() >= 1
        True
        """
        return self._configuration.get(_LOCAL_PARALLELISM) or _available_cores()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Chooses between streaming and batch execution.

        >>> env = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        >>> list(env.from_collection([1, 2]).key_by(lambda n: 0).sum().execute_and_collect())
        [3]
        """
        check_instance(
            "set_runtime_mode", "execution_mode", execution_mode, (RuntimeExecutionMode,), "a RuntimeExecutionMode"
        )
        self._configuration.set(options.RUNTIME_MODE, execution_mode)
        return self

    def disable_operator_chaining(self) -> Self:
        """Gives every operator a task of its own.

        >>> env.disable_operator_chaining().is_chaining_enabled()
        False
        """
        self._configuration.set(options.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether neighbouring operators share a task where they can.

        >>> env.is_chaining_enabled()
        True
        """
        return self._configuration.get(options.OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether they do so too where their numbers of key groups differ: always.

        >>> env.is_chaining_of_operators_with_different_max_parallelism_enabled()
        True
        """
        return True

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Makes a slot sharing group known.

        Executors are sized by Spark for the whole job: a group that asks for resources of its own is refused.

        >>> env = env.register_slot_sharing_group(SlotSharingGroup.builder("numbers").build())
        >>> env.from_collection([1]).slot_sharing_group("numbers")
        <DataStream of Long from 'Collection Source'>
        """
        check_instance(
            "register_slot_sharing_group", "slot_sharing_group", slot_sharing_group, (SlotSharingGroup,), "a group"
        )
        slot_sharing_group.refuse_resources()
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """How long records wait for others on their way, at most, in pipelined mode; in epochs it has no effect.

        >>> env.set_buffer_timeout(5).get_buffer_timeout()
        5
        """
        if isinstance(timeout_millis, bool) or not isinstance(timeout_millis, int) or timeout_millis < -1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("set_buffer_timeout", "timeout_millis", timeout_millis, "milliseconds, 0 or -1")
        self._configuration.set(BUFFER_TIMEOUT, timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """What was set.

        >>> env.get_buffer_timeout()
        100
        """
        return buffer_timeout(self._configuration)

    # --- checkpoints and restarts

    def get_checkpoint_config(self) -> CheckpointConfig:
        """What is set about checkpoints.

        >>> env.get_checkpoint_config().set_min_pause_between_checkpoints(500).get_min_pause_between_checkpoints()
        500
        """
        return CheckpointConfig(self._configuration)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Sets the least time between two epochs, in ms; every epoch is a checkpoint, exactly once.

        >>> env.enable_checkpointing(2_000).get_checkpoint_interval()
        2000
        """
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval that was asked for, in ms; -1: none was.

        >>> env.get_checkpoint_interval()
        -1
        """
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was asked for, else exactly once: every epoch is a checkpoint.

        Flink, which makes no checkpoints unless it is asked to, says at least once then.

        >>> env.get_checkpointing_mode()
        <CheckpointingMode.EXACTLY_ONCE: 0>
        """
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The mode that was asked for.

        >>> env.get_checkpointing_consistency_mode()
        <CheckpointingMode.EXACTLY_ONCE: 0>
        """
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set.

        >>> env.is_unaligned_checkpoints_enabled()
        False
        """
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set.

        >>> env.is_force_unaligned_checkpoints()
        False
        """
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Kept, and without effect: an epoch writes the changes of the state only.

        >>> env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled()
        True
        """
        self._configuration.set(_CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What was set; None: nothing was.

        >>> env.is_changelog_state_backend_enabled() is None
        True
        """
        return self._configuration.get(_CHANGELOG)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Where savepoints go that are asked for without a directory.

        >>> env.set_default_savepoint_directory("/data/savepoints").get_default_savepoint_directory()
        '/data/savepoints'
        """
        self._configuration.set(
            _SAVEPOINT_DIRECTORY, check_text("set_default_savepoint_directory", "directory", directory)
        )
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """What was set.

        >>> env.get_default_savepoint_directory() is None
        True
        """
        return self._configuration.get(_SAVEPOINT_DIRECTORY)

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> Self:
        """Sets what follows a failure; without it a stream that has checkpoints is restarted, and others fail.

        >>> env = env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, "10 s"))
        >>> env.configuration.get_string("restart-strategy.fixed-delay.attempts", "")
        '3'
        """
        check_instance(
            "set_restart_strategy",
            "restart_strategy_configuration",
            restart_strategy_configuration,
            (RestartStrategyConfiguration,),
            "one of RestartStrategies",
        )
        restart_strategy_configuration.set_in(self._configuration)
        return self

    # --- what tasks import and open

    def add_python_file(self, file_path: str) -> None:
        """Sends a Python file, a package (.zip, .whl) or a directory along: tasks can import from it.

        >>> from pathlib import Path
        >>> _ = Path("sizes.py").write_text("def size(text): return len(text)")
        >>> env.add_python_file("sizes.py")
        >>> def size(text):
        ...     import sizes  # there in every task
        ...     return sizes.size(text)
        >>> list(env.from_collection(["to", "be or"]).map(size).execute_and_collect())
        [2, 5]
        """
        self._append(options.PYTHON_FILES, check_text("add_python_file", "file_path", file_path))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Sends an archive along (.zip, .tar.gz), unpacked to a directory of this name or of the archive's own.

        A function finds it with `runtime_context.get_distributed_cache().get_file(target_dir)`.

        >>> env.add_python_archive("models.zip", "models")
        >>> env.configuration.get_string("python.archives", "")
        'models.zip#models'
        """
        entry = check_text("add_python_archive", "archive_path", archive_path)
        if target_dir is not None:
            entry += f"#{check_text('add_python_archive', 'target_dir', target_dir)}"
        self._append(options.PYTHON_ARCHIVES, entry)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Installs what a requirements.txt names for the tasks, with the pip of this Python.

        With a directory, packages are taken from there and from nowhere else. Executors get what is installed here:
        they need the same platform.

        >>> env.set_python_requirements("requirements.txt", "downloaded")
        >>> env.configuration.get_string("python.requirements", "")
        'requirements.txt#downloaded'
        """
        entry = check_text("set_python_requirements", "requirements_file_path", requirements_file_path)
        if requirements_cache_dir is not None:
            entry += f"#{check_text('set_python_requirements', 'requirements_cache_dir', requirements_cache_dir)}"
        self._configuration.set(options.PYTHON_REQUIREMENTS, entry)

    def set_python_executable(self, python_exec: str) -> None:
        """Sets the Python that executors run, for a session that the job creates.

        >>> env.set_python_executable("/opt/python/bin/python3")
        >>> env.configuration.get_string("python.executable", "")
        '/opt/python/bin/python3'
        """
        self._configuration.set(
            options.PYTHON_EXECUTABLE, check_text("set_python_executable", "python_exec", python_exec)
        )

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Sends a file or directory along.

        A function finds it with `runtime_context.get_distributed_cache().get_file(name)`.

        >>> from pathlib import Path
        >>> _ = Path("names.txt").write_text("Ann")
        >>> env.register_cached_file("names.txt", "names")
        >>> class Greet(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.name = runtime_context.get_distributed_cache().get_file("names").read_text()
        ...
        ...     def map(self, value):
        ...         return f"{value}, {self.name}"
        >>> list(env.from_collection(["hello"]).map(Greet()).execute_and_collect())
        ['hello, Ann']
        """
        check_text("register_cached_file", "file_path", file_path)
        check_text("register_cached_file", "name", name)
        for argument, text, forbidden in (("file_path", file_path, "';"), ("name", name, ",;")):
            if any(character in text for character in forbidden):
                expected = f"text without {' and '.join(forbidden)}"
                raise refuse_argument("register_cached_file", argument, text, expected)
        suffix = ",executable:true" if executable else ""
        self._append(options.CACHED_FILES, f"name:{name},path:'{file_path}'{suffix}", ";")

    def add_jars(self, *jars_path: str) -> None:
        """Refused: there is no Flink in the JVM.

        >>> env.add_jars("file:///connector.jar")
        Traceback (most recent call last):
        ...
        penstock.common.errors.UnsupportedError: add_jars: this runs Java code of Flink, and there is no Flink here; ...
        """
        raise _java_only(
            "add_jars",
            "connectors are Python here (penstock.connectors); for jars of Spark itself set the option `spark.jars`",
        )

    def add_classpaths(self, *classpaths: str) -> None:
        """Refused: there is no Flink in the JVM.

        >>> env.add_classpaths("file:///connector.jar")
        Traceback (most recent call last):
        ...
        penstock.common.errors.UnsupportedError: add_classpaths: this runs Java code of Flink, ...
        """
        raise _java_only(
            "add_classpaths",
            "connectors are Python here (penstock.connectors); for the JVMs of Spark itself set "
            "`spark.driver.extraClassPath` and `spark.executor.extraClassPath`",
        )

    def _append(self, option: ConfigOption[Any], entry: str, separator: str = ",") -> None:
        before = self._configuration.get(option)
        self._configuration.set(option, f"{before}{separator}{entry}" if before else entry)


def _java_only(method: str, instead: str) -> UnsupportedError:
    return UnsupportedError(f"{method}: this runs Java code of Flink, and there is no Flink here; {instead}")


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
