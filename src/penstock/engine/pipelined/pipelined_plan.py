"""A DataFrame whose stages run side by side: its exchanges become what Spark's real-time mode has between stages.

Spark runs the stages on both sides of a pipelined exchange at the same time, and hands rows over as they come. It marks
exchanges so in the plans of its real-time trigger only; here the physical plan of an ordinary job is marked.
"""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

_EXCHANGE = "ShuffleExchangeExec"
_QUERY = "sql.streaming.queryId"
"""The streaming shuffle wants to know whose rows it carries."""

OF_TASKS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",  # rows are buffers of records; a batch waits until it is full
    "spark.sql.execution.pandas.udf.buffer.size": "4",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "false",
}
"""Settings that tasks look up. Spark sends them along with the queries that it runs itself: here they are sent as it
does, in the properties of the job."""


SPARK_JOB = "penstock.live-job"
"""The property that says to tasks which job they belong to: they find their orders by it."""


def pipelined_plan(session: SparkSession, frame: DataFrame) -> Any:
    """The physical plan of a frame that is one linear chain; good for one job."""
    # Nodes of a plan belong to the session that is the active one of the thread that makes them.
    jvm = cast("Any", session._jvm)  # pyright: ignore[reportPrivateUsage]
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # pyright: ignore[reportPrivateUsage]
    java_frame = cast("Any", frame._jdf)  # pyright: ignore[reportPrivateUsage]
    return _marked(jvm, java_frame.queryExecution().executedPlan())


def run_pipelined(session: SparkSession, plan: Any, name: str) -> None:
    """Runs a plan as one job of that name; returns when its tasks have ended, each by itself."""
    for key, value in {**OF_TASKS, _QUERY: name, SPARK_JOB: name}.items():
        session.sparkContext.setLocalProperty(key, value)
    plan.executeCollect()


def _marked(jvm: Any, plan: Any) -> Any:
    children = plan.children()
    if children.isEmpty():
        return plan
    child = _marked(jvm, children.head())
    if plan.getClass().getSimpleName() == _EXCHANGE:
        is_pipelined = True
        return plan.copy(
            plan.outputPartitioning(), child, plan.shuffleOrigin(), plan.advisoryPartitionSize(), is_pipelined
        )
    return plan.withNewChildren(jvm.PythonUtils.toSeq([child]))
