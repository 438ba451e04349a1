"""What a terminal shows of Spark's JVM. Each test has a process of its own: a JVM starts once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SESSION = """
import os
from penstock.engine.spark.session import open_session
session = open_session("quiet", "local[1]", {settings!r}, None)
jvm = session.sparkContext._jvm
"""
SAY = 'jvm.java.lang.System.err.println("said later")\n'
LOUD = """
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = info
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = MINE %m%n
"""


# Java says that it has options from there.
DEFAULT_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}


def standard_error(
    script: str, settings: dict[str, str] | None = None, environment: dict[str, str] | None = None, before: str = ""
) -> str:
    program = before + SESSION.format(settings=settings or {}) + script
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**DEFAULT_ENVIRONMENT, **(environment or {})},
    )
    assert run.returncode == 0, run.stderr
    return run.stderr


ARCHIVE = """
from pathlib import Path
from penstock.engine.spark.class_archive import archive_path
archive = archive_path()
maps = Path(f"/proc/{session.sparkContext._gateway.proc.pid}/maps")
if maps.exists():
    assert (archive.name in maps.read_text()) == archive.exists(), "an archive of classes is used where there is one"
"""

COMPILER = """
bean = jvm.java.lang.Class.forName("com.sun.management.HotSpotDiagnosticMXBean")
options = jvm.java.lang.management.ManagementFactory.getPlatformMXBean(bean)
assert options.getVMOption("TieredStopAtLevel").getValue() == "{}"
"""

INSTALLED = """
def place_of_pyspark(_):
    import pyspark
    return pyspark.__file__
assert ".zip" not in session.sparkContext.parallelize([1], 1).map(place_of_pyspark).first()
"""


def test_a_session_starts_in_silence_and_the_jvm_can_still_be_heard() -> None:
    script = 'assert session.range(3).count() == 3\nassert "SPARK_SUBMIT_OPTS" not in os.environ'
    assert standard_error(SAY + script + ARCHIVE + COMPILER.format(1) + INSTALLED) == "said later\n"


def test_an_archive_of_classes_that_does_not_fit_is_left_alone(tmp_path: Path) -> None:
    script = "from penstock.engine.spark.class_archive import archive_path\n"
    script += "archive_path().parent.mkdir(parents=True)\narchive_path().write_bytes(b'no archive' * 1000)\n"
    cache = {"PENSTOCK_CACHE": str(tmp_path)}
    assert standard_error(SAY, environment=cache, before=script) == "said later\n"


def test_the_java_options_of_the_user_stay_and_win(tmp_path: Path) -> None:
    (tmp_path / "loud.properties").write_text(LOUD)
    options = (
        f"-Dof.the.user=1 -XX:TieredStopAtLevel=4 -Dlog4j2.configurationFile={(tmp_path / 'loud.properties').as_uri()}"
    )
    script = COMPILER.format(4) + 'assert jvm.java.lang.System.getProperty("of.the.user") == "1"'
    settings = {"spark.driver.extraJavaOptions": options, "spark.log.level": "INFO"}
    assert "MINE Running Spark version" in standard_error(script, settings)


def test_a_logging_file_in_the_configuration_directory_is_used(tmp_path: Path) -> None:
    (tmp_path / "log4j2.properties").write_text(LOUD)
    assert "MINE Running Spark version" in standard_error("", environment={"SPARK_CONF_DIR": str(tmp_path)})


NO_MASTER = """
from contextlib import suppress
from penstock.common.errors import EnvironmentNotReadyError
from penstock.engine.spark.session import open_session
with suppress(EnvironmentNotReadyError):
    open_session("quiet", "local[a]", {}, None)
"""


def test_a_master_that_is_none_comes_without_a_java_stack() -> None:
    shown = standard_error("", before=NO_MASTER)
    assert "Error initializing SparkContext" in shown
    assert "\tat " not in shown
