"""Which windows of a key are open while windows merge, and where their contents are.

When windows merge, the contents of one of them stay where they are, and the others' move there: the window that
contents are kept under (the *state window*) is one of the first windows, and need not be the merged one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.runtime.known_windows import KnownWindow, KnownWindows
from penstock.windows.assigner import MergingWindowAssigner
from penstock.windows.session import are_plain_sessions
from penstock.windows.window import TimeWindow

Merge = Callable[[KnownWindow, list[KnownWindow], bytes, list[bytes]], None]
"""(the new window, those that it is made of, its state window, the state windows whose contents move there)."""


class MergingWindowSet:
    """The open windows of one key: `mapping` is from windows to state windows, both as bytes, and is changed here."""

    def __init__(
        self, assigner: MergingWindowAssigner[Any, Any], windows: KnownWindows, mapping: dict[bytes, bytes]
    ) -> None:
        self.mapping = mapping
        self.changed = False
        self._assigner = assigner
        self._windows = windows

    def state_window(self, window: KnownWindow) -> bytes | None:
        """Where the contents of a window are; None for one that is not open."""
        return self.mapping.get(window.namespace)

    def retire(self, window: KnownWindow) -> None:
        """The window is no longer open."""
        del self.mapping[window.namespace]
        self.changed = True

    def add(self, new: KnownWindow, merge: Merge) -> KnownWindow:
        """Opens a window, or makes it a part of others; returns the window that it is now."""
        if new.namespace in self.mapping:
            return new
        if are_plain_sessions(self._assigner):
            touched = self._touched(new.window)
            if not touched:
                return self._open(new)
            if len(touched) == 1:
                return self._extend(touched[0], new, merge)
        return self._merge_all(new, merge)

    def _open(self, new: KnownWindow) -> KnownWindow:
        self.mapping[new.namespace] = new.namespace
        self.changed = True
        return new

    def _touched(self, new: TimeWindow) -> list[KnownWindow]:
        start, end, at = new.start, new.end, self._windows.at
        return [known for known in map(at, self.mapping) if known.window.start <= end and known.window.end >= start]

    def _extend(self, old: KnownWindow, new: KnownWindow, merge: Merge) -> KnownWindow:
        if old.window.start <= new.window.start and new.window.end <= old.window.end:
            return old
        result = self._windows.of(old.window.cover(new.window))
        state_window = self.mapping.pop(old.namespace)
        self.mapping[result.namespace] = state_window
        self.changed = True
        merge(result, [old], state_window, [])
        return result

    def _merge_all(self, new: KnownWindow, merge: Merge) -> KnownWindow:
        found = _Found()
        candidates = [*(self._windows.at(namespace).window for namespace in self.mapping), new.window]
        self._assigner.merge_windows(candidates, found)
        result, is_merged = new, False
        for group, made in found.merges:
            known = self._windows.of(made)
            parts = [part for part in map(self._windows.of, group) if part.namespace in self.mapping]
            if len(parts) < len(group):
                result, is_merged = known, True
            if not parts:
                self._open(known)
                continue
            state_windows = [self.mapping.pop(part.namespace) for part in parts]
            self.mapping[known.namespace] = state_windows[0]
            self.changed = True
            if [part.namespace for part in parts] != [known.namespace]:
                merge(known, parts, state_windows[0], state_windows[1:])
        return result if is_merged else self._open(new)


class _Found(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.merges: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.merges.append((list(dict.fromkeys(to_be_merged)), merge_result))
