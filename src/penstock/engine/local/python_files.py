"""Python dependencies of jobs that run in this process."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from penstock.engine.python_dependencies import (
    REQUIREMENTS_DIRECTORY,
    PythonDependencies,
    import_directory,
    install_requirements,
    unpack,
)
from penstock.engine.stages.job_resources import ShippedFiles


class LocalFiles:
    """A directory of this machine with what the job's options name."""

    def __init__(self) -> None:
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    @property
    def root(self) -> str:
        """The directory."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="penstock-files-", ignore_cleanup_errors=True)
        return self._directory.name

    def provide(self, dependencies: PythonDependencies) -> ShippedFiles:
        """Puts everything where tasks find it; Python files are imported from where they are."""
        for path in dependencies.files:
            if import_directory(path) not in sys.path:
                sys.path.insert(0, import_directory(path))
        archives = dependencies.archives or {}
        for name, path in archives.items():
            unpack(path, Path(self.root, name))
        if dependencies.requirements is None:
            return ShippedFiles(archives=tuple(archives))
        target = Path(self.root, REQUIREMENTS_DIRECTORY)
        install_requirements(dependencies.requirements, dependencies.packages, target)
        return ShippedFiles((REQUIREMENTS_DIRECTORY,), tuple(archives))
