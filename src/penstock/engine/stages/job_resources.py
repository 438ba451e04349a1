"""What the program sends along for its functions to ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class JobResources:
    """Global parameters, and files by name."""

    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    cached_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The path of each, as every task opens it."""


@dataclass(frozen=True)
class ShippedFiles:
    """What the engine has put into the tasks' directory of files, by name."""

    python_path: tuple[str, ...] = ()
    """Directories to import from."""
    archives: tuple[str, ...] = ()
    """Directories that archives were unpacked to."""
