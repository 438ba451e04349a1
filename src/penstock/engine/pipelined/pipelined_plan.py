"""A DataFrame whose stages run side by side: its exchanges become what Spark's real-time mode has between stages.

Spark runs the stages on both sides of a pipelined exchange at the same time, and hands rows over as they come. It marks
exchanges so in the plans of its real-time trigger only; here the physical plan of an ordinary job is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def pipelined_plan(session: SparkSession, frame: DataFrame, hosts: Sequence[Sequence[str]] = ()) -> Any:
    """The physical plan of a frame that is one linear chain; good for one job.

    `hosts` are the machines that the tasks of each stage prefer, if they prefer any.
    """
    # Nodes of a plan belong to the session that is the active one of the thread that makes them.
    jvm = cast("Any", session._jvm)  # pyright: ignore[reportPrivateUsage]
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # pyright: ignore[reportPrivateUsage]
    java_frame = cast("Any", frame._jdf)  # pyright: ignore[reportPrivateUsage]
    return _marked(jvm, java_frame.queryExecution().executedPlan(), hosts)


def run_pipelined(session: SparkSession, plan: Any, name: str) -> None:
    """Runs a plan as one job of that name; returns when its tasks have ended, each by itself."""
    for key, value in {**OF_TASKS, _QUERY: name, SPARK_JOB: name}.items():
        session.sparkContext.setLocalProperty(key, value)
    plan.executeCollect()


def _marked(jvm: Any, plan: Any, hosts: Sequence[Sequence[str]]) -> Any:
    """The plan of the last of the stages whose hosts these are, with all that is before it."""
    children = plan.children()
    if children.isEmpty():
        return _placed(jvm, plan, hosts)
    if plan.getClass().getSimpleName() == _EXCHANGE:
        child = _marked(jvm, children.head(), hosts[:-1])
        is_pipelined = True
        exchange = plan.copy(
            plan.outputPartitioning(), child, plan.shuffleOrigin(), plan.advisoryPartitionSize(), is_pipelined
        )
        return _placed(jvm, exchange, hosts)
    return plan.withNewChildren(jvm.PythonUtils.toSeq([_marked(jvm, children.head(), hosts)]))


def _placed(jvm: Any, plan: Any, hosts: Sequence[Sequence[str]]) -> Any:
    """The same rows in the same partitions, which prefer the hosts of the last of these stages.

    What reads a shuffle has no such preference itself. Beside it, partition by partition, goes what has no rows and
    prefers a host. (The cached tables that keep tasks in their places in epochs come by a shuffle of the other kind,
    and Spark refuses a job with both kinds.)
    """
    if not hosts:
        return plan
    rows = plan.execute()
    tag, context = rows.elementClassTag(), rows.sparkContext()
    nothing = jvm.PythonUtils.toSeq([])
    preferred = jvm.PythonUtils.toScalaMap(
        {partition: jvm.PythonUtils.toSeq([host]) for partition, host in enumerate(hosts[-1])}
    )
    rdds = jvm.org.apache.spark.rdd
    no_rows = rdds.ParallelCollectionRDD(context, nothing, len(hosts[-1]), preferred, tag)
    both = rdds.SQLPartitioningAwareUnionRDD(context, jvm.PythonUtils.toSeq([rows, no_rows]), len(hosts[-1]), tag)
    return jvm.org.apache.spark.sql.execution.RDDScanExec(
        plan.output(), both, "placed", plan.outputPartitioning(), plan.outputOrdering(), jvm.scala.Option.empty()
    )
