"""Files that travel with a job."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.common.errors import ConfigurationError


class DistributedCache:
    """Finds the files that `env.register_cached_file(...)` has sent along."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def get_file(self, name: str) -> Path:
        """The path of a file or directory in this task."""
        if name not in self._files:
            known = ", ".join(sorted(self._files)) or "none"
            raise ConfigurationError(
                f"no cached file has the name {name!r} (there are: {known}); "
                f'call `env.register_cached_file(path, "{name}")` before `execute`'
            )
        return self._files[name]
