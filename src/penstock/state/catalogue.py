"""What pieces of state a store holds, in words: entries beside the state itself, for those who look into a checkpoint.

The key of such an entry is

    8 bytes of blake2b(uid) | "\\0cat" | ffff | length 0 | the state's name

which looks like broadcast state, and every subtask has its own; the value is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass

from penstock.common.errors import StateCorruptionError
from penstock.state.descriptors import StateDescriptor
from penstock.state.state_evolution import evolve
from penstock.state.state_keys import BroadcastKeys, end_of_prefix
from penstock.state.state_schema import StateSchema, schema_of
from penstock.state.store import StateStore

_TAG = b"\0cat"
_UID_BYTES = 8


@dataclass(frozen=True)
class StateDescription:
    """One piece of state of an operator."""

    uid: str
    name: str
    kind: str
    """`ValueState`, `MapState`, ..."""
    type: str
    """The declared type; `object` where none is declared."""
    form: str = ""
    """The form of its entries, a `StateSchema` as text."""

    @property
    def schema(self) -> StateSchema:
        """The form of its entries."""
        return StateSchema.from_text(self.form, f"state '{self.name}' of operator '{self.uid}'")

    def to_bytes(self) -> bytes:
        """As it is stored."""
        return json.dumps(asdict(self), sort_keys=True).encode()


@dataclass(frozen=True)
class DeclaredState:
    """A piece of state that a program asks for."""

    uid: str
    descriptor: StateDescriptor
    schema: StateSchema


_declared: ContextVar[list[DeclaredState] | None] = ContextVar("declared", default=None)


@contextmanager
def listing_declared_states() -> Generator[list[DeclaredState]]:
    """Lists all state that is asked for meanwhile, in this thread."""
    found: list[DeclaredState] = []
    token = _declared.set(found)
    try:
        yield found
    finally:
        _declared.reset(token)


class StateCatalogue:
    """The descriptions of an operator's state, on their way into its store."""

    def __init__(self, store: StateStore, uid: str) -> None:
        self._store = store
        self._uid = uid
        self._entries: dict[bytes, bytes] = {}

    def add(
        self,
        descriptor: StateDescriptor,
        kind: str = "",
        *,
        form: str | None = None,
        namespaced: bool = False,
        type_name: str | None = None,
    ) -> None:
        """Takes in a piece of state; its kind and the name of its type are those of the descriptor unless given.

        What an older program has stored of it in another form is brought into this one.
        """
        kind = kind or type(descriptor).__name__.removesuffix("Descriptor")
        schema = schema_of(descriptor, kind, form=form, namespaced=namespaced)
        listed = _declared.get()
        if listed is not None:
            listed.append(DeclaredState(self._uid, descriptor, schema))
        described = StateDescription(
            self._uid,
            descriptor.name,
            kind,
            type_name or ("object" if descriptor.type_info is None else str(descriptor.type_info)),
            schema.to_text(),
        )
        key = catalogue_key(self._uid, descriptor.name)
        data = described.to_bytes()
        stored = self._store.get(key)
        if stored is not None and stored != data:
            before = description_from(stored).schema
            place = f"state '{descriptor.name}' of operator '{self._uid}'"
            evolve(self._store, place, prefix_of(self._uid, descriptor.name), before, schema, descriptor)
        self._entries[key] = data

    def flush(self) -> None:
        """Writes what the store does not have yet."""
        for key, value in self._entries.items():
            if self._store.get(key) != value:
                self._store.put(key, value)


def described_states(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[StateDescription]:
    """The descriptions among the entries of a store."""
    for key, value in entries:
        if is_description(key):
            yield description_from(value)


def description_from(data: bytes) -> StateDescription:
    """A description as it is stored."""
    try:
        fields = json.loads(data)
        description = StateDescription(**fields)
        if all(type(value) is str for value in fields.values()):
            return description
    except (ValueError, TypeError):
        pass
    raise StateCorruptionError(f"{data!r} does not describe a piece of state")


def is_description(key: bytes) -> bool:
    """Whether an entry of a store describes a piece of state."""
    return key[_UID_BYTES : _UID_BYTES + len(_TAG)] == _TAG


def catalogue_range(operator: bytes) -> tuple[bytes, bytes]:
    """Between which keys the descriptions of an operator's state lie; `operator` is the digest of its uid."""
    return operator + _TAG, end_of_prefix(operator + _TAG)


def prefix_of(uid: str, name: str) -> bytes:
    """What the keys of all entries of a piece of state begin with."""
    return BroadcastKeys(uid, name).prefix


def catalogue_key(uid: str, name: str) -> bytes:
    """The store key of a description."""
    of_no_key = BroadcastKeys(uid, "")
    return of_no_key.prefix[:_UID_BYTES] + _TAG + of_no_key.of(b"")[len(of_no_key.prefix) :] + name.encode()
