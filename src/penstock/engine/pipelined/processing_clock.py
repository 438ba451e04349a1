"""Processing time within an epoch that lasts."""

from __future__ import annotations

import time
from collections.abc import Iterable

from penstock.engine.stages.chain import ChainInstance


class ProcessingClock:
    """This machine's clock, in ms; it never goes back, nor behind the beginning of the epoch."""

    def __init__(self, start: int) -> None:
        self.now = start

    def advance(self, chains: Iterable[ChainInstance]) -> bool:
        """Tells chains what time it is; whether that is new to them. Nothing fires."""
        now = int(time.time() * 1000)
        if now <= self.now:
            return False
        self.now = now
        for chain in chains:
            chain.set_processing_time(now)
        return True
