"""What a job takes along: parameters, files, Python code; and who hears of it. On the local engine."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobExecutionResult, JobListener, Types
from penstock.common.errors import ConfigurationError, JobExecutionException, PlanError, UnsupportedError
from penstock.common.job_client import JobClient
from penstock.datastream import KeySelector, MapFunction, RuntimeContext, StreamExecutionEnvironment


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


@pytest.fixture(autouse=True)
def _same_path_and_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


class Ask(MapFunction):
    """Answers every record with what `ask` finds in the runtime context."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    def open(self, runtime_context: RuntimeContext) -> None:
        self._answer = self._ask(runtime_context)

    def map(self, value: Any) -> Any:
        return self._answer


def answer(env: StreamExecutionEnvironment, ask: Any) -> Any:
    (found,) = env.from_collection([0]).map(Ask(ask)).execute_and_collect()
    return found


def test_global_parameters_reach_functions(env: StreamExecutionEnvironment) -> None:
    env.get_config().set_global_job_parameters({"region": "eu", "limit": 10})
    ask = lambda context: [context.get_job_parameter(key, "-") for key in ("region", "limit", "other")]  # noqa: E731
    assert answer(env, ask) == ["eu", "10", "-"]


def test_cached_files_reach_functions(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("to be")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tool").write_text("#!/bin/sh\n")
    env.register_cached_file(f"file://{tmp_path / 'words.txt'}", "words")
    env.register_cached_file(str(tmp_path / "folder"), "folder", executable=True)

    def ask(context: RuntimeContext) -> Any:
        cache = context.get_distributed_cache()
        tool = cache.get_file("folder") / "tool"
        return cache.get_file("words").read_text(), tool.read_text(), bool(tool.stat().st_mode & 0o100)

    assert answer(env, ask) == ("to be", "#!/bin/sh\n", True)


def test_a_cached_file_that_nobody_registered_is_named(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with pytest.raises(JobExecutionException, match=r"no cached file has the name 'model' \(there are: none\)"):
        answer(env, lambda context: context.get_distributed_cache().get_file("model"))
    env.register_cached_file(str(tmp_path / "gone"), "gone")
    with pytest.raises(ConfigurationError, match=r"there is no .*gone"):
        answer(env, lambda context: 1)


def import_of(module: str) -> Any:
    def ask(context: RuntimeContext) -> Any:
        return __import__(module).VALUE

    return ask


def test_python_files_packages_and_directories_can_be_imported(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "one_file_module.py").write_text("VALUE = 1")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "module_in_directory.py").write_text("VALUE = 2")
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as package:
        package.writestr("module_in_zip.py", "VALUE = 3")
    for name in ("one_file_module.py", "modules", "package.zip"):
        env.add_python_file(str(tmp_path / name))
    modules = ("one_file_module", "module_in_directory", "module_in_zip")
    assert [answer(env, import_of(module)) for module in modules] == [1, 2, 3]


def test_archives_are_unpacked(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("inside/words.txt", "not to be")
    env.add_python_archive(str(tmp_path / "data.zip"))
    env.add_python_archive(str(tmp_path / "data.zip"), "other")

    def ask(context: RuntimeContext) -> Any:
        cache = context.get_distributed_cache()
        return [(cache.get_file(name) / "inside" / "words.txt").read_text() for name in ("data.zip", "other")]

    assert answer(env, ask) == ["not to be", "not to be"]


def wheel(directory: Path, name: str, source: str) -> None:
    """The smallest package that pip installs."""
    directory.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(directory / f"{name}-1.0-py3-none-any.whl", "w") as package:
        package.writestr(f"{name}.py", source)
        package.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        package.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        package.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


def test_requirements_are_installed_for_the_job(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    wheel(tmp_path / "packages", "required_module", "VALUE = 'installed'")
    (tmp_path / "requirements.txt").write_text("required_module==1.0\n")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    assert answer(env, import_of("required_module")) == "installed"


def test_requirements_that_cannot_be_installed_are_refused(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "requirements.txt").write_text("no_such_package_at_all\n")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    env.from_collection([1]).print()
    with pytest.raises(Exception, match=r"(?s)python.requirements.*no.such.package"):
        env.execute()


def test_java_is_refused_with_what_to_use_instead(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(UnsupportedError, match=r"add_jars.*spark\.jars"):
        env.add_jars("file:///connector.jar")
    with pytest.raises(UnsupportedError, match=r"add_classpaths.*extraClassPath"):
        env.add_classpaths("file:///classes")
    with pytest.raises(UnsupportedError, match=r"create_input.*add_source"):
        env.create_input(object())


class Heard(JobListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def on_job_submitted(self, job_client: JobClient | None, throwable: BaseException | None) -> None:
        self.events.append(("submitted", type(job_client).__name__, type(throwable).__name__))

    def on_job_executed(self, job_execution_result: JobExecutionResult | None, throwable: BaseException | None) -> None:
        self.events.append(("executed", type(job_execution_result).__name__, type(throwable).__name__))


def test_a_listener_hears_of_jobs(env: StreamExecutionEnvironment) -> None:
    heard = Heard()
    env.register_job_listener(heard)
    env.from_collection([1]).add_sink(lambda _: None)
    env.execute()
    env.from_collection([0]).map(lambda n: 1 / n).add_sink(lambda _: None)
    with pytest.raises(JobExecutionException):
        env.execute()
    with pytest.raises(PlanError):
        env.execute()
    env.clear_job_listeners()
    env.from_collection([1]).add_sink(lambda _: None)
    env.execute()
    assert heard.events == [
        ("submitted", "JobClient", "NoneType"),
        ("executed", "JobExecutionResult", "NoneType"),
        ("submitted", "JobClient", "NoneType"),
        ("executed", "NoneType", "JobExecutionException"),
        ("submitted", "NoneType", "PlanError"),
    ]


class Modulo(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._divisor = int(runtime_context.get_job_parameter("divisor", "1"))

    def get_key(self, value: int) -> int:
        return value % self._divisor


def test_a_key_selector_is_opened_in_the_task(env: StreamExecutionEnvironment) -> None:
    env.get_config().set_global_job_parameters({"divisor": "3"})
    stream = env.from_collection([(n,) for n in range(9)], Types.TUPLE([Types.INT()])).map(lambda r: r[0], Types.INT())
    sums = stream.key_by(Modulo()).reduce(lambda a, b: a + b)
    assert {9, 12, 15} <= set(sums.execute_and_collect())
