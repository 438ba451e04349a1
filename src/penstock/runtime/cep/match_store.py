"""Partial matches of all keys in the store of a subtask.

Of a key there is a *head* and, when its matches are long, *pages* of what does not change any more:

    store key of the key                        ->  pickle of the head, a tuple
    store key of the key | u32 page, big-endian ->  pickle of a list of cells

    head    (1, number of the next event, when the key's timer is, partial matches, complete ones, next cell, cells)
    match   (name of the state, number of its newest cell or -1, order, start time, time of the event before)
    cell    (number, step, number of the cell before or -1, number of the event, its time, the event)

The event of a cell is None where an earlier cell of the same page or head has the same event: it stands there. Cells
have ascending numbers; page p has those from 64p, the head those that fill no page yet. So a long match that grows by
one event costs a head and no page.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any

from penstock.common.errors import StateError, StateMisfitError
from penstock.runtime.cep.matches import Cell, Event, KeyMatches, PartialMatch
from penstock.runtime.cep.nfa import Nfa
from penstock.state.catalogue import StateCatalogue
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.own_copy import pickled
from penstock.state.state_keys import StateKeys, end_of_prefix
from penstock.state.store import StateStore

_VERSION = 1
_PAGE = Struct(">I")
_CELLS_OF_PAGE = 64
_CACHE_LIMIT = 1_000_000
"""So many keys may be in memory from one epoch to the next."""


class _Stored:
    """What the store has of a key: which cells are in which page."""

    __slots__ = ("has_head", "next_cell", "pages")

    def __init__(self) -> None:
        self.has_head = False
        self.next_cell = 0
        self.pages: dict[int, tuple[int, ...]] = {}


class MatchStore:
    """The partial matches of one pattern. Keys without any have no entry, and only a mark in memory."""

    def __init__(self, store: StateStore, uid: str, name: str, max_parallelism: int, nfa: Nfa) -> None:
        self._store = store
        self._keys = StateKeys(uid, name, max_parallelism)
        self._nfa = nfa
        self._cache: dict[bytes, KeyMatches | None] = {}
        self._touched: dict[bytes, None] = {}
        self._name = name
        self.catalogue = StateCatalogue(store, uid)
        self.catalogue.add(ValueStateDescriptor(name))

    def get(self, key: bytes) -> KeyMatches | None:
        """What a key has; None: nothing."""
        try:
            return self._cache[key]
        except KeyError:
            matches = self._cache[key] = self._load(key)
            return matches

    def put(self, key: bytes, matches: KeyMatches) -> None:
        """Keeps what a key has now."""
        self._touched[key] = None
        is_new = matches.is_empty and (matches.stored is None or not matches.stored.has_head)
        self._cache[key] = None if is_new else matches

    def flush(self) -> None:
        """Writes what has changed to the store."""
        touched = list(self._touched)
        for key, prefix in zip(touched, self._keys.of_all(touched), strict=True):
            matches = self._cache.get(key)
            if matches is not None:
                self._write(prefix, matches)
                if matches.is_empty:
                    self._cache[key] = None
        self._touched = {}
        if len(self._cache) > _CACHE_LIMIT:
            self._cache = {}

    def drop_caches(self) -> None:
        """Forgets everything, what was changed too."""
        self._cache = {}
        self._touched = {}

    def forget_all(self) -> None:
        """Deletes what all keys have: the pattern is no more."""
        self.drop_caches()
        for key in [key for key, _ in self._store.scan(*self._keys.range)]:
            self._store.delete(key)

    # --- writing

    def _write(self, prefix: bytes, matches: KeyMatches) -> None:
        stored: _Stored = matches.stored or _Stored()
        cells = {} if matches.is_empty else _numbered(matches, stored)
        pages: dict[int, list[Cell]] = {}
        for number in sorted(cells):
            pages.setdefault(number // _CELLS_OF_PAGE, []).append(cells[number])
        in_head = pages.pop(stored.next_cell // _CELLS_OF_PAGE, [])
        for page in stored.pages.keys() - pages.keys():
            self._store.delete(prefix + _PAGE.pack(page))
        for page, members in pages.items():
            numbers = tuple(cell.number for cell in members)
            if stored.pages.get(page) != numbers:
                self._store.put(prefix + _PAGE.pack(page), self._dumps(_cell_rows(members)))
        stored.pages = {page: tuple(cell.number for cell in members) for page, members in pages.items()}
        if not matches.is_empty:
            head = (
                _VERSION,
                matches.next_event,
                matches.timer,
                [_match_row(each) for each in matches.partials],
                [_match_row(each) for each in matches.completed],
                stored.next_cell,
                _cell_rows(in_head),
            )
            self._store.put(prefix, self._dumps(head))
        elif stored.has_head:
            self._store.delete(prefix)
        stored.has_head = not matches.is_empty
        matches.stored = stored

    def _dumps(self, value: Any) -> bytes:
        try:
            return pickled(value)
        except Exception as error:
            raise StateError(f"{self._name}: events of a partial match cannot be saved: {error}") from error

    # --- reading

    def _load(self, key: bytes) -> KeyMatches | None:
        prefix = self._keys.of(key)
        head = self._store.get(prefix)
        if head is None:
            return None
        _, next_event, timer, partials, completed, next_cell, head_cells = pickle.loads(head)
        stored = _Stored()
        stored.has_head, stored.next_cell = True, next_cell
        cells: dict[int, Cell] = {}
        events: dict[int, Event] = {}
        for store_key, data in self._store.scan(prefix + b"\x00", end_of_prefix(prefix)):
            rows = pickle.loads(data)
            (page,) = _PAGE.unpack_from(store_key, len(prefix))
            stored.pages[page] = tuple(row[0] for row in rows)
            _read_cells(rows, cells, events)
        _read_cells(head_cells, cells, events)
        matches = KeyMatches(list(self._matches(partials, cells)), list(self._matches(completed, cells)))
        matches.next_event, matches.timer, matches.stored = next_event, timer, stored
        self._nfa.renew_deadline(matches)
        return matches

    def _matches(self, rows: Iterable[Any], cells: dict[int, Cell]) -> Iterator[PartialMatch]:
        for name, cell, order, start_time, previous_time in rows:
            node = self._nfa.node(name)
            if node is None:
                raise StateMisfitError(
                    f"{self._name}: a partial match of the checkpoint is in the state '{name}', which the pattern does "
                    "not have; a changed pattern needs another uid"
                )
            yield PartialMatch(node, cells.get(cell), order, start_time, previous_time)


def _numbered(matches: KeyMatches, stored: _Stored) -> dict[int, Cell]:
    """All cells in use, by number; new ones get theirs, each after those before it."""
    found: dict[int, Cell] = {}
    new: list[Cell] = []
    seen: set[int] = set()
    for each in (*matches.partials, *matches.completed):
        cell = each.cell
        path: list[Cell] = []
        while cell is not None and cell.number not in found and id(cell) not in seen:
            seen.add(id(cell))
            if cell.number >= 0:
                found[cell.number] = cell
            else:
                path.append(cell)
            cell = cell.previous
        new += reversed(path)
    for cell in sorted(new, key=lambda cell: cell.event.number):
        cell.number = stored.next_cell
        stored.next_cell += 1
        found[cell.number] = cell
    return found


def _match_row(match: PartialMatch) -> tuple[Any, ...]:
    number = -1 if match.cell is None else match.cell.number
    return match.node.name, number, match.order, match.start_time, match.previous_time


def _cell_rows(cells: list[Cell]) -> list[tuple[Any, ...]]:
    seen: set[int] = set()
    rows: list[tuple[Any, ...]] = []
    for cell in cells:
        event = cell.event
        previous = -1 if cell.previous is None else cell.previous.number
        value = None if event.number in seen else event.value
        seen.add(event.number)
        rows.append((cell.number, cell.step, previous, event.number, event.timestamp, value))
    return rows


def _read_cells(rows: Iterable[Any], cells: dict[int, Cell], events: dict[int, Event]) -> None:
    for number, step, previous, event_number, time, value in rows:
        event = events.get(event_number)
        if event is None:
            event = events[event_number] = Event(value, time, 0, event_number)
        cell = cells[number] = Cell(step, event, cells.get(previous))
        cell.number = number
