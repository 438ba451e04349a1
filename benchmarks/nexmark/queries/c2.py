"""As long as the mean of prices is low; the next search begins with the next bid."""

from __future__ import annotations

from nexmark.events import Events
from nexmark.queries.c1 import low_mean
from penstock.cep import AfterMatchSkipStrategy
from penstock.datastream import DataStream


def results(events: Events) -> DataStream:
    return low_mean(events, AfterMatchSkipStrategy.skip_to_next())
