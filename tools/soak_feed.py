"""Payments that come one after the other while a job runs, to a broker that may be killed meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

from faults.matrix_services import MatrixServices, payments_in

_PAUSE_SECONDS = 0.02
_FLUSH_SECONDS = 120


class Feed:
    """Sends the payments of an input directory in a thread of its own, in about so many seconds."""

    def __init__(self, services: MatrixServices, source: Path, seconds: float) -> None:
        self._topic = services.payments
        self._producer = services.producer()
        self._payments = list(payments_in(source))
        self._at_a_time = max(1, round(len(self._payments) * _PAUSE_SECONDS / seconds))
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Sends what is left at once; returns when the broker has it."""
        self._hurry.set()
        self._thread.join(_FLUSH_SECONDS)
        assert self._producer.flush(_FLUSH_SECONDS) == 0, "the broker did not take the payments"

    def _run(self) -> None:
        for number, (partition, payment) in enumerate(self._payments):
            self._producer.produce(self._topic, payment, partition=partition)
            if number % self._at_a_time == 0:
                self._producer.poll(0)
                self._hurry.wait(_PAUSE_SECONDS)
