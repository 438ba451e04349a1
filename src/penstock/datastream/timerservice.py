"""`TimerService`, under PyFlink's module path."""

from __future__ import annotations

from penstock.functions.timer_service import TimerService

__all__ = ["TimerService"]
