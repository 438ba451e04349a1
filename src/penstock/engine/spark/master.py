"""Whether Spark can run on what it is told to run on, asked before a JVM is started for it."""

from __future__ import annotations

import os

from penstock.common.errors import EnvironmentNotReadyError

CONNECT_REFUSED = (
    "Penstock drives Spark from its own driver process and needs a classic session: "
    "SparkSession.builder.master(...).getOrCreate()."
)
_CONNECT = "sc://"
_REMOTE = "SPARK_REMOTE"
_KNOWN = ("local[", "local-cluster[", "spark://", "k8s://")


def check_master(master: str) -> None:
    """Raises unless the master is of a kind that a classic Spark session has."""
    if master.startswith(_CONNECT):
        raise EnvironmentNotReadyError(f"the master {master!r} is a Spark Connect server. {CONNECT_REFUSED}")
    if os.environ.get(_REMOTE):
        raise EnvironmentNotReadyError(
            f"{_REMOTE} is set to {os.environ[_REMOTE]!r}: new sessions would be Spark Connect sessions. "
            f"{CONNECT_REFUSED} Unset {_REMOTE}, and say by spark.master or SPARK_MASTER where to run."
        )
    if master not in ("local", "yarn") and not master.startswith(_KNOWN):
        raise EnvironmentNotReadyError(
            f"{master!r} is no Spark master. Expected local, local[2], local[*], spark://host:port, "
            "k8s://https://host:port or yarn, in spark.master or SPARK_MASTER."
        )
