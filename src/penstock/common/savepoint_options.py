"""Options of savepoints: where they go, and which one a job starts from."""

from __future__ import annotations

from penstock.common.config_options import ConfigOption, parse_boolean, parse_text

SAVEPOINT_PATH = ConfigOption[str | None](
    "execution.savepoint.path",
    parse_text,
    None,
    "The savepoint, or the checkpoint directory of another job, that a job starts from whose own checkpoint directory "
    "is empty.",
    other_keys=("execution.state-recovery.path",),
)
IGNORE_UNCLAIMED_STATE = ConfigOption(
    "execution.savepoint.ignore-unclaimed-state",
    parse_boolean,
    False,
    "Whether state may be left behind that the program has no operator for, and output that may not be published yet "
    "and that it has no sink for.",
    other_keys=("execution.state-recovery.ignore-unclaimed-state",),
)
SAVEPOINT_DIRECTORY = ConfigOption[str | None](
    "execution.checkpointing.savepoint-dir",
    parse_text,
    None,
    "Where savepoints go that are asked for without a directory.",
    other_keys=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
)
