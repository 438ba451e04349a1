"""How a program says what the bytes of its own things are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads one kind of object. The same object must give the same bytes every time."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Writes an object to a stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Reads the object again."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
