"""The programs whose latency is measured, and what they are to reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    """A program between the two topics."""

    name: str
    title: str
    command: tuple[str, ...]
    """The script, and its arguments behind the addresses."""
    p50_goal_ms: float | None = None
    p99_goal_ms: float | None = None
    environment: str = "penstock"
    """`penstock` (.venv), or `pyflink` (an environment of its own)."""

    @property
    def is_ours(self) -> bool:
        """Whether it is Penstock."""
        return self.command[0] == "penstock_job.py"

    def misses(self, figures: dict[str, float]) -> list[str]:
        """Every goal that was not met."""
        goals = (("p50_ms", self.p50_goal_ms), ("p99_ms", self.p99_goal_ms))
        return [
            f"{name.removesuffix('_ms')} {figures[name]:.1f} ms, the goal is {goal:g}"
            for name, goal in goals
            if goal is not None and figures[name] > goal
        ]


CONTENDERS = {
    each.name: each
    for each in (
        Contender(
            "pipelined stateless",
            "Penstock, pipelined, a filter by an expression",
            ("penstock_job.py", "stateless", "pipelined"),
            2,
            250,
        ),
        Contender(
            "pipelined maximum",
            "Penstock, pipelined, the greatest value of each key by name",
            ("penstock_job.py", "maximum", "pipelined"),
        ),
        Contender(
            "pipelined maximum at once",
            "the same, where records wait for no others",
            ("penstock_job.py", "maximum", "pipelined", "at-once"),
        ),
        # Where the source side runs in Catalyst alone the goal is 25 ms: here it runs in Python tasks, always.
        Contender(
            "pipelined keyed",
            "Penstock, pipelined, a keyed Python function",
            ("penstock_job.py", "keyed", "pipelined"),
            60,
            500,
        ),
        Contender(
            "pipelined window",
            "Penstock, pipelined, windows of 1 s of event time",
            ("penstock_job.py", "window", "pipelined"),
            150,
        ),
        Contender(
            "epochs keyed",
            "Penstock, in epochs, the keyed Python function",
            ("penstock_job.py", "keyed", "epochs"),
            350,
        ),
        Contender("relay", "a bare loop of the Kafka client, without Spark or state", ("relay_job.py",)),
        Contender(
            "spark real-time stateless",
            "Spark's real-time trigger, Catalyst alone, the filter",
            ("spark_realtime_job.py", "stateless"),
        ),
        Contender(
            "spark real-time maximum",
            "Spark's real-time trigger, Catalyst alone, the greatest value of each key",
            ("spark_realtime_job.py", "maximum"),
        ),
        Contender(
            "spark transformWithState", "PySpark `transformWithState`, the keyed Python function", ("spark_job.py",)
        ),
        Contender(
            "pyflink keyed",
            "PyFlink DataStream, the keyed Python function",
            ("pyflink_job.py",),
            environment="pyflink",
        ),
    )
}

SUSTAINED = (
    "pipelined keyed",
    "pipelined stateless",
    "spark real-time stateless",
    "pipelined maximum",
    "spark real-time maximum",
)
"""The contenders whose rate is raised until they fall behind: ours, and by its side what Catalyst does alone."""
