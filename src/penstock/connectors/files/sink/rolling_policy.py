"""When a file ends and the next one begins."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.errors import ConfigurationError

_PART_SIZE = 1024 * 1024 * 128
_MINUTE = 60 * 1000


@dataclass(frozen=True)
class OpenFile:
    """A file that may go on: its size, when it was begun and when something was last written, in ms."""

    size: int
    created: int
    changed: int


class RollingPolicy:
    """Says when a file is complete; readers see it after the epoch in which it is."""

    part_size: int | None = None
    """How large, in bytes, a file may become; a little more, since records are written many at a time."""

    def is_complete(self, file: OpenFile, now: int) -> bool:
        """Whether a file ends with the epoch."""
        raise NotImplementedError

    def due(self, file: OpenFile) -> int | None:
        """When the file is complete though nothing more is written to it."""
        return None

    @staticmethod
    def default_rolling_policy(
        part_size: int = _PART_SIZE, rollover_interval: int = _MINUTE, inactivity_interval: int = _MINUTE
    ) -> DefaultRollingPolicy:
        """Ends a file that is large, or old, or has had no records for a while; the times are in ms."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy(part_size: int | None = None) -> OnCheckpointRollingPolicy:
        """Ends every file with its epoch; with a size, large ones before."""
        return OnCheckpointRollingPolicy(part_size)


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """Files may go on for many epochs."""

    part_size: int | None = _PART_SIZE
    rollover_interval: int = _MINUTE
    inactivity_interval: int = _MINUTE

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise ConfigurationError(f"default_rolling_policy: `{name}` is {value!r}; expected a number above 0")

    def is_complete(self, file: OpenFile, now: int) -> bool:  # noqa: D102
        assert self.part_size is not None
        return (
            file.size >= self.part_size
            or now - file.created >= self.rollover_interval
            or now - file.changed >= self.inactivity_interval
        )

    def due(self, file: OpenFile) -> int | None:  # noqa: D102
        return min(file.created + self.rollover_interval, file.changed + self.inactivity_interval)


@dataclass(frozen=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """No file goes on beyond its epoch."""

    part_size: int | None = None

    def is_complete(self, file: OpenFile, now: int) -> bool:  # noqa: D102
        return True
