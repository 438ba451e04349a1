"""Named places where tests make a process fail: the protocol's own crash switchboard.

In production nothing is armed and `reach` costs one comparison. Tests arm a hook in the process, or set the
environment variable PENSTOCK_FAIL_POINTS for processes they start: `name@hit=action`, separated by `;`, where hit is
the number of the call that fails (1 is the first) and action is one of

- `kill`: SIGKILL to this process;
- `raise`: raises `SimulatedCrash`;
- `once:PATH`: SIGKILL to the first process that manages to create PATH, in whatever process and attempt;
- `executor:PATH`: the same, but the JVM above the worker is killed: the executor;
- `pause:PATH`: SIGSTOP to the first process that manages to create PATH, until somebody lets it go on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ENVIRONMENT_VARIABLE = "PENSTOCK_FAIL_POINTS"


class SimulatedCrash(BaseException):
    """Stands for the death of a process in tests; no handler for ordinary errors catches it."""


_hook: Callable[[str], None] | None = None


def arm(hook: Callable[[str], None] | None) -> None:
    """Calls `hook` with the name of every fail point that is reached; None switches them off."""
    global _hook  # noqa: PLW0603  one switchboard per process
    _hook = hook


def reach(name: str) -> None:
    """Marks a step of the protocol."""
    if _hook is not None:
        _hook(name)


def _grandparent() -> int:
    """Workers are children of a daemon, which is a child of the executor's JVM."""
    status = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


_STRIKES: dict[str, tuple[signal.Signals, Callable[[], int]]] = {
    "once": (signal.SIGKILL, os.getpid),
    "executor": (signal.SIGKILL, _grandparent),
    "pause": (signal.SIGSTOP, os.getpid),
}


def _hook_of(specification: str) -> Callable[[str], None]:
    armed: dict[str, list[tuple[int, str]]] = {}
    hits: dict[str, int] = {}
    for item in filter(None, specification.split(";")):
        point, _, action = item.partition("=")
        name, _, hit = point.partition("@")
        armed.setdefault(name, []).append((int(hit or 1), action))

    def fire(name: str) -> None:
        hits[name] = hits.get(name, 0) + 1
        for hit, action in armed.get(name, ()):
            if hits[name] < hit:
                continue
            kind, _, path = action.partition(":")
            if path:
                with suppress(FileExistsError):
                    Path(path).touch(exist_ok=False)
                    how, whom = _STRIKES[kind]
                    os.kill(whom(), how)
            elif hits[name] == hit:
                if action == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise SimulatedCrash(name)

    return fire


if os.environ.get(ENVIRONMENT_VARIABLE):
    arm(_hook_of(os.environ[ENVIRONMENT_VARIABLE]))
