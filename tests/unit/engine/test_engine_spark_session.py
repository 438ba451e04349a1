"""A session that the program hands in is checked, and what it lacks is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common.errors import EnvironmentNotReadyError
from penstock.engine.spark.master import check_master
from penstock.engine.spark.session import open_session, session_of_stages

CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum.enabled"


class GivenSession(SparkSession):
    """A session with some settings of its own and of its context, without a JVM."""

    def __init__(self, own: dict[str, str], of_context: dict[str, str]) -> None:
        self.own, self.of_context = own, of_context

    @property
    def conf(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(get=self.own.get)

    @property
    def sparkContext(self) -> Any:  # type: ignore[override]  # noqa: N802 (Spark's name)
        return SimpleNamespace(getConf=lambda: SimpleNamespace(get=self.of_context.get))


def opened(own: dict[str, str], of_context: dict[str, str]) -> object:
    return open_session("job", None, {}, GivenSession(own, of_context))


def test_a_session_with_sparks_own_defaults_is_used() -> None:
    assert isinstance(opened({}, {}), GivenSession)
    assert isinstance(opened({CHECKSUMS: "true"}, {"spark.speculation": "false"}), GivenSession)


@pytest.mark.parametrize(
    ("own", "of_context", "named"),
    [
        ({CHECKSUMS: "false"}, {}, f"{CHECKSUMS} is 'false', needed: 'true'"),
        ({}, {CHECKSUMS: "false"}, f"{CHECKSUMS} is 'false', needed: 'true'"),
        ({}, {"spark.speculation": "true"}, "spark.speculation is 'true', needed: 'false'"),
    ],
)
def test_what_a_session_lacks_is_named(own: dict[str, str], of_context: dict[str, str], named: str) -> None:
    with pytest.raises(EnvironmentNotReadyError) as refused:
        opened(own, of_context)
    assert named in str(refused.value)
    assert "Set them where the session is created" in str(refused.value)


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(EnvironmentNotReadyError, match=r"orderIndependentChecksum\.enabled is.*spark\.speculation is"):
        opened({CHECKSUMS: "false"}, {"spark.speculation": "true"})


def test_a_session_of_spark_connect_is_refused() -> None:
    # PySpark's own class cannot be imported without the packages of Spark Connect.
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(EnvironmentNotReadyError, match=r"Spark Connect session.*needs a classic session"):
        open_session("job", None, {}, remote)


def test_a_connect_server_as_master_is_refused_before_a_jvm_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentNotReadyError, match=r"'sc://host:15002' is a Spark Connect server.*classic session"):
        check_master("sc://host:15002")
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    with pytest.raises(EnvironmentNotReadyError, match="SPARK_REMOTE is set to 'sc://host:15002'"):
        check_master("local[2]")


@pytest.mark.parametrize("master", ["local", "local[*]", "local-cluster[2,1,512]", "spark://a:7077", "yarn", "k8s://b"])
def test_masters_of_spark_are_accepted(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    check_master(master)


@pytest.mark.parametrize("master", ["", "localhost", "http://a:7077", "loc"])
def test_what_is_no_master_is_named_with_what_would_be_one(master: str) -> None:
    with pytest.raises(
        EnvironmentNotReadyError, match=rf"'{master}' is no Spark master. Expected local, .* SPARK_MASTER"
    ):
        check_master(master)


class ApplicationSession(GivenSession):
    """A session of an application, and the settings of a new one made from it."""

    def newSession(self) -> Any:  # type: ignore[override]  # noqa: N802 (Spark's name)
        settings: dict[str, str] = {}
        return SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__), settings=settings)


def test_stages_do_not_run_with_sparks_defaults_for_rows() -> None:
    of_spark = {"spark.sql.adaptive.enabled": "true", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}
    own: Any = session_of_stages(ApplicationSession(of_spark, {}))
    assert own.settings["spark.sql.adaptive.enabled"] == "false"
    assert own.settings["spark.sql.execution.arrow.maxRecordsPerBatch"] == "64"
    assert own.settings[CHECKSUMS] == "true"


def test_what_the_application_was_told_holds_in_stages_but_for_adaptive_plans() -> None:
    told = {"spark.sql.adaptive.enabled": "true", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    own: Any = session_of_stages(ApplicationSession({}, told))
    assert own.settings["spark.sql.adaptive.enabled"] == "false"
    assert own.settings["spark.sql.execution.arrow.maxRecordsPerBatch"] == "7"


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(EnvironmentNotReadyError, match="expected a SparkSession, got str"):
        open_session("job", None, {}, "local[2]")
