"""Several sources as one, read one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.hybrid.enumerator import HybridEnumerator
from penstock.connectors.hybrid.members import (
    MadeSource,
    Member,
    SourceFactory,
    SourceSwitchContext,
    require_same_stream,
)
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.functions.output_tag import OutputTag

__all__ = ["HybridSource", "HybridSourceBuilder", "SourceFactory", "SourceSwitchContext"]


class HybridSource(Source):
    """Reads one source to its end, then the next: history from files, then Kafka; made with `HybridSource.builder`.

    To the program it is one stream with one watermark. Which source is being read, and how far, is part of the
    checkpoint, so every record of each is read exactly once, also across the switch. The next source begins when
    everything of the one before is committed; in batch execution, where nothing has an order, they are read together.
    """

    def __init__(self, members: Sequence[Member], record_type: TypeInformation) -> None:
        self._members = tuple(members)
        self._type = record_type
        self._directory = ""
        given = [member.source for member in members if member.source is not None]
        self._tag = given[0].broken_records_tag
        for source in given:
            require_same_stream(source, record_type, self._tag)
        self.is_prepared = all(source.is_prepared for source in given)

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """A builder; `first_source` is read first."""
        return HybridSourceBuilder(first_source)

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return self._members[-1].boundedness

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._tag

    def prepared(self, directory: str) -> Source:
        """The sources as the job reads them, and a place for those that are made at a switch."""
        members = [
            member
            if member.source is None
            else replace(member, source=member.source.prepared(f"{directory}/given-{number}"))
            for number, member in enumerate(self._members)
        ]
        prepared = copy.copy(self)
        prepared._members = tuple(members)
        prepared._directory = directory
        prepared.is_prepared = True
        return prepared

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return HybridEnumerator(self._members, self._directory, self._type, self._tag, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _HybridReader(self._members, self._directory)

    def describe(self) -> str:  # noqa: D102
        return ", then ".join(member.describe() for member in self._members)


class HybridSourceBuilder:
    """Builds a `HybridSource`: the sources in the order in which they are read."""

    def __init__(self, first_source: Source) -> None:
        if not isinstance(first_source, Source):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"HybridSource: the first source is {first_source!r}; expected a source")
        self._type = first_source.produced_type
        self._tag = first_source.broken_records_tag
        self._members = [Member(first_source.boundedness, source=first_source)]

    def add_source(self, source: Source | SourceFactory, boundedness: Boundedness | None = None) -> HybridSourceBuilder:
        """The source that comes next, or a function that makes it when the one before has ended.

        A function takes a `SourceSwitchContext`, which knows where the one before has ended, and returns a source of
        the same record type; say with `boundedness` whether that source ends by itself (without: it does not).
        """
        before = self._members[-1]
        if before.boundedness is not Boundedness.BOUNDED:
            raise ConfigurationError(
                f"HybridSource: {before.describe()} does not end, so nothing can come after it; bound it "
                "(`set_bounded`, no `watch`), or leave out what follows"
            )
        if isinstance(source, Source):
            require_same_stream(source, self._type, self._tag)
            if boundedness not in (None, source.boundedness):
                raise ConfigurationError(
                    f"HybridSource: {source.describe()} is {source.boundedness.value}; boundedness is for sources that "
                    "a function makes"
                )
            self._members.append(Member(source.boundedness, source=source))
        elif callable(source) and not isinstance(source, type):
            self._members.append(Member(boundedness or Boundedness.CONTINUOUS_UNBOUNDED, factory=source))
        else:
            raise ConfigurationError(
                f"HybridSource: add_source takes a source, or a function of a SourceSwitchContext, got {source!r}"
            )
        return self

    def build(self) -> HybridSource:
        """The source."""
        return HybridSource(self._members, self._type)


class _HybridReader(SplitReader):
    """One reader of each source, made when it is first needed."""

    def __init__(self, members: Sequence[Member], directory: str) -> None:
        self._members = members
        self._directory = directory
        self._readers: dict[int, SplitReader] = {}

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        number: int = read.descriptor["source"]
        reader = self._readers.get(number) or self._reader_of(number)
        self.broken_records = reader.broken_records
        inner = replace(read, split_id=read.split_id.partition("/")[2], descriptor=read.descriptor["of"])
        for batch in reader.read(inner, budget):
            self.watermark = reader.watermark
            yield batch
        self.watermark = reader.watermark
        self.position = reader.position
        self.finished = reader.finished

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _reader_of(self, number: int) -> SplitReader:
        place = MadeSource(self._directory, number)
        source = self._members[number].source or place.load()
        if source is None:
            raise SourceError(
                f"HybridSource: the source that was made at the switch is not at {place.path}; the checkpoint "
                "directory must be one that the driver and all workers see"
            )
        # Earlier sources are not asked again in this run, or seldom: their connections go.
        self.close()
        self._readers[number] = source.create_reader()
        return self._readers[number]
