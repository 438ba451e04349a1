"""What cannot run in pipelined mode, told before anything is started."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.errors import EnvironmentNotReadyError, UnsupportedError
from penstock.connectors.live_source import LiveSource
from penstock.plan.naming import describe_node
from penstock.plan.nodes import Node, SourceNode
from penstock.plan.plan import Plan

SETTINGS_AT_START = {
    "spark.buffer.size": "4",
    "spark.python.udf.pipelined.enabled": "true",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
}
"""Rows must not wait for others in buffers between the JVM and its Python workers, nor in the shuffle; how long they
may wait is decided where they are sent. Only what makes a session can set these."""

_DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"


def check_spark_settings(settings: Mapping[str, str]) -> None:
    """Raises `EnvironmentNotReadyError` where a Spark application was started without what pipelined mode needs."""
    others = [
        f"{key} {value} (it has {settings[key]})" if key in settings else f"{key} {value}"
        for key, value in SETTINGS_AT_START.items()
        if settings.get(key, "").strip().lower() != value
    ]
    if others:
        raise EnvironmentNotReadyError(
            f"pipelined mode needs a Spark session that was made with {', '.join(others)}. "
            "Set them where the session is made, or leave it to the job to make one."
        )
    if settings.get(_DYNAMIC_ALLOCATION, "").strip().lower() == "true":
        raise EnvironmentNotReadyError(
            f"pipelined mode needs a Spark session that was made with {_DYNAMIC_ALLOCATION} false: all tasks run at "
            "the same time, and Spark wants to know how many slots there are."
        )


def check_pipelined(plan: Plan, configuration: Configuration) -> None:
    """Raises `UnsupportedError` that names the operator and the reason, where a plan cannot run in pipelined mode."""
    if configuration.get(options.ENGINE) == "local":
        raise UnsupportedError(
            "execution.latency 'pipelined' needs Spark, whose stages run side by side; execution.engine is 'local'."
        )
    if plan.batch:
        raise UnsupportedError(
            "execution.latency 'pipelined' is for streams: set execution.runtime-mode to STREAMING, or leave "
            "execution.latency out for a batch."
        )
    for node in plan.topological_order:
        reason = _reason_against(node)
        if reason is not None:
            raise UnsupportedError(
                f"{describe_node(node)} cannot run with execution.latency 'pipelined': {reason}. "
                "Leave the option out to run the job in epochs."
            )


def _reason_against(node: Node) -> str | None:
    if not isinstance(node, SourceNode):
        return None
    if not isinstance(node.source, LiveSource):
        return f"{node.source.describe()} cannot be followed while records come; a Kafka source can"
    if node.watermark_strategy is not None and node.watermark_strategy.alignment is not None:
        return "watermark alignment holds splits back from epoch to epoch, and epochs are long here"
    return None
