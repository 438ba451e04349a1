"""Flink's older word for something that is read."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.connectors.source import Source


class InputFormat(ABC):
    """What `env.create_input` takes."""

    @abstractmethod
    def source(self) -> Source:
        """The source that reads it."""
