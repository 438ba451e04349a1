"""A small input on which every query has results: slow events, so that windows and sessions end, in a few files."""

from __future__ import annotations

from nexmark.event_numbers import Settings
from nexmark.generator import Dataset

SMALL_DATASET = Dataset(6_000, settings=Settings(rate=100), events_per_file=1_000)
EVENTS_PER_EPOCH = 1_500
