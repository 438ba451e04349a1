"""The job's program in a worker process: read once, and copied for whoever runs a part of it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from penstock.common.logs import configure_task_logging
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.job_resources import ShippedFiles
from penstock.engine.stages.shipping import load_job
from penstock.engine.stages.task_environment import TaskEnvironment


class ProgramCopies:
    """Makes copies of the newest program; `files_root` is the directory that the engine puts files into."""

    def __init__(self, files_root: Callable[[], str]) -> None:
        self._files_root = files_root
        self._programs: dict[str, bytes] = {}

    def own_copy(self, program: str, files: ShippedFiles, environment: TaskEnvironment) -> CompiledJob:
        """A copy of the program: user functions have a `self`, and each subtask has its own."""
        if program not in self._programs:
            configure_task_logging(environment.log_level, environment.log_format)
            self._programs.clear()
            self._programs[program] = environment.storage.read_verified(program)
        root = Path(self._files_root()) if files != ShippedFiles() else Path()
        for name in files.python_path:
            if str(root / name) not in sys.path:
                sys.path.insert(0, str(root / name))
        job = load_job(self._programs[program])
        unpacked = {name: str(root / name) for name in files.archives}
        cached_files = {**unpacked, **job.resources.cached_files}
        return dataclasses.replace(job, resources=dataclasses.replace(job.resources, cached_files=cached_files))
