"""The end of a stream."""

from __future__ import annotations

from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.datastream.transformation import Transformation


class DataStreamSink(OperatorSettings):
    """A sink that was added to a stream; it can be named and resized."""

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation

    def operator(self, method: str) -> Transformation:  # noqa: D102
        return self._transformation

    def __repr__(self) -> str:
        return f"<DataStreamSink {self._transformation.name!r} made at {self._transformation.call_site}>"
