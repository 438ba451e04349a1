"""A small input on which every query has results: slow events, so that windows and sessions end, in a few files.

Bidders have the ids of persons, which in default settings they only share when a thousand persons have registered: q23
joins them.
"""

from __future__ import annotations

from nexmark.event_numbers import Settings
from nexmark.generator import Dataset

SMALL_DATASET = Dataset(6_000, settings=Settings(rate=100, double_bidder_offset=False), events_per_file=1_000)
EVENTS_PER_EPOCH = 1_500
