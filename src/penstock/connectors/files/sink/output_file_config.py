"""The names of the sink's files."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.errors import ConfigurationError


class OutputFileConfigBuilder:
    """Makes an `OutputFileConfig`."""

    def __init__(self) -> None:
        self.part_prefix = "part"
        self.part_suffix = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Sets what names begin with; `part` otherwise."""
        self.part_prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Sets what names end with, such as `.txt`."""
        self.part_suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """The names."""
        return OutputFileConfig(self.part_prefix, self.part_suffix)


@dataclass(frozen=True)
class OutputFileConfig:
    """What the names of files begin and end with."""

    part_prefix: str
    part_suffix: str

    OutputFileConfigBuilder = OutputFileConfigBuilder

    def __post_init__(self) -> None:
        if not self.part_prefix or self.part_prefix.startswith((".", "_")) or "/" in self.part_prefix:
            raise ConfigurationError(
                "the prefix of a file sink begins a visible file name: no leading '.' or '_', no '/', "
                f"got {self.part_prefix!r}"
            )
        if "/" in self.part_suffix:
            raise ConfigurationError(f"the suffix of a file sink ends a file name: no '/', got {self.part_suffix!r}")

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """Begins one."""
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """What names begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What names end with."""
        return self.part_suffix
