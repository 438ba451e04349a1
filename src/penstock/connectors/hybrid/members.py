"""The sources of a hybrid source: given by the program, or made when the one before has ended."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common.by_value import pickled_by_value
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.source import Boundedness, Json, Source, SplitEnumerator
from penstock.functions.output_tag import OutputTag


@dataclass(frozen=True)
class SourceSwitchContext:
    """What is known when one source has ended and the next one is made."""

    previous_enumerator: SplitEnumerator
    """The driver's side of the source that has ended."""
    previous_state: Mapping[str, Json]
    """What that source's enumerator had remembered at its end."""

    def get_previous_enumerator(self) -> SplitEnumerator:
        """The driver's side of the source that has ended, with Flink's name."""
        return self.previous_enumerator


SourceFactory = Callable[[SourceSwitchContext], Source]
"""Makes the next source where the one before has ended. The same end must lead to the same source."""


@dataclass(frozen=True)
class Member:
    """One of the sources."""

    boundedness: Boundedness
    source: Source | None = None
    factory: SourceFactory | None = None

    def describe(self) -> str:
        """A few words for `explain()`."""
        return "a source made at the switch" if self.source is None else self.source.describe()


class MadeSource:
    """A source that was made at a switch, kept in the checkpoint directory for the tasks and for a restart."""

    def __init__(self, directory: str, number: int) -> None:
        self.path = Path(directory) / f"source-{number}"

    def make(
        self, factory: SourceFactory, context: SourceSwitchContext, record_type: TypeInformation, tag: OutputTag | None
    ) -> Source:
        """Calls the program's function, and keeps what it returns."""
        source = factory(context)
        if not isinstance(source, Source):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"HybridSource: a function was to make the next source, and returned {source!r}")
        require_same_stream(source, record_type, tag)
        source = source.prepared(f"{self.path}-files")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex}.inprogress")
        with unfinished.open("wb") as file:
            file.write(pickled_by_value(source))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path)
        return source

    def load(self) -> Source | None:
        """What was made before; None where the directory is another one than then."""
        return pickle.loads(self.path.read_bytes()) if self.path.exists() else None


def require_same_stream(source: Source, record_type: TypeInformation, tag: OutputTag | None) -> None:
    """Raises unless the records of a source, and its broken records, go where those of the others go."""
    if source.produced_type != record_type:
        raise ConfigurationError(
            f"HybridSource: {source.describe()} gives records of {source.produced_type!r}, and the first source "
            f"{record_type!r}; all sources of one stream give the same type"
        )
    other = source.broken_records_tag
    if (None if other is None else other.tag_id) != (None if tag is None else tag.tag_id):
        raise ConfigurationError(
            f"HybridSource: {source.describe()} sends broken records to {other!r}, and the first source to {tag!r}; "
            "give all of them the same on_error"
        )


class PrefixedState(MutableMapping[str, Any]):
    """The part of a durable map whose names begin alike."""

    def __init__(self, state: MutableMapping[str, Any], prefix: str) -> None:
        self._state = state
        self._prefix = prefix

    def __getitem__(self, key: str) -> Any:
        return self._state[self._prefix + key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._state[self._prefix + key] = value

    def __delitem__(self, key: str) -> None:
        del self._state[self._prefix + key]

    def __iter__(self) -> Iterator[str]:
        return iter([key.removeprefix(self._prefix) for key in self._state if key.startswith(self._prefix)])

    def __len__(self) -> int:
        return sum(1 for _ in self)
